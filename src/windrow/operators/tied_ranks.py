"""The first places of each group, where rows that tie are at one place: RANK and DENSE_RANK.

A place of RANK is one more than the number of rows before it, of DENSE_RANK one more than the
number of different keys. So a place may have any number of rows, and what is shown has no limit.

Cost: O(s log g) per instant that changes a group of g rows of which s are shown.
"""

from __future__ import annotations

import numpy as np

from windrow.columns.kernels import (
    boolean,
    grid_out,
    inline,
    int64,
    ints,
    ints_out,
    kernel,
    signs,
)
from windrow.operators.top_k import counting_tree, nth_present


@inline
def say_change(place, rank, time, sign, changes, out):  # type: ignore[no-untyped-def]
    """Note a change at a place, from 0, if there is room; how many there are."""
    if changes < len(out):
        out[changes, 0], out[changes, 1], out[changes, 2] = rank, time, sign
        out[changes, 3] = place + 1
    return changes + 1


@kernel(int64, ints_out, int64, ints, int64, int64, boolean, grid_out)
def _collect(tree, present, ties, low, most, dense, found):  # type: ignore[no-untyped-def]
    """The rows at the first places, as pairs of a rank and a place from 0; how many they are."""
    place, last = -1, -1
    for j in range(present):
        at = nth_present(tree, j + 1)
        if ties[low + at] != last:
            place, last = (place + 1 if dense else j), ties[low + at]
            if place >= most:
                return j
        found[j, 0], found[j, 1] = at, place
    return present


@kernel(int64, ints, ints, signs, ints, ints, ints, ints, int64, boolean, boolean, grid_out)
def changes_of_places(  # type: ignore[no-untyped-def]
    rank, time, sign, events_from, ranks_from, held, ties, most, dense, numbered, out
):
    """Play the events of each group in order of time; how many changes of its first places.

    Group g has the events from ``events_from[g]`` on and the ranks from ``ranks_from[g]`` on;
    ``held`` says which of these are present before, and ranks with equal ``ties`` have equal keys.
    If ``numbered`` a row at another place is another row. ``out`` gets the rank, the time, the sign
    and the place of each change.
    """
    changes = 0
    for g in range(len(ranks_from) - 1):
        low, high = ranks_from[g], ranks_from[g + 1]
        present = held[low:high].sum()
        tree = counting_tree(held[low:high])
        shown, fresh = np.empty((high - low, 2), np.int64), np.empty((high - low, 2), np.int64)
        old = _collect(tree, present, ties, low, most, dense, shown)
        i = events_from[g]
        while i < events_from[g + 1]:
            now = time[i]
            while i < events_from[g + 1] and time[i] == now:
                present += sign[i]
                at = rank[i] - low + 1
                while at < len(tree):
                    tree[at] += sign[i]
                    at += at & -at
                i += 1
            new = _collect(tree, present, ties, low, most, dense, fresh)
            a, b = 0, 0
            while a < old or b < new:
                if a < old and (b >= new or shown[a, 0] < fresh[b, 0]):
                    changes = say_change(shown[a, 1], low + shown[a, 0], now, -1, changes, out)
                    a += 1
                elif b < new and (a >= old or fresh[b, 0] < shown[a, 0]):
                    changes = say_change(fresh[b, 1], low + fresh[b, 0], now, 1, changes, out)
                    b += 1
                else:
                    if numbered and shown[a, 1] != fresh[b, 1]:
                        changes = say_change(shown[a, 1], low + shown[a, 0], now, -1, changes, out)
                        changes = say_change(fresh[b, 1], low + fresh[b, 0], now, 1, changes, out)
                    a, b = a + 1, b + 1
            shown[:new] = fresh[:new]
            old = new
    return changes
