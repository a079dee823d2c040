"""A relation as a stream of its changes: ``+``/``-`` at every instant, ISTREAM, DSTREAM.

At each instant these speak of the *net* change of the bag (Golab 2006, 2.1.3): a tuple that
expires while an equal one comes has not changed. The operator turns expiries into explicit
changes, so it keeps the relation's live tuples by expiry, and cancels inside each instant.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from windrow.columns.arrays import identity_keys
from windrow.columns.delta import Delta
from windrow.columns.interner import Interner
from windrow.columns.kernels import ints, ints_out, kernel, signs
from windrow.columns.netting import surplus
from windrow.core.patterns import UpdatePattern
from windrow.core.time import FOREVER
from windrow.operators.base import Saved, below
from windrow.operators.parting import parted
from windrow.operators.state.buffer import StateBuffer

CROWD = 32
"""Events of one instant beyond which comparing each with each costs more than it saves."""


@kernel(ints_out, ints, signs)
def _mixed(times, sign):  # type: ignore[no-untyped-def]
    """Indexes of events at instants at which something comes and something goes."""
    found = np.empty(len(times), np.int64)
    count, start = 0, 0
    while start < len(times):
        stop, plus, minus = start, False, False
        while stop < len(times) and times[stop] == times[start]:
            plus |= sign[stop] > 0
            minus |= sign[stop] < 0
            stop += 1
        if plus and minus:
            for i in range(start, stop):
                found[count] = i
                count += 1
        start = stop
    return found[:count].copy()


@kernel(ints_out, ints, signs, ints)
def _opposed(times, sign, keys):  # type: ignore[no-untyped-def]
    """Indexes of events of whose key something comes and something goes at their instant.

    Of an instant with more than ``CROWD`` events all are kept, so that it costs O(1) per event.
    """
    found = np.empty(len(times), np.int64)
    count, start = 0, 0
    while start < len(times):
        stop = start
        while stop < len(times) and times[stop] == times[start]:
            stop += 1
        for i in range(start, stop):
            met = stop - start > CROWD
            j = start
            while not met and j < stop:
                met = keys[j] == keys[i] and sign[j] != sign[i]
                j += 1
            if met:
                found[count] = i
                count += 1
        start = stop
    return found[:count].copy()


class Changelog:
    """``signs`` says which changes come out: +1 (ISTREAM), -1 (DSTREAM), or both.

    The output's own ``exp`` is FOREVER: it is a stream. With both signs a row with sign -1 says
    that the tuple left the relation at ``ts``, for whatever reason. ISTREAM and DSTREAM bring
    insertions only.
    """

    def __init__(
        self,
        schema: pa.Schema,
        pattern: UpdatePattern,
        signs: tuple[int, ...],
        scan: bool = False,
    ) -> None:
        self.schema, self.pattern, self.signs = schema, pattern, signs
        self.buffer = StateBuffer(schema, pattern, scan)
        self._numbers = [i for i, f in enumerate(schema) if not pa.types.is_string(f.type)]

    def process(self, inputs: Sequence[Delta], now: int) -> Delta:
        (delta,) = inputs
        if self.pattern is UpdatePattern.MONOTONIC:
            return delta if 1 in self.signs else Delta.empty(self.schema)
        positive, negative = parted(delta)
        first = self.buffer.insert(positive)
        withdrawn = self.buffer.withdraw(negative)
        expired, expiry = self.buffer.expire(now)
        # Within an instant what goes stands before what comes, as a reader expects it.
        came = np.arange(first, first + len(positive))
        positions = np.concatenate([withdrawn, expired, came]).astype(np.int64)
        times = np.concatenate([negative.ts, expiry, positive.ts])
        sign = np.full(len(times), -1, np.int8)
        sign[len(times) - len(positive) :] = 1
        order = np.argsort(times, kind="stable")
        positions, times, sign = positions[order], times[order], sign[order]
        kept = self._net(positions, times, sign)
        if len(self.signs) == 1:
            kept &= sign == self.signs[0]
        if not kept.all():
            positions, times, sign = positions[kept], times[kept], sign[kept]
        rows = self.buffer.rows.take(positions)
        self.buffer.reclaim()
        if len(self.signs) == 1:
            sign = np.ones(len(times), np.int8)
        return Delta(times, np.full(len(times), FOREVER, np.int64), sign, rows)

    def _net(self, positions: Any, times: Any, sign: Any) -> Any:
        """Which events are left after equal tuples of opposite sign cancelled in their instant."""
        kept = np.ones(len(times), np.bool_)
        mixed = self._candidates(_mixed(times, sign), positions, times, sign)
        if len(mixed):
            rows = self.buffer.rows.take(positions[mixed])
            interner = Interner([pa.int64(), *self.schema.types])
            codes = interner.codes([pa.array(times[mixed]), *rows.columns], len(mixed))
            kept[mixed] = surplus(codes, sign[mixed])
        return kept

    def _candidates(self, mixed: Any, positions: Any, times: Any, sign: Any) -> Any:
        """Those of the ``mixed`` events that may cancel: most differ in some number already."""
        for index in self._numbers:
            if not len(mixed):
                break
            numbers = self.buffer.rows.column(index, positions[mixed])
            if not numbers.null_count:
                mixed = mixed[_opposed(times[mixed], sign[mixed], identity_keys(numbers))]
        return mixed

    def live_rows(self) -> pa.RecordBatch:
        """The relation as it stands."""
        return self.buffer.rows.take(self.buffer.living())

    def size(self) -> int:
        return len(self.buffer)

    def save(self) -> Saved:
        saved = Saved()
        saved.add("live", self.buffer.save())
        return saved

    def load(self, segments: Mapping[str, pa.RecordBatch], meta: Mapping[str, Any]) -> None:
        self.buffer.load(below("live", segments), meta["live"])
