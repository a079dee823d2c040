"""MEDIAN and QUANTILE(x, p): order statistics of each group, in O(log n) per change.

Each group is a balanced tree over its values (a treap whose priorities are hashes of positions,
so it is the same on every run), and every node knows the size of its subtree; the k-th value is
one walk down. The answer is interpolated between neighbours, as SQL's PERCENTILE_CONT is.
"""

from __future__ import annotations

import numba
import numpy as np
import numpy.typing as npt
import pyarrow as pa
from numba import types

from windrow.columns.arrays import numbers, order_keys, validity
from windrow.columns.growable import Growable
from windrow.columns.hashing import mix
from windrow.columns.kernels import (
    float64,
    floats_out,
    grid_out,
    int64,
    ints,
    ints_out,
    kernel,
    signs,
    void,
)
from windrow.operators.aggregates.events import Events, Values, regrouped
from windrow.operators.state.index import grown

Int64s = npt.NDArray[np.int64]
KEY, LEFT, RIGHT, SIZE = 0, 1, 2, 3


@numba.njit(void(grid_out, int64, int64), cache=True)
def _resize(nodes, base, t):  # type: ignore[no-untyped-def]
    n = t - base
    size = 1
    if nodes[n, LEFT] >= 0:
        size += nodes[nodes[n, LEFT] - base, SIZE]
    if nodes[n, RIGHT] >= 0:
        size += nodes[nodes[n, RIGHT] - base, SIZE]
    nodes[n, SIZE] = size


@numba.njit(types.UniTuple(int64, 2)(grid_out, int64, int64, int64, int64), cache=True)
def _split(nodes, base, t, key, p):  # type: ignore[no-untyped-def]
    """The tree ``t`` as the part before ``(key, p)`` and the part from it on."""
    if t < 0:
        return -1, -1
    n = t - base
    if nodes[n, KEY] < key or (nodes[n, KEY] == key and t < p):
        a, b = _split(nodes, base, nodes[n, RIGHT], key, p)
        nodes[n, RIGHT] = a
        _resize(nodes, base, t)
        return t, b
    a, b = _split(nodes, base, nodes[n, LEFT], key, p)
    nodes[n, LEFT] = b
    _resize(nodes, base, t)
    return a, t


@numba.njit(int64(grid_out, int64, int64, int64), cache=True)
def _merge(nodes, base, a, b):  # type: ignore[no-untyped-def]
    """One tree of two, all of ``a`` before all of ``b``."""
    if a < 0:
        return b
    if b < 0:
        return a
    if mix(a) > mix(b):
        nodes[a - base, RIGHT] = _merge(nodes, base, nodes[a - base, RIGHT], b)
        _resize(nodes, base, a)
        return a
    nodes[b - base, LEFT] = _merge(nodes, base, a, nodes[b - base, LEFT])
    _resize(nodes, base, b)
    return b


@numba.njit(int64(grid_out, int64, int64, int64, int64), cache=True)
def _erase(nodes, base, t, key, p):  # type: ignore[no-untyped-def]
    """The tree ``t`` without the node ``p``."""
    n = t - base
    if t == p:
        return _merge(nodes, base, nodes[n, LEFT], nodes[n, RIGHT])
    if key < nodes[n, KEY] or (key == nodes[n, KEY] and p < t):
        nodes[n, LEFT] = _erase(nodes, base, nodes[n, LEFT], key, p)
    else:
        nodes[n, RIGHT] = _erase(nodes, base, nodes[n, RIGHT], key, p)
    _resize(nodes, base, t)
    return t


@numba.njit(int64(grid_out, int64, int64, int64), cache=True)
def _nth(nodes, base, t, k):  # type: ignore[no-untyped-def]
    """The position of the k-th smallest value (from 0)."""
    while True:
        left = nodes[t - base, LEFT]
        before = nodes[left - base, SIZE] if left >= 0 else 0
        if k < before:
            t = left
        elif k == before:
            return t
        else:
            k -= before + 1
            t = nodes[t - base, RIGHT]


@kernel(void, ints, ints, ints, signs, int64, int64, int64, ints_out, grid_out)
def _change(code, position, key, sign, start, stop, base, roots, nodes):  # type: ignore[no-untyped-def]
    """Carry out the events from ``start`` up to ``stop``; ``sign`` 0 marks a NULL."""
    for i in range(start, stop):
        c, p = code[i], position[i]
        n = p - base
        if sign[i] > 0:
            nodes[n, KEY] = key[i]
            nodes[n, LEFT] = -1
            nodes[n, RIGHT] = -1
            nodes[n, SIZE] = 1
            a, b = _split(nodes, base, roots[c], key[i], p)
            roots[c] = _merge(nodes, base, _merge(nodes, base, a, p), b)
        elif sign[i] < 0:
            roots[c] = _erase(nodes, base, roots[c], nodes[n, KEY], p)


