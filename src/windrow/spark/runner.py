"""Running the queries of a script on Spark, started together.

Queries that can share their selection are one streaming query, the others one each.
"""

from __future__ import annotations

import shutil
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from pyspark import SparkContext
from pyspark.sql import SparkSession

from windrow.core.errors import InputError, WindrowError
from windrow.core.paths import local_path
from windrow.core.time import Wall, wall_clock
from windrow.engine.clocks import on_clocks_of_files
from windrow.engine.locks import locked
from windrow.engine.ownership import refuse_results_of_others
from windrow.engine.progress import Progress, Report
from windrow.engine.sinks import into, result_directories
from windrow.plan.catalog import Catalog, QueryDeclaration
from windrow.plan.strategy import Strategy
from windrow.spark.archive.filling import ArchiveQuery
from windrow.spark.groups import groups_of
from windrow.spark.home import runs_of
from windrow.spark.machine import death_of_machine
from windrow.spark.query import Feed, SparkQuery, inputs_of
from windrow.spark.running import Running
from windrow.spark.session import spark_session
from windrow.spark.shared import SharedSparkQuery

SECONDS_BETWEEN_LOOKS = 0.2
LONGEST_START = 60.0


def run(
    catalog: Catalog,
    *,
    once: bool,
    checkpoint: Path | None,
    quarantine: Path | None,
    on_progress: Callable[[Progress], None],
    stop: threading.Event | None,
    on_restart: Callable[[str], None] = lambda _: None,
    master: str = "local[*]",
    verbose: bool = False,
    files_per_trigger: int | None = None,
    strategy: Strategy = Strategy.UPA,
    overwrite: bool = False,
    wall: Wall = wall_clock,
) -> Report:
    """Run all queries of the catalog until their files are read (``once``) or ``stop`` is set.

    With a ``checkpoint`` a later run goes on where this one stopped; each streaming query has its
    own directory below it. Checkpoint and results are held for the time of the run; results of
    another one are replaced if ``overwrite`` says so, and refused otherwise. ``on_restart`` is told
    when a query is started again because a process of Spark's died under it; the virtual machine's
    own death ends the run with a MachineError. By the ``wall`` rows are ahead and streams idle.
    """
    for query in (*catalog.queries, *(archive.query for archive in catalog.archives)):
        _need_sources(query, catalog)
    if checkpoint is not None:
        local_path(checkpoint, "--checkpoint")
    catalog = on_clocks_of_files(catalog)
    directory = checkpoint or Path(tempfile.mkdtemp(prefix="windrow-checkpoint-"))
    try:
        with locked(_written(catalog, checkpoint)):
            for place in result_directories(catalog.queries):
                refuse_results_of_others(place, runs_of(directory), overwrite=overwrite)
            feed = Feed(
                once=once, files=files_per_trigger, quarantine=quarantine, overwrite=overwrite,
                wall=wall,
            )  # fmt: skip
            ears = (on_progress, on_restart)
            started = Started(master, verbose, strategy, *ears, stop or threading.Event())
            return _run(catalog, directory, feed, started)
    finally:
        if checkpoint is None:
            shutil.rmtree(directory, ignore_errors=True)


@dataclass(frozen=True)
class Started:
    """How a run was started."""

    master: str
    verbose: bool
    strategy: Strategy
    on_progress: Callable[[Progress], None]
    on_restart: Callable[[str], None]
    stop: threading.Event


def _written(catalog: Catalog, checkpoint: Path | None) -> Iterator[tuple[Path, str]]:
    """The directories that a run writes, and what messages call them."""
    if checkpoint is not None:
        yield checkpoint, f"--checkpoint {checkpoint}"
    for place in result_directories(catalog.queries):
        yield place, into(place)


def _run(catalog: Catalog, directory: Path, feed: Feed, started: Started) -> Report:
    running_already = SparkContext._active_spark_context is not None  # noqa: SLF001
    session = spark_session(started.master, verbose=started.verbose)
    try:
        declared = _streaming(session, catalog, directory, started.strategy)
        queries = [Running(query, started.on_progress, started.on_restart) for query in declared]
        _watch(queries, feed, started.stop)
        reports = {report.name: report for query in queries for report in query.reports()}
        names = [*(q.name for q in catalog.queries), *(a.name for a in catalog.archives)]
        return Report(tuple(reports[name] for name in names))
    except Exception as failure:
        died = None if isinstance(failure, WindrowError) else death_of_machine(failure)
        if died is not None:
            raise died from failure
        raise
    finally:
        if not running_already:
            with suppress(Exception):  # of a virtual machine that is dead there is nothing to stop
                session.stop()


def _streaming(
    session: SparkSession, catalog: Catalog, directory: Path, strategy: Strategy
) -> list[SparkQuery]:
    """What is to run, each with its directory: groups, the other queries, archives."""
    groups = groups_of(catalog.queries, directory)
    together = {query.name for group in groups for query in group.members.values()}
    alone = [query for query in catalog.queries if query.name not in together]
    return [
        *(SharedSparkQuery(session, g, catalog, strategy) for g in groups),
        *(SparkQuery(session, q, catalog, directory / q.name, strategy) for q in alone),
        *(ArchiveQuery(session, a, catalog, directory / a.name, strategy)
          for a in catalog.archives),
    ]  # fmt: skip


def _watch(queries: Sequence[Running], feed: Feed, stop: threading.Event) -> None:
    """Start all, look at them until they are done, and leave none running."""
    try:
        for number, query in enumerate(queries, start=1):
            query.start(feed)
            _settle(query, queries[:number], stop)
        while not stop.is_set():
            for query in queries:
                if query.start_again_if_something_died(feed):
                    _settle(query, queries, stop)
                query.look()
            if not any(q.active for q in queries):
                break
            stop.wait(SECONDS_BETWEEN_LOOKS)
    finally:
        for query in queries:
            query.finish()
    for query in queries:
        query.look()


def _settle(query: Running, started: Sequence[Running], stop: threading.Event) -> None:
    """Wait until the query's sources run, and look at those that do meanwhile.

    The Python processes of many queries, one for each source, must not all start at once: Spark
    gives each of them ten seconds.
    """
    waited = 0.0
    while query.starting and waited < LONGEST_START and not stop.is_set():
        stop.wait(SECONDS_BETWEEN_LOOKS)
        waited += SECONDS_BETWEEN_LOOKS
        for other in started:
            other.look()


def _need_sources(query: QueryDeclaration, catalog: Catalog) -> None:
    for declared in inputs_of(query, catalog).values():
        if declared.source is None:
            raise InputError(
                where=declared.name,
                expected="FROM 'path' FORMAT csv, json or parquet",
                found="a stream or relation without a source",
                remedy="name its files where it is created, or push rows from Python",
            )
