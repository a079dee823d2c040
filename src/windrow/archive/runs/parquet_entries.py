"""Entries in a Parquet file: written small, and so that a little of it is quick to read.

A probe decodes the one or two row groups that hold what is asked for, and wants a few of their
rows. To begin to decompress a page takes longer than to decode a short one, so what is nearly as
small without compression is left so; and a dictionary of values that do not repeat within a row
group is written for nothing. Neither can be told from a column's type: a few row groups of the data
are written in each way, and the smallest is taken.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from windrow.archive.format.blocks import Blocks
from windrow.archive.format.disk import Pages, Sink
from windrow.archive.format.layout import DAY, EXPIRY, Layout
from windrow.archive.runs.encoding import encode_columns
from windrow.archive.runs.entries import ALL, LONG, Mapped, Only, convert_batches, remember
from windrow.columns.arrays import Int64s
from windrow.core.thresholds import Threshold

_END = 8
"""Bytes of the end of a file: the footer's length, and a mark."""
_WORTH_THREADS = Threshold(16)  # row groups from which on several threads pay
SHORTEST, LONGEST, MANY = 1_024, 4_096, 1_000
"""Rows of a row group, and how many of them a run may have before they get longer."""
_SAMPLED = 3
_WORTH_IT = 0.5
"""Bytes of an entry that compressing a column has to save."""
_DICTIONARY, _PLAIN, _DELTAS = "dictionary", "PLAIN", "DELTA_BINARY_PACKED"
_NONE, _ZSTD = "none", "zstd"


