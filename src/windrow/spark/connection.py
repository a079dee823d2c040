"""The Python door to Spark: the methods of the embedded connection, on a SparkSession.

The connection is the input monitor of its streams: it judges pushed rows as they come and
delivers them into the streams' inboxes, from which the queries read (``windrow.spark.inbox``).
A query runs from the moment somebody looks at it, or, if it writes files, from the first delivery.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from windrow.columns.interner import Interner
from windrow.columns.netting import surplus
from windrow.core.errors import InputError
from windrow.core.patterns import UpdatePattern
from windrow.core.time import BEGINNING, FOREVER
from windrow.engine.connection import Connection
from windrow.engine.files import publish
from windrow.engine.results import answer_of, read_changes
from windrow.plan.catalog import QueryDeclaration, SubscriptionsDeclaration
from windrow.plan.strategy import Strategy
from windrow.spark.failures import translated
from windrow.spark.inbox import Inbox, deliveries
from windrow.spark.query import Delivery, Feed, SparkQuery, refuse_archives
from windrow.spark.relations import read_updates
from windrow.spark.session import configure
from windrow.spark.subscribed import OnSpark
from windrow.spark.times import StreamTime
from windrow.streams.monitor import InputMonitor
from windrow.streams.relations import RelationMonitor


class QueryHandle:
    """A query of a connection: its changes, and its answer."""

    def __init__(self, query: SparkQuery, connection: SparkConnection) -> None:
        self._query, self._connection = query, connection
        self._feed_inboxes = connection.deliveries(query)
        self._streaming: StreamingQuery | None = None

    @property
    def name(self) -> str:
        return self.declaration.name

    @property
    def declaration(self) -> QueryDeclaration:
        return self._query.declaration

    def start(self) -> StreamingQuery:
        """Spark's own handle of the running query."""
        if self._streaming is None:
            self._query.prepare()
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
        try:
            self.start().processAllAvailable()
        except PySparkException as failure:
            raise translated(self.name, failure) from failure
        query = self._query
        return _net(read_changes(query.results, query.format, query.schema))

    def answer(self) -> pa.Table:
        """The relation at the last closed instant; of a stream, everything that came out."""
        changes = self.changes()
        if self.declaration.plan.pattern is UpdatePattern.MONOTONIC:
            return changes.drop_columns(["instant", "change"])
        return answer_of(changes)

    def stop(self) -> None:
        """Stop running; a query that writes files first works off what has been delivered."""
        if self.declaration.into is not None:
            self.start().processAllAvailable()
        if self._streaming is not None:
            self._streaming.stop()
            self._streaming = None

    def __repr__(self) -> str:
        return f"<query {self.name} on Spark>"


