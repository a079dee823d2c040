"""TOP k of the queries that share synopses: the first rows of some members, all rows of others.

What comes is what the members' groups lose and get (``windrow.operators.shared_group_by``). Each
member with TOP has a front of its own (``windrow.operators.top_k``) over its own columns; the rows
of others pass.

Cost and state: those of ``FirstK`` for each member with TOP.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from windrow.columns.delta import Delta, batch_of, concat, concat_rows
from windrow.operators.base import Saved, below
from windrow.operators.top_k import FirstK
from windrow.plan.nodes.sub_window_groups import MemberTop
from windrow.plan.physical.state_kinds import Kept


class FirstOfMembers:
    """``tops`` has, by the number of a member, what is wanted and the slots of its columns."""

    def __init__(
        self,
        schema: pa.Schema,
        tops: Mapping[int, tuple[MemberTop, tuple[int, ...]]],
        fronts: Mapping[int, FirstK],
        kept: Kept,
    ) -> None:
        self.schema, self.tops, self.fronts, self.kept = schema, dict(tops), dict(fronts), kept

    @property
    def state(self) -> tuple[Kept, ...]:
        return (self.kept,)

    def adopt(self, other: FirstOfMembers) -> None:
        """Go on where another one over fewer queries was, or over more, some of which have gone."""
        self.fronts.update({n: front for n, front in other.fronts.items() if n in self.tops})

    def process(self, inputs: Sequence[Delta], now: int) -> Delta:
        (delta,) = inputs
        member = delta.rows.column(0).to_numpy()
        found = [delta.filter(~np.isin(member, list(self.fronts)))]
        for number, front in self.fronts.items():
            own = delta.filter(member == number)
            _, slots = self.tops[number]
            rows = own.with_rows(self._own_columns(own.rows, slots, front.schema))
            changes = front.process([rows], now)
            if len(changes):
                found.append(changes.with_rows(self._in_slots(number, changes.rows)))
        return concat(found, self.schema)

    def live_rows(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        """What of all rows of the members is among the first."""
        member = rows.column(0).to_numpy()
        others = np.flatnonzero(~np.isin(member, list(self.fronts)))
        found = [rows.take(pa.array(others))]
        for number, front in self.fronts.items():
            own = rows.take(pa.array(np.flatnonzero(member == number)))
            columns = self._own_columns(own, self.tops[number][1], front.schema)
            first = pa.array(front.order_of(columns)[: front.count])
            found.append(self._in_slots(number, columns.take(first)))
        return concat_rows(found, self.schema)

    @staticmethod
    def _own_columns(
        rows: pa.RecordBatch, slots: tuple[int, ...], schema: pa.Schema
    ) -> pa.RecordBatch:
        return batch_of([rows.column(1 + slot) for slot in slots], schema, rows.num_rows)

    def _in_slots(self, number: int, rows: pa.RecordBatch) -> pa.RecordBatch:
        """A member's rows with the columns that it shows, where they were."""
        top, slots = self.tops[number]
        count = rows.num_rows
        arrays = [pa.array(np.full(count, number, np.int64))]
        arrays += [pa.nulls(count, kind) for kind in self.schema.types[1:]]
        for place in top.shown:
            arrays[1 + slots[place]] = rows.column(place)
        return batch_of(arrays, self.schema, count)

    def size(self) -> int:
        return sum(front.size() for front in self.fronts.values())

    def save(self) -> Saved:
        saved = Saved()
        for number, front in self.fronts.items():
            saved.add(str(number), front.save())
        return saved

    def load(self, segments: Mapping[str, pa.RecordBatch], meta: Mapping[str, Any]) -> None:
        for number, front in self.fronts.items():
            if str(number) in meta:  # one that is new has nothing yet
                front.load(below(str(number), segments), meta[str(number)])
