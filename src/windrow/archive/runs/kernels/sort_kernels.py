"""Entries in the order of a run, rows of keys put together, and which rows of buckets live."""

from __future__ import annotations

from windrow.columns.kernels import int64, ints, ints_out, kernel, void


@kernel(void, ints, ints_out, ints_out)
def place(ranks, starts, order):  # type: ignore[no-untyped-def]
    """Counting sort; ``starts`` comes in as zeros and goes out as the start of each rank."""
    for rank_of in ranks:
        starts[rank_of + 1] += 1
    for i in range(1, len(starts)):
        starts[i] += starts[i - 1]
    free = starts[:-1].copy()
    for i in range(len(ranks)):
        order[free[ranks[i]]] = i
        free[ranks[i]] += 1


@kernel(void, ints, ints, ints, ints, ints_out)
def count_rows(ranks, starts, rows, moved, counts):  # type: ignore[no-untyped-def]
    """Adds to ``counts``, from its second element on, how many rows each key keeps."""
    for key in range(len(ranks)):
        for place in range(starts[key], starts[key + 1]):
            if moved[rows[place]] >= 0:
                counts[ranks[key] + 1] += 1


@kernel(void, ints, ints, ints, ints, ints_out, ints_out)
def fill_rows(ranks, starts, rows, moved, free, out):  # type: ignore[no-untyped-def]
    """Puts the new rows of each key where there is room for it, and moves that on."""
    for key in range(len(ranks)):
        for place in range(starts[key], starts[key + 1]):
            new = moved[rows[place]]
            if new >= 0:
                out[free[ranks[key]]] = new
                free[ranks[key]] += 1


@kernel(int64, ints, ints, int64, ints_out, ints_out)
def live_ranges(edges, expiries, after, starts, stops):  # type: ignore[no-untyped-def]
    """The rows of buckets that expire at ``after`` or later: fills ``starts`` and ``stops`` and
    returns how many there are.
    """
    count = 0
    for bucket in range(len(edges) - 1):
        low, high = edges[bucket], edges[bucket + 1]
        stop = high
        while low < high:
            middle = (low + high) // 2
            if expiries[middle] < after:
                low = middle + 1
            else:
                high = middle
        if low == stop:
            continue
        if count > 0 and stops[count - 1] == low:
            stops[count - 1] = stop
        else:
            starts[count], stops[count] = low, stop
            count += 1
    return count