class SparkConnection(Connection):
    """Streams, views and queries on a SparkSession.

    ``checkpoint`` names a directory from which a later connection that executes the same script
    goes on; without one everything is forgotten when the connection closes.
    """

    def __init__(
        self,
        spark: SparkSession,
        quarantine: str | Path | None = None,
        checkpoint: str | Path | None = None,
        strategy: str | Strategy = Strategy.UPA,
    ) -> None:
        super().__init__(quarantine, strategy)
        self.quarantine = None if quarantine is None else Path(quarantine)
        self.frames: dict[str, DataFrame] = {}
        self._session = configure(spark)
        self._temporary = checkpoint is None
        self._directory = Path(checkpoint or tempfile.mkdtemp(prefix="windrow-")).absolute()
        self._inboxes: dict[str, Inbox] = {}
        self.queries: dict[str, QueryHandle] = {}  # type: ignore[assignment]

    def _start(  # type: ignore[override]
        self, declarations: Sequence[QueryDeclaration]
    ) -> list[QueryHandle]:
        refuse_archives(self.catalog)
        return [self._add(declaration) for declaration in declarations]

    def _add(self, declaration: QueryDeclaration) -> QueryHandle:  # type: ignore[override]
        directory = self._directory / declaration.name
        query = SparkQuery(self._session, declaration, self.catalog, directory, self.strategy)
        if isinstance(self.catalog.find(query.declaration.name), SubscriptionsDeclaration):
            self.subscriptions[declaration.name] = OnSpark(declaration.name)  # type: ignore[assignment]
        return QueryHandle(query, self)

    def stream(self, name: str, frame: DataFrame) -> None:
        """Read a declared stream from a streaming DataFrame; its columns are found by name."""
        monitor = self._monitor(name)
        if isinstance(monitor, RelationMonitor):
            raise InputError(
                where=f"relation {name}",
                expected="a stream",
                found="a relation",
                remedy="push its updates, or declare it with CREATE STREAM",
            )
        declaration = monitor.declaration
        if not frame.isStreaming:
            raise InputError(
                where=f"stream {name}",
                expected="a streaming DataFrame",
                found="one that is not",
                remedy="make it with spark.readStream, or push its rows",
            )
        missing = [f.name for f in declaration.schema if f.name not in frame.columns]
        if missing:
            raise InputError(
                where=f"stream {name}",
                expected=f"columns {', '.join(f.name for f in declaration.schema)}",
                found=f"no {', '.join(missing)} among {', '.join(frame.columns)}",
                remedy="rename columns with DataFrame.withColumnRenamed",
            )
        self.frames[declaration.name] = frame

    def deliveries(self, query: SparkQuery) -> dict[str, Delivery]:
        """From where in each inbox a query reads: from where it stood when the query was made.

        Of a relation a query needs all, but what it held by then is news to it.
        """
        known = query.home.directory / "inboxes.json"
        monitors = {name: self._input_of(query.declaration, name) for name in query.streams}
        if not known.exists():
            stood = {}
            for name, monitor in monitors.items():
                top = BEGINNING if monitor.top is None else monitor.top
                first, since = self._inboxes[name.lower()].next, BEGINNING
                time = [top, _advanced(monitor)]
                if isinstance(monitor, RelationMonitor):
                    first, since, time = 0, max(monitor.closed, BEGINNING + 1), []
                stood[name] = [first, since, *time]
            publish(known, json.dumps(stood))
        return {
            name: Delivery(self._inboxes[name.lower()].directory, first, StreamTime(*time), since)
            for name, (first, since, *time) in json.loads(known.read_text()).items()
        }

    def _monitor(self, stream: str) -> InputMonitor:
        """The monitor, which goes on where that of an earlier connection stopped."""
        monitor = super()._monitor(stream)
        name = monitor.declaration.name.lower()
        if name not in self._inboxes:
            inbox = self._inboxes[name] = Inbox(self._directory / "inbox" / name)
            monitor.top = inbox.top
            monitor.advance(inbox.advanced)
            if isinstance(monitor, RelationMonitor):
                for entry in deliveries(inbox.directory, after=-1):
                    if entry.path is not None:
                        updates = read_updates(Path(entry.path), monitor.contents)
                        monitor.recall(updates, entry.top)
        return monitor

    def close(self) -> None:
        """Stop all queries; without a checkpoint, forget everything."""
        for handle in self.queries.values():
            handle.stop()
        if self._temporary:
            shutil.rmtree(self._directory, ignore_errors=True)
        self._inboxes, self.frames = {}, {}
        super().close()

    def _step(self) -> None:
        """Deliver what was accepted since the last time."""
        for name, monitor in self._monitors.items():
            self._monitor(name)
            inbox = self._inboxes[name]
            if isinstance(monitor, RelationMonitor):
                rows = monitor.drain().to_batch()
            else:
                rows = monitor.release(FOREVER).rows
            if rows.num_rows or (monitor.top is not None and monitor.top != inbox.top):
                inbox.push(rows, monitor.top)
            if _advanced(monitor) > inbox.advanced:
                inbox.advance(_advanced(monitor))
        for handle in self.queries.values():
            if handle.declaration.into is not None:
                handle.start()


def _advanced(monitor: InputMonitor) -> int:
    closed: int = monitor.state()["closed"]
    return closed


def _net(changes: pa.Table) -> pa.Table:
    """Without the pairs that cancel inside an instant because they were made in two buckets."""
    if not changes.num_rows:
        return changes
    changes = changes.combine_chunks()
    columns = [c.chunk(0) for c in changes.drop_columns(["change"]).columns]
    codes = Interner([c.type for c in columns]).codes(columns, changes.num_rows)
    sign = np.where(changes["change"].to_numpy(zero_copy_only=False) == "+", 1, -1).astype(np.int8)
    return changes.filter(pa.array(surplus(codes, sign)))
