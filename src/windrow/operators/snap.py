"""Lifetimes moved to multiples of a period: ``SLIDE`` on a window, ``EVERY`` on a query.

At instant t the answer is that of the last multiple of the period, so a life ``[s, e)`` becomes
``[up(s), up(e))`` with ``up`` rounding up to a multiple. Changes wait until their multiple
comes; a life that is empty after rounding is never seen. The state is what came since the last
multiple.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from windrow.columns.arrays import Int64s
from windrow.columns.delta import Delta, concat
from windrow.columns.netting import surplus_rows
from windrow.core.time import FOREVER
from windrow.operators.base import Saved
from windrow.plan.physical.state_kinds import Kept, Structure


class PendingChanges:
    """Changes whose instant has not come; saved as one segment, anew each time."""

    def __init__(self, schema: pa.Schema) -> None:
        self.schema = schema
        self.rows = self._saved = Delta.empty(schema)

    def __len__(self) -> int:
        return len(self.rows)

    def pass_on(self, delta: Delta, now: int) -> Delta:
        """All rows, old and new, whose instant has come by ``now``; the others wait."""
        ready, rest = concat([self.rows, delta.sorted()], self.schema).split(now)
        self.rows = rest.without_lazy_rows()
        return ready

    def save(self) -> Saved:
        saved = Saved(meta={"waiting": len(self.rows)})
        if self.rows is not self._saved:
            if len(self.rows):
                saved.put["waiting"] = self.rows.to_batch()
            elif len(self._saved):
                saved.drop.append("waiting")
            self._saved = self.rows
        return saved

    def load(self, segments: Mapping[str, pa.RecordBatch], meta: Mapping[str, Any]) -> None:
        if meta["waiting"]:
            self.rows = Delta.from_batch(segments["waiting"], self.schema)
        self._saved = self.rows


def round_up(times: Int64s, period: int) -> Int64s:
    """Each instant, or the next multiple of ``period`` after it; FOREVER stays.

    >>> round_up(np.array([0, 1, 5, 6, FOREVER]), 5).tolist() == [0, 5, 5, 10, FOREVER]
    True
    """
    finite = times < FOREVER - period
    return np.where(finite, -(-np.where(finite, times, 0) // period) * period, FOREVER)


def end_after(times: Int64s, length: int) -> Int64s:
    """The instants a ``length`` later; where time ends, its end.

    >>> end_after(np.array([3, FOREVER - 4]), 5).tolist() == [8, FOREVER]
    True
    """
    latest = FOREVER - length
    return np.where(times > latest, FOREVER, np.minimum(times, latest) + length)


class Snap:
    """SLIDE and EVERY. ``length`` is that of the window, or None to keep the tuples' own lives."""

    def __init__(self, schema: pa.Schema, period: int, length: int | None = None) -> None:
        self.schema, self.period, self.length = schema, period, length
        self.waiting = PendingChanges(schema)

    @property
    def state(self) -> tuple[Kept, ...]:
        return ((Structure.PENDING,),)

    def process(self, inputs: Sequence[Delta], now: int) -> Delta:
        (delta,) = inputs
        exp = delta.exp if self.length is None else end_after(delta.ts, self.length)
        snapped = Delta(
            round_up(delta.ts, self.period), round_up(exp, self.period), delta.sign, delta.rows
        )
        return self._without_empty_lives(self.waiting.pass_on(snapped, now))

    def _without_empty_lives(self, delta: Delta) -> Delta:
        negative = delta.sign < 0
        if negative.any():  # what came and went between two multiples
            times = [pa.array(delta.ts), pa.array(delta.exp)]
            delta = delta.filter(surplus_rows([*times, *delta.rows.columns], delta.sign))
        # A withdrawal at or after the multiple at which the tuple expires anyway says nothing.
        return delta.filter(delta.ts < delta.exp)

    def size(self) -> int:
        return len(self.waiting)

    def save(self) -> Saved:
        return self.waiting.save()

    def load(self, segments: Mapping[str, pa.RecordBatch], meta: Mapping[str, Any]) -> None:
        self.waiting.load(segments, meta)
