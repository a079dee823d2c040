"""An interval's arrivals and departures, in the order in which accumulators want them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.columns.arrays import Int64s
from windrow.columns.kernels import (
    flags_out,
    int64,
    ints,
    ints_out,
    kernel,
    signs,
    signs_out,
    void,
)
from windrow.columns.time_order import time_order
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


@kernel(
    int64, ints, ints, ints, ints, signs,
    ints_out, ints_out, ints_out, signs_out, ints_out, ints_out, ints_out, flags_out,
)  # fmt: skip
def _cut_segments(  # type: ignore[no-untyped-def]
    order, code, time, position, sign,
    codes, times, positions, signs_, last, groups, group_of, opening,
):  # fmt: skip
    """Events in their order, and what ``Events`` says of their segments, whose number it returns:
    one pass, since most intervals are short and every call from Python takes as long as they."""
    segments, group = 0, -1
    for i in range(len(order)):
        at = order[i]
        c, t = code[at], time[at]
        codes[i], times[i], positions[i], signs_[i] = c, t, position[at], sign[at]
        first = i == 0 or c != codes[i - 1]
        if first:
            group += 1
            groups[group] = c
        if first or t != times[i - 1]:
            group_of[segments], opening[segments] = group, first
            segments += 1
        last[segments - 1] = i
    return segments


@kernel(void, ints, ints, ints, ints, ints_out)
def _add_up(change, before, last, group_of, after):  # type: ignore[no-untyped-def]
    i, group, total = 0, -1, 0
    for j in range(len(last)):
        if group_of[j] != group:
            group = group_of[j]
            total = before[group]
        while i <= last[j]:
            total += change[i]
            i += 1
        after[j] = total


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
        if not len(code):
            return cls._in_order(np.empty(0, np.int64), code, time, position, sign)
        by_time = time_order(time)
        order = _order_of_codes(code[by_time], int(code.max()) + 1)
        return cls._in_order(by_time[order], code, time, position, sign)

    @classmethod
    def sort_by_code(
        cls, code: Int64s, time: Int64s, position: Int64s, sign: npt.NDArray[np.int8], codes: int
    ) -> Events:
        """As ``sort``, for events that are in the order of time; codes are below ``codes``."""
        return cls._in_order(_order_of_codes(code, codes), code, time, position, sign)

    @classmethod
    def _in_order(
        cls,
        order: Int64s,
        code: Int64s,
        time: Int64s,
        position: Int64s,
        sign: npt.NDArray[np.int8],
    ) -> Events:
        size = len(order)
        longs = [np.empty(size, np.int64) for _ in range(6)]
        signs_, opening = np.empty(size, np.int8), np.empty(size, np.bool_)
        codes, times, positions, last, groups, group_of = longs
        count = _cut_segments(
            order, code, time, position, sign,
            codes, times, positions, signs_, last, groups, group_of, opening,
        )  # fmt: skip
        last, group_of, opening = last[:count], group_of[:count], opening[:count]
        groups = groups[: group_of[-1] + 1 if count else 0]
        return cls(codes, times, positions, signs_, last, groups, group_of, opening)

    def running(self, change: Int64s, before: Int64s) -> Int64s:
        """Per segment: ``before`` of its group plus the changes of its group up to its end."""
        after = np.empty(len(self.last), np.int64)
        _add_up(change, before, self.last, self.group_of, after)
        return after


def _order_of_codes(code: Int64s, codes: int) -> Int64s:
    """The places of codes below ``codes`` in their order, equal ones as they stand."""
    if codes > FEW_CODES.value * len(code):
        return np.argsort(code, kind="stable")
    order = np.empty(len(code), np.int64)
    _sort_by_counting(code, np.zeros(codes + 1, np.int64), order)
    return order


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


class Total(Protocol):
    """The state of one aggregate over all groups, as arrays indexed by group code, of tuples that
    it need not go back to."""

    def grow(self, size: int) -> None:
        """Make room for codes below ``size``."""
        ...

    def update(self, events: Events, values: ArgumentValues) -> tuple[pa.Array, pa.Array]:
        """Take in an interval; values before it (per group touched) and after each segment."""
        ...

    def dump(self, codes: Int64s) -> list[pa.Array]:
        """What cannot be derived from kept tuples, for these groups."""
        ...

    def restore(self, codes: Int64s, columns: list[pa.Array]) -> None:
        """The reverse of ``dump``."""
        ...


class Accumulator(Total, Protocol):
    """The same, of tuples that may leave or be needed again."""

    keeps_tuples: ClassVar[bool]
    """Whether it goes back to tuples also where none ever leaves."""

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


def renumber_groups(values: npt.NDArray[Any], codes: Int64s, remap: Int64s) -> npt.NDArray[Any]:
    """Per-group values under the new codes."""
    out = np.zeros_like(values)
    out[remap[codes]] = values[codes]
    return out
