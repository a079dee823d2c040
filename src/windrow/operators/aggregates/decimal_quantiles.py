"""MEDIAN and QUANTILE(x, p) of decimals: as of other numbers, but in whole numbers to the end.

p counts as the decimal that is written, of which a double holds 15 digits. So the place of the
quantile among n values, p * (n - 1), is a whole number and a rest in units of 10**-18, and what
lies there between two neighbours is worked out without error and rounded once, a half away from
zero, to the scale of the result.

The trees hold 64-bit integers: the last places of decimals that are so short, and of longer ones
their ranks among all values that are there. A new value moves the ranks above it, in the trees too;
their order stays.

Cost: as of other quantiles; of long decimals also, for each batch with new values, one pass over
the different values.
"""

from __future__ import annotations

from decimal import ROUND_HALF_EVEN, Decimal
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.columns.arrays import Bools, Int64s, numbers, validity
from windrow.columns.decimal_numbers import divide_rounded, from_last_places, last_places
from windrow.columns.decimal_words import decimal_array, is_wide_decimal, ordered_bytes, two_words
from windrow.columns.kernels import grid_out, inline, int64, ints, ints_out, kernel, void
from windrow.core.thresholds import Threshold
from windrow.operators.aggregates.events import Events
from windrow.operators.aggregates.quantiles import Quantile
from windrow.windows.avl import WEIGHT, Forest, change, nth
from windrow.windows.index_nodes import VALUE

HALF_UNIT = 10**9
UNIT = HALF_UNIT**2
"""What the rest of a place is counted in; the square root of it fits beside a number of values."""
SHORT = 2**60
"""Numbers below are added and halved as 64-bit integers."""
WORTH_FORGETTING = Threshold(1024)
"""Fewer values that are gone than this are not worth new ranks."""
BYTES = "S16"
Ordered: TypeAlias = npt.NDArray[Any]
"""Different decimals in order, each as bytes."""


@inline
def exact_place(size, upper, lower):  # type: ignore[no-untyped-def]
    """Where the quantile is among so many values: the place below it, and how far it is from there.

    The fraction is ``upper`` / 10**9 + ``lower`` / 10**18.
    """
    small = (size - 1) * lower
    large = (size - 1) * upper + small // HALF_UNIT
    return large // HALF_UNIT, (large % HALF_UNIT) * HALF_UNIT + small % HALF_UNIT


@inline
def _read_quantile(j, root, upper, lower, links, counts, low, high, rest):  # type: ignore[no-untyped-def]
    """The keys next to the quantile in a tree, and how far it is from the first (-1: no values)."""
    low[j], high[j], rest[j] = 0, 0, -1
    if root >= 0 and links[root, WEIGHT] > 0:
        size = links[root, WEIGHT]
        k, rest[j] = exact_place(size, upper, lower)
        low[j] = links[nth(k, root, links, counts), VALUE]
        high[j] = links[nth(min(k + 1, size - 1), root, links, counts), VALUE]


@kernel(
    void, ints, ints, ints, ints, ints, int64, int64, grid_out, grid_out, ints_out, ints_out,
    ints_out, ints_out, ints_out, ints_out,
)  # fmt: skip
def _quantiles(  # type: ignore[no-untyped-def]
    code, key, weight, last, groups, upper, lower, links, counts, state, roots, occupied,
    low, high, rest,
):  # fmt: skip
    """What each group has before the events, then what there is after each segment."""
    before, i = len(groups), 0
    for j in range(before + len(last)):
        if j < before:
            tree = groups[j]
        else:
            tree = code[last[j - before]]
            while i <= last[j - before]:
                if weight[i] != 0:
                    change(key[i], code[i], weight[i], links, counts, state, roots, occupied)
                i += 1
        _read_quantile(j, roots[tree], upper, lower, links, counts, low, high, rest)


