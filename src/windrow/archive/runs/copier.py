"""Entries of several runs copied out of their files into one batch of plain types.

Arrow decodes a chunk of a column at a time, and takes longer to begin than to do it: a few dozen
rows of eight columns from five runs are forty beginnings. Here all of them are one pass over
addresses: where a record batch has the values of a column, or its codes and their dictionary, is
written down once (a *sheet*), and the kernels go by the sheets.

Not every column can be copied so: only values of fixed width and strings, without NULL.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from windrow.archive.format.kernel_use import Kernels
from windrow.archive.format.sheet import address_of, is_fixed
from windrow.columns.arrays import Int64s

FIXED, CODED, STRINGS, CODED_STRINGS = range(4)
_ALIGNED = 64
_LONGEST = 2**31 - 1
_kernels = Kernels("windrow.archive.runs.entry_kernels")


def sheet(batch: pa.RecordBatch, schema: pa.Schema) -> Int64s | None:
    """Where a batch has the columns of a schema that is plain; None if they cannot be copied so.

    A line has the kind, the width of codes and of values, and three addresses: of values, codes
    or offsets; of the dictionary's values or offsets; of the bytes of strings.
    """
    found = []
    for field in schema:
        column = batch.column(field.name)
        line = _line(column, field.type)
        if line is None:
            return None
        found.append(line)
    return np.array(found, np.int64)


def _line(column: pa.Array, kind: pa.DataType) -> tuple[int, ...] | None:
    if column.null_count or column.offset:
        return None
    if not isinstance(column, pa.DictionaryArray):
        return _plain_line(column) if column.type.equals(kind) else None
    values = column.dictionary
    line = _plain_line(values)
    if line is None or not values.type.equals(kind) or values.null_count or values.offset:
        return None
    codes = column.indices
    coded = CODED if line[0] == FIXED else CODED_STRINGS
    return (
        coded,
        codes.type.bit_width // 8,
        line[2],
        address_of(codes.buffers()[1]),
        line[3],
        line[5],
    )


def _plain_line(column: pa.Array) -> tuple[int, ...] | None:
    kind = column.type
    if pa.types.is_string(kind) or pa.types.is_binary(kind):
        return STRINGS, 0, 0, address_of(column.buffers()[1]), 0, address_of(column.buffers()[2])
    if not is_fixed(kind):
        return None
    return FIXED, 0, kind.bit_width // 8, address_of(column.buffers()[1]), 0, 0


class Copier:
    """Copies rows into batches of one schema: what is known of its types is looked up once."""

    def __init__(self, schema: pa.Schema) -> None:
        self.schema, self._types = schema, schema.types
        self._strings = [pa.types.is_string(t) or pa.types.is_binary(t) for t in self._types]
        self._widths = [t.bit_width // 8 if is_fixed(t) else 4 for t in self._types]

    def batch(self, pieces: Sequence[tuple[int, int, int]]) -> pa.RecordBatch | None:
        """The rows of pieces, each the address of a sheet and rows [start, stop).

        None if a column has more bytes of strings than 32-bit offsets reach. Whoever calls this
        holds the sheets, and the batches that they are of.
        """
        rows = sum(stop - start for _, start, stop in pieces)
        places = np.array(pieces, np.int64)
        totals = np.zeros(len(self._types), np.int64)
        _kernels.measure(places, totals)
        sizes = totals.tolist()
        if max(sizes, default=0) > _LONGEST:
            return None
        layout, end = [], 0
        for width, strings, size in zip(self._widths, self._strings, sizes, strict=True):
            first, end = end, _up(end + width * (rows + strings))
            layout.append((first, end if strings else -1))
            end = _up(end + size)
        arena = np.empty(end, np.uint8)
        _kernels.copy(places, np.array(layout, np.int64), arena)
        part = pa.py_buffer(arena).slice
        columns = [
            pa.Array.from_buffers(
                kind,
                rows,
                [None, part(first)] if second < 0 else [None, part(first), part(second, size)],
                0,
            )
            for kind, (first, second), size in zip(self._types, layout, sizes, strict=True)
        ]
        return pa.RecordBatch.from_arrays(columns, schema=self.schema)


def _up(place: int) -> int:
    return (place + _ALIGNED - 1) & -_ALIGNED
