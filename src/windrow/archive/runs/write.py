"""Writing a run: sorted pieces of entries into a file, and the directory beside it.

A *piece* holds whole buckets, so it becomes one record batch of an Arrow run, and a bucket is a
slice of one batch. A run of one day is one piece; a merge makes as many as it needs to stay within
its memory. Where keys are lists, pieces are records in any order, and a listing says which keys are
where. Both files are synced before this returns; their names are made durable by whoever publishes
the manifest that has them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from windrow.archive.format.blocks import Sums, SumsFile, small, with_sums
from windrow.archive.format.disk import Disk, Sink, Written
from windrow.archive.format.layout import DAY, EXPIRY, Layout, one_array
from windrow.archive.format.run_ref import Format, RunRef, SumsRef
from windrow.archive.runs.encoding import encode
from windrow.archive.runs.run_directory import write_directory, write_listing
from windrow.archive.runs.sorting import Listing, arrange, listing_of, rank, sortable, take_rows
from windrow.columns.arrays import Int64s

_NONE = Written(0, 0)


@dataclass(frozen=True)
class Piece:
    """Entries in a run's order, their distinct keys, and where each key's bucket starts.

    ``starts`` has an element more than there are keys: where entries without a key start. Records
    that have lists for keys are in no buckets.
    """

    entries: pa.Table
    distinct: Sequence[pa.Array] = ()
    starts: Int64s = field(default_factory=lambda: np.zeros(1, np.int64))


@dataclass
class _Tally:
    """What is learnt of a run while its pieces go by."""

    distinct: list[Sequence[pa.Array]] = field(default_factory=list)
    starts: list[Int64s] = field(default_factory=list)
    days: dict[int, int] = field(default_factory=dict)
    expiries: list[int] = field(default_factory=list)
    rows: int = 0
    end: int = 0

    def add(self, piece: Piece) -> None:
        self.distinct.append(piece.distinct)
        self.starts.append(piece.starts[:-1] + self.rows)
        if len(piece.starts) > 1:
            self.end = self.rows + int(piece.starts[-1])
        day = piece.entries.column(DAY)
        for chunk in day.chunks:
            counts = np.bincount(chunk.indices.to_numpy(), minlength=len(chunk.dictionary))
            for value, count in zip(chunk.dictionary.to_pylist(), counts.tolist(), strict=True):
                if count:
                    self.days[value] = self.days.get(value, 0) + count
        if EXPIRY in piece.entries.column_names and len(piece.entries):
            times = piece.entries.column(EXPIRY).to_numpy()
            self.expiries += [int(times.min()), int(times.max())]
        self.rows += len(piece.entries)

    def buckets(self) -> tuple[list[pa.Array], Int64s]:
        """The distinct keys of all pieces, and where their buckets start and the last one ends."""
        distinct = [pa.concat_arrays(list(parts)) for parts in zip(*self.distinct, strict=True)]
        return distinct, np.concatenate([*self.starts, np.array([self.end], np.int64)])


def write_day(
    disk: Disk,
    layout: Layout,
    encodings: Mapping[str, str],
    entries: pa.Table,
    name: str,
    kind: Format,
) -> tuple[RunRef, dict[str, str]]:
    """Entries in any order (``Layout.entries``) as a run; and the encodings from now on."""
    if kind == "arrow":
        after, entries = encode(layout, entries, encodings)
    else:
        after = dict(encodings)
    if layout.list_key is not None:
        listing = listing_of(layout, entries)
        pieces, rows = [Piece(entries)], len(entries)
        return write_run(
            disk, layout, entries.schema, pieces, name, kind, rows, lambda: listing
        ), after
    ranked = rank([sortable(one_array(entries.column(name))) for name in layout.key])
    order, starts = arrange(ranked.ranks, len(ranked), _stamps(entries, layout))
    piece = Piece(take_rows(entries, order), ranked.distinct, starts)
    run = write_run(disk, layout, piece.entries.schema, [piece], name, kind, len(entries))
    return run, after


def write_run(
    disk: Disk,
    layout: Layout,
    schema: pa.Schema,
    pieces: Iterable[Piece],
    name: str,
    kind: Format,
    rows: int,
    listing: Callable[[], Listing] | None = None,
) -> RunRef:
    """Pieces in ascending order of their keys as a run; ``schema`` is theirs.

    ``rows`` is about how many entries there are, which decides how they are cut into row groups.
    ``listing`` is for records that have lists for keys; it is asked when all have been written.
    """
    tally = _Tally()
    ref = RunRef(name, kind, (), None, _NONE, _NONE)

    def fill(sink: Sink) -> None:
        if kind == "arrow":
            _write_arrow(sink, schema, _count_pieces(pieces, tally))
        else:
            from windrow.archive.runs.parquet_entries import write_parquet  # noqa: PLC0415

            write_parquet(sink, layout, _count_pieces(pieces, tally), rows)

    found: list[Sums] = []
    entries = disk.write(ref.entries_file, with_sums(fill, found) if disk.summed else fill)

    def fill_directory(sink: Sink) -> None:
        if listing is None:
            write_directory(sink, layout, *tally.buckets())
        else:
            write_listing(sink, layout, listing(), tally.rows)

    directory = disk.write(
        ref.directory_file, with_sums(fill_directory, found) if disk.summed else fill_directory
    )
    sums = None
    if disk.summed and max(entries.size, directory.size) > small():
        sums = _write_sums(disk, ref.sums_file, *found)
    expiries = (min(tally.expiries), max(tally.expiries)) if tally.expiries else None
    days = tuple(sorted(tally.days.items()))
    written = RunRef(name, kind, days, expiries, entries, directory, sums)
    disk.sync_all([file for file, _ in written.files])
    return written


def _write_sums(disk: Disk, name: str, entries: Sums, directory: Sums) -> SumsRef:
    content = SumsFile.of(entries, directory)
    written = disk.write(name, lambda sink: sink.write(content.data))
    return SumsRef(written, content.top)


def _count_pieces(pieces: Iterable[Piece], tally: _Tally) -> Iterator[pa.Table]:
    for piece in pieces:
        tally.add(piece)
        yield piece.entries


def _write_arrow(sink: Sink, schema: pa.Schema, tables: Iterable[pa.Table]) -> None:
    with pa.ipc.new_file(sink, schema) as writer:
        for table in tables:
            writer.write_table(table.combine_chunks())


def _stamps(entries: pa.Table, layout: Layout) -> Any:
    """The stamps that order a bucket; the entries of one day need none but their expiry."""
    if layout.lifetimes:
        return entries.column(EXPIRY).to_numpy()
    return np.zeros(0, np.int64)
