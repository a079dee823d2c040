"""What a connection on Spark hands out: a query, or an archive, to be looked at."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql.streaming.query import StreamingQuery

from windrow.core.patterns import UpdatePattern
from windrow.engine.results import ranked
from windrow.plan.catalog import QueryDeclaration
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
            )
            self._streaming = self._query.start(feed)
        return self._streaming

    def changes(self) -> pa.Table:
        """All changes so far: ``instant``, ``change`` (``+`` or ``-``), then the columns."""
        self._catch_up()
        query = self._query
        return pa.concat_tables([query.schema.empty_table(), *query.reading.tables()])

    def answer(self) -> pa.Table:
        """The relation at the last closed instant; of a stream, everything that came out."""
        if self.declaration.plan.pattern is UpdatePattern.MONOTONIC:
            return self.changes().drop_columns(["instant", "change"])
        self._catch_up()
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

    def _catch_up(self) -> None:
        """Wait until everything delivered is worked off; what dies meanwhile is started again."""
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
                    raise self._restarts.error(failure) from failure
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

    def changes(self) -> pa.Table:
        """Nothing: they are in the archive and nowhere else."""
        return pa.table({})

    answer = changes
