"""COUNT, SUM, AVG... of DISTINCT values: a plain aggregate over the values instead of the tuples.

Each pair of a group and a value has a count of the tuples that have it. Where the count leaves
zero the value comes, where it returns to zero the value goes, and only that is told to the plain
accumulator: for it a pair is a tuple, and the pair's code is the tuple's position. So what is
exact, or free of drift, over tuples is so over values.

Cost: one look-up per tuple, and the plain aggregate's cost per value that comes or goes. State:
a count per different value, and the plain aggregate over them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.columns.arrays import Int64s, validity
from windrow.columns.growable import fresh, grow
from windrow.columns.interner import Crowding
from windrow.columns.kernels import ints, ints_out, kernel, signs, void
from windrow.operators.aggregates.events import Accumulator, ArgumentValues, Events
from windrow.operators.state.move import Move
from windrow.windows.row_index import RowIndex

NONE = np.empty(0, np.int64)


@kernel(void, ints, ints, signs, ints_out, ints_out, ints_out)
def _first_and_last(pair, position, sign, held, keeper, change):  # type: ignore[no-untyped-def]
    """Which events bring a value (1) or take its last tuple away (-1).

    ``held`` and ``keeper`` are per pair: how many tuples, and the one that brought the value.
    """
    for i in range(len(pair)):
        p = pair[i]
        was = held[p]
        held[p] = was + sign[i]
        change[i] = 0
        if was == 0 and sign[i] > 0:
            keeper[p] = position[i]
            change[i] = 1
        elif was > 0 and held[p] == 0:
            change[i] = -1


@dataclass(frozen=True)
class _PairValues:
    """The value of each pair, as a column whose positions are the pairs' codes."""

    pairs: RowIndex

    def take(self, positions: Int64s) -> pa.Array:
        return self.pairs.rows(positions)[1]


class OfDistinct:
    """``plain`` over the different values of each group; see the module. NULLs do not count."""

    keeps_tuples: ClassVar[bool] = True

    def __init__(self, kind: pa.DataType, plain: Accumulator) -> None:
        self.kind, self.plain = kind, plain
        self.pairs, self.crowding = RowIndex([pa.int64(), kind]), Crowding()
        self.keeper, self._brought = fresh(-1), NONE
        self._came_from = 0

    def grow(self, size: int) -> None:
        self.plain.grow(size)

    def update(self, events: Events, values: ArgumentValues) -> tuple[pa.Array, pa.Array]:
        argument, sign = values(events.position), events.sign
        valid = validity(argument)
        if valid is not None:
            sign = np.where(valid, sign, 0).astype(np.int8)
        pair = self._pairs(events.code, argument)
        change = np.empty(len(pair), np.int64)
        _first_and_last(pair, events.position, sign, *self.pairs.counts, self.keeper, change)
        self._brought = events.position[change > 0]
        self._came_from = int(events.position.min())
        of_values = replace(events, position=pair, sign=change.astype(np.int8))
        answer = self.plain.update(of_values, ArgumentValues(_PairValues(self.pairs)))
        self._purge()
        return answer

    def _pairs(self, codes: Int64s, argument: pa.Array) -> Int64s:
        """The numbers of the pairs of group and value."""
        pair = self.pairs.locate([pa.array(codes), argument], len(argument))
        self.keeper = grow(self.keeper, len(self.pairs), -1)
        return pair

    def _purge(self) -> None:
        """Forget pairs that nothing holds, once they are the most."""
        size = len(self.pairs)
        if self.crowding.is_due(size):
            live = self.pairs.held_rows()
            if self.crowding.renewal_pays(size, len(live)):
                self._renew(live, None)

    def _renew(self, live: Int64s, columns: list[pa.Array] | None) -> None:
        keeper = self.keeper[live]
        self.pairs.renew(live, columns)  # pairs are numbered as they are met
        self.keeper = grow(fresh(-1), len(self.pairs), -1)
        self.keeper[: len(live)] = keeper
        self.plain.follow(Move(live, 0))

    def obsolete(self) -> Int64s:
        return np.empty(0, np.int64)

    def keeps(
        self, positions: Int64s, codes: Int64s, values: ArgumentValues
    ) -> npt.NDArray[np.bool_]:
        """Of the tuples of the last update, where nothing leaves, those that brought a value."""
        kept = np.zeros(len(positions), np.bool_)
        new = positions >= self._came_from
        if new.any():
            brought = np.zeros(int(positions.max()) + 1 - self._came_from, np.bool_)
            brought[self._brought - self._came_from] = True
            kept[new] = brought[positions[new] - self._came_from]
        older = np.flatnonzero(~new)
        if len(older):
            pair = self._pairs(codes[older], values(positions[older]))
            kept[older] = self.keeper[pair] == positions[older]
        return kept

    def follow(self, move: Move) -> None:
        self.keeper = move.follow(self.keeper)

    def drop_before(self, position: int) -> None:
        """Nothing: for the plain aggregate positions are pairs."""

    def regroup(self, codes: Int64s, remap: Int64s) -> None:
        self.plain.regroup(codes, remap)
        live = self.pairs.held_rows()
        group, value = self.pairs.rows(live)
        self._renew(live, [pa.array(remap[group.to_numpy()]), value])

    def dump(self, codes: Int64s) -> list[pa.Array]:
        """Nothing: a tuple is kept for each value, and taken in again."""
        return []

    def restore(self, codes: Int64s, columns: list[pa.Array]) -> None:
        pass
