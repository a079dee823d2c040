"""Run a case through the public API, embedded or on Spark, and judge what comes out."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

import windrow
from tests.conformance.case import Case, Change
from tests.conformance.compare import changes_of, first_difference, net
from windrow.core.errors import NotExecutableError, WindrowError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Connect = Callable[[], Any]
"""Opens a connection of the runner that is tested."""


@dataclass(frozen=True)
class Outcome:
    """How a case ended; ``failure`` is None if it passed."""

    name: str
    failure: str | None


def run(case: Case, connect: Connect, pieces: int = 3) -> Outcome:
    """Run a case and compare; whatever goes wrong is the case's failure, not the run's."""
    try:
        failure = compare(case, answer(case, connect, pieces))
    except NotExecutableError as error:
        failure = f"needs {error.construct}, which is not executable ({error})"
    except WindrowError as error:
        failure = f"{type(error).__name__}: {error}"
    except Exception as error:  # one broken case must not end the run
        failure = f"unexpected {type(error).__name__}: {error}"
    return Outcome(case.name, failure)


def answer(case: Case, connect: Connect, pieces: int = 3) -> list[Change]:
    """All changes of the case's query up to its horizon, the input pushed in ``pieces``."""
    with connect() as connection:
        (query,) = connection.execute(case.script)
        parts = [[(f"{s.name}_raw", part) for part in s.pieces(pieces)] for s in case.streams]
        parts += [[(r.name, part) for part in r.pieces(pieces)] for r in case.relations]
        for turn in zip_longest(*parts):
            for name, part in turn:
                connection.push(name, part)
        connection.advance(to=case.horizon)
        return changes_of(query.changes())


def compare(case: Case, found: list[Change]) -> str | None:
    """What is wrong with the changes found, or None."""
    late = [change for change in found if change[0] > case.horizon]
    if late:
        return f"changes after the horizon {case.horizon}: {late[0]}"
    difference = first_difference(net(case.expect), net(found), case.tolerance)
    return str(difference) if difference else None


@contextlib.contextmanager
def runner(name: str) -> Iterator[Connect]:
    """What opens connections on the named runner, for as long as the block lasts."""
    if name == "embedded":
        yield windrow.connect
        return
    with spark_session() as session:
        yield lambda: windrow.connect(spark=session)


@contextlib.contextmanager
def spark_session() -> Iterator[SparkSession]:
    """A small local session: two cores, two shuffle partitions; stopped if it was started here."""
    from windrow.spark.run.session import SparkContext  # noqa: PLC0415
    from windrow.spark.run.session import spark_session as new_session  # noqa: PLC0415  starts Java

    there = SparkContext._active_spark_context is not None
    session = new_session(master="local[2]", app="windrow-conformance")
    session.conf.set("spark.sql.shuffle.partitions", "2")
    try:
        yield session
    finally:
        if not there:
            session.stop()
