"""Queries of a connection on Spark that share their selection: each is looked at like any other."""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql.streaming.query import StreamingQuery

from windrow.core.patterns import UpdatePattern
from windrow.engine.answers import last_answer
from windrow.engine.compaction import compact_before_answering
from windrow.engine.result_reader import Reading
from windrow.engine.results import ranked
from windrow.plan.catalog import QueryDeclaration
from windrow.plan.shared_selection import SharedSelection
from windrow.spark.handles import QueryHandle
from windrow.spark.shared import SharedSparkQuery


class GroupHandle(QueryHandle):
    """The one streaming query behind the handles of a group; it runs until the last has stopped."""

    _query: SharedSparkQuery

    def members(self) -> list[MemberHandle]:
        """A handle for each query, once."""
        self._going = set(self._query.group.members)
        return [MemberHandle(self, number) for number in self._query.group.members]

    @property
    def query(self) -> SharedSparkQuery:
        return self._query

    @property
    def writes(self) -> bool:
        return any(query.into is not None for query in self._query.group.members.values())

    def changes_of(self, number: int) -> pa.Table:
        """All changes of one member so far."""
        self._catch_up()
        query = self._query
        if number not in query.own:
            return pa.Table.from_batches([query.kept().part(number)])
        known = query.member(number)
        reading = Reading(query.place(number), known.format, known.schema)
        return pa.concat_tables([known.schema.empty_table(), *reading.tables()])

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

    def changes(self) -> pa.Table:
        """All changes so far: ``instant``, ``change`` (``+`` or ``-``), then the columns."""
        return self._group.changes_of(self._number)

    def answer(self) -> pa.Table:
        """The relation at the last closed instant; of a stream, everything that came out."""
        if self.declaration.plan.pattern is UpdatePattern.MONOTONIC:
            return self.changes().drop_columns(["instant", "change"])
        return ranked(self._group.answer_of(self._number), self.declaration.plan)

    def stop(self) -> None:
        """Stop; the others of the group go on."""
        self._group.leave(self._number)

    def __repr__(self) -> str:
        return f"<query {self.name} on Spark, of {self._group.name}>"
