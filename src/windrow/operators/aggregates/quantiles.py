"""MEDIAN and QUANTILE(x, p): order statistics of each group, in O(log D) per change.

Each group is a T-INDEX (``windrow.windows.avl``): a balanced tree with a node per different
value, how often the group holds it, and the weight of every subtree; the k-th value is one walk
down. The answer is interpolated between neighbours, as SQL's PERCENTILE_CONT is, without error, and
rounded once: ``low + (high - low) * share`` in doubles overflows between -1e308 and 1e308, and
loses what is small where the two nearly cancel. Here the three products that it is worth are added
as whole numbers over 2**-2148 (``windrow.columns.exactsum``).
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.columns.arrays import Int64s, order_key_bits, order_keys, validity
from windrow.columns.exactsum import (
    BASE,
    LIMBS,
    add_product,
    as_double,
    carry_out,
    is_special,
    magnitude_of,
    mantissa_of,
)
from windrow.columns.growable import fresh, grow
from windrow.columns.kernels import (
    boolean,
    float64,
    floats,
    floats_out,
    grid_out,
    inline,
    ints,
    ints_out,
    kernel,
    void,
)
from windrow.operators.aggregates.events import ArgumentValues, Events, renumber_groups
from windrow.operators.state.move import Move
from windrow.windows.avl import WEIGHT, Forest, change, nth
from windrow.windows.index_nodes import VALUE

WIDE = 2 * LIMBS + 3
WHOLE = 1 << 53
"""Integers up to here are doubles."""


@inline
def _add_part(limbs, number, integral, word, place, sign):  # type: ignore[no-untyped-def]
    """Add the number, times the double that ``word`` at ``place`` is."""
    if integral:
        size, at = np.uint64(abs(number)), BASE
    else:
        size, at = mantissa_of(number)
    add_product(limbs, at + place, size, word, -sign if number < 0 else sign)


@kernel(void, ints, ints, floats, boolean, floats_out)
def interpolate(low, high, share, integral, between):  # type: ignore[no-untyped-def]
    """Numbers are integers, or the bits of doubles; ``share`` is from 0 to 1 (below 0: nothing)."""
    limbs, scratch = np.empty(WIDE, np.int64), np.empty(WIDE, np.int64)
    ends, part = np.empty(2, np.float64), np.empty(1, np.float64)
    for i in range(len(share)):
        if integral:
            ends[0], ends[1] = np.float64(low[i]), np.float64(high[i])
        else:
            ends.view(np.int64)[0], ends.view(np.int64)[1] = low[i], high[i]
        one, other, s = ends[0], ends[1], share[i]
        middle = (one + other) * 0.5
        if low[i] == high[i] or s <= 0.0:
            between[i] = one
        elif s >= 1.0:
            between[i] = other
        elif not integral and (is_special(low[i]) or is_special(high[i])):
            between[i] = one * (1.0 - s) + other * s
        elif (
            s == 0.5
            and 1e-290 < abs(middle) < 1e300
            and (not integral or -WHOLE <= low[i] <= high[i] <= WHOLE)
        ):
            between[i] = middle  # halving is exact, so it was rounded once
        else:
            part[0] = s
            word, place = mantissa_of(part.view(np.int64)[0])
            limbs[:] = 0
            _add_part(limbs, low[i], integral, np.uint64(1), BASE, 1)
            _add_part(limbs, low[i], integral, word, place, -1)
            _add_part(limbs, high[i], integral, word, place, 1)
            carry_out(limbs, WIDE)
            negative = magnitude_of(limbs, WIDE, 0, scratch)
            between[i] = as_double(scratch, WIDE, 2 * BASE, False, negative)


Floats = npt.NDArray[np.float64]


@inline
def _read_quantile(j, root, fraction, links, counts, low, high, share):  # type: ignore[no-untyped-def]
    """The keys next to the quantile in a tree, and where it lies between them (-1: no values)."""
    low[j], high[j], share[j] = 0, 0, -1.0
    if root >= 0 and links[root, WEIGHT] > 0:
        size = links[root, WEIGHT]
        place = fraction * (size - 1)
        k = np.int64(np.floor(place))
        low[j] = links[nth(k, root, links, counts), VALUE]
        high[j] = links[nth(min(k + 1, size - 1), root, links, counts), VALUE]
        share[j] = place - k


@kernel(
    void, ints, ints, ints, ints, ints, float64, grid_out, grid_out, ints_out, ints_out, ints_out,
    ints_out, ints_out, floats_out,
)  # fmt: skip
def _quantiles(  # type: ignore[no-untyped-def]
    code, key, weight, last, groups, fraction, links, counts, state, roots, occupied,
    low, high, share,
):  # fmt: skip
    """What each group has before the events, then what there is after each segment.

    ``weight`` says how often an event brings its value, or takes it away if it is negative.
    """
    before = len(groups)
    for g in range(before):
        _read_quantile(g, roots[groups[g]], fraction, links, counts, low, high, share)
    i = 0
    for j in range(len(last)):
        while i <= last[j]:
            if weight[i] != 0:
                change(key[i], code[i], weight[i], links, counts, state, roots, occupied)
            i += 1
        _read_quantile(before + j, roots[code[last[j]]], fraction, links, counts, low, high, share)


@kernel(
    void, ints, ints, ints, ints, ints, ints, float64, grid_out, grid_out, ints_out, ints_out,
    ints_out, ints_out, ints_out, floats_out, ints_out, ints_out,
)  # fmt: skip
def _bounded_quantiles(  # type: ignore[no-untyped-def]
    code, key, weight, last, groups, error, fraction, links, counts, state, roots, occupied,
    low, high, share, least, most,
):  # fmt: skip
    """As ``_quantiles``, and the keys that are ``error`` places away on both sides."""
    before = len(groups)
    i = 0
    for j in range(before + len(last)):
        if j < before:
            root = roots[groups[j]]
        else:
            while i <= last[j - before]:
                if weight[i] != 0:
                    change(key[i], code[i], weight[i], links, counts, state, roots, occupied)
                i += 1
            root = roots[code[last[j - before]]]
        _read_quantile(j, root, fraction, links, counts, low, high, share)
        least[j], most[j] = low[j], high[j]
        if share[j] >= 0.0 and error[j] > 0:
            size = links[root, WEIGHT]
            k = np.int64(np.floor(fraction * (size - 1)))
            above = k + (1 if share[j] > 0.0 else 0)
            least[j] = links[nth(max(k - error[j], 0), root, links, counts), VALUE]
            most[j] = links[nth(min(above + error[j], size - 1), root, links, counts), VALUE]


class BoundedQuantile:
    """QUANTILE(x, p) over summaries whose ranks have errors: the estimate, and its bounds.

    A group's error is that of all its summaries; without one the bounds are the estimate.
    """

    def __init__(self, fraction: float) -> None:
        self.fraction = fraction
        self.trees, self.error = Forest(), fresh(0)

    def grow(self, size: int) -> None:
        self.trees.reserve(size, 0)
        self.error = grow(self.error, size, 0)

    def weigh(
        self, events: Events, argument: pa.Array, weight: Int64s, error: Int64s
    ) -> list[tuple[pa.Array, pa.Array]]:
        """Events bring a value ``weight`` times, and ``error`` places; or take them away."""
        valid = validity(argument)
        if valid is not None:
            weight = np.where(valid, weight, 0)
        self.trees.reserve(0, len(weight))
        before = self.error[events.groups]
        after = events.running(error, before)
        self.error[events.code[events.last]] = after  # the last segment of each group wins
        errors = np.concatenate([before, after])
        low, high, least, most = (np.empty(len(errors), np.int64) for _ in range(4))
        share = np.empty(len(errors))
        _bounded_quantiles(
            events.code, order_keys(argument), weight, events.last, events.groups, errors,
            self.fraction, *self.trees.arrays(), low, high, share, least, most,
        )  # fmt: skip
        self.trees.purge()
        inside = np.where(errors > 0, np.minimum(share, 0.0), share)
        rows = [(low, high, share)]
        rows += [(np.where(errors > 0, end, low), np.where(errors > 0, end, high), inside)
                 for end in (least, most)]  # fmt: skip
        groups = len(events.groups)
        found = [quantiles_between(*row, argument.type) for row in rows]
        return [(answer.slice(0, groups), answer.slice(groups)) for answer in found]

    def regroup(self, codes: Int64s, remap: Int64s) -> None:
        self.trees.renumber(codes, remap)
        self.error = renumber_groups(self.error, codes, remap)


class Quantile:
    """QUANTILE(x, p); the median is the quantile of one half. Always DOUBLE."""

    keeps_tuples: ClassVar[bool] = True

    def __init__(self, fraction: float) -> None:
        self.fraction = fraction
        self.trees = Forest()

    def grow(self, size: int) -> None:
        self.trees.reserve(size, 0)

    def update(self, events: Events, values: ArgumentValues) -> tuple[pa.Array, pa.Array]:
        return self.weigh(events, values(events.position), events.sign.astype(np.int64))

    def weigh(
        self, events: Events, argument: pa.Array, weight: Int64s
    ) -> tuple[pa.Array, pa.Array]:
        """As ``update``, for events that bring a value, or take it away, several times."""
        valid = validity(argument)
        if valid is not None:
            weight = np.where(valid, weight, 0)
        self.trees.reserve(0, len(weight))
        groups, segments = len(events.groups), len(events.last)
        low, high = (np.empty(groups + segments, np.int64) for _ in range(2))
        share = np.empty(groups + segments)
        _quantiles(
            events.code, order_keys(argument), weight, events.last, events.groups, self.fraction,
            *self.trees.arrays(), low, high, share,
        )  # fmt: skip
        self.trees.purge()
        answer = quantiles_between(low, high, share, argument.type)
        return answer.slice(0, groups), answer.slice(groups)

    def obsolete(self) -> Int64s:
        return np.empty(0, np.int64)

    def keeps(
        self, positions: Int64s, codes: Int64s, values: ArgumentValues
    ) -> npt.NDArray[np.bool_]:
        return np.ones(len(positions), np.bool_)

    def follow(self, move: Move) -> None:
        """Nothing: nodes are by value, wherever the tuples are."""

    def drop_before(self, position: int) -> None:
        pass

    def regroup(self, codes: Int64s, remap: Int64s) -> None:
        self.trees.renumber(codes, remap)

    def dump(self, codes: Int64s) -> list[pa.Array]:
        return []

    def restore(self, codes: Int64s, columns: list[pa.Array]) -> None:
        pass


def quantiles_between(low: Int64s, high: Int64s, share: Floats, kind: pa.DataType) -> pa.Array:
    """The quantiles between neighbours, given by their keys; NULL where there is no value."""
    integral = not pa.types.is_floating(kind)
    between = np.empty(len(share), np.float64)
    one, other = ((k if integral else order_key_bits(k)) for k in (low, high))
    interpolate(one, other, share, integral, between)
    return pa.array(between, mask=share < 0)
