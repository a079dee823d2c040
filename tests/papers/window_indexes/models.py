"""The obvious twin of everything in ``windrow.windows``: lists of what came, recomputed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise

import numpy as np
from hypothesis import strategies as st

from windrow.papers.window_indexes.backward_rings import BackwardRing, DirtyBitRing
from windrow.papers.window_indexes.basic_storage import (
    GroupStorage,
    ListStorage,
    aggr_storage,
    hash_storage,
)
from windrow.papers.window_indexes.basic_windows import CountBased, TimeBased
from windrow.papers.window_indexes.forward_rings import AuxRing, PlainRing
from windrow.papers.window_indexes.group_index import GroupIndex, Groups
from windrow.papers.window_indexes.value_index import Purging, h_index, l_index, t_index

GROUPS = Groups(np.array([-3, 0, 2, 7]))
STORAGES: dict[str, Callable] = {
    "LIST": ListStorage,
    "AGGR": aggr_storage,
    "HASH": lambda: hash_storage(3),
}
INDEXES: dict[str, Callable] = {
    "L": l_index,
    "T": t_index,
    "T ranked": lambda: t_index(ranked=True),
    "H": h_index,
    "H of 3 buckets": lambda: h_index(3),
    "L, zero nodes": lambda: l_index(purging=Purging.ZERO_NODES),
    "T, zero nodes": lambda: t_index(purging=Purging.ZERO_NODES),
    "T ranked, zero nodes": lambda: t_index(ranked=True, purging=Purging.ZERO_NODES),
    "H, zero nodes": lambda: h_index(purging=Purging.ZERO_NODES),
}
RINGS = {"ring": PlainRing, "AUX": AuxRing, "BW": BackwardRing, "DB": DirtyBitRing}


def grouped() -> GroupStorage:
    return GroupStorage(GROUPS)


def group_index(windows: int = 1) -> GroupIndex:
    return GroupIndex(GROUPS, windows)


@st.composite
def streams(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray]:
    """Values with many repetitions, now and then far apart; times with ties and long gaps."""
    size = draw(st.integers(0, 60))
    value = st.one_of(st.integers(-6, 10), st.sampled_from([-(2**63), 2**63 - 1, 10**12]))
    values = draw(st.lists(value, min_size=size, max_size=size))
    steps = draw(st.lists(st.sampled_from([0, 0, 1, 2, 5, 40]), min_size=size, max_size=size))
    first = draw(st.integers(-20, 20))
    return np.array(values, np.int64), first + np.cumsum(np.array(steps, np.int64))


windows = st.builds(
    lambda kind, n, size: kind(n, size),
    st.sampled_from([CountBased, TimeBased]),
    st.integers(1, 5),
    st.integers(1, 7),
)
cut_points = st.lists(st.integers(0, 60), max_size=6)


def pieces(size: int, cuts: list[int]) -> Iterator[slice]:
    inner = sorted({c for c in cuts if 0 < c < size})
    yield from (slice(a, b) for a, b in pairwise([0, *inner, size]))


def in_window(spec: CountBased | TimeBased, ts: np.ndarray) -> list[int]:
    """The numbers of the tuples that queries may see, oldest first."""
    if isinstance(spec, CountBased):
        full = len(ts) // spec.tuples
        first = max(0, full - spec.basic_windows)
        return list(range(first * spec.tuples, full * spec.tuples))
    if not len(ts):
        return []
    spans = [int(t) // spec.span for t in ts]
    filling = spans[-1]
    return [i for i, s in enumerate(spans) if filling - spec.basic_windows <= s < filling]


def bag(values: list[int]) -> list[tuple[int, int]]:
    return [(v, values.count(v)) for v in sorted(set(values))]
