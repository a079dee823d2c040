"""Entries in an Arrow file, memory-mapped.

A bucket, or the part of it within some stamps, is a slice that copies nothing. If the file was
written in other types than are asked for, what is returned is converted. Before a slice is given
away, the blocks that it is read from are compared with their sums.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.archive.format.blocks import Blocks, check_metadata
from windrow.archive.format.layout import DAY, EXPIRY, Layout
from windrow.archive.format.mapped_files import Pages, numpy_view
from windrow.archive.format.sheet import Sheet
from windrow.archive.runs.copier import sheet
from windrow.archive.runs.entries import ALL, LONG, Direct, Only, convert_batches, remember
from windrow.columns.arrays import Int64s


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

    def direct(self, schema: pa.Schema, only: Only) -> Direct | None:
        view = self._view(schema)
        if view.convert or len(self.batches) > 1:
            return None
        batch = view.batches[0]
        if only is ALL:
            return Direct(view.sheets[0], lambda start, stop: batch.slice(start, stop - start))
        bounds = self._bounds(only)
        if bounds is None:
            return None
        columns = [*batch.columns, *(self.batches[0].column(name) for name in self._stamp_names)]

        def part(start: int, stop: int) -> pa.RecordBatch:
            first, last = self._part(0, start, stop, bounds)
            return batch.slice(first, max(0, last - first))

        return Direct(Sheet(self._blocks, columns), part)

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
