"""Results read back, by what is committed: never part of a micro-batch, whoever writes meanwhile.

Compaction moves changes to other files but keeps their order. So a reader that finds a file gone
looks again at what is committed, and goes on behind the last change that it has read.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.json
import pyarrow.parquet

from windrow.core.errors import StateError
from windrow.core.thresholds import Threshold
from windrow.object_store.object_path import ObjectPath
from windrow.result_files.change_table import cancel_pairs
from windrow.result_files.commits import Published, Segment, committed_results
from windrow.result_files.identity import INSTANT, Identity

PIECE = Threshold(100_000, least=1)
"""Changes of a file that are in memory at a time, where it is gone through in pieces."""
BLOCK = Threshold(1 << 20, least=1 << 12)
"""Bytes of a text that are parsed together; twice, four times as many if a row is longer."""
MOST = 1 << 29
"""Bytes of a row beyond which Arrow parses none."""


def read_file(path: Path, format_: str, schema: pa.Schema) -> pa.Table:
    """All of a file, in the types of the schema."""
    if format_ != "parquet":
        return pa.concat_tables([schema.empty_table(), *_text_blocks(path, format_, schema)])
    source = _source(path)
    with pyarrow.parquet.ParquetFile(source) as file:  # most are small, and a data set takes longer
        found = file.read(schema.names, use_threads=False)
    return found.replace_schema_metadata() if found.schema.equals(schema) else found.cast(schema)


def read_pieces(path: Path, format_: str, schema: pa.Schema) -> Iterator[pa.Table]:
    """The same, bit by bit: memory is that of a piece, however large the file. It is opened at the
    first one, and from then on may be deleted."""
    blocks = _parquet_blocks if format_ == "parquet" else _text_blocks
    for table in blocks(path, format_, schema):
        for batch in table.to_batches(max_chunksize=PIECE.value):
            yield pa.Table.from_batches([batch])


def _parquet_blocks(path: Path, _format: str, schema: pa.Schema) -> Iterator[pa.Table]:
    with pyarrow.parquet.ParquetFile(_source(path)) as file:
        batches = file.iter_batches(PIECE.value, columns=schema.names, use_threads=False)
        yield from (pa.Table.from_batches([batch]).cast(schema) for batch in batches)


def _text_blocks(path: Path, format_: str, schema: pa.Schema) -> Iterator[pa.Table]:
    data, block, rows = _bytes_of(path), BLOCK.value, 0
    while True:
        again = rows
        try:
            for table in _text_in_blocks(data, format_, schema, block):
                new = table.slice(again)
                again, rows = again - table.num_rows + new.num_rows, rows + new.num_rows
                yield new
        except pa.ArrowInvalid as error:
            block = _larger_block(block, error)
        else:
            return


def _larger_block(block: int, error: pa.ArrowInvalid) -> int:
    """What to read with if a row is longer than a block; else the error."""
    if "straddling object" not in str(error) or block > MOST:
        raise error
    return 2 * block


def _text_in_blocks(
    data: pa.Buffer, format_: str, schema: pa.Schema, block: int
) -> Iterator[pa.Table]:
    source = pa.BufferReader(data)
    if format_ == "csv":
        with pyarrow.csv.open_csv(source, **_csv_options(schema, block)) as reader:
            yield from (pa.Table.from_batches([batch]) for batch in reader)
    else:
        with pyarrow.json.open_json(source, **_json_options(schema, block)) as reader:
            yield from (_of_json(pa.Table.from_batches([batch]), schema) for batch in reader)


def _source(path: Path) -> Any:
    return pa.BufferReader(path.read_bytes()) if isinstance(path, ObjectPath) else path


def _bytes_of(path: Path) -> pa.Buffer:
    """Those of a file, which may be gone through twice though its name is deleted meanwhile."""
    if isinstance(path, ObjectPath):
        return pa.py_buffer(path.read_bytes())
    return pa.memory_map(str(path)).read_buffer()


def _csv_options(schema: pa.Schema, block: int) -> dict[str, Any]:
    convert = pyarrow.csv.ConvertOptions(
        column_types=schema,
        null_values=[""],  # nothing but nothing: a NaN is no NULL
        strings_can_be_null=True,
        quoted_strings_can_be_null=False,
    )
    whole = pyarrow.csv.ParseOptions(newlines_in_values=True)
    read = pyarrow.csv.ReadOptions(block_size=block)
    return {"read_options": read, "parse_options": whole, "convert_options": convert}


def _json_options(schema: pa.Schema, block: int) -> dict[str, Any]:
    plain = pa.schema([(f.name, _as_json(f.type)) for f in schema])
    parse = pyarrow.json.ParseOptions(explicit_schema=plain)
    return {"read_options": pyarrow.json.ReadOptions(block_size=block), "parse_options": parse}


def _of_json(found: pa.Table, schema: pa.Schema) -> pa.Table:
    return found.select(schema.names).cast(schema)


def _as_json(kind: pa.DataType) -> pa.DataType:
    """Arrow reads dates of JSON from numbers only, so they are read as texts."""
    if pa.types.is_list(kind):
        return pa.list_(_as_json(kind.value_type))
    if pa.types.is_struct(kind):
        return pa.struct([(f.name, _as_json(f.type)) for f in kind])
    return pa.string() if pa.types.is_date(kind) else kind


def in_order(changes: pa.Table) -> pa.Table:
    """In the order of their instants, those of one instant as they stood; what has none is first,
    for it has been so from the beginning.
    """
    if INSTANT not in changes.schema.names:
        return changes
    changes = changes.combine_chunks()
    column = changes[INSTANT]
    if column.null_count:
        instants = column.cast(pa.int64()).fill_null(np.iinfo(np.int64).min).to_numpy()
    else:
        instants = column.to_numpy().view(np.int64)
    if (instants[1:] >= instants[:-1]).all():
        return changes
    return changes.take(pa.array(np.argsort(instants, kind="stable")))


def published_results(directory: Path) -> Published:
    """What is committed now, by the run whose directory it is."""
    while True:
        identity = Identity.read(directory)
        run = None if identity is None else identity.run
        try:
            found = committed_results(directory, run)
        except FileNotFoundError:  # compacted, or replaced by another run, while we looked
            continue
        after = Identity.read(directory)
        if run == (None if after is None else after.run):
            return found


@dataclass(frozen=True)
class Reading:
    """A directory of results, its format and the columns of its changes."""

    directory: Path
    format: str
    schema: pa.Schema

    def tables(
        self,
        after: int | None = None,
        upto: int | None = None,
        since: int | None = None,
        state: Published | None = None,
    ) -> Iterator[pa.Table]:
        """The changes of micro-batches after ``after`` and up to ``upto``, from instant ``since``.

        ``state`` is what is committed, if that is known.
        """
        return (table for _, table in self._walk(after, upto, since, state))

    def parts(
        self,
        after: int | None = None,
        upto: int | None = None,
        since: int | None = None,
        state: Published | None = None,
    ) -> Iterator[tuple[int, pa.Table]]:
        """The same, all that stand together in one, with the last micro-batch that they are of."""
        for until, pieces in groupby(self._walk(after, upto, since, state), key=itemgetter(0)):
            yield until, pa.concat_tables(table for _, table in pieces)

    def _walk(
        self, after: int | None, upto: int | None, since: int | None, state: Published | None
    ) -> Iterator[tuple[int, pa.Table]]:
        state = published_results(self.directory) if state is None else state
        done = max(-1 if after is None else after, state.forgotten_through)
        last = state.last if upto is None else upto
        while True:
            try:
                for segment in state.segments:
                    if segment.last <= done or segment.first > last:
                        continue
                    if since is None or segment.now is None or segment.now >= since:
                        until = min(segment.last, last)
                        for table in self._part(segment, done, last):
                            yield until, table if since is None else _from(table, since)
                    done = min(segment.last, last)
            except FileNotFoundError as error:
                before, state = state, published_results(self.directory)
                if state == before:
                    raise missing_file(self.directory, error) from error
                if state.run != before.run:
                    raise _replaced_error(self.directory) from error
            else:
                return

    def _part(self, segment: Segment, after: int, upto: int) -> Iterator[pa.Table]:
        if segment.first > after and segment.last <= upto:
            yield from self.pieces(segment)
            return
        marks = segment.marks(self.directory)
        start = sum(rows for batch, rows in marks if batch <= after)
        stop = start + sum(rows for batch, rows in marks if after < batch <= upto)
        for table in self.pieces(segment):
            first, end = max(start, 0), min(stop, table.num_rows)
            if first < end:
                yield table.slice(first, end - first)
            start, stop = start - table.num_rows, stop - table.num_rows
            if stop <= 0:
                return

    def pieces(self, segment: Segment) -> Iterator[pa.Table]:
        """All changes of a segment, in order, those that cancel inside an instant left out; none
        is empty.

        Those of a single micro-batch are in memory together. What was merged has its order.
        """
        paths = [self.directory / name for name in segment.files]
        if segment.single:
            parts = [read_file(path, self.format, self.schema) for path in paths]
            table = pa.concat_tables(parts or [self.schema.empty_table()])
            pieces: Iterator[pa.Table] = iter([cancel_pairs(in_order(table))])
        else:
            pieces = (t for path in paths for t in read_pieces(path, self.format, self.schema))
        yield from (table for table in pieces if table.num_rows)


def _from(table: pa.Table, since: int) -> pa.Table:
    return table.filter(pc.greater_equal(table[INSTANT].cast(pa.int64()), since))


def missing_file(directory: Path, error: FileNotFoundError) -> StateError:
    """What to say of a file that is gone though a commit, or a record, names it."""
    path = error.filename or str(error).partition("'. Detail: ")[0]  # Arrow's has it in its words
    return StateError(
        where=str(directory),
        expected="the files that its commits name",
        found=f"no {Path(path).name}",
        remedy="restore the directory, or run the script from the beginning into another one",
    )


def _replaced_error(directory: Path) -> StateError:
    return StateError(
        where=str(directory),
        expected="the results that reading began with",
        found="the results of another run, which has replaced them",
        remedy="read them again",
    )
