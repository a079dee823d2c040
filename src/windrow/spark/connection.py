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

from pyspark.sql import DataFrame, SparkSession

from windrow.core.errors import InputError
from windrow.core.time import BEGINNING, FOREVER
from windrow.engine.connection import Connection
from windrow.engine.feeds import Feed
from windrow.engine.files import publish
from windrow.plan.catalog import ArchiveDeclaration, QueryDeclaration, SubscriptionsDeclaration
from windrow.plan.shared_selection import SharedSelection
from windrow.plan.strategy import Strategy
from windrow.spark.archive.filling import ArchiveQuery
from windrow.spark.groups import groups_of
from windrow.spark.handles import ArchiveHandle, QueryHandle
from windrow.spark.inbox import Inbox, deliveries
from windrow.spark.query import Delivery, SparkQuery
from windrow.spark.relations import read_updates
from windrow.spark.session import configure
from windrow.spark.shared import SharedSparkQuery
from windrow.spark.shared_handles import GroupHandle, MemberHandle
from windrow.spark.subscribed import OnSpark
from windrow.spark.times import StreamTime
from windrow.streams.files import find_files
from windrow.streams.monitor import InputMonitor
from windrow.streams.relations import RelationMonitor, clock_in


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
        self.queries: dict[str, QueryHandle | MemberHandle] = {}  # type: ignore[assignment]
        self._together: list[GroupHandle] = []
        self.archives: dict[str, ArchiveHandle] = {}  # type: ignore[assignment]

    def _start(  # type: ignore[override]
        self, declarations: Sequence[QueryDeclaration]
    ) -> list[QueryHandle | MemberHandle]:
        handles: dict[str, QueryHandle | MemberHandle] = {}
        together = []
        for group in groups_of(declarations, self._directory):
            query = SharedSparkQuery(self._session, group, self.catalog, self.strategy)
            together.append(GroupHandle(query, self))
            handles.update({member.name: member for member in together[-1].members()})
        for declaration in declarations:
            if declaration.name not in handles:
                handles[declaration.name] = self._add(declaration)
        self._together += together
        return [handles[declaration.name] for declaration in declarations]

    def _write(self, queries: object) -> None:
        """Queries on Spark write what is INTO files themselves."""

    def _open_files(self) -> None:
        """Deliver the files of relations, once; queries read those of streams themselves."""
        for relation in self.catalog.relations:
            name = relation.name.lower()
            monitor = self._monitor(name)
            if relation.source is None or name in self._feeds or self._inboxes[name].next:
                continue
            assert isinstance(monitor, RelationMonitor)
            monitor = self._on_clock(monitor, clock_in(find_files(relation.source), relation))
            feed = self._feeds[name] = Feed(monitor, self._quarantine)
            while feed.step():
                pass
            self._deliver(name)

    def _groups(self) -> list[SharedSelection]:
        return [handle.query.group.selection for handle in self._together]

    def _keep(  # type: ignore[override]
        self, archives: Sequence[ArchiveDeclaration]
    ) -> list[ArchiveHandle]:
        return [
            ArchiveHandle(
                ArchiveQuery(
                    self._session, archive, self.catalog, self._directory / archive.name,
                    self.strategy,
                ),
                self,
            )
            for archive in archives
        ]  # fmt: skip

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
        for handle in (*self.queries.values(), *self.archives.values()):
            handle.stop()
        if self._temporary:
            shutil.rmtree(self._directory, ignore_errors=True)
        self._inboxes, self.frames, self._together = {}, {}, []
        super().close()

    def _step(self) -> None:
        """Deliver what was accepted since the last time."""
        for name in self._monitors:
            self._deliver(name)
        for handle in (*self.queries.values(), *self.archives.values()):
            if handle.writes:
                handle.start()

    def _deliver(self, name: str) -> None:
        """What one stream or relation accepted since the last time, and how far it has come."""
        monitor = self._monitor(name)
        inbox = self._inboxes[name]
        if isinstance(monitor, RelationMonitor):
            rows = monitor.drain().to_batch()
        else:
            rows = monitor.release(FOREVER).rows
        if rows.num_rows or (monitor.top is not None and monitor.top != inbox.top):
            inbox.push(rows, monitor.top)
        if _advanced(monitor) > inbox.advanced:
            inbox.advance(_advanced(monitor))


def _advanced(monitor: InputMonitor) -> int:
    closed: int = monitor.state()["closed"]
    return closed
