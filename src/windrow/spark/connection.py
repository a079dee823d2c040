"""The Python door to Spark: the methods of the embedded connection, on a SparkSession.

The connection is the input monitor of its streams: it judges pushed rows as they come and
delivers them into the streams' inboxes, from which the queries read (``windrow.spark.inbox``).
A query runs from the moment somebody looks at it, or, if it writes files, from the first delivery.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from windrow.core.errors import InputError
from windrow.core.time import BEGINNING, FOREVER, Clock, Wall, wall_clock
from windrow.engine.connection import Connection
from windrow.engine.files import publish
from windrow.engine.locks import Lock
from windrow.engine.ownership import refuse_results_of_others
from windrow.engine.sinks import into, result_directories
from windrow.plan.catalog import (
    ArchiveDeclaration,
    QueryDeclaration,
    StreamDeclaration,
    SubscriptionsDeclaration,
)
from windrow.plan.sharing.shared_selection import SharedSelection
from windrow.plan.strategy import Strategy
from windrow.spark.archive.filling import ArchiveQuery
from windrow.spark.groups import groups_of
from windrow.spark.handles import ArchiveHandle, QueryHandle
from windrow.spark.home import runs_of
from windrow.spark.inputs import InboxInputs
from windrow.spark.query import Delivery, SparkQuery
from windrow.spark.session import configure
from windrow.spark.shared import SharedSparkQuery
from windrow.spark.shared_handles import GroupHandle, MemberHandle
from windrow.spark.subscribed import OnSpark
from windrow.spark.times import StreamTime
from windrow.streams.relations import RelationMonitor


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
        wall: Wall = wall_clock,
        *,
        overwrite: bool = False,
    ) -> None:
        super().__init__(strategy=strategy, wall=wall, overwrite=overwrite)
        self._locks: list[Lock] = []
        if checkpoint is not None:
            self._locks.append(Lock(Path(checkpoint), f"checkpoint {checkpoint}"))
        self.quarantine = None if quarantine is None else Path(quarantine)
        self.frames: dict[str, DataFrame] = {}
        self._session = configure(spark)
        self._temporary = checkpoint is None
        self._directory = Path(checkpoint or tempfile.mkdtemp(prefix="windrow-")).absolute()
        self._inputs: InboxInputs = InboxInputs(self._directory, self.quarantine, wall)
        self.queries: dict[str, QueryHandle | MemberHandle] = {}  # type: ignore[assignment]
        self.archives: dict[str, ArchiveHandle] = {}  # type: ignore[assignment]

    @contextmanager
    def _all_or_nothing(self) -> Iterator[None]:
        held = [*self._locks]
        try:
            with super()._all_or_nothing():
                yield
        except BaseException:
            for lock in self._locks:
                if lock not in held:
                    lock.release()
            self._locks = held
            raise

    def _start(  # type: ignore[override]
        self, declarations: Sequence[QueryDeclaration]
    ) -> list[QueryHandle | MemberHandle]:
        places = result_directories(declarations)
        self._locks += [Lock(place, into(place)) for place in places]
        for place in places:
            refuse_results_of_others(place, runs_of(self._directory), overwrite=self.overwrite)
        handles: dict[str, QueryHandle | MemberHandle] = {}
        for group in groups_of(declarations, self._directory):
            query = SharedSparkQuery(self._session, group, self.catalog, self.strategy)
            members = GroupHandle(query, self).members()
            handles.update({member.name: member for member in members})
        for declaration in declarations:
            if declaration.name not in handles:
                handles[declaration.name] = self._add(declaration)
        return [handles[declaration.name] for declaration in declarations]

    def _open_files(self) -> None:
        """Find the files of relations that were not delivered; queries read those of streams."""
        for relation in self.catalog.relations:
            name = relation.name.lower()
            delivered = self._inputs.inbox(name).next
            if relation.source is not None and name not in self._inputs.feeds and not delivered:
                self._on_clock(name, self._inputs.clock_of_files(name))
                self._inputs.open(name)

    def _write(self, queries: object) -> None:
        """Queries on Spark write what is INTO files themselves."""

    def _read(self) -> None:
        """Deliver the files of relations when all of them have been read."""
        while self._inputs.step():
            pass
        self._inputs.deliver()

    def _groups(self) -> list[SharedSelection]:
        members = [q for q in self.queries.values() if isinstance(q, MemberHandle)]
        return list({member.together.title: member.together for member in members}.values())

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

    def _add(self, declaration: QueryDeclaration) -> QueryHandle:
        directory = self._directory / declaration.name
        query = SparkQuery(self._session, declaration, self.catalog, directory, self.strategy)
        if isinstance(self.catalog.find(query.declaration.name), SubscriptionsDeclaration):
            self.subscriptions[declaration.name] = OnSpark(declaration.name)  # type: ignore[assignment]
        return QueryHandle(query, self)

    def stream(self, name: str, frame: DataFrame) -> None:
        """Read a declared stream from a streaming DataFrame; its columns are found by name."""
        monitor = self._inputs.monitor(name)
        if isinstance(monitor, RelationMonitor):
            raise InputError(
                where=f"relation {name}",
                expected="a stream",
                found="a relation",
                remedy="push its updates, or declare it with CREATE STREAM",
            )
        declaration = monitor.declaration
        _refuse_limits(declaration)
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
        monitors = {name: self._inputs.read_by(query.declaration, name) for name in query.streams}
        if not known.exists():
            stood = {}
            for name, monitor in monitors.items():
                top = BEGINNING if monitor.top is None else monitor.top
                first, since = self._inputs.inbox(name).next, BEGINNING
                time = [top, monitor.advanced]
                if isinstance(monitor, RelationMonitor):
                    first, since, time = 0, max(monitor.closed, BEGINNING + 1), []
                stood[name] = [first, since, *time]
            publish(known, json.dumps(stood))
        return {
            name: Delivery(self._inputs.inbox(name).directory, first, StreamTime(*time), since)
            for name, (first, since, *time) in json.loads(known.read_text()).items()
        }

    def close(self) -> None:
        """Stop all queries; without a checkpoint, forget everything."""
        for handle in (*self.queries.values(), *self.archives.values()):
            handle.stop()
        if self._temporary:
            shutil.rmtree(self._directory, ignore_errors=True)
        self.frames = {}
        for lock in self._locks:
            lock.release()
        super().close()

    def _step(self) -> None:
        """Deliver what was accepted since the last time."""
        self._inputs.deliver()
        for handle in (*self.queries.values(), *self.archives.values()):
            if handle.writes:
                handle.start()
        self._warn_of_losses()


def _refuse_limits(declaration: StreamDeclaration) -> None:
    """Refuse what cannot be judged of a DataFrame: rows without an order, a silence unseen."""
    ahead = declaration.ahead is not None and declaration.ahead < FOREVER
    if ahead and declaration.clock is Clock.INTEGER:
        found, remedy = "AHEAD on an integer clock", "declare its time as a TIMESTAMP"
    elif declaration.idle is not None and declaration.idle < FOREVER:
        found, remedy = "IDLE AFTER", "leave it out; advance(to=...) says that nothing will come"
    else:
        return
    raise InputError(
        where=f"stream {declaration.name}",
        expected="limits of time that can be judged of a DataFrame",
        found=found,
        remedy=remedy,
    )
