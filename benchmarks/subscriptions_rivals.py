"""Packages that find the intervals over a point, each behind the same two calls.

``find`` takes a batch of points and gives the package's own result, as cheaply as it can: arrays
where it makes arrays, lists where it makes lists. ``pairs`` turns that into rows and ids, outside
of what is timed, to compare answers. A package that is not installed is left out.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Pairs = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True)
class Rival:
    """``share`` of the points is what it is given: a slow one must not take all day."""

    name: str
    find: Callable[[np.ndarray], Any]
    pairs: Callable[[Any], Pairs]
    share: float = 1.0


def _flat(lists: Any) -> Pairs:
    lengths = np.fromiter(map(len, lists), np.int64, len(lists))
    ids = np.fromiter((i for found in lists for i in found), np.int64, int(lengths.sum()))
    return np.repeat(np.arange(len(lists)), lengths), ids


def superintervals(lo: np.ndarray, hi: np.ndarray) -> Rival:
    """Closed 32-bit intervals in C++; a batch call that gives a list of lists of indexes."""
    package = importlib.import_module("superintervals")
    ends = hi - 1
    index = package.IntervalMap.from_arrays(
        lo.astype(np.int32), ends.astype(np.int32), np.arange(len(lo))
    )
    index.build()

    def find(points: np.ndarray) -> Any:
        at = points.astype(np.int32)
        return index.search_idxs_batch(at, at)

    # It sorts the intervals as it builds and gives places in that order.
    order = np.array([index.data_at(i) for i in range(len(lo))])

    def pairs(found: Any) -> Pairs:
        rows, places = _flat(found)
        return rows, order[places]

    return Rival("superintervals", find, pairs)


def ncls(lo: np.ndarray, hi: np.ndarray) -> Rival:
    """Nested containment lists in C; a batch call that gives arrays of pairs."""
    package = importlib.import_module("ncls")
    index = package.NCLS(lo, hi, np.arange(len(lo)))

    def find(points: np.ndarray) -> Any:
        return index.all_overlaps_both(points, points + 1, np.arange(len(points)))

    return Rival("ncls", find, lambda found: found)


def intervaltree(lo: np.ndarray, hi: np.ndarray) -> Rival:
    """A balanced tree in Python; a call for each point gives a set of intervals."""
    package = importlib.import_module("intervaltree")
    tree = package.IntervalTree.from_tuples(
        zip(lo.tolist(), hi.tolist(), range(len(lo)), strict=True)
    )

    def find(points: np.ndarray) -> Any:
        return [[i.data for i in tree.at(x)] for x in points.tolist()]

    return Rival("intervaltree", find, _flat, share=0.01)


MAKERS: dict[str, Callable[[np.ndarray, np.ndarray], Rival]] = {
    "superintervals": superintervals,
    "ncls": ncls,
    "intervaltree": intervaltree,
}


def installed() -> tuple[list[str], list[str]]:
    """Which packages are there, and which are not."""
    there, missing = [], []
    for name in MAKERS:
        found = importlib.util.find_spec(name) is not None
        (there if found else missing).append(name)
    return there, missing
