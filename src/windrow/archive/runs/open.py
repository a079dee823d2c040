"""Reading a run: buckets, ranges of keys and all of it, in either format, restricted by stamp.

An Arrow run is memory-mapped; a bucket, or the part of it within some stamps, is a slice that
copies nothing. A Parquet run decodes the row groups that a bucket lies in. Both answer in the
types that the reader asks for; an Arrow run that was written in others converts what it returns.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from windrow.archive.errors import DamagedError
from windrow.archive.files import Disk
from windrow.archive.layout import DAY, EXPIRY, Layout
from windrow.archive.runs.directory import Directory
from windrow.archive.runs.encoding import encoded
from windrow.archive.runs.ref import RunRef


@dataclass(frozen=True)
class Only:
    """Which entries of a run count: those of some days, those that expire at ``after`` or later.

    ``days`` None means all of the run's. ``after`` needs entries that have an expiry.
    """

    days: tuple[int, ...] | None = None
    after: int | None = None


ALL = Only()


class Run:
    """A run that is open, with its directory. ``close`` is the garbage collector's business."""

    def __init__(self, disk: Disk, layout: Layout, ref: RunRef) -> None:
        self.ref, self.layout, self._disk = ref, layout, disk
        where = str(disk.path(ref.directory_file))
        self.directory = Directory(disk.map(ref.directory_file), layout, where)

    @cached_property
    def entries(self) -> Entries:
        """The file of entries, opened when it is first needed."""
        where = str(self._disk.path(self.ref.entries_file))
        buffer = self._disk.map(self.ref.entries_file)
        try:
            if self.ref.format == "arrow":
                return _ArrowEntries(buffer, self.layout)
            return _ParquetEntries(buffer, self.layout)
        except (pa.ArrowException, OSError, KeyError, ValueError) as error:
            raise DamagedError(
                where=where,
                expected="the entries of a run",
                found=str(error),
                remedy="run `verify`, and restore the file from a copy of the archive",
            ) from error


class Entries(Protocol):
    """A file of entries. Rows are [start, stop); ``schema`` names and types what is wanted.

    ``bucket`` is for rows that all have one key and so are in the order of their stamps.
    """

    def rows(self, start: int, stop: int, schema: pa.Schema, only: Only) -> list[pa.RecordBatch]:
        """Rows of any keys."""

    def bucket(self, start: int, stop: int, schema: pa.Schema, only: Only) -> list[pa.RecordBatch]:
        """Rows of one key."""

    def plain(self, start: int, stop: int) -> pa.Table:
        """Rows as they are stored, all of their columns."""


class _ArrowEntries:
    def __init__(self, buffer: pa.Buffer, layout: Layout) -> None:
        reader = pa.ipc.open_file(buffer)
        self.batches = [reader.get_batch(i) for i in range(reader.num_record_batches)]
        self.starts = np.cumsum([0, *(b.num_rows for b in self.batches)]).tolist()
        self._views: dict[int, tuple[pa.Schema, list[pa.RecordBatch], bool]] = {}
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
        place = 0
        if len(batches) > 1:
            place = bisect_right(self.starts, start) - 1
            if stop > self.starts[place + 1]:  # only a batch too long for its offsets is cut
                return self.rows(start, stop, schema, only)
            start, stop = start - self.starts[place], stop - self.starts[place]
        if only is not ALL:
            bounds = self._bounds(only)
            if bounds is None:
                base = self.starts[place]
                return self.rows(start + base, stop + base, schema, only)
            stamps = self._stamps[place][start:stop]
            low, high = bounds
            first = start if low is None else start + int(stamps.searchsorted(low))
            stop = stop if high is None else start + int(stamps.searchsorted(high))
            start = first
        if start >= stop:
            return []
        found = batches[place].slice(start, stop - start)
        return [found] if not convert else _converted([found], schema)

    def rows(self, start: int, stop: int, schema: pa.Schema, only: Only) -> list[pa.RecordBatch]:
        _, batches, convert = self._view(schema)
        found = []
        for place in range(bisect_right(self.starts, start) - 1, len(batches)):
            base = self.starts[place]
            if base >= stop:
                break
            low, high = max(start - base, 0), min(stop - base, batches[place].num_rows)
            piece = batches[place].slice(low, high - low)
            if only is not ALL:
                piece = piece.filter(pa.array(self._kept(place, low, high, only)))
            if piece.num_rows:
                found.append(piece)
        return _converted(found, schema) if convert else found

    def plain(self, start: int, stop: int) -> pa.Table:
        schema = self.batches[0].schema
        return pa.Table.from_batches(self.rows(start, stop, schema, ALL), schema)

    def _view(self, schema: pa.Schema) -> tuple[pa.Schema, list[pa.RecordBatch], bool]:
        """The batches with the columns of a schema; found again by the schema's identity."""
        view = self._views.get(id(schema))
        if view is None:
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

    def _kept(self, place: int, low: int, high: int, only: Only) -> npt.NDArray[np.bool_]:
        kept = np.ones(high - low, np.bool_)
        if only.days is not None:
            wanted = np.isin(self._days, only.days)
            codes = self.batches[place].column(DAY).indices.to_numpy()
            kept &= wanted[codes[low:high]]
        if only.after is not None:
            kept &= self.batches[place].column(EXPIRY).to_numpy()[low:high] >= only.after
        return kept


class _ParquetEntries:
    def __init__(self, buffer: pa.Buffer, layout: Layout) -> None:
        self._file = pq.ParquetFile(pa.BufferReader(buffer))
        data = self._file.metadata
        groups = [data.row_group(i).num_rows for i in range(data.num_row_groups)]
        self.starts = np.cumsum([0, *groups]).tolist()
        self._schema = layout.given({})

    def bucket(self, start: int, stop: int, schema: pa.Schema, only: Only) -> list[pa.RecordBatch]:
        return self.rows(start, stop, schema, only)

    def rows(self, start: int, stop: int, schema: pa.Schema, only: Only) -> list[pa.RecordBatch]:
        if start >= stop:
            return []
        stamps = [DAY] * (only.days is not None) + [EXPIRY] * (only.after is not None)
        columns = list(dict.fromkeys([*schema.names, *stamps]))
        table = self._read(start, stop, columns)
        if only.days is not None:
            days = pa.array(only.days, pa.int32())
            table = table.filter(pc.is_in(table.column(DAY), value_set=days))
        if only.after is not None:
            table = table.filter(pc.greater_equal(table.column(EXPIRY), only.after))
        return _converted(table.select(schema.names).to_batches(), schema)

    def plain(self, start: int, stop: int) -> pa.Table:
        return self._read(start, stop, self._schema.names)

    def _read(self, start: int, stop: int, columns: list[str]) -> pa.Table:
        if start >= stop:
            return self._schema.empty_table().select(columns)
        first = bisect_right(self.starts, start) - 1
        last = bisect_left(self.starts, stop)
        table = self._file.read_row_groups(list(range(first, last)), columns, use_threads=False)
        return table.select(columns).slice(start - self.starts[first], stop - start)


def _converted(batches: list[pa.RecordBatch], schema: pa.Schema) -> list[pa.RecordBatch]:
    found = pa.Table.from_batches(batches) if batches else schema.empty_table()
    converted: list[pa.RecordBatch] = encoded(found, schema).to_batches()
    return [b for b in converted if b.num_rows]
