"""Several runs, or parts of them, into one packed run, within bounded memory.

The keys of the inputs' directories are ranked together, which says where each bucket goes; then
ranges of keys are gathered, put in order and written, one at a time. Entries that do not count
any more are left out in passing (the packed shadow of Shivakumar, Garcia-Molina 1997, 2.1), and
values that only they had are left out of the dictionaries, so that what has expired does not live
on there. Records that have lists for keys are written one input after the other, and their listings
are put together in the end.

Cost: linear in the entries read; ``PIECE`` of them, or ``PIECE_BYTES``, are in memory at a time
(a single bucket is never cut), and the directories and dictionaries; of lists also a number for
each record, and for each key of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from windrow.archive.format.disk import Disk
from windrow.archive.format.layout import DAY, DAY_TYPE, EXPIRY, Layout
from windrow.archive.format.run_ref import Format, RunRef, narrowest, widest
from windrow.archive.runs.run import ALL, Only, Run
from windrow.archive.runs.sorting import Listing, Ranked, arrange, merged_listing, rank, take_rows
from windrow.archive.runs.write import Piece, write_run
from windrow.columns.arrays import Int64s
from windrow.core.thresholds import Threshold

Inputs = Sequence[tuple[Run, Only]]


@dataclass(frozen=True)
class Values:
    """The merged dictionary of a column, and each input's codes in it (None: it has no codes)."""

    values: pa.Array
    codes: tuple[Int64s | None, ...]

    @classmethod
    def of(cls, name: str, inputs: Inputs) -> Values:
        found = [_dictionary(run, name, only) for run, only in inputs]
        values = pa.concat_arrays([used for used, _ in found]).unique().drop_null()
        codes = tuple(
            None
            if known is None
            else pc.fill_null(pc.index_in(known, value_set=values), -1).cast(pa.int64()).to_numpy()
            for _, known in found
        )
        return cls(values, codes)

    def width(self, before: str) -> str:
        return widest(before, narrowest(len(self.values)))

    def encode(self, column: pa.ChunkedArray, source: int, kind: pa.DataType) -> pa.Array:
        codes = self.codes[source]
        if codes is None:
            indices = pc.index_in(column, value_set=self.values).combine_chunks()
        else:
            own = pa.chunked_array([c.indices for c in column.chunks], column.type.index_type)
            missing = None
            if own.null_count:
                missing = own.is_null().to_numpy()
                own = own.fill_null(0)
                codes = codes if len(codes) else np.zeros(1, codes.dtype)  # of nothing but NULLs
            indices = pa.array(codes[own.to_numpy()], mask=missing)
        if isinstance(indices, pa.ChunkedArray):
            indices = pa.concat_arrays(indices.chunks)
        return pa.DictionaryArray.from_arrays(indices.cast(kind.index_type), self.values)


def _dictionary(run: Run, name: str, only: Only) -> tuple[pa.Array, pa.Array | None]:
    """The values of a column that count, and all values its codes stand for, if it has codes."""
    stored = run.entries.plain(0, 1).schema.field(name).type
    if not pa.types.is_dictionary(stored):
        schema = pa.schema([pa.field(name, stored)])
        column = _read_column(run, schema, only).column(0)
        return column.unique(), None
    known = run.entries.plain(0, 1).column(name).chunk(0).dictionary
    if only is ALL:
        return known, known
    used = _read_column(run, pa.schema([pa.field(name, stored)]), only).column(0)
    codes = pa.chunked_array([c.indices for c in used.chunks], stored.index_type)
    return known.take(codes.unique().drop_null()), known


def _read_column(run: Run, schema: pa.Schema, only: Only) -> pa.Table:
    return pa.Table.from_batches(run.entries.rows(0, run.ref.rows, schema, only), schema)


PIECE, PIECE_BYTES = Threshold(1_000_000, least=1), Threshold(128 << 20, least=1)


