"""Totals of a scan: how many entries there are of each value of a column, and sums of others.

A column that repeats is stored as codes, so a run is gone through once by kernels that add up by
code, in pieces that stay near the processor; only the totals of runs are put together by value. The
pieces are shared among as many threads as Arrow has. What is not so stored (no codes, NULLs, values
that are not integers) is added up by Arrow.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pyarrow as pa

from windrow.archive.format.kernel_use import Kernels
from windrow.archive.format.sheet import address_of
from windrow.archive.runs.encoding import decode
from windrow.archive.runs.entries import Mapped
from windrow.archive.runs.search import FORMS, UINT64
from windrow.columns.arrays import Int64s, numpy_view
from windrow.core.thresholds import Threshold

PIECE = Threshold(65_536, least=1)
"""Rows of a piece: their groups take half a megabyte."""
_HALF = 32
_LANES = 4
_SMALL = 2**31
"""Values below this can be added 2^32 times."""
_kernels = Kernels("windrow.archive.runs.total_kernels")
Totals = dict[Any, list[Any]]


def add_run(mapped: Mapped, by: str, sums: Sequence[str]) -> Totals | None:
    """The totals of one run by the values of a column; None if kernels cannot add it up."""
    groups = mapped.batch.column(by)
    columns = [_values(mapped.batch.column(name)) for name in sums]
    readable = [column for column in columns if column is not None]
    if not isinstance(groups, pa.DictionaryArray) or groups.null_count:
        return None
    if len(readable) < len(columns):
        return None
    rows, step = len(groups), PIECE.value
    mapped.sheet.check(0, rows)
    parts = [(start, min(start + step, rows)) for start in range(0, rows, step)]
    width, at = groups.indices.type.bit_width // 8, address_of(groups.indices.buffers()[1])
    stamps = mapped.stamps or (0, 0, 0, 0)
    count = len(groups.dictionary)

    def add_pieces(own: list[tuple[int, int]]) -> Int64s:
        shape = _LANES, count + 1
        counts, places = np.zeros(shape, np.int64), np.empty(step, np.int64)
        low = [np.zeros(shape, np.int64) for _ in sums]
        high = [np.zeros(shape, np.int64) for _ in sums]
        for start, stop in own:
            here = places[: stop - start]
            _kernels.place_groups(at, width, start, *stamps, counts, here)
            for (address, code_width, form, values, small), lower, upper in zip(
                readable, low, high, strict=True
            ):
                _kernels.add_values(
                    address, code_width, form, start, values, here, small, lower, upper
                )
        halves = (part.sum(0) for pair in zip(high, low, strict=True) for part in pair)
        return np.stack([counts.sum(0), *halves])[:, :count]

    threads = min(pa.cpu_count(), len(parts))
    if threads > 1:
        with ThreadPoolExecutor(threads) as pool:
            found = list(pool.map(add_pieces, (parts[i::threads] for i in range(threads))))
    else:
        found = [add_pieces(parts)]
    return _by_value(groups.dictionary.to_pylist(), found)


def merge_totals(parts: Sequence[Totals]) -> dict[Any, tuple[Any, ...]]:
    """The totals of runs put together; a sum of nothing but NULLs is None."""
    merged: Totals = {}
    for part in parts:
        for name, numbers in part.items():
            before = merged.get(name)
            merged[name] = numbers if before is None else [
                x if y is None else y if x is None else x + y
                for x, y in zip(before, numbers, strict=True)
            ]  # fmt: skip
    return {name: tuple(numbers) for name, numbers in merged.items()}


def _by_value(names: list[Any], found: list[Int64s]) -> Totals:
    totals: Totals = {}
    for table in found:
        numbers = table.tolist()
        for place, name in enumerate(names):
            if numbers[0][place]:
                halves = [line[place] for line in numbers[1:]]
                own = totals.setdefault(name, [0] * (1 + len(halves) // 2))
                own[0] += numbers[0][place]
                for i in range(0, len(halves), 2):
                    own[1 + i // 2] += (halves[i] << _HALF) + halves[i + 1]
    return totals


def _values(column: pa.Array) -> tuple[int, int, int, Int64s, bool] | None:
    """Where integers are: an address, the width of codes, how they are held, what codes mean, and
    whether all are small.
    """
    none = np.zeros(0, np.int64)
    if column.null_count or column.offset:
        return None
    if isinstance(column, pa.DictionaryArray):
        kind, values, codes = column.type.value_type, column.dictionary, column.indices
        if not pa.types.is_integer(kind) or kind == pa.uint64() or values.null_count:
            return None
        known = numpy_view(values).astype(np.int64)
        small = bool(((known < _SMALL) & (known > -_SMALL)).all())
        return address_of(codes.buffers()[1]), codes.type.bit_width // 8, 0, known, small
    if not pa.types.is_integer(column.type):
        return None
    form, small = FORMS[np.dtype(column.type.to_pandas_dtype())], column.type.bit_width < 32
    return None if form == UINT64 else (address_of(column.buffers()[1]), 0, form, none, small)


def add_table(table: pa.Table, by: str, sums: Sequence[str]) -> Totals:
    """The same of any table, by Arrow; sums are exact."""
    plain = decode(table)
    wide = {n: pa.decimal128(38) for n in sums if pa.types.is_integer(plain.schema.field(n).type)}
    for name, kind in wide.items():
        place = plain.schema.get_field_index(name)
        plain = plain.set_column(place, name, plain.column(name).cast(kind))
    wanted = [([], "count_all"), *((name, "sum") for name in sums)]
    found = plain.group_by(by).aggregate(wanted)
    columns = [found.column(f"{n}_sum").to_pylist() for n in sums]
    lines = zip(
        found.column(by).to_pylist(), found.column("count_all").to_pylist(), *columns, strict=True
    )
    return {
        name: [
            count,
            *(
                int(x) if n in wide and x is not None else x
                for n, x in zip(sums, line, strict=True)
            ),
        ]
        for name, count, *line in lines
    }
