"""Totals of a scan: how many entries there are of each value of a column, and sums of others.

A column that repeats is stored as codes, so a run is gone through once by kernels that add up by
code, in pieces that stay near the processor; only the totals of runs are put together by value. The
rows of all runs are shared among as many threads as Arrow has. What is not so stored (no codes,
NULLs, values that are not integers) is added up by Arrow.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import chain, pairwise
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

PIECE = Threshold(16_384, least=1)
"""Rows of a piece: their groups and their values take a quarter of a megabyte."""
_HALF = 32
_LANES = 4
_SMALL = 2**31
"""Values below this can be added 2^32 times."""
_kernels = Kernels("windrow.archive.runs.total_kernels")
Totals = dict[Any, list[Any]]
_Values = tuple[int, int, int, Int64s, bool]
"""Where integers are: an address, the width of codes, how they are held, what codes mean, and
whether all are small."""


@dataclass(frozen=True)
class RunColumns:
    """What kernels add up of one run: where codes and values are, and how stamps are looked at.

    All addresses are in ``mapped``, which is kept for as long.
    """

    mapped: Mapped
    names: pa.Array
    rows: int
    codes: tuple[int, int]
    stamps: tuple[int, int, int, int]
    values: list[_Values]

    def add(self, first: int, last: int) -> Int64s:
        """Counts and halves of sums by code, of the rows from ``first`` up to ``last``."""
        step, shape = PIECE.value, (_LANES, len(self.names) + 1)
        counts, places = np.zeros(shape, np.int64), np.empty(min(step, last - first), np.int64)
        read = np.empty_like(places)
        low = [np.zeros(shape, np.int64) for _ in self.values]
        high = [np.zeros(shape, np.int64) for _ in self.values]
        for start in range(first, last, step):
            here = places[: min(start + step, last) - start]
            _kernels.place_groups(*self.codes, start, *self.stamps, counts, here)
            for column, lower, upper in zip(self.values, low, high, strict=True):
                _kernels.add_values(*column, start, here, read, lower, upper)
        halves = (part.sum(0) for pair in zip(high, low, strict=True) for part in pair)
        return np.stack([counts.sum(0), *halves])[:, :-1]


def columns_to_add(mapped: Mapped, by: str, sums: Sequence[str]) -> RunColumns | None:
    """A run by the values of a column; None if kernels cannot add it up."""
    groups = mapped.batch.column(by)
    columns = [_values(mapped.batch.column(name)) for name in sums]
    readable = [column for column in columns if column is not None]
    if not isinstance(groups, pa.DictionaryArray) or groups.null_count:
        return None
    if len(readable) < len(columns):
        return None
    mapped.sheet.check(0, len(groups))
    codes = address_of(groups.indices.buffers()[1]), groups.indices.type.bit_width // 8
    stamps = mapped.stamps or (0, 0, 0, 0)
    return RunColumns(mapped, groups.dictionary, len(groups), codes, stamps, readable)


def add_runs(runs: Sequence[RunColumns]) -> list[Totals]:
    """The totals of each of several runs. A thread has as many rows as any other, of all runs
    together, so that none waits for another before the end.
    """
    ends = np.cumsum([0, *(run.rows for run in runs)]).tolist()
    threads = max(1, min(pa.cpu_count(), -(-ends[-1] // PIECE.value)))
    cuts = [ends[-1] * i // threads for i in range(threads + 1)]

    def add(share: tuple[int, int]) -> list[tuple[int, Int64s]]:
        own = []
        for number, (begin, run) in enumerate(zip(ends, runs, strict=False)):
            first, last = max(share[0] - begin, 0), min(share[1] - begin, run.rows)
            if first < last:
                own.append((number, run.add(first, last)))
        return own

    shares = list(pairwise(cuts))
    if threads > 1:
        with ThreadPoolExecutor(threads - 1) as pool:
            others = pool.map(add, shares[1:])
            found = [add(shares[0]), *others]
    else:
        found = [add(share) for share in shares]
    parts: list[list[Int64s]] = [[] for _ in runs]
    for number, part in chain.from_iterable(found):
        parts[number].append(part)
    return [_by_value(run.names.to_pylist(), own) for run, own in zip(runs, parts, strict=True)]


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


def _values(column: pa.Array) -> _Values | None:
    """Where the integers of a column are; None if it has others, or NULLs."""
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
