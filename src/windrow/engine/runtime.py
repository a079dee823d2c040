"""Where jobs run: the two protocols that a connection, its handles and ``windrow run`` stand on.

A runtime starts jobs and brings them on; a run is one job that it has started. The embedded runtime
does all in this process (``windrow.engine.embedded``), the other one in streaming queries on a
SparkSession (``windrow.spark.run.spark_runtime``).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa

from windrow.core.time import Clock
from windrow.core.warnings import WindrowWarning
from windrow.engine.change_log import Hear, TakeBatch
from windrow.engine.inputs import Inputs
from windrow.engine.live_windows import LiveWindow
from windrow.engine.progress import Lateness, Progress
from windrow.plan.catalog import ArchiveDeclaration, Catalog, QueryDeclaration
from windrow.plan.jobs import Group, Job
from windrow.plan.strategy import Strategy
from windrow.sharing.schedule import QueryDelay
from windrow.subscriptions.subscriptions import Subscriptions


class Consumers(Protocol):
    """The changes of one member, for those who want them."""

    def table(self, schema: pa.Schema, *, drain: bool) -> pa.Table:
        """All changes that were not drained; ``drain`` makes them so."""

    def stream(self) -> Iterator[pa.RecordBatch]:
        """The changes that were not drained, which they are when the next are asked for."""

    def hear(self, listener: Hear) -> None:
        """Call ``listener`` with all changes that were not drained, and then with all that come."""

    def each_batch(self, function: TakeBatch) -> None:
        """Call ``function`` with the changes of each micro-batch, and its number."""


class Run(Protocol):
    """A job that was started; its members are known by their numbers."""

    @property
    def job(self) -> Job: ...

    @property
    def now(self) -> int | None:
        """The last instant that is part of the answers."""

    @property
    def complete_from(self) -> int | None:
        """From which instant on nothing that it has missed matters; None if it missed nothing."""

    def complete_for(self, number: int) -> int | None:
        """The same for one member, which may have come later than others."""

    @property
    def rows_in(self) -> int: ...

    def rows_out(self, number: int | None = None) -> int:
        """The changes of a member, or of all; of an archive, the rows that are in."""

    def probe_synopses(self, query: QueryDeclaration) -> tuple[pa.Table, int] | None:
        """What shared synopses answer to a query that is asked once; None if they do not."""

    def catch_up(self) -> None:
        """Wait until all that has come is worked off."""

    def refuse_if_stopped(self) -> None:
        """Raise if a value that it cannot compute with has ended it: it has no answer then."""

    def losses(self) -> Sequence[tuple[str, WindrowWarning]]:
        """What whoever looks at it should know of, and what that is about."""

    def consumers(self, number: int) -> Consumers:
        """The changes of a member, for those who want them."""

    def live_rows(self, number: int) -> pa.Table:
        """The relation of a member at the last closed instant, in no order."""

    def windows(self) -> Sequence[LiveWindow]:
        """The windows of tuples that it holds at the last closed instant."""

    def summaries(self, number: int) -> Callable[[], pa.Table] | None:
        """The summaries of sub-windows that it keeps, to be made a table of; None if none."""

    def last_rows(self, number: int) -> pa.Table:
        """The last changes of a member that is a stream."""

    def destination(self, number: int) -> Path | None:
        """Where the results of a member are, if they are in files."""

    @property
    def waiting(self) -> int | None:
        """Of an archive: rows of days that are not over."""

    def total(self, number: int) -> int | None:
        """How many rows a member that is a stream has had, earlier runs included."""

    @property
    def restarts(self) -> Mapping[str, int]:
        """What died under it, and how often it was started again for it."""

    @property
    def subscriptions(self) -> Subscriptions:
        """Those that its rows are matched with."""

    def delay(self, number: int) -> QueryDelay | None:
        """How late a member is and has been, if it may be late at all."""

    def stop(self, number: int) -> None:
        """Nobody looks at a member any more; those of others go on."""

    def state(self, number: int) -> str:
        """How it is, for people."""


def lateness_of(run: Run) -> dict[str, Lateness]:
    """How late members are and have been, by name; those that cannot be late are left out."""
    found = {member.name: run.delay(number) for number, member in run.job.members.items()}
    clock = run.job.clock
    return {name: Lateness.of(delay, clock) for name, delay in found.items() if delay is not None}


class Runtime(Protocol):
    """See the module."""

    strategy: Strategy
    in_process: bool
    """Whether jobs run in this process, where every object can be reached."""

    @property
    def inputs(self) -> Inputs:
        """What comes in through a connection."""

    def all_or_nothing(self) -> AbstractContextManager[None]:
        """Whatever fails within leaves everything as it was."""

    def drop(self, names: Collection[str]) -> None:
        """Let go of what was declared under these lower-case names, with its state."""

    def jobs(
        self,
        queries: Sequence[QueryDeclaration],
        archives: Sequence[ArchiveDeclaration],
        catalog: Catalog,
    ) -> Sequence[Job]:
        """What the queries and archives of a script run as, beside what runs already."""

    def start(self, jobs: Sequence[Job], catalog: Catalog) -> Sequence[Run]:
        """Start jobs. They see what the relations hold, and files from their beginning."""

    def groups_with(
        self, queries: Sequence[QueryDeclaration], dropped: Collection[str] = ()
    ) -> Sequence[Group]:
        """What queries would share, with others and with each other, if they were made now, and
        what has one of the lower-case names ``dropped`` were gone. Nothing is changed."""

    def late_words(self, query: QueryDeclaration, *, alone: bool) -> str | None:
        """What a query would begin with that is made now, and shares no synopses: nothing, if it is
        not ``alone``. None if it has missed nothing."""

    def read(self) -> None:
        """Take in all files that were found."""

    def step(self) -> None:
        """Bring all runs to where time has come."""

    def tell(self) -> None:
        """Let listeners hear what is new; nobody who calls it holds a lock that they might need."""

    def put_on_clock(self, name: str, clock: Clock | None) -> bool:
        """Put a relation, and jobs over it, on the clock of its first updates, if that can be."""

    def read_frame(self, name: str, frame: Any) -> None:
        """Read a stream from a streaming DataFrame."""

    def changes_frame(self, query: str) -> Any:
        """The changes of a query as a streaming DataFrame."""

    def work(self, *, once: bool) -> float | None:
        """Do a part of what there is to do; seconds until there may be more, None if never."""

    def publish(self) -> None:
        """All changes so far into files."""

    def progress(self) -> Sequence[Progress]:
        """How far each job has come."""

    def losses(self) -> Sequence[tuple[str, WindrowWarning]]:
        """What was lost of the input or of answers, and where; each is said once."""

    def close(self) -> None:
        """Stop all runs, and let others write where they wrote."""
