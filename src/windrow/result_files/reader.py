"""Results read back, by what is committed: never part of a micro-batch, whoever writes meanwhile.

Compaction moves changes to other files but keeps their order. So a reader that finds a file gone
looks again at what is committed, and goes on behind the last change that it has read.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.json
import pyarrow.parquet

from windrow.core.errors import StateError
from windrow.object_store.object_path import ObjectPath
from windrow.result_files.change_table import cancel_pairs
from windrow.result_files.commits import Published, Segment, committed_results
from windrow.result_files.identity import INSTANT, Identity


def read_file(path: Path, format_: str, schema: pa.Schema) -> pa.Table:
    """All of a file, in the types of the schema."""
    source = pa.BufferReader(path.read_bytes()) if isinstance(path, ObjectPath) else path
    if format_ == "csv":
        options = pyarrow.csv.ConvertOptions(
            column_types=schema,
            null_values=[""],  # nothing but nothing: a NaN is no NULL
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
        )
        whole = pyarrow.csv.ParseOptions(newlines_in_values=True)
        return pyarrow.csv.read_csv(source, parse_options=whole, convert_options=options)
    if format_ == "json":
        plain = pa.schema([(f.name, _as_json(f.type)) for f in schema])
        parsed = pyarrow.json.ParseOptions(explicit_schema=plain)
        found = pyarrow.json.read_json(source, parse_options=parsed)
        return found.select(schema.names).cast(schema)
    with pyarrow.parquet.ParquetFile(source) as file:  # most are small, and a data set takes longer
        found = file.read(schema.names, use_threads=False)
    return found.replace_schema_metadata() if found.schema.equals(schema) else found.cast(schema)


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
        return (table for _, table in self.parts(after, upto, since, state))

    def parts(
        self,
        after: int | None = None,
        upto: int | None = None,
        since: int | None = None,
        state: Published | None = None,
    ) -> Iterator[tuple[int, pa.Table]]:
        """The same, each with the last micro-batch that it is of."""
        state = published_results(self.directory) if state is None else state
        done = max(-1 if after is None else after, state.forgotten_through)
        last = state.last if upto is None else upto
        while True:
            try:
                for segment in state.segments:
                    if segment.last <= done or segment.first > last:
                        continue
                    if since is None or segment.now is None or segment.now >= since:
                        table = self._part(segment, done, last)
                        if table.num_rows:
                            until = min(segment.last, last)
                            yield until, table if since is None else _from(table, since)
                    done = min(segment.last, last)
            except FileNotFoundError as error:
                before, state = state, published_results(self.directory)
                if state == before:
                    raise _missing(self.directory, error) from error
                if state.run != before.run:
                    raise _replaced_error(self.directory) from error
            else:
                return

    def _part(self, segment: Segment, after: int, upto: int) -> pa.Table:
        table = self.whole(segment)
        if segment.first > after and segment.last <= upto:
            return table
        marks = segment.marks(self.directory)
        before = sum(rows for batch, rows in marks if batch <= after)
        return table.slice(before, sum(rows for batch, rows in marks if after < batch <= upto))

    def whole(self, segment: Segment) -> pa.Table:
        """All changes of a segment, in order, those that cancel inside an instant left out."""
        parts = [read_file(self.directory / n, self.format, self.schema) for n in segment.files]
        table = pa.concat_tables(parts or [self.schema.empty_table()])
        return cancel_pairs(in_order(table)) if segment.single else table


def _from(table: pa.Table, since: int) -> pa.Table:
    return table.filter(pc.greater_equal(table[INSTANT].cast(pa.int64()), since))


def _missing(directory: Path, error: FileNotFoundError) -> StateError:
    return StateError(
        where=str(directory),
        expected="the files that its commits name",
        found=f"no {Path(str(error.filename or error)).name}",
        remedy="restore the directory, or run the script from the beginning into another one",
    )


def _replaced_error(directory: Path) -> StateError:
    return StateError(
        where=str(directory),
        expected="the results that reading began with",
        found="the results of another run, which has replaced them",
        remedy="read them again",
    )
