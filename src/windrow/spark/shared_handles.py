"""Queries of a connection on Spark that share their selection: each is looked at like any other."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import pyarrow as pa
from pyspark.sql.streaming.query import StreamingQuery

from windrow.core.patterns import UpdatePattern
from windrow.engine.answers import last_answer
from windrow.engine.change_log import Hear
from windrow.engine.compaction import compact_before_answering, forget_drained
from windrow.engine.identity import changes_schema
from windrow.engine.result_reader import Reading
from windrow.engine.results import ranked
from windrow.plan.catalog import QueryDeclaration
from windrow.plan.sharing.shared_selection import SharedSelection
from windrow.spark.consuming import Consuming
from windrow.spark.handles import QueryHandle
from windrow.spark.shared import SharedSparkQuery


class GroupHandle(QueryHandle):
    """The one streaming query behind the handles of a group; it runs until the last has stopped."""

    _query: SharedSparkQuery

    def members(self) -> list[MemberHandle]:
        """A handle for each query, once."""
        self._going = set(self._query.group.members)
        self._drained: dict[int, int] = {}
        return [MemberHandle(self, number) for number in self._query.group.members]

    @property
    def query(self) -> SharedSparkQuery:
        return self._query

    @property
    def writes(self) -> bool:
        return any(query.into is not None for query in self._query.group.members.values())

    def consuming_of(self, number: int) -> Consuming:
        """How the changes of one member are looked at."""
        query = self._query
        if number in query.own:
            known = query.member(number)
            reading = Reading(query.place(number), known.format, known.schema)
            return Consuming(reading.parts, self._last, lambda _: None)
        return Consuming(partial(self._kept, number), self._last, partial(self._drain, number))

    def _kept(self, number: int, after: int) -> Iterator[tuple[int, pa.Table]]:
        """The changes of a member without files, after a micro-batch."""
        last = self._last()
        yield last, pa.Table.from_batches([self._query.kept(after, last).part(number)])

    def _drain(self, number: int, drained: int) -> None:
        """Let go of what no member without files needs any more."""
        self._drained[number] = drained
        kept = set(self._query.group.members) - set(self._query.own)
        forget_drained(self._query.results, min(self._drained.get(n, -1) for n in kept))

    def catch_up(self) -> None:
        """Wait until all that was delivered is worked off."""
        self._catch_up()

    def answer_of(self, number: int) -> pa.Table:
        """The relation of one member at the last closed instant."""
        self._catch_up()
        query = self._query
        if number not in query.own:
            return pa.Table.from_batches([query.kept_answers().part(number)])
        compact_before_answering(query.place(number))
        return last_answer(query.place(number), query.member(number)).rows

    def leave(self, number: int) -> None:
        """One member is not looked at any more."""
        if number in self._going:
            self._going.discard(number)
            if not self._going:
                self.stop()


class MemberHandle:
    """A query of a group: its changes, and its answer."""

    def __init__(self, group: GroupHandle, number: int) -> None:
        self._group, self._number = group, number
        self._consuming = group.consuming_of(number)

    @property
    def name(self) -> str:
        return self.declaration.name

    @property
    def declaration(self) -> QueryDeclaration:
        return self._group.query.group.members[self._number]

    @property
    def together(self) -> SharedSelection:
        """The queries that it runs with."""
        return self._group.query.group.selection

    @property
    def writes(self) -> bool:
        """Whether it runs without anybody looking."""
        return self.declaration.into is not None

    def start(self) -> StreamingQuery:
        """Spark's own handle of the running query, which is that of the whole group."""
        return self._group.start()

    def changes(self, *, drain: bool = False) -> pa.Table:
        """As of a query alone."""
        self._catch_up()
        plan, clock = self.declaration.plan, self.declaration.clock
        return self._consuming.table(changes_schema(plan.schema, clock), drain=drain)

    def stream(self) -> Iterator[pa.RecordBatch]:
        """As of a query alone."""
        self._catch_up()
        return self._consuming.stream()

    def on_change(self, listener: Hear) -> None:
        """As of a query alone."""
        self.start()
        self._consuming.hear(listener)

    def _catch_up(self) -> None:
        self._consuming.raise_failure()
        self._group.catch_up()

    def answer(self) -> pa.Table:
        """The relation at the last closed instant; of a stream, all that came out undrained."""
        if self.declaration.plan.pattern is UpdatePattern.MONOTONIC:
            return self.changes().drop_columns(["instant", "change"])
        return ranked(self._group.answer_of(self._number), self.declaration.plan)

    def stop(self) -> None:
        """Stop; the others of the group go on."""
        self._group.leave(self._number)
        self._consuming.stop()

    def __repr__(self) -> str:
        return f"<query {self.name} on Spark, of {self._group.name}>"
