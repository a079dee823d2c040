"""The order of instants: a few long runs are merged, scattered ones are sorted digit by digit.

Operators put what comes beside what goes, each in order of time: numpy's stable sort merges such
runs in one pass. Expiries of join results, and pairs that an interval forms within itself, are in
no order. For many of those a radix sort costs a fixed number of passes, one to four for what an
interval spans, where merging costs one for each doubling of the number of runs.
"""

from __future__ import annotations

import numpy as np
from numba import types

from windrow.columns.arrays import Int64s
from windrow.columns.kernels import int64, ints, ints_out, kernel, signs
from windrow.core.thresholds import Threshold

MANY = Threshold(1_000)
"""Instants that are worth the tables of a radix sort."""
LONG_RUN = 8
"""Instants in a run, on average, from which on merging is faster than some passes of a radix sort:
runs that hardly overlap are merged at a gallop."""
FEW_RUNS = 8
"""Runs up to which merging is faster than one pass."""
DIGIT = 11
"""Bits of a digit: the counts of one pass stay in the processor's first cache."""


@kernel(types.UniTuple(int64, 3), ints)
def _shape(times):  # type: ignore[no-untyped-def]
    """The least and the greatest instant, and how many come before their predecessor."""
    least = greatest = times[0]
    descents = 0
    for i in range(1, len(times)):
        least, greatest = min(least, times[i]), max(greatest, times[i])
        descents += times[i] < times[i - 1]
    return least, greatest, descents


@kernel(ints_out, ints, int64, int64)
def _sort_by_digits(times, least, greatest):  # type: ignore[no-untyped-def]
    """The places of instants in order of time, equal ones as they stand."""
    count, buckets = len(times), 1 << DIGIT
    keys, places = times - least, np.arange(len(times))
    next_keys, next_places = np.empty(count, np.int64), np.empty(count, np.int64)
    ends = np.empty(buckets, np.int64)
    shift = 0
    while (greatest - least) >> shift:
        ends[:] = 0
        for i in range(count):
            ends[(keys[i] >> shift) & (buckets - 1)] += 1
        start = 0
        for digit in range(buckets):
            ends[digit], start = start, start + ends[digit]
        for i in range(count):
            digit = (keys[i] >> shift) & (buckets - 1)
            to = ends[digit]
            ends[digit] = to + 1
            next_keys[to], next_places[to] = keys[i], places[i]
        keys, next_keys = next_keys, keys
        places, next_places = next_places, places
        shift += DIGIT
    return places


def time_order(times: Int64s) -> Int64s:
    """The places of instants in order of time, equal ones as they stand.

    >>> time_order(np.array([5, 3, 5, 1])).tolist()
    [3, 1, 0, 2]
    """
    if len(times) > MANY.value:
        least, greatest, descents = _shape(times)
        span = greatest - least  # which has to be a 64-bit integer too
        one_pass = span < 1 << DIGIT and descents > FEW_RUNS
        if one_pass or (descents * LONG_RUN > len(times) and span < 1 << 62):
            places: Int64s = _sort_by_digits(times, least, greatest)
            return places
    return np.argsort(times, kind="stable")


@kernel(ints_out, ints, signs)
def departures_first(times, sign):  # type: ignore[no-untyped-def]
    """The places of events in order of time, such that at each instant what goes is before what
    comes, and else as they stand."""
    order = np.empty(len(times), np.int64)
    start, count = 0, 0
    while start < len(times):
        stop = start
        while stop < len(times) and times[stop] == times[start]:
            if sign[stop] < 0:
                order[count] = stop
                count += 1
            stop += 1
        for i in range(start, stop):
            if sign[i] > 0:
                order[count] = i
                count += 1
        start = stop
    return order
