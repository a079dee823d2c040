"""Queries that share their selection, running as one (``windrow.plan.sharing``).

Per batch: one match of the stream's rows against the predicates of all queries, one run of the
widened pipeline over the pairs, one sort of what comes out by query. Nothing here is done once
per query and batch; a query's own changes are cut out when somebody asks for them.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from windrow.columns.delta import Delta, batch_of, concat
from windrow.columns.types import arrow_schema
from windrow.core.errors import DataError
from windrow.core.patterns import UpdatePattern
from windrow.core.time import BEGINNING, Clock
from windrow.engine.change_log import ChangeLog, Hear, QueryChanges
from windrow.engine.identity import changes_schema
from windrow.engine.members import ByMember
from windrow.engine.pipeline import Pipeline
from windrow.engine.query import refuse_if_stopped
from windrow.engine.results import changes_batch
from windrow.plan.catalog import QueryDeclaration
from windrow.plan.nodes import StreamScan, walk
from windrow.plan.sharing.shared_selection import SharedSelection
from windrow.plan.strategy import Strategy


class SharedQueries:
    """The queries of one group; ``queries`` are their handles, in order."""

    def __init__(self, group: SharedSelection, strategy: Strategy = Strategy.UPA) -> None:
        self.group = group
        self.streams = (group.stream.lower(),)
        self.rows_in = self.overflows = 0
        self.counts = np.zeros(len(group.queries), np.int64)
        self.log: ChangeLog[ByMember] = ChangeLog()
        self.failure: DataError | None = None
        scan = next(node for node in walk(group.plan) if isinstance(node, StreamScan))
        self._schema = arrow_schema(scan.columns)
        self._pipeline = Pipeline(group.plan, changes=True, strategy=strategy)
        self._waiting: list[Delta] = []
        self._live: tuple[int, ByMember] | None = None
        self.queries = [SharedQuery(self, number) for number in range(len(group.queries))]

    @property
    def name(self) -> str:
        return self.group.title

    @property
    def clock(self) -> Clock:
        return self.group.queries[0].clock

    @property
    def rows_out(self) -> int:
        """Changes of all queries together."""
        return int(self.counts.sum())

    @property
    def now(self) -> int | None:
        """The last instant that is part of the answers."""
        return None if self._pipeline.now == BEGINNING else self._pipeline.now

    def offer(self, stream: str, delta: Delta) -> None:
        """Rows of the stream, none earlier than those offered before."""
        if len(delta):
            self._waiting.append(delta)
            self.rows_in += len(delta)

    def follow(self, now: int) -> None:
        """Bring all answers to ``now`` and remember the changes."""
        found = self.advance(now)
        if found is not None:
            self.log.append(found)

    def news(self, now: int) -> Iterator[tuple[SharedQuery, pa.RecordBatch]]:
        """Bring all answers to ``now``; the queries that changed, and how."""
        found = self.advance(now)
        for member, changes in found.parts() if found is not None else ():
            yield self.queries[member], changes

    def advance(self, now: int) -> ByMember | None:
        """Bring all answers to ``now``; the changes by query, or None if there are none."""
        if now <= self._pipeline.now:
            return None
        ready = concat([part.split(now)[0] for part in self._waiting], self._schema)
        self._waiting = [rest for part in self._waiting if len(rest := part.split(now)[1])]
        try:
            delta = self._pipeline.process({self.group.stream: ready}, now)
        except DataError as error:
            self.failure = error.inside(self.name)
            raise self.failure from None
        self.overflows += self._pipeline.take_overflows()
        if not len(delta):
            return None
        first = self.group.queries[0]
        member, *columns = delta.rows.columns
        schema = arrow_schema(first.plan.schema)
        own = delta.with_rows(batch_of(columns, schema, len(delta)))
        numbers = member.to_numpy()
        self.counts += np.bincount(numbers, minlength=len(self.queries))
        return ByMember(numbers, changes_batch(own, first.plan.schema, first.clock))

    def live(self) -> ByMember:
        """The relations of all queries at ``now``; cut up once per instant."""
        now = self._pipeline.now
        if self._live is None or self._live[0] != now:
            rows = self._pipeline.live_rows()
            member, *columns = rows.columns
            schema = arrow_schema(self.group.queries[0].plan.schema)
            own = batch_of(columns, schema, rows.num_rows)
            self._live = (now, ByMember(member.to_numpy(), own))
        return self._live[1]


class SharedQuery:
    """One query of a group, as its user sees it: like any other query."""

    def __init__(self, shared: SharedQueries, number: int) -> None:
        self.shared, self.number = shared, number
        self.consumers = QueryChanges(shared.log, lambda found: found.part(number))

    @property
    def declaration(self) -> QueryDeclaration:
        return self.shared.group.queries[self.number]

    @property
    def name(self) -> str:
        return self.declaration.name

    @property
    def streams(self) -> tuple[str, ...]:
        return self.shared.streams

    @property
    def now(self) -> int | None:
        return self.shared.now

    @property
    def rows_in(self) -> int:
        return self.shared.rows_in

    @property
    def rows_out(self) -> int:
        return int(self.shared.counts[self.number])

    def changes(self, *, drain: bool = False) -> pa.Table:
        """As of a query alone; changes of the group are kept until no query of it needs them."""
        schema = changes_schema(self.declaration.plan.schema, self.declaration.clock)
        return self.consumers.table(schema, drain=drain)

    def stream(self) -> Iterator[pa.RecordBatch]:
        """As of a query alone."""
        return self.consumers.stream()

    def on_change(self, listener: Hear) -> None:
        """As of a query alone."""
        self.consumers.hear(listener)

    def answer(self) -> pa.Table:
        """The relation at the last closed instant; of a stream, all that came out undrained."""
        refuse_if_stopped(self.name, self.shared.failure)
        if self.declaration.plan.pattern is not UpdatePattern.MONOTONIC:
            return self.current()
        return self.changes().drop_columns(["instant", "change"])

    def current(self) -> pa.Table:
        """The live tuples of a result that is not a stream."""
        return pa.Table.from_batches([self.shared.live().part(self.number)])

    def __repr__(self) -> str:
        return f"<query {self.name}: {self.rows_in} rows in, {self.rows_out} changes out>"