@dataclass(frozen=True)
class _View:
    """Some columns of a file: which leaves are read, and where among them a schema's columns are;
    ``alike`` says that they have the types that are asked for, ``bits`` are the leaves as bits.
    """

    schema: pa.Schema
    leaves: list[int]
    order: list[int]
    alike: bool
    bits: int

    def of(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """What was read as the schema has it."""
        read = batch.columns
        columns = [read[place] for place in self.order]
        if self.alike:
            return pa.RecordBatch.from_arrays(columns, schema=self.schema)
        table = pa.Table.from_arrays(columns, self.schema.names)
        return encode_columns(table, self.schema).combine_chunks().to_batches()[0]


def check_footer(pages: Pages, blocks: Blocks) -> None:
    """Have the footer read in one go, and compare it with its sums."""
    size = pages.buffer.size
    blocks.check_range(max(0, size - _END), size)
    footer = int.from_bytes(pages.buffer[-8:-4].to_pybytes(), "little")
    pages.read_end(footer)
    blocks.check_range(max(0, size - _END - footer), size)


class ParquetEntries:
    """Row groups are small, so that a bucket costs the decoding of one or two; the footer is read
    once, when the run is opened.
    """

    def __init__(self, pages: Pages, blocks: Blocks, layout: Layout) -> None:
        self._pages, self._blocks = pages, blocks
        check_footer(pages, blocks)
        self._file = pq.ParquetFile(pa.BufferReader(pages.buffer), pre_buffer=False)
        data = self._file.metadata
        groups = [data.row_group(i).num_rows for i in range(data.num_row_groups)]
        self.starts = np.cumsum([0, *groups]).tolist()
        self._schema = layout.reader_schema({})
        self._ordered_by_day = layout.order == DAY
        self._views: dict[tuple[int, bool], _View] = {}
        self._sound = [0] * len(groups)  # the leaves that have been compared, as bits

    def bucket(self, start: int, stop: int, schema: pa.Schema, only: Only) -> list[pa.RecordBatch]:
        if start >= stop:
            return []
        view = self._view(schema, stamped=only is not ALL)
        first, last = self._groups(start, stop)
        self._check(range(first, last), view.bits)
        table = self._file.reader.read_row_groups(
            list(range(first, last)), column_indices=view.leaves, use_threads=False
        ).slice(start - self.starts[first], stop - start)
        if only is not ALL:
            table = (_slice_days if self._ordered_by_day else _filter_entries)(table, only)
        return [view.of(batch) for batch in table.to_batches() if batch.num_rows]

    def piece(
        self, start: int, stop: int, schema: pa.Schema, only: Only
    ) -> tuple[int, int, int] | None:
        return None  # they are plain, and in memory, once they are decoded

    def map_batches(self, schema: pa.Schema, only: Only) -> list[Mapped] | None:
        return None

    def map_scan(self, schema: pa.Schema, only: Only) -> list[Mapped] | None:
        return None

    def rows(self, start: int, stop: int, schema: pa.Schema, only: Only) -> list[pa.RecordBatch]:
        if start >= stop:
            return []
        return self._choose_rows(
            self._read(start, stop, self._needed_columns(schema, only)), schema, only
        )

    def take(self, rows: Int64s, schema: pa.Schema, only: Only) -> list[pa.RecordBatch]:
        if not len(rows):
            return []
        groups, first = np.unique(np.searchsorted(self.starts, rows, "right") - 1, True)
        shift = np.zeros(len(rows), np.int64)  # how far rows stand before their place in the file
        lengths = np.diff(self.starts)[groups]
        read = np.cumsum([0, *lengths[:-1]])
        for group, begin, place in zip(groups, first, read, strict=True):
            shift[begin:] = self.starts[group] - place
        columns = self._needed_columns(schema, only)
        self._check(groups.tolist(), _bits(self._leaves(columns)))
        table = self._file.read_row_groups(groups.tolist(), columns).select(columns)
        return self._choose_rows(table.take(pa.array(rows - shift)), schema, only)

    @staticmethod
    def _needed_columns(schema: pa.Schema, only: Only) -> list[str]:
        stamps = [DAY] * (only.days is not None) + [EXPIRY] * (only.after is not None)
        return list(dict.fromkeys([*schema.names, *stamps]))

    @staticmethod
    def _choose_rows(table: pa.Table, schema: pa.Schema, only: Only) -> list[pa.RecordBatch]:
        return convert_batches(
            _filter_entries(table, only).select(schema.names).to_batches(), schema
        )

    def plain(self, start: int, stop: int) -> pa.Table:
        return self._read(start, stop, self._schema.names)

    def _groups(self, start: int, stop: int) -> tuple[int, int]:
        return bisect_right(self.starts, start) - 1, bisect_left(self.starts, stop)

    def _read(self, start: int, stop: int, columns: list[str]) -> pa.Table:
        if start >= stop:
            return self._schema.empty_table().select(columns)
        if stop - start > LONG.value:
            self._pages.read_ahead()
        first, last = self._groups(start, stop)
        self._check(range(first, last), _bits(self._leaves(columns)))
        table = self._file.read_row_groups(
            list(range(first, last)), columns, use_threads=last - first > _WORTH_THREADS.value
        )
        return table.select(columns).slice(start - self.starts[first], stop - start)

    def _leaves(self, columns: Collection[str]) -> list[int]:
        return [i for i, root in enumerate(self._roots) if root in columns]

    def _check(self, groups: Sequence[int], bits: int) -> None:
        """Compare the chunks of some leaves with their sums, before they are decoded.

        A probe of what was compared costs a look at an integer for each row group.
        """
        if self._blocks.trusted:
            return
        for group in groups:
            missing = bits & ~self._sound[group]
            if missing:
                self._compare(group, missing)

    def _compare(self, group: int, bits: int) -> None:
        data = self._file.metadata.row_group(group)
        for leaf in range(bits.bit_length()):
            if bits >> leaf & 1:
                chunk = data.column(leaf)
                start = chunk.data_page_offset
                if chunk.has_dictionary_page:
                    start = min(start, chunk.dictionary_page_offset)
                self._blocks.check_range(start, start + chunk.total_compressed_size)
                self._sound[group] |= 1 << leaf

    @cached_property
    def _roots(self) -> list[str]:
        """The column to which each leaf belongs."""
        group = self._file.metadata.row_group(0)
        return [group.column(i).path_in_schema.partition(".")[0] for i in range(group.num_columns)]

    def _view(self, schema: pa.Schema, *, stamped: bool) -> _View:
        """What is read for a schema (and stamps); found again by the schema's identity."""
        view = self._views.get((id(schema), stamped))
        if view is None:
            wanted = {*schema.names, *((DAY, EXPIRY) if stamped else ())}
            stored = self._file.schema_arrow
            names = [name for name in stored.names if name in wanted]
            alike = all(stored.field(field.name).type.equals(field.type) for field in schema)
            leaves = self._leaves(wanted)
            order = [names.index(name) for name in schema.names]
            view = _View(schema, leaves, order, alike, _bits(leaves))
            remember(self._views, (id(schema), stamped), view)
        return view


def _bits(leaves: list[int]) -> int:
    return sum(1 << leaf for leaf in leaves)


def _filter_entries(table: pa.Table, only: Only) -> pa.Table:
    """The rows that count."""
    if only.days is not None:
        days = pa.array(only.days, pa.int32())
        table = table.filter(pc.is_in(table.column(DAY), value_set=days))
    if only.after is not None:
        table = table.filter(pc.greater_equal(table.column(EXPIRY), only.after))
    return table


def _slice_days(bucket: pa.Table, only: Only) -> pa.Table:
    """The same of a bucket whose rows are in the order of their days."""
    days = only.days
    if days is None or days[-1] - days[0] >= len(days):
        return _filter_entries(bucket, only)
    stamps = bucket.column(DAY).to_numpy()
    low, high = stamps.searchsorted(days[0]), stamps.searchsorted(days[-1], "right")
    return bucket.slice(low, high - low)


@dataclass
class Columns:
    """An encoding and a compression for each column, leaf by leaf, as ``pq.ParquetWriter`` wants
    them. Statistics are for the key, if at all: row groups overlap in all else.
    """

    dictionaries: list[str] = field(default_factory=list)
    encodings: dict[str, str] = field(default_factory=dict)
    compressions: dict[str, str] = field(default_factory=dict)

    def options(self, told: Sequence[str]) -> dict[str, Any]:
        """With statistics of the columns ``told``."""
        return {
            "use_dictionary": self.dictionaries,
            "column_encoding": self.encodings,
            "compression": self.compressions,
            "write_statistics": list(told),
            "write_page_checksum": True,
        }

    def add(self, leaves: Sequence[str], encoding: str, compression: str) -> None:
        for leaf in leaves:
            self.compressions[leaf] = compression
            if encoding == _DICTIONARY:
                self.dictionaries.append(leaf)
            else:
                self.encodings[leaf] = encoding


def write_parquet(sink: Sink, layout: Layout, tables: Iterable[pa.Table], rows: int) -> None:
    """Tables of about so many rows in all, as a run has them, as a Parquet file."""
    schema, group = layout.reader_schema({}), group_rows(rows)
    plain = (encode_columns(table, schema) for table in tables)
    first = next(plain)
    # Of floats Parquet's least and greatest leave NaN out, which others then do not look for.
    told = [
        name
        for name in layout.key
        if name != layout.list_key and not pa.types.is_floating(schema.field(name).type)
    ]
    with pq.ParquetWriter(sink, schema, **choose_encodings(first).options(told)) as writer:
        for table in chain([first], plain):
            writer.write_table(table, row_group_size=group)


def group_rows(rows: int) -> int:
    """How long the row groups of a run are: a probe decodes one, but the footer lists them all,
    and a scan takes its time for each.
    """
    return min(max(SHORTEST, -(-rows // MANY)), LONGEST)


def choose_encodings(table: pa.Table) -> Columns:
    """For a run that begins with these rows. Costs a few milliseconds, whatever their number."""
    columns = Columns()
    step = max(SHORTEST, len(table) // _SAMPLED)
    for number, kind in enumerate(table.schema.types):
        ways = list(_ways(kind)) if len(table) >= SHORTEST else [(_DICTIONARY, _ZSTD)]
        if len(ways) == 1:
            columns.add(_leaves(table.select([number]).slice(0, 1)), *ways[0])
            continue
        name = table.column_names[number]
        column = table.select([number])
        sample = pa.concat_tables(
            [column.slice(i, SHORTEST) for i in range(0, len(table) - SHORTEST + 1, step)]
        ).combine_chunks()
        sizes = {way: _size(sample, name, way) for way in ways}
        least = min(sizes.values())
        most = least + _WORTH_IT * len(sample)
        quick = [way for way in ways if way[1] == _NONE and sizes[way] <= most]
        columns.add([name], *min(quick or ways, key=sizes.__getitem__))
    return columns


def _ways(kind: pa.DataType) -> Iterator[tuple[str, str]]:
    """Encodings and compressions worth trying for a type; every reader of Parquet knows them."""
    yield _DICTIONARY, _ZSTD
    if pa.types.is_nested(kind) or pa.types.is_boolean(kind):
        return
    yield _DICTIONARY, _NONE
    yield _PLAIN, _ZSTD
    yield _PLAIN, _NONE
    if pa.types.is_integer(kind) or pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        yield _DELTAS, _NONE


def _size(sample: pa.Table, name: str, way: tuple[str, str]) -> int:
    one = Columns()
    one.add([name], *way)
    sink = pa.BufferOutputStream()
    with pq.ParquetWriter(sink, sample.schema, **one.options(())) as writer:
        writer.write_table(sample, row_group_size=SHORTEST)
    return int(sink.tell())


def _leaves(sample: pa.Table) -> list[str]:
    sink = pa.BufferOutputStream()
    pq.write_table(sample, sink)
    schema = pq.ParquetFile(pa.BufferReader(sink.getvalue())).schema
    return [schema.column(i).path for i in range(len(schema))]
