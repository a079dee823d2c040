"""Entries in an Arrow file, memory-mapped.

A bucket, or the part of it within some stamps, is a slice that copies nothing. If the file was
written in other types than are asked for, what is returned is converted.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.archive.layout import DAY, EXPIRY, Layout
from windrow.archive.pages import Pages
from windrow.archive.runs.copying import sheet
from windrow.archive.runs.entries import ALL, LONG, Only, converted, positions
from windrow.columns.arrays import Int64s

_REMEMBERED = 64


class ArrowEntries:
    """Batches of whole buckets, and the stamps of their entries as plain arrays."""

    def __init__(self, pages: Pages, layout: Layout) -> None:
        self._pages = pages
        reader = pa.ipc.open_file(pages.buffer)
        self.batches = [reader.get_batch(i) for i in range(reader.num_record_batches)]
        self.starts = np.cumsum([0, *(b.num_rows for b in self.batches)]).tolist()
        self._views: dict[int, tuple[pa.Schema, list[pa.RecordBatch], bool]] = {}
        self._sheets: dict[int, tuple[pa.Schema, list[Int64s | None], list[int | None]]] = {}
        days = self.batches[0].column(DAY)
        self._days: list[int] = days.dictionary.to_pylist()
        name = layout.order
        self._stamps: list[npt.NDArray[Any]] = [
            (b.column(name).indices if name == DAY else b.column(name)).to_numpy()
            for b in self.batches
        ]
        self._ordered_by_day = name == DAY

    def bucket(self, start: int, stop: int, schema: pa.Schema, only: Only) -> list[pa.RecordBatch]:
        _, batches, convert = self._view(schema)
        found = self._within(start, stop, only)
        if found is None:
            return self.rows(start, stop, schema, only)
        place, start, stop = found
        if start >= stop:
            return []
        slices = [batches[place].slice(start, stop - start)]
        return slices if not convert else converted(slices, schema)

    def piece(
        self, start: int, stop: int, schema: pa.Schema, only: Only
    ) -> tuple[int, int, int] | None:
        known = self._sheets.get(id(schema))
        if known is None:
            if len(self._sheets) >= _REMEMBERED:
                self._sheets.clear()
            sheets = [sheet(batch, schema) for batch in self.batches]
            places = [None if lines is None else lines.ctypes.data for lines in sheets]
            known = self._sheets[id(schema)] = (schema, sheets, places)
        found = self._within(start, stop, only)
        if found is None:
            return None
        place = known[2][found[0]]
        return None if place is None else (place, found[1], found[2])

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
            stamps = self._stamps[place][start:stop]
            low, high = bounds
            first = start if low is None else start + int(stamps.searchsorted(low))
            stop = stop if high is None else start + int(stamps.searchsorted(high))
            start = first
        return place, start, stop

    def rows(self, start: int, stop: int, schema: pa.Schema, only: Only) -> list[pa.RecordBatch]:
        _, batches, convert = self._view(schema)
        if stop - start > LONG:
            self._pages.read_ahead()
        found = []
        for place in range(bisect_right(self.starts, start) - 1, len(batches)):
            base = self.starts[place]
            if base >= stop:
                break
            low, high = max(start - base, 0), min(stop - base, batches[place].num_rows)
            piece = batches[place].slice(low, high - low)
            if only is not ALL:
                piece = piece.filter(pa.array(self._kept(place, slice(low, high), only)))
            if piece.num_rows:
                found.append(piece)
        return converted(found, schema) if convert else found

    def gather(
        self, ranges: list[tuple[int, int]], schema: pa.Schema, only: Only
    ) -> list[pa.RecordBatch]:
        return self.take(positions(ranges), schema, only)

    def take(self, rows: Int64s, schema: pa.Schema, only: Only) -> list[pa.RecordBatch]:
        _, batches, convert = self._view(schema)
        found = []
        cuts = np.searchsorted(rows, self.starts)
        for place, batch in enumerate(batches):
            own = rows[cuts[place] : cuts[place + 1]] - self.starts[place]
            if only is not ALL and len(own):
                own = own[self._kept(place, own, only)]
            if len(own):
                found.append(batch.take(pa.array(own)))
        return converted(found, schema) if convert else found

    def plain(self, start: int, stop: int) -> pa.Table:
        schema = self.batches[0].schema
        return pa.Table.from_batches(self.rows(start, stop, schema, ALL), schema)

    def _view(self, schema: pa.Schema) -> tuple[pa.Schema, list[pa.RecordBatch], bool]:
        """The batches with the columns of a schema; found again by the schema's identity."""
        view = self._views.get(id(schema))
        if view is None:
            if len(self._views) >= _REMEMBERED:  # readers come and go, and each brings schemas
                self._views.clear()
            chosen = [b.select(schema.names) for b in self.batches]
            convert = not chosen[0].schema.equals(schema)
            view = self._views[id(schema)] = (schema, chosen, convert)
        return view

    def _bounds(self, only: Only) -> tuple[int | None, int | None] | None:
        """The stamps [low, high) that count, if they are next to each other."""
        if not self._ordered_by_day:
            return (only.after, None) if only.days is None else None
        if only.days is None or only.after is not None:
            return None
        low, high = bisect_left(self._days, only.days[0]), bisect_right(self._days, only.days[-1])
        return (low, high) if high - low == len(only.days) else None

    def _kept(self, place: int, rows: slice | Int64s, only: Only) -> npt.NDArray[np.bool_]:
        """Which of some rows of a batch count."""
        batch = self.batches[place]
        codes = batch.column(DAY).indices.to_numpy()[rows]
        kept = np.ones(len(codes), np.bool_)
        if only.days is not None:
            kept &= np.isin(self._days, only.days)[codes]
        if only.after is not None:
            kept &= batch.column(EXPIRY).to_numpy()[rows] >= only.after
        return kept
