"""Entries in an Arrow file, memory-mapped; and entries of several such files copied into one batch.

A bucket, or the part of it within some stamps, is a slice that copies nothing. If the file was
written in other types than are asked for, what is returned is converted. Before a slice is given
away, the blocks that it is read from are compared with their sums.

Arrow decodes a chunk of a column at a time, and takes longer to begin than to do it: a few dozen
rows of eight columns from five runs are forty beginnings. A ``Copier`` does all of them in one pass
over addresses: where a record batch has the values of a column, or its codes and their dictionary,
is written down once (a *sheet*), and the kernels go by the sheets. Not every column can be copied
so: only values of fixed width and strings, without NULL.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.archive.format.blocks import Blocks, check_metadata
from windrow.archive.format.disk import Pages
from windrow.archive.format.kernel_use import Kernels
from windrow.archive.format.layout import DAY, EXPIRY, Layout
from windrow.archive.format.sheet import Sheet, address_of, is_fixed
from windrow.archive.runs.entries import ALL, LONG, Mapped, Only, convert_batches, remember
from windrow.archive.runs.search import FORMS, GREATEST
from windrow.columns.arrays import Int64s, numpy_view

FIXED, CODED, STRINGS, CODED_STRINGS = range(4)
_ALIGNED = 64
_LONGEST = 2**31 - 1
_kernels = Kernels("windrow.archive.runs.entry_kernels")


@dataclass(frozen=True)
class _View:
    """The batches with the columns of a schema, and where these are."""

    schema: pa.Schema
    batches: list[pa.RecordBatch]
    convert: bool
    sheets: list[Sheet]


@dataclass(frozen=True)
class _Copies:
    """The same for ``Copier``: its own sheets, and their addresses."""

    schema: pa.Schema
    lines: list[Int64s | None]
    places: list[int | None]
    sheets: list[Sheet]

    @classmethod
    def of(cls, schema: pa.Schema, batches: list[pa.RecordBatch], blocks: Blocks) -> _Copies:
        lines = [sheet(batch, schema) for batch in batches]
        places = [None if found is None else int(found.ctypes.data) for found in lines]
        columns = [[batch.column(name) for name in schema.names] for batch in batches]
        return cls(schema, lines, places, [Sheet(blocks, one) for one in columns])


class ArrowEntries:
    """Batches of whole buckets, and the stamps of their entries as plain arrays."""

    def __init__(self, pages: Pages, blocks: Blocks, layout: Layout) -> None:
        self._pages, self._blocks = pages, blocks
        check_metadata(blocks)
        reader = pa.ipc.open_file(pages.buffer)
        self.batches = [reader.get_batch(i) for i in range(reader.num_record_batches)]
        self.starts = np.cumsum([0, *(b.num_rows for b in self.batches)]).tolist()
        self._views: dict[int, _View] = {}
        self._copies: dict[int, _Copies] = {}
        self._stamp_names = [stamp.name for stamp in layout.stamps]
        days = self.batches[0].column(DAY).dictionary
        for buffer in filter(None, days.buffers()):
            blocks.check(buffer.address, buffer.size)
        self._days: list[int] = days.to_pylist()
        name = layout.order
        self._stamps: list[npt.NDArray[Any]] = [
            numpy_view(b.column(name).indices if name == DAY else b.column(name))
            for b in self.batches
        ]
        self._ordered_by_day = name == DAY

    def bucket(self, start: int, stop: int, schema: pa.Schema, only: Only) -> list[pa.RecordBatch]:
        view = self._view(schema)
        found = self._within(start, stop, only)
        if found is None:
            return self.rows(start, stop, schema, only)
        place, start, stop = found
        if start >= stop:
            return []
        view.sheets[place].check(start, stop)
        slices = [view.batches[place].slice(start, stop - start)]
        return convert_batches(slices, schema) if view.convert else slices

    def piece(
        self, start: int, stop: int, schema: pa.Schema, only: Only
    ) -> tuple[int, int, int] | None:
        known = self._copies.get(id(schema))
        if known is None:
            known = _Copies.of(schema, self.batches, self._blocks)
            remember(self._copies, id(schema), known)
        found = self._within(start, stop, only)
        if found is None:
            return None
        place, start, stop = found
        at = known.places[place]
        if at is None:
            return None
        known.sheets[place].check(start, stop)
        return at, start, stop

    def _within(self, start: int, stop: int, only: Only) -> tuple[int, int, int] | None:
        """The rows of a bucket that count: a batch and rows of it, if they are all together."""
        place = 0
        if len(self.batches) > 1:
            place = bisect_right(self.starts, start) - 1
            if stop > self.starts[place + 1]:  # only a batch too long for its offsets is cut
                return None
            start, stop = start - self.starts[place], stop - self.starts[place]
        if only is not ALL:
            bounds = self._bounds(only)
            if bounds is None:
                return None
            self._stamp_sheets[place].check(start, stop)
            start, stop = self._part(place, start, stop, bounds)
        return place, start, stop

    def _part(
        self, place: int, start: int, stop: int, bounds: tuple[int | None, int | None]
    ) -> tuple[int, int]:
        """The rows of a bucket that are within bounds."""
        stamps, (low, high) = self._stamps[place][start:stop], bounds
        first = start if low is None else start + int(stamps.searchsorted(low))
        return first, stop if high is None else start + int(stamps.searchsorted(high))

    def rows(self, start: int, stop: int, schema: pa.Schema, only: Only) -> list[pa.RecordBatch]:
        view = self._view(schema)
        if stop - start > LONG.value:
            self._pages.read_ahead()
        found = []
        for place in range(bisect_right(self.starts, start) - 1, len(view.batches)):
            base = self.starts[place]
            if base >= stop:
                break
            low, high = max(start - base, 0), min(stop - base, view.batches[place].num_rows)
            view.sheets[place].check(low, high)
            piece = view.batches[place].slice(low, high - low)
            if only is not ALL:
                piece = piece.filter(pa.array(self._keep_mask(place, slice(low, high), only)))
            if piece.num_rows:
                found.append(piece)
        return convert_batches(found, schema) if view.convert else found

    def take(self, rows: Int64s, schema: pa.Schema, only: Only) -> list[pa.RecordBatch]:
        view = self._view(schema)
        found = []
        cuts = np.searchsorted(rows, self.starts)
        for place, batch in enumerate(view.batches):
            own = rows[cuts[place] : cuts[place + 1]] - self.starts[place]
            if only is not ALL and len(own):
                own = own[self._keep_mask(place, own, only)]
            if len(own):
                view.sheets[place].check_each(own)
                found.append(batch.take(pa.array(own)))
        return convert_batches(found, schema) if view.convert else found

    def map_scan(self, schema: pa.Schema, only: Only) -> list[Mapped] | None:
        found = self.map_batches(schema, only)
        for mapped in found or ():
            for column in mapped.batch.columns:
                for buffer in column.buffers():
                    if buffer is not None:
                        self._pages.read_soon(buffer)
        return found

    def map_batches(self, schema: pa.Schema, only: Only) -> list[Mapped] | None:
        view, bounds = self._view(schema), None
        if view.convert:
            return None
        if only is not ALL:
            bounds = self._bounds(only)
            if bounds is None:
                return None
        found = []
        for place, (first, batch) in enumerate(zip(self.starts, view.batches, strict=False)):
            if bounds is None:
                found.append(Mapped(first, batch, view.sheets[place], None))
                continue
            stamped = (self.batches[place].column(name) for name in self._stamp_names)
            stamps, (low, high) = self._stamps[place], bounds
            least = -GREATEST if low is None else low
            greatest = GREATEST if high is None else high
            where = int(stamps.ctypes.data), FORMS[stamps.dtype], least, greatest
            own = Sheet(self._blocks, [*batch.columns, *stamped])
            found.append(Mapped(first, batch, own, where))
        return found

    def plain(self, start: int, stop: int) -> pa.Table:
        schema = self.batches[0].schema
        return pa.Table.from_batches(self.rows(start, stop, schema, ALL), schema)

    def _view(self, schema: pa.Schema) -> _View:
        """The batches with the columns of a schema; found again by the schema's identity."""
        view = self._views.get(id(schema))
        if view is None:
            chosen = [b.select(schema.names) for b in self.batches]
            convert = not chosen[0].schema.equals(schema)
            sheets = [Sheet(self._blocks, batch.columns) for batch in chosen]
            view = remember(self._views, id(schema), _View(schema, chosen, convert, sheets))
        return view

    @cached_property
    def _stamp_sheets(self) -> list[Sheet]:
        columns = ([b.column(name) for name in self._stamp_names] for b in self.batches)
        return [Sheet(self._blocks, one) for one in columns]

    def _bounds(self, only: Only) -> tuple[int | None, int | None] | None:
        """The stamps [low, high) that count, if they are next to each other."""
        if not self._ordered_by_day:
            return (only.after, None) if only.days is None else None
        if only.days is None or only.after is not None:
            return None
        low, high = bisect_left(self._days, only.days[0]), bisect_right(self._days, only.days[-1])
        return (low, high) if high - low == len(only.days) else None

    def _keep_mask(self, place: int, rows: slice | Int64s, only: Only) -> npt.NDArray[np.bool_]:
        """Which of some rows of a batch count."""
        if isinstance(rows, slice):
            self._stamp_sheets[place].check(rows.start, rows.stop)
        else:
            self._stamp_sheets[place].check_each(rows)
        batch = self.batches[place]
        codes = numpy_view(batch.column(DAY).indices)[rows]
        kept = np.ones(len(codes), np.bool_)
        if only.days is not None:
            kept &= np.isin(self._days, only.days)[codes]
        if only.after is not None:
            kept &= numpy_view(batch.column(EXPIRY))[rows] >= only.after
        return kept


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
