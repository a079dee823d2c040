"""Entries put in the order of a run, rows of keys put together, which rows of buckets live; and
rows of several record batches copied into one arena, by the addresses of their sheets.
"""

from __future__ import annotations

import numpy as np

from windrow.archive.format.block_kernels import array_at, pointer
from windrow.archive.runs.arrow_entries import CODED, CODED_STRINGS, FIXED, STRINGS
from windrow.columns.kernels import bytes_out, grid, int64, ints, ints_out, kernel, void


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


@kernel(void, grid, ints_out)
def measure(places, totals):  # type: ignore[no-untyped-def]
    """Bytes of the strings of each column."""
    for piece in range(len(places)):
        lines = array_at(pointer(places[piece, 0]), (len(totals), 6), np.int64)
        start, stop = places[piece, 1], places[piece, 2]
        for column in range(len(totals)):
            kind, narrow = lines[column, 0], lines[column, 1]
            if kind == STRINGS:
                offsets = array_at(pointer(lines[column, 3]), stop + 1, np.int32)
                totals[column] += offsets[stop] - offsets[start]
            elif kind == CODED_STRINGS:
                bytes_of = array_at(pointer(lines[column, 3]), stop * narrow, np.uint8)
                for row in range(start, stop):
                    code = np.int64(bytes_of[row * narrow])
                    for i in range(1, narrow):
                        code |= np.int64(bytes_of[row * narrow + i]) << (8 * i)
                    offsets = array_at(pointer(lines[column, 4]), code + 2, np.int32)
                    totals[column] += offsets[code + 1] - offsets[code]


@kernel(void, grid, grid, bytes_out)
def copy(places, layout, arena):  # type: ignore[no-untyped-def]
    """Values, codes' values and strings of all pieces into their places."""
    for column in range(len(layout)):
        first, at = layout[column, 0], layout[column, 1]
        done, length = 0, 0
        if at >= 0:
            for i in range(4):
                arena[first + i] = 0
        for piece in range(len(places)):
            lines = array_at(pointer(places[piece, 0]), (len(layout), 6), np.int64)
            start, stop = places[piece, 1], places[piece, 2]
            kind, narrow, wide = lines[column, 0], lines[column, 1], lines[column, 2]
            if kind == FIXED:
                values = array_at(pointer(lines[column, 3]), stop * wide, np.uint8)
                for i in range((stop - start) * wide):
                    arena[first + done * wide + i] = values[start * wide + i]
                done += stop - start
                continue
            for row in range(start, stop):
                code = np.int64(row)
                if kind != STRINGS:
                    codes = array_at(pointer(lines[column, 3]), stop * narrow, np.uint8)
                    code = np.int64(codes[row * narrow])
                    for i in range(1, narrow):
                        code |= np.int64(codes[row * narrow + i]) << (8 * i)
                if kind == CODED:
                    values = array_at(pointer(lines[column, 4]), (code + 1) * wide, np.uint8)
                    for i in range(wide):
                        arena[first + done * wide + i] = values[code * wide + i]
                else:
                    where = lines[column, 3] if kind == STRINGS else lines[column, 4]
                    offsets = array_at(pointer(where), code + 2, np.int32)
                    begin, end = offsets[code], offsets[code + 1]
                    text = array_at(pointer(lines[column, 5]), end, np.uint8)
                    for i in range(end - begin):
                        arena[at + length + i] = text[begin + i]
                    length += end - begin
                    for i in range(4):
                        arena[first + 4 * (done + 1) + i] = (length >> (8 * i)) & 255
                done += 1