def merge(
    disk: Disk,
    layout: Layout,
    encodings: Mapping[str, str],
    inputs: Inputs,
    name: str,
    kind: Format,
) -> tuple[RunRef | None, dict[str, str]]:
    """One run of all entries that count (None if there are none), and the encodings from now on."""
    for run, _ in inputs:
        run.read_whole()
    live = {day for run, only in inputs for day, _ in run.ref.days if _wants_day(day, only)}
    if not live:
        return None, dict(encodings)
    merged = {} if kind == "parquet" else {n: Values.of(n, inputs) for n in encodings}
    after = {**encodings, **{n: v.width(encodings[n]) for n, v in merged.items()}}
    schema = layout.stored_schema(after if kind == "arrow" else {})
    lists = None
    if layout.list_key is None:
        pieces = _pieces(layout, schema, inputs, merged, sorted(live))
    else:
        lists = _Lists(_Gather(layout, schema, inputs, merged, sorted(live), []))
        pieces = lists.pieces()
    first = next(pieces, None)
    if first is None:
        return None, dict(encodings)

    def rest() -> Iterator[Piece]:
        yield first
        yield from pieces

    rows = sum(n for run, only in inputs for day, n in run.ref.days if _wants_day(day, only))
    listing = None if lists is None else lists.listing
    return write_run(disk, layout, schema, rest(), name, kind, rows, listing), after


def _wants_day(day: int, only: Only) -> bool:
    return only.days is None or day in only.days


def _pieces(
    layout: Layout, schema: pa.Schema, inputs: Inputs, merged: Mapping[str, Values], days: list[int]
) -> Iterator[Piece]:
    """The merged entries in order, in pieces of whole buckets, none of them empty."""
    directories = [run.directory for run, _ in inputs]
    columns = [
        pa.concat_arrays([d.columns[i] for d in directories]) for i in range(len(layout.key))
    ]
    ranked = rank(columns)
    bounds = np.cumsum([0, *(len(d) for d in directories)])
    ranks = [ranked.ranks[a:b] for a, b in pairwise(bounds.tolist())]
    gather = _Gather(layout, schema, inputs, merged, days, ranks)
    for low, high in _cuts(ranked, [d.counts() for d in directories], _piece_rows(inputs)):
        piece = gather.buckets(low, high, [c.slice(low, high - low) for c in ranked.distinct])
        if len(piece.entries):
            yield piece
    rest = gather.keyless([c.slice(0, 0) for c in ranked.distinct])
    if len(rest.entries):
        yield rest


