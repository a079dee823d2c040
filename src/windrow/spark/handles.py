"""What a connection on Spark hands out: a query, or an archive, to be looked at."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql.streaming.query import StreamingQuery

from windrow.core.patterns import UpdatePattern
from windrow.engine.change_log import Hear
from windrow.engine.compaction import forget_drained
from windrow.engine.progress import cut_warning, overflow_warning
from windrow.engine.published import last_committed, published
from windrow.engine.results import ranked
from windrow.plan.catalog import QueryDeclaration
from windrow.spark.consuming import Consuming
from windrow.spark.machine import death_of_machine
from windrow.spark.query import Feed, SparkQuery
from windrow.spark.restarts import Restarts

if TYPE_CHECKING:
    from windrow.spark.connection import SparkConnection


class QueryHandle:
    """A query of a connection: its changes, and its answer."""

    def __init__(self, query: SparkQuery, connection: SparkConnection) -> None:
        self._query, self._connection = query, connection
        self._feed_inboxes = connection.deliveries(query)
        self._streaming: StreamingQuery | None = None
        self._restarts = Restarts(query.declaration.name)
        self._committed = -1
        self._warned: set[str] = set()
        self._consuming = Consuming(query.reading.parts, self._last, self._forget)

    def _last(self) -> int:
        self._committed = last_committed(self._query.results, self._committed)
        return self._committed

    def _forget(self, drained: int) -> None:
        """Changes that are nowhere else are for those who ask for them, once."""
        if self._query.destination is None:
            forget_drained(self._query.results, drained)

    @property
    def name(self) -> str:
        return self.declaration.name

    @property
    def declaration(self) -> QueryDeclaration:
        return self._query.declaration

    def start(self) -> StreamingQuery:
        """Spark's own handle of the running query."""
        if self._streaming is None:
            self._query.prepare(overwrite=self._connection.overwrite)
            feed = Feed(
                live=True,
                quarantine=self._connection.quarantine,
                inboxes=self._feed_inboxes,
                frames=self._connection.frames,
                wall=self._connection.wall,
            )
            self._streaming = self._query.start(feed)
        return self._streaming

    def changes(self, *, drain: bool = False) -> pa.Table:
        """All changes so far: ``instant``, ``change`` (``+`` or ``-``), then the columns.

        Those that were drained before are left out, and ``drain`` makes it so for these.
        """
        self._catch_up()
        self._warn_of_losses()
        return self._consuming.table(self._query.schema, drain=drain)

    def stream(self) -> Iterator[pa.RecordBatch]:
        """The changes that were not drained, batch by batch, until there is none by now.

        A batch is drained when the next is asked for.
        """
        self._catch_up()
        return self._consuming.stream()

    def on_change(self, listener: Hear) -> None:
        """Call ``listener`` with all changes that were not drained, and then with all that come.

        It is called by a thread of its own, with a batch at a time, which drains it. An error that
        it raises ends that, and is raised again by whoever looks at the query next.
        """
        self.start()
        self._consuming.hear(listener)

    def _warn_of_losses(self) -> None:
        """Once of sums beyond BIGINT, and of nanoseconds of files; those pushed were told of."""
        totals = published(self._query.results).totals
        said = {
            "overflows": (totals.overflows, overflow_warning(self.name)),
            "cut": (totals.cut, cut_warning(f"query {self.name}")),
        }
        for what, (count, warning) in said.items():
            if count and what not in self._warned:
                self._warned.add(what)
                warnings.warn(warning, stacklevel=3)

    def answer(self) -> pa.Table:
        """The relation at the last closed instant; of a stream, all that came out undrained."""
        if self.declaration.plan.pattern is UpdatePattern.MONOTONIC:
            return self.changes().drop_columns(["instant", "change"])
        self._catch_up()
        self._warn_of_losses()
        return ranked(self._query.answer().rows, self.declaration.plan)

    @property
    def writes(self) -> bool:
        """Whether it runs without anybody looking."""
        return self.declaration.into is not None

    def stop(self) -> None:
        """Stop running; a query that writes files first works off what has been delivered."""
        if self.writes:
            self._catch_up()
        if self._streaming is not None:
            self._streaming.stop()
            self._streaming = None
        self._query.settle()
        self._consuming.stop()

    def _catch_up(self) -> None:
        """Wait until everything delivered is worked off; what dies meanwhile is started again."""
        self._consuming.raise_failure()
        while True:
            try:
                self.start().processAllAvailable()
            except Exception as failure:
                died = death_of_machine(failure)
                if died is not None:
                    raise died from failure
                if not isinstance(failure, PySparkException):
                    raise
                if not self._restarts.may_restart(failure):
                    raise self._restarts.error(failure, self._query.damage) from failure
                self._restarts.note(failure)
                self._streaming = None
            else:
                self._restarts.progressed()
                return

    def __repr__(self) -> str:
        return f"<query {self.name} on Spark>"


class ArchiveHandle(QueryHandle):
    """An archive of a connection; what it holds is asked by probes and scans."""

    @property
    def path(self) -> Path:
        assert self._query.destination is not None, "an archive has a directory"
        return self._query.destination

    @property
    def writes(self) -> bool:
        return True

    @property
    def waiting(self) -> int:
        """Rows of days that are not over; those of the others are in the archive by now."""
        self._catch_up()
        assert self._query.waiting is not None, "an archive knows what waits"
        return self._query.waiting

    def changes(self, *, drain: bool = False) -> pa.Table:
        """Nothing: they are in the archive and nowhere else."""
        return pa.table({})

    def answer(self) -> pa.Table:
        """Nothing: an archive is asked by probes and scans."""
        return pa.table({})