@kernel(void, int64, int64, float64, int64, grid_out, ints_out, ints_out, floats_out)
def _read(j, root, fraction, base, nodes, low, high, share):  # type: ignore[no-untyped-def]
    """The neighbours of the quantile in a tree, and where it lies between them."""
    low[j], high[j], share[j] = -1, -1, 0.0
    if root >= 0:
        size = nodes[root - base, SIZE]
        place = fraction * (size - 1)
        k = np.int64(np.floor(place))
        low[j] = _nth(nodes, base, root, k)
        high[j] = _nth(nodes, base, root, min(k + 1, size - 1))
        share[j] = place - k


@kernel(
    void, ints, ints, ints, signs, ints, ints, int64, float64, ints_out, grid_out, ints_out,
    ints_out, floats_out,
)  # fmt: skip
def _quantiles(  # type: ignore[no-untyped-def]
    code, position, key, sign, last, groups, base, fraction, roots, nodes, low, high, share
):
    """What each group has before the events, then what there is after each segment."""
    count = len(groups)
    for g in range(count):
        _read(g, roots[groups[g]], fraction, base, nodes, low, high, share)
    start = 0
    for j in range(len(last)):
        _change(code, position, key, sign, start, last[j] + 1, base, roots, nodes)
        start = last[j] + 1
        _read(count + j, roots[code[last[j]]], fraction, base, nodes, low, high, share)


class Quantile:
    """See the module; the median is the quantile of one half. Always DOUBLE."""

    def __init__(self, fraction: float) -> None:
        self.fraction = fraction
        self.roots = np.full(64, -1, np.int64)
        self.nodes = Growable(np.int64, width=4)

    def grow(self, size: int) -> None:
        self.roots = grown(self.roots, size, -1)

    def update(self, events: Events, values: Values) -> tuple[pa.Array, pa.Array]:
        argument, sign = values(events.position), events.sign
        valid = validity(argument)
        if valid is not None:
            sign = np.where(valid, sign, 0).astype(np.int8)
        self._make_room(events.position)
        groups, segments = len(events.groups), len(events.last)
        low, high = (np.empty(groups + segments, np.int64) for _ in range(2))
        share = np.empty(groups + segments)
        _quantiles(
            events.code, events.position, order_keys(argument), sign, events.last, events.groups,
            self.nodes.base, self.fraction, self.roots, self.nodes.view, low, high, share,
        )  # fmt: skip
        answer = self._between(low, high, share, values)
        return answer.slice(0, groups), answer.slice(groups)

    def _between(
        self, low: Int64s, high: Int64s, share: npt.NDArray[np.float64], values: Values
    ) -> pa.Array:
        none = low < 0
        if none.all():
            return pa.nulls(len(low), pa.float64())
        some = int(low.max())
        a, b = (numbers(values(np.where(none, some, at))).astype(np.float64) for at in (low, high))
        with np.errstate(invalid="ignore"):
            between = np.where((a == b) | (share == 0), a, a + (b - a) * share)
        return pa.array(between, mask=none)

    def _make_room(self, positions: Int64s) -> None:
        if not len(self.nodes):
            self.nodes.clear(int(positions.min()))
        missing = int(positions.max()) + 1 - self.nodes.next
        if missing > 0:
            self.nodes.extend(missing, -1)

    def replaced(self) -> Int64s:
        return np.empty(0, np.int64)

    def keeps(self, positions: Int64s, codes: Int64s, values: Values) -> npt.NDArray[np.bool_]:
        return np.ones(len(positions), np.bool_)

    def moved(self, base: int, where: Int64s) -> None:
        """Positions are part of a tree's order and priorities, so the trees are built anew."""
        alive = np.flatnonzero(where >= 0)
        self._make_room(np.array([base + len(where) - 1]))
        old = self.nodes.take(alive + base)
        codes = np.full(len(where), -1, np.int64)
        for group in np.flatnonzero(self.roots >= 0):
            self._label(int(self.roots[group]), int(group), codes, base)
        self.nodes.clear(int(where[alive[0]]) if len(alive) else 0)
        self.roots[:] = -1
        if not len(alive):
            return
        self.nodes.extend(len(alive), -1)
        member = codes[alive]
        inside = member >= 0
        order = np.argsort(member[inside], kind="stable")
        code, key = member[inside][order], np.ascontiguousarray(old[inside, KEY][order])
        position = where[alive][inside][order]
        if len(code):
            sign, nodes = np.ones(len(code), np.int8), self.nodes
            stop = len(code)
            _change(code, position, key, sign, 0, stop, nodes.base, self.roots, nodes.view)

    def _label(self, root: int, code: int, codes: Int64s, base: int) -> None:
        nodes, first, stack = self.nodes.view, self.nodes.base, [root]
        while stack:
            t = stack.pop()
            codes[t - base] = code
            stack += [int(c) for c in nodes[t - first, LEFT : RIGHT + 1] if c >= 0]

    def regroup(self, codes: Int64s, remap: Int64s) -> None:
        self.roots = regrouped(self.roots + 1, codes, remap) - 1

    def dump(self, codes: Int64s) -> list[pa.Array]:
        return []

    def restore(self, codes: Int64s, columns: list[pa.Array]) -> None:
        pass
