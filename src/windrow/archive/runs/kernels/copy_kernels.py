"""Rows of several record batches copied into one arena, by the addresses of their sheets."""

from __future__ import annotations

import numpy as np

from windrow.archive.format.kernels.block_kernels import array_at, pointer
from windrow.archive.runs.copier import CODED, CODED_STRINGS, FIXED, STRINGS
from windrow.columns.kernels import bytes_out, grid, ints_out, kernel, void


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