def _piece_rows(inputs: Inputs) -> int:
    """How many entries a piece may have; Parquet is about three times as long in memory."""
    stored = sum(
        run.ref.entries.size * (3 if run.ref.format == "parquet" else 1) for run, _ in inputs
    )
    rows = sum(run.ref.rows for run, _ in inputs)
    return max(1, min(PIECE.value, PIECE_BYTES.value * rows // stored))


def _cuts(ranked: Ranked, counts: list[Int64s], rows: int) -> Iterator[tuple[int, int]]:
    """Ranges of ranks with at most so many entries each, or a single bucket."""
    totals = np.zeros(len(ranked), np.int64)
    np.add.at(totals, ranked.ranks, np.concatenate(counts))
    ends = np.cumsum(totals)
    low = 0
    while low < len(ranked):
        before = int(ends[low - 1]) if low else 0
        high = max(low + 1, int(np.searchsorted(ends, before + rows, "right")))
        yield low, high
        low = high


@dataclass(frozen=True)
class _Gather:
    """Takes the rows of a range of keys from all inputs and puts them in order."""

    layout: Layout
    schema: pa.Schema
    inputs: Inputs
    merged: Mapping[str, Values]
    days: list[int]
    ranks: list[Int64s]

    def buckets(self, low: int, high: int, distinct: list[pa.Array]) -> Piece:
        tables, ranks = [], []
        for place, (run, _) in enumerate(self.inputs):
            first, last = np.searchsorted(self.ranks[place], [low, high]).tolist()
            directory = run.directory
            if first == last:
                continue
            stop = directory.end if last == len(directory) else int(directory.starts[last])
            start = int(directory.starts[first])
            counts = np.diff(directory.starts[first:last], append=stop)
            table, kept = self.rows(place, start, stop)
            own = np.repeat(self.ranks[place][first:last] - low, counts)
            tables.append(table)
            ranks.append(own if kept is None else own[kept])
        piece = self._in_order(tables, ranks, high - low)
        filled = np.diff(piece.starts) > 0
        kept_keys = [d.filter(pa.array(filled)) for d in distinct]
        starts = np.concatenate([piece.starts[:-1][filled], piece.starts[-1:]])
        return Piece(piece.entries, kept_keys, starts)

    def keyless(self, none: list[pa.Array]) -> Piece:
        tables = [
            self.rows(place, run.directory.end, run.ref.rows)[0]
            for place, (run, _) in enumerate(self.inputs)
        ]
        piece = self._in_order(tables, [np.zeros(len(t), np.int64) for t in tables], 0)
        return Piece(piece.entries, none, piece.starts[:1])

    def _in_order(self, tables: list[pa.Table], ranks: list[Int64s], distinct: int) -> Piece:
        if not tables:
            return Piece(self.schema.empty_table(), [], np.zeros(distinct + 1, np.int64))
        table = pa.concat_tables(tables).combine_chunks()
        stamps = table.column(self.layout.order)
        if not self.layout.lifetimes:
            stamps = pa.chunked_array([c.indices for c in stamps.chunks], DAY_TYPE.index_type)
        order, starts = arrange(np.concatenate(ranks), distinct, stamps.to_numpy())
        return Piece(take_rows(table, order), [], starts)

    def rows(self, place: int, start: int, stop: int) -> tuple[pa.Table, np.ndarray | None]:
        """Rows of one input in the output's types, and which of them count (None: all)."""
        run, only = self.inputs[place]
        table = run.entries.plain(start, stop)
        kept = None
        if only is not ALL:
            kept = _counts(table, only)
            table = table.filter(pa.array(kept))
        columns = [
            self._day(table.column(DAY))
            if field.name == DAY
            else self.merged[field.name].encode(table.column(field.name), place, field.type)
            if field.name in self.merged
            else table.column(field.name).cast(field.type)
            for field in self.schema
        ]
        return pa.table(columns, schema=self.schema), kept

    def _day(self, column: pa.ChunkedArray) -> pa.Array:
        days = pa.array(self.days, pa.int32())
        codes = pc.index_in(column.cast(pa.int32()), value_set=days).cast(DAY_TYPE.index_type)
        chunks = codes.chunks if isinstance(codes, pa.ChunkedArray) else [codes]
        indices = pa.concat_arrays(chunks) if chunks else pa.array([], DAY_TYPE.index_type)
        return pa.DictionaryArray.from_arrays(indices, days)


class _Lists:
    """Records that have lists for keys, as they lie; ``_moved`` has their new rows by input."""

    def __init__(self, gather: _Gather) -> None:
        self._gather = gather
        self._moved: list[Int64s] = []

    def pieces(self) -> Iterator[Piece]:
        step, before = _piece_rows(self._gather.inputs), 0
        for place, (run, _) in enumerate(self._gather.inputs):
            moved = np.full(run.ref.rows, -1, np.int64)
            self._moved.append(moved)
            for start in range(0, run.ref.rows, step):
                stop = min(start + step, run.ref.rows)
                table, kept = self._gather.rows(place, start, stop)
                new = np.arange(before, before + len(table))
                moved[start:stop][slice(None) if kept is None else kept] = new
                before += len(table)
                if len(table):
                    yield Piece(table)

    def listing(self) -> Listing:
        listings = [run.directory.listing() for run, _ in self._gather.inputs]
        return merged_listing(list(zip(listings, self._moved, strict=True)))


def _counts(table: pa.Table, only: Only) -> np.ndarray:
    kept = np.ones(len(table), np.bool_)
    if only.days is not None:
        days = pa.array(only.days, pa.int32())
        kept &= pc.is_in(table.column(DAY).cast(pa.int32()), value_set=days).to_numpy()
    if only.after is not None:
        kept &= table.column(EXPIRY).to_numpy() >= only.after
    return kept
