"""The cost formulas of Golab et al. 2004, 4.5 and 5, as functions, and runs that are counted.

Each part of a cost comes twice: ``bound`` is the paper's, a worst case, ``average`` what the same
structure does on average over values that are drawn evenly. All are steps per tuple.

N is the number of tuples in the window and D that of values, b and d are those of a basic window,
h is a number of buckets, g one of groups. (Section 5 introduces b as the number of basic windows;
its terms D/b and d/b spread a cost per basic window over tuples, so it is what it was before.)
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass

import numpy as np

from tests.papers.window_indexes.models import RINGS
from windrow.papers.window_indexes.basic_storage import ListStorage, aggr_storage, hash_storage
from windrow.papers.window_indexes.basic_windows import CountBased
from windrow.papers.window_indexes.indexed_window import PURGES_PER_ROLL_OVER, IndexedWindow
from windrow.papers.window_indexes.ring_window import RingWindow
from windrow.papers.window_indexes.value_index import ValueIndex, h_index, l_index, t_index

Parts = dict[str, float]


@dataclass(frozen=True)
class Sizes:
    """N, how many basic windows it has, D, and buckets of the H-INDEX and of HASH."""

    tuples: int = 20_000
    basic_windows: int = 50
    values: int = 400
    buckets: int = 20
    small_buckets: int = 5

    @property
    def b(self) -> int:
        return self.tuples // self.basic_windows

    @property
    def d(self) -> float:
        """How many of D values b draws hit, on average."""
        return self.values * (1 - (1 - 1 / self.values) ** self.b)

    @property
    def met(self) -> float:
        """How many values a basic window has on average while it fills, the mean of d over it."""
        return self.values * (1 - self.d / self.b)

    @property
    def ring(self) -> float:
        """The length of a ring: N/D."""
        return self.tuples / self.values


STORAGES: dict[str, Callable] = {
    "LIST": lambda _: ListStorage(),
    "AGGR": lambda _: aggr_storage(),
    "HASH": lambda s: hash_storage(s.small_buckets),
}
INDEXES: dict[str, Callable[[Sizes], ValueIndex]] = {
    "L-INDEX": lambda _: l_index(),
    "T-INDEX": lambda _: t_index(),
    "H-INDEX": lambda s: h_index(s.buckets),
}

SEARCH_BOUND: dict[str, Callable[[Sizes], float]] = {
    "L-INDEX": lambda s: s.values,
    "T-INDEX": lambda s: avl_height(s.values),
    # Whatever h is, a search looks at a node.
    "H-INDEX": lambda s: 1 + s.values / s.buckets,
}
SEARCH_AVERAGE: dict[str, Callable[[Sizes], float]] = {
    "L-INDEX": lambda s: (s.values + 1) / 2,
    "T-INDEX": lambda s: math.log2(s.values) - 1,
    "H-INDEX": lambda s: 1 + s.values / s.buckets / 2,
}
STORE_BOUND: dict[str, Callable[[Sizes], float]] = {
    "LIST": lambda _: 1,
    "AGGR": lambda s: s.d,
    "HASH": lambda s: 1 + s.d / s.small_buckets,
}
STORE_AVERAGE: dict[str, Callable[[Sizes], float]] = {
    "LIST": lambda _: 1,
    "AGGR": lambda s: 1 + s.met / 2,
    "HASH": lambda s: 1 + s.met / s.small_buckets / 2,
}


def avl_height(nodes: int) -> float:
    """The greatest height of an AVL tree (Adelson-Velsky and Landis): 1.44 log2 of its nodes."""
    return 1.4405 * math.log2(nodes + 2)


def scans(storage: str, s: Sizes) -> float:
    """How often a tuple makes the index be searched: the factor 1 or d/b of Table 1."""
    return 1 if storage == "LIST" else s.d / s.b


def bound(storage: str, index: str, s: Sizes) -> Parts:
    """A cell of Table 1, in its four parts."""
    times = scans(storage, s)
    store, search = STORE_BOUND[storage](s), SEARCH_BOUND[index](s)
    return {"store": store, "locate": times * search, "attach": times, "expire": times}


def average(storage: str, index: str, s: Sizes) -> Parts:
    times = scans(storage, s)
    store, search = STORE_AVERAGE[storage](s), SEARCH_AVERAGE[index](s)
    return {"store": store, "locate": times * search, "attach": times, "expire": times}


def purging(s: Sizes) -> float:
    """Looking through the index some times per roll-over, which Table 1 leaves out."""
    return PURGES_PER_ROLL_OVER * s.values / s.tuples


def ring_bound(ring: str, s: Sizes) -> float:
    """The sums of section 5, over an L-INDEX."""
    share = s.d / s.b
    inserted = s.d + share * (1 + s.values + s.ring)
    return {
        "ring": s.values + 2 * s.ring + s.values / s.b,
        "AUX": inserted + s.ring,
        "BW": inserted + share * s.ring,
        "DB": inserted + 1,
    }[ring]


def ring_average(ring: str, s: Sizes) -> Parts:
    """What our rings take over an L-INDEX, part by part.

    A ring also holds tuples of the basic window that is filling, half of it on average. The one
    that is cut, chosen by its tuples, is longer by one than the average ring.
    """
    share, search = s.d / s.b, SEARCH_AVERAGE["L-INDEX"](s)
    length = s.ring + s.b / s.values / 2
    if ring == "ring":
        return {
            "locate": search, "link": length, "unlink": 1 + length, "ends": 1 + s.values / s.b,
            "attach": 1, "expire": 1,
        }  # fmt: skip
    parts = {"link": share, "ends": share, "attach": share}
    parts["locate"] = STORE_AVERAGE["AGGR"](s) + share * search
    parts["unlink"] = {"AUX": 1 + length, "BW": 1 + share * s.ring, "DB": 0}[ring]
    parts["expire"] = share if ring == "BW" else 1
    return parts


def evenly(s: Sizes, seed: int = 1) -> np.ndarray:
    """Enough to fill the window and to replace it once."""
    return np.random.default_rng(seed).integers(0, s.values, 2 * s.tuples)


def by_power_law(s: Sizes, seed: int = 1) -> np.ndarray:
    """The k-th most frequent value 1/k times as often as the first; which is which is drawn."""
    rng = np.random.default_rng(seed)
    shares = 1 / np.arange(1, s.values + 1)
    ranks = rng.choice(s.values, 2 * s.tuples, p=shares / shares.sum())
    return rng.permutation(s.values)[ranks]


def counted(window: IndexedWindow | RingWindow, values: np.ndarray) -> Parts:
    """Steps per tuple while the second half of the values replaces the first, by part."""
    half = len(values) // 2
    window.append(values[:half])
    before = window.steps.copy()
    window.append(values[half:])
    return {part: steps / half for part, steps in asdict(window.steps.since(before)).items()}


def count_indexed(storage: str, index: str, s: Sizes, values: np.ndarray) -> Parts:
    spec = CountBased(s.basic_windows, s.b)
    return counted(IndexedWindow(spec, STORAGES[storage](s), INDEXES[index](s)), values)


def count_ring(ring: str, index: str, s: Sizes, values: np.ndarray) -> Parts:
    spec = CountBased(s.basic_windows, s.b)
    return counted(RingWindow(spec, RINGS[ring](INDEXES[index](s))), values)
