"""COUNT(DISTINCT x): how many different values a group holds, by counting each of them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.columns.arrays import validity
from windrow.columns.interner import Interner
from windrow.columns.kernels import ints, ints_out, kernel, signs, void
from windrow.operators.aggregates.events import Events, Values, regrouped
from windrow.operators.state.index import grown

Int64s = npt.NDArray[np.int64]


@kernel(void, ints, ints, ints, signs, ints, ints_out, ints_out, ints_out, ints_out)
def _count(code, pair, position, sign, last, held, keeper, counts, after):  # type: ignore[no-untyped-def]
    """``held`` and ``keeper`` are per (group, value): how many tuples, and the first of them."""
    i = 0
    for j in range(len(last)):
        c = code[last[j]]
        while i <= last[j]:
            p = pair[i]
            if sign[i]:
                if held[p] == 0 and sign[i] > 0:
                    keeper[p] = position[i]
                was = held[p]
                held[p] = was + sign[i]
                if (was > 0) != (held[p] > 0):
                    counts[c] += 1 if held[p] > 0 else -1
            i += 1
        after[j] = counts[c]


class CountDistinct:
    """See the module. NULLs are not counted."""

    def __init__(self, kind: pa.DataType) -> None:
        self.kind = kind
        self.counts = np.zeros(64, np.int64)
        self.crowded = 4096
        self._restart()

    def _restart(self) -> None:
        self.pairs = Interner([pa.int64(), self.kind])
        self.held, self.keeper = np.zeros(64, np.int64), np.full(64, -1, np.int64)

    def grow(self, size: int) -> None:
        self.counts = grown(self.counts, size, 0)

    def update(self, events: Events, values: Values) -> tuple[pa.Array, pa.Array]:
        argument, sign = values(events.position), events.sign
        valid = validity(argument)
        if valid is not None:
            sign = np.where(valid, sign, 0).astype(np.int8)
        pair = self.pairs.codes([pa.array(events.code), argument], len(argument))
        self._make_room()
        before = self.counts[events.groups]
        after = np.empty(len(events.last), np.int64)
        _count(
            events.code, pair, events.position, sign, events.last,
            self.held, self.keeper, self.counts, after,
        )  # fmt: skip
        self._purge()
        return pa.array(before), pa.array(after)

    def _make_room(self) -> None:
        self.held = grown(self.held, len(self.pairs), 0)
        self.keeper = grown(self.keeper, len(self.pairs), -1)

    def _purge(self) -> None:
        """Forget (group, value) pairs that nothing holds, once they are the most."""
        size = len(self.pairs)
        if size < self.crowded:
            return
        live = np.flatnonzero(self.held[:size] > 0)
        self.crowded = max(2 * size, 4096)
        if size > 4 * len(live):
            self._renew(live, self.pairs.rows(live))
            self.crowded = max(4 * len(live), 4096)

    def _renew(self, live: Int64s, columns: list[pa.Array]) -> None:
        held, keeper = self.held[live], self.keeper[live]
        self._restart()
        codes = self.pairs.codes(columns, len(live))
        self._make_room()
        self.held[codes], self.keeper[codes] = held, keeper

    def replaced(self) -> Int64s:
        return np.empty(0, np.int64)

    def keeps(self, positions: Int64s, codes: Int64s, values: Values) -> npt.NDArray[np.bool_]:
        argument = values(positions)
        pair = self.pairs.codes([pa.array(codes), argument], len(argument))
        self._make_room()
        kept: npt.NDArray[np.bool_] = self.keeper[pair] == positions
        return kept

    def moved(self, base: int, where: Int64s) -> None:
        there = np.flatnonzero(self.held > 0)
        old = self.keeper[there] - base
        inside = (old >= 0) & (old < len(where))
        self.keeper[there] = np.where(inside, where[np.where(inside, old, 0)], -1)

    def regroup(self, codes: Int64s, remap: Int64s) -> None:
        self.counts = regrouped(self.counts, codes, remap)
        live = np.flatnonzero(self.held[: len(self.pairs)] > 0)
        group, value = self.pairs.rows(live)
        self._renew(live, [pa.array(remap[group.to_numpy()]), value])

    def dump(self, codes: Int64s) -> list[pa.Array]:
        return []

    def restore(self, codes: Int64s, columns: list[pa.Array]) -> None:
        pass
