"""One persistent query, running in this process."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pyarrow as pa

from windrow.columns.delta import Delta, concat
from windrow.columns.netting import net
from windrow.columns.types import arrow_schema
from windrow.core.errors import DataError, StateError
from windrow.core.patterns import UpdatePattern
from windrow.core.time import BEGINNING, Clock
from windrow.engine.change_log import ChangeLog, Hear, QueryChanges
from windrow.engine.identity import changes_schema
from windrow.engine.pipeline import Pipeline
from windrow.engine.results import changes_batch, ranked
from windrow.plan.catalog import QueryDeclaration
from windrow.plan.nodes import RelationScan, StreamScan, walk
from windrow.plan.strategy import Strategy


class EmbeddedQuery:
    """A pipeline, the rows that wait for its time, and the changes that it has made.

    Rows come from each stream in order of time and wait until all streams have come that far.
    """

    def __init__(self, declaration: QueryDeclaration, strategy: Strategy = Strategy.UPA) -> None:
        self.declaration = declaration
        self.pipeline = Pipeline(declaration.plan, changes=True, strategy=strategy)
        scans = [n for n in walk(declaration.plan) if isinstance(n, StreamScan | RelationScan)]
        self._schemas = {n.name.lower(): arrow_schema(n.columns) for n in scans}
        self._leaves = {n.name: n.name.lower() for n in scans}
        self._relations = {n.name.lower() for n in scans if isinstance(n, RelationScan)}
        self._waiting: dict[str, list[Delta]] = {name: [] for name in self._schemas}
        self._log: ChangeLog[pa.RecordBatch] = ChangeLog()
        self.consumers = QueryChanges(self._log, lambda changes: changes)
        self.rows_in = self.rows_out = self.late = self.overflows = 0
        self.failure: DataError | None = None

    @property
    def name(self) -> str:
        return self.declaration.name

    @property
    def clock(self) -> Clock:
        return self.declaration.clock

    @property
    def streams(self) -> tuple[str, ...]:
        """Lower-case names of the streams and relations that it reads."""
        return tuple(self._schemas)

    @property
    def now(self) -> int | None:
        """The last instant that is part of the answer."""
        return None if self.pipeline.now == BEGINNING else self.pipeline.now

    def offer(self, stream: str, delta: Delta) -> None:
        """Rows of a stream. Those of instants that were closed without it, it being idle, are late.

        Updates of a relation happen at the next instant then (see ``windrow.streams.idleness``).
        """
        closed = self.pipeline.now
        if len(delta) and delta.ts[0] <= closed:
            if stream in self._relations:
                delta = net(replace(delta, ts=np.maximum(delta.ts, closed + 1)))
            else:
                late, delta = delta.split(closed)
                self.late += len(late)
        if len(delta):
            self._waiting[stream].append(delta)
            self.rows_in += len(delta)

    def advance(self, now: int) -> pa.RecordBatch | None:
        """Bring the answer to ``now``; the changes, or None if there are none."""
        if now <= self.pipeline.now:
            return None
        delta = self._processed(now)
        if not len(delta):
            return None
        plan = self.declaration.plan
        self.rows_out += len(delta)
        return changes_batch(delta, plan.schema, self.declaration.clock)

    def _processed(self, now: int) -> Delta:
        """What comes of the rows up to ``now``."""
        ready = {leaf: self._take(name, now) for leaf, name in self._leaves.items()}
        try:
            delta = self.pipeline.process(ready, now)
        except DataError as error:
            self.failure = error.inside(self.name)
            raise self.failure from None
        self.overflows += self.pipeline.take_overflows()
        for name, parts in self._waiting.items():
            self._waiting[name] = [rest for part in parts if len(rest := part.split(now)[1])]
        return delta

    def _take(self, name: str, now: int) -> Delta:
        parts = [part.split(now)[0] for part in self._waiting[name]]
        ready = concat(parts, self._schemas[name])
        return net(ready) if len(parts) > 1 and name in self._relations else ready

    def follow(self, now: int) -> None:
        """Bring the answer to ``now`` and remember the changes."""
        self.keep(self.advance(now))

    def keep(self, changes: pa.RecordBatch | None) -> None:
        """Remember changes for ``changes`` and ``answer``."""
        if changes is not None:
            self._log.append(changes)

    def changes(self, *, drain: bool = False) -> pa.Table:
        """All changes so far: ``instant``, ``change`` (``+`` or ``-``), then the columns.

        Those that were drained before are left out, and ``drain`` makes it so for these. Changes of
        a query INTO files are read from there; others are kept in memory until they are drained.
        """
        schema = changes_schema(self.declaration.plan.schema, self.declaration.clock)
        return self.consumers.table(schema, drain=drain)

    def stream(self) -> Iterator[pa.RecordBatch]:
        """The changes that were not drained, batch by batch, until there is none by now.

        A batch is drained when the next is asked for.
        """
        return self.consumers.stream()

    def on_change(self, listener: Hear) -> None:
        """Call ``listener`` with all changes that were not drained, and then with all that come.

        It gets a batch at a time, whenever rows or time have come to the connection, and drains it.
        """
        self.consumers.hear(listener)

    def answer(self) -> pa.Table:
        """The relation at the last closed instant; of a stream, all that came out undrained."""
        refuse_if_stopped(self.name, self.failure)
        if self.declaration.plan.pattern is not UpdatePattern.MONOTONIC:
            return self.current()
        return self.changes().drop_columns(["instant", "change"])

    def current(self) -> pa.Table:
        """The live tuples of a result that is not a stream, without looking at past changes."""
        return ranked(pa.Table.from_batches([self.pipeline.live_rows()]), self.declaration.plan)

    def __repr__(self) -> str:
        state = ", stopped by an error" if self.failure is not None else ""
        return f"<query {self.name}: {self.rows_in} rows in, {self.rows_out} changes out{state}>"


def refuse_if_stopped(query: str, failure: DataError | None) -> None:
    """A query that met a value it cannot compute with has no answer from that instant on."""
    if failure is not None:
        raise StateError(
            f"it has no answer, because it stopped: {failure}",
            where=f"query {query}",
            remedy="mend the query or the rows, and make the query again under another name",
        )
