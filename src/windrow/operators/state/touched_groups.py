"""The groups of windows that may have changed, by what came into a window or left it."""

from __future__ import annotations

from dataclasses import dataclass

from windrow.columns.arrays import Int64s
from windrow.columns.kernels import helper, int64, ints, ints_out, kernel


@dataclass(frozen=True)
class Touched:
    """Rows to look at: a probe, an instant at which it is due, and a group that may change."""

    probe: Int64s
    time: Int64s
    group: Int64s

    def __len__(self) -> int:
        return len(self.probe)


@helper
def _first_of(place, places, low, high):  # type: ignore[no-untyped-def]
    """The first of the cells from ``low`` until ``high``, which are in order, of a place."""
    while low < high:
        middle = (low + high) // 2
        if places[middle] < place:
            low = middle + 1
        else:
            high = middle
    return low


@kernel(
    int64, ints, ints, ints, ints, ints, ints, ints, ints, ints, ints, ints, int64, int64,
    ints_out, ints_out, ints_out, ints_out,
)  # fmt: skip
def find_touched(  # type: ignore[no-untyped-def]  # noqa: PLR0912
    windows, wanted, slides, answered, first, offsets, instants, ends, firsts, places, groups, now,
    room, marks, probe, time, group,
):  # fmt: skip
    """The groups that come into or leave each window between an execution and the one before.

    Probe p was ``answered`` last for an instant. Those until ``now`` are the multiples of its slide
    from ``first`` on or, if that is 0, the ``instants`` from ``offsets[p]`` to ``offsets[p + 1]``.
    ``firsts`` has the place of the first cell of each sub-window, and then how many there are.
    Of cells of several predicates, which are by ``places`` in each sub-window, those are looked at
    that are of the one that is ``wanted``; if there are no places, all are of one. How many were
    found is returned; if that is more than ``room``, nothing was written beyond it.
    """
    found, stamp = 0, 0
    for p in range(len(windows)):
        window, slide, following = windows[p], slides[p], offsets[p]
        head, tail = 0, 0
        while head < len(ends) and ends[head] <= answered[p]:
            head += 1
        while tail < len(ends) and ends[tail] + window <= answered[p]:
            tail += 1
        while tail < len(ends):  # otherwise all have come as well
            if slide == 0:
                if following == offsets[p + 1]:
                    break
                t = instants[following]
                following += 1
            else:
                t = -(-(ends[tail] + window) // slide) * slide
                if head < len(ends):
                    t = min(t, -(-ends[head] // slide) * slide)
                t = max(t, first[p])
                if t > now:
                    break
            stamp += 1
            for side in range(2):
                shift = window if side else 0
                at = tail if side else head
                while at < len(ends) and ends[at] + shift <= t:
                    cell, stop = firsts[at], firsts[at + 1]
                    if len(places):
                        cell = _first_of(wanted[p], places, cell, stop)
                    while cell < stop and (len(places) == 0 or places[cell] == wanted[p]):
                        g = groups[cell]
                        cell += 1
                        if marks[g] != stamp:
                            marks[g] = stamp
                            if found < room:
                                probe[found], time[found], group[found] = p, t, g
                            found += 1
                    at += 1
                if side:
                    tail = at
                else:
                    head = at
    return found