class _Ranks:
    """Long decimals in order; the trees have the places of theirs."""

    def __init__(self, trees: Forest) -> None:
        self.trees = trees
        self.ordered: Ordered = np.empty(0, BYTES)

    def keys(self, argument: pa.Array, valid: Bools | None) -> Int64s:
        """The ranks of values, with room made for those that are new; of NULL it is anything."""
        values = in_order(argument)
        different = np.unique(values if valid is None else values[valid])
        places = np.searchsorted(self.ordered, different)
        fresh = np.ones(len(different), np.bool_)
        inside = places < len(self.ordered)
        fresh[inside] = self.ordered[places[inside]] != different[inside]
        if fresh.any():
            before = np.arange(len(self.ordered))
            moved = before + np.searchsorted(places[fresh], before, side="right")
            self.ordered = np.insert(self.ordered, places[fresh], different[fresh])
            self.trees.replace_values(moved)
        return np.searchsorted(self.ordered, values)

    def forget(self) -> None:
        """Drop the values that are in no tree, once they are the most."""
        if len(self.ordered) > 2 * self.trees.in_use + WORTH_FORGETTING.value:
            kept = self.trees.purge_values()
            moved = np.zeros(len(self.ordered), np.int64)
            moved[kept] = np.arange(len(kept))
            self.ordered = self.ordered[kept]
            self.trees.replace_values(moved)


def in_order(argument: pa.Array) -> Ordered:
    """Decimals as bytes that are in their order."""
    return ordered_bytes(argument).view(BYTES)


def fraction_parts(fraction: float) -> tuple[int, int]:
    """A fraction as it is written, in units of 10**-9, and what is left in units of 10**-18."""
    units = Decimal(repr(fraction)).scaleb(18).to_integral_value(ROUND_HALF_EVEN)
    return divmod(int(units), HALF_UNIT)


class DecimalQuantile(Quantile):
    """QUANTILE(x, p) of decimals of one ``kind``, as decimals of type ``result``."""

    def __init__(self, fraction: float, kind: pa.DataType, result: pa.DataType) -> None:
        super().__init__(fraction)
        self.kind, self.result = kind, result
        self.upper, self.lower = fraction_parts(fraction)
        self.ranks = _Ranks(self.trees) if is_wide_decimal(kind) else None

    def weigh(
        self, events: Events, argument: pa.Array, weight: Int64s
    ) -> tuple[pa.Array, pa.Array]:
        valid = validity(argument)
        if valid is not None:
            weight = np.where(valid, weight, 0)
        keys = numbers(argument) if self.ranks is None else self.ranks.keys(argument, valid)
        self.trees.reserve(0, len(weight))
        groups = len(events.groups)
        low, high, rest = (np.empty(groups + len(events.last), np.int64) for _ in range(3))
        _quantiles(
            events.code, keys, weight, events.last, events.groups, self.upper, self.lower,
            *self.trees.arrays(), low, high, rest,
        )  # fmt: skip
        ordered = None if self.ranks is None else self.ranks.ordered
        answer = decimals_between(low, high, rest, ordered, self.kind, self.result)
        self.trees.purge()
        if self.ranks is not None:
            self.ranks.forget()
        return answer.slice(0, groups), answer.slice(groups)


def decimals_between(
    low: Int64s, high: Int64s, rest: Int64s, ordered: Ordered | None, kind: pa.DataType,
    result: pa.DataType,
) -> pa.Array:  # fmt: skip
    """What lies ``rest`` of the way between two keys; NULL where there is no value.

    Keys are last places of decimals of a ``kind``, or places among those that are ``ordered``.
    """
    raised = result.scale - kind.scale
    valid, even = rest >= 0, (rest == UNIT // 2) & (raised > 0)
    limit = SHORT // 10**raised
    plain = even | (rest <= 0)
    if ordered is None and (plain & (abs(low) < limit) & (abs(high) < limit)).all():
        twice = low + np.where(even, high, low)
        found = two_words(twice * 10**raised // 2)
        return decimal_array(found, valid, result)
    if ordered is None:
        one, other = low.astype(object), high.astype(object)
    else:
        one, other = _last_places(ordered, low), _last_places(ordered, high)
    between = one * UNIT + (other - one) * np.where(valid, rest, 0).astype(object)
    found = divide_rounded(between * 10**raised, UNIT)
    return from_last_places(found, valid, result)


def _last_places(ordered: Ordered, places: Int64s) -> npt.NDArray[Any]:
    """Values in units of their last place."""
    if not len(ordered):
        return np.zeros(len(places), object)
    words = ordered[places].view(">i8").reshape(-1, 2).astype(np.int64)
    words = np.stack([words[:, 1], words[:, 0] ^ np.int64(-(2**63))], axis=1)
    return last_places(decimal_array(words, None, pa.decimal128(38, 0)))
