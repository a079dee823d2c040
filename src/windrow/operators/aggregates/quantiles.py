"""MEDIAN and QUANTILE(x, p): order statistics of each group, in O(log D) per change.

Each group is a T-INDEX (``windrow.windows.forest``): a balanced tree with a node per
different value, how often the group holds it, and the weight of every subtree; the k-th value is
one walk down. The answer is interpolated between neighbours, as SQL's PERCENTILE_CONT is, and
rounded once.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.columns.arrays import order_key_bits, order_keys, validity
from windrow.columns.interpolation import interpolate
from windrow.columns.kernels import (
    float64,
    floats_out,
    grid_out,
    inline,
    ints,
    ints_out,
    kernel,
    signs,
    void,
)
from windrow.operators.aggregates.events import ArgumentValues, Events
from windrow.operators.state.move import Move
from windrow.windows.avl import WEIGHT, nth
from windrow.windows.forest import Forest, change
from windrow.windows.index_nodes import VALUE

Int64s = npt.NDArray[np.int64]
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
    void, ints, ints, signs, ints, ints, float64, grid_out, grid_out, ints_out, ints_out, ints_out,
    ints_out, ints_out, floats_out,
)  # fmt: skip
def _quantiles(  # type: ignore[no-untyped-def]
    code, key, sign, last, groups, fraction, links, counts, state, roots, occupied,
    low, high, share,
):  # fmt: skip
    """What each group has before the events, then what there is after each segment.

    ``sign`` 0 marks an event that changes nothing.
    """
    before = len(groups)
    for g in range(before):
        _read_quantile(g, roots[groups[g]], fraction, links, counts, low, high, share)
    i = 0
    for j in range(len(last)):
        while i <= last[j]:
            if sign[i] != 0:
                change(key[i], code[i], sign[i], links, counts, state, roots, occupied)
            i += 1
        _read_quantile(before + j, roots[code[last[j]]], fraction, links, counts, low, high, share)


class Quantile:
    """QUANTILE(x, p); the median is the quantile of one half. Always DOUBLE."""

    keeps_tuples: ClassVar[bool] = True

    def __init__(self, fraction: float) -> None:
        self.fraction = fraction
        self.trees = Forest()

    def grow(self, size: int) -> None:
        self.trees.reserve(size, 0)

    def update(self, events: Events, values: ArgumentValues) -> tuple[pa.Array, pa.Array]:
        argument, sign = values(events.position), events.sign
        valid = validity(argument)
        if valid is not None:
            sign = np.where(valid, sign, 0).astype(np.int8)
        self.trees.reserve(0, len(sign))
        groups, segments = len(events.groups), len(events.last)
        low, high = (np.empty(groups + segments, np.int64) for _ in range(2))
        share = np.empty(groups + segments)
        _quantiles(
            events.code, order_keys(argument), sign, events.last, events.groups, self.fraction,
            *self.trees.arrays(), low, high, share,
        )  # fmt: skip
        self.trees.purge()
        answer = _between(low, high, share, argument.type)
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


def _between(low: Int64s, high: Int64s, share: Floats, kind: pa.DataType) -> pa.Array:
    """The quantiles between neighbours, given by their keys; NULL where there is no value."""
    integral = not pa.types.is_floating(kind)
    between = np.empty(len(share), np.float64)
    one, other = ((k if integral else order_key_bits(k)) for k in (low, high))
    interpolate(one, other, share, integral, between)
    return pa.array(between, mask=share < 0)
