"""Writing the entries of a Parquet run: small, and quick to read a little of.

A probe decodes one or two row groups, of which it wants a few rows. To begin to decompress a page
takes longer than to decode a short one, so what is nearly as small without compression is left so;
and a dictionary of values that do not repeat within a row group is written for nothing. Neither
can be told from a column's type: a few row groups of the data are written in each way, and the
smallest is taken.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from windrow.archive.format.disk import Sink
from windrow.archive.format.layout import Layout
from windrow.archive.runs.encoding import encode_columns

SHORTEST, LONGEST, MANY = 1_024, 4_096, 1_000
"""Rows of a row group, and how many of them a run may have before they get longer."""
_SAMPLED = 3
_WORTH_IT = 0.5
"""Bytes of an entry that compressing a column has to save."""
_DICTIONARY, _PLAIN, _DELTAS = "dictionary", "PLAIN", "DELTA_BINARY_PACKED"
_NONE, _ZSTD = "none", "zstd"


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
