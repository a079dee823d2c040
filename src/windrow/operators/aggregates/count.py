"""COUNT(*) and COUNT(x)."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.columns.arrays import validity
from windrow.columns.growable import fresh, grow
from windrow.operators.aggregates.events import ArgumentValues, Events, renumber_groups
from windrow.operators.state.move import Move

Int64s = npt.NDArray[np.int64]


class Count:
    """How many tuples, or how many of them are not NULL in the argument."""

    keeps_tuples: ClassVar[bool] = False

    def __init__(self) -> None:
        self.counts = fresh(0)

    def grow(self, size: int) -> None:
        self.counts = grow(self.counts, size, 0)

    def advance(self, events: Events, argument: pa.Array | None) -> tuple[Int64s, Int64s]:
        """As ``update``, in plain integers, for values at hand; None counts every tuple."""
        change = events.sign.astype(np.int64)
        if argument is not None:
            valid = validity(argument)
            if valid is not None:
                change = np.where(valid, change, 0)
        before = self.counts[events.groups]
        after = events.running(change, before)
        self.counts[events.code[events.last]] = after
        return before, after

    def update(self, events: Events, values: ArgumentValues) -> tuple[pa.Array, pa.Array]:
        before, after = self.advance(events, values(events.position))
        return pa.array(before), pa.array(after)

    def obsolete(self) -> Int64s:
        return np.empty(0, np.int64)

    def keeps(
        self, positions: Int64s, codes: Int64s, values: ArgumentValues
    ) -> npt.NDArray[np.bool_]:
        return np.zeros(len(positions), np.bool_)

    def follow(self, move: Move) -> None:
        pass

    def drop_before(self, position: int) -> None:
        pass

    def regroup(self, codes: Int64s, remap: Int64s) -> None:
        self.counts = renumber_groups(self.counts, codes, remap)

    def dump(self, codes: Int64s) -> list[pa.Array]:
        return [pa.array(self.counts[codes])]

    def restore(self, codes: Int64s, columns: list[pa.Array]) -> None:
        self.counts[codes] = columns[0].to_numpy()
