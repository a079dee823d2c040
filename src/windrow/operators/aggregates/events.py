"""An interval's arrivals and departures, in the order in which accumulators want them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.columns.arrays import Int64s
from windrow.columns.kernels import ints, ints_out, kernel, void
from windrow.core.thresholds import Threshold
from windrow.operators.state.move import Move

FEW_CODES = Threshold(8)
"""Codes for each event up to which counting sorts faster than comparing."""


@kernel(void, ints, ints_out, ints_out)
def _sort_by_counting(code, starts, order):  # type: ignore[no-untyped-def]
    """``order`` sorts by code, and keeps the order of equal ones; ``starts`` is one per code."""
    for i in range(len(code)):
        starts[code[i] + 1] += 1
    for c in range(1, len(starts)):
        starts[c] += starts[c - 1]
    for i in range(len(code)):
        order[starts[code[i]]] = i
        starts[code[i]] += 1


@dataclass(frozen=True)
class Events:
    """Sorted by group code, then by time.

    ``position`` is the tuple's place in the group-by's buffer, ``sign`` says whether it comes or
    goes. ``last[j]`` is the index of the last event of segment j; ``groups`` are the codes that
    occur, ``group_of[j]`` the index among them of segment j, ``opening[j]`` whether j is the
    first segment of its group.
    """

    code: Int64s
    time: Int64s
    position: Int64s
    sign: npt.NDArray[np.int8]
    last: Int64s
    groups: Int64s
    group_of: Int64s
    opening: npt.NDArray[np.bool_]

    @classmethod
    def sort(
        cls, code: Int64s, time: Int64s, position: Int64s, sign: npt.NDArray[np.int8]
    ) -> Events:
        return cls._in_order(np.lexsort((time, code)), code, time, position, sign)

    @classmethod
    def sort_by_code(
        cls, code: Int64s, time: Int64s, position: Int64s, sign: npt.NDArray[np.int8], codes: int
    ) -> Events:
        """As ``sort``, for events that are in the order of time; codes are below ``codes``."""
        if codes > FEW_CODES.value * len(code):
            order = np.argsort(code, kind="stable")
        else:
            order = np.empty(len(code), np.int64)
            _sort_by_counting(code, np.zeros(codes + 1, np.int64), order)
        return cls._in_order(order, code, time, position, sign)

    @classmethod
    def _in_order(
        cls,
        order: Int64s,
        code: Int64s,
        time: Int64s,
        position: Int64s,
        sign: npt.NDArray[np.int8],
    ) -> Events:
        code, time, position, sign = code[order], time[order], position[order], sign[order]
        new_code = np.concatenate([[True], code[1:] != code[:-1]])
        new_segment = new_code | np.concatenate([[True], time[1:] != time[:-1]])
        starts = np.flatnonzero(new_segment)
        last = np.concatenate([starts[1:] - 1, [len(code) - 1]]).astype(np.int64)
        opening = new_code[starts]
        return cls(
            code, time, position, sign, last, code[starts[opening]], np.cumsum(opening) - 1, opening
        )

    def running(self, change: Int64s, before: Int64s) -> Int64s:
        """Per segment: ``before`` of its group plus the changes of its group up to its end."""
        total = np.cumsum(change)
        at_end = total[self.last]
        opening = np.flatnonzero(self.opening)
        starts = np.where(opening > 0, self.last[opening - 1] + 1, 0)
        offset = total[starts] - change[starts]
        return at_end - offset[self.group_of] + before[self.group_of]


class ValueColumn(Protocol):
    """Values by position."""

    def take(self, positions: Int64s) -> pa.Array: ...


@dataclass(frozen=True)
class ArgumentValues:
    """An aggregate's argument, as a column of the group-by's buffer."""

    store: ValueColumn

    def __call__(self, positions: Int64s) -> pa.Array:
        """The argument at these positions."""
        return self.store.take(positions)


class Accumulator(Protocol):
    """The state of one aggregate over all groups, as arrays indexed by group code."""

    keeps_tuples: ClassVar[bool]
    """Whether it goes back to tuples also where none ever leaves."""

    def grow(self, size: int) -> None:
        """Make room for codes below ``size``."""
        ...

    def update(self, events: Events, values: ArgumentValues) -> tuple[pa.Array, pa.Array]:
        """Take in an interval; values before it (per group touched) and after each segment."""
        ...

    def obsolete(self) -> Int64s:
        """Positions that were kept until the last update and may no longer be needed."""
        ...

    def keeps(
        self, positions: Int64s, codes: Int64s, values: ArgumentValues
    ) -> npt.NDArray[np.bool_]:
        """Which tuples must be kept although nothing will ever expire (MONOTONIC input)."""
        ...

    def follow(self, move: Move) -> None:
        """Tuples have other positions now."""
        ...

    def drop_before(self, position: int) -> None:
        """Tuples before this position are forgotten."""
        ...

    def regroup(self, codes: Int64s, remap: Int64s) -> None:
        """Groups got new codes: ``remap[old]``; only ``codes`` (old ones) are still in use."""
        ...

    def dump(self, codes: Int64s) -> list[pa.Array]:
        """What cannot be derived from kept tuples, for these groups."""
        ...

    def restore(self, codes: Int64s, columns: list[pa.Array]) -> None:
        """The reverse of ``dump``."""
        ...


def renumber_groups(values: npt.NDArray[Any], codes: Int64s, remap: Int64s) -> npt.NDArray[Any]:
    """Per-group values under the new codes."""
    out = np.zeros_like(values)
    out[remap[codes]] = values[codes]
    return out
