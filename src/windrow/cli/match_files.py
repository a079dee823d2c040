"""``windrow match``: a file of subscriptions against files of rows, without a script.

Nobody has declared the rows, so they are in the types that they have. A Parquet file says its own,
and they are kept as they are, decimals and nanoseconds too. A text file has none: what its
beginning suggests is taken (``windrow.tables.typed_files``), unless a type is said for a column.
The first file decides for all; a value of a later one that is none of its types is an error in
Parquet, and a row that cannot be read in a text file.
"""

from __future__ import annotations

import re
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from windrow.cli.answers import answer_table, count_of, near
from windrow.cli.console import err, out
from windrow.columns.delta import batch_of
from windrow.columns.text_forms import plain_values
from windrow.columns.types import ARROW, arrow_schema, readable
from windrow.core.errors import InputError
from windrow.core.file_formats import format_of_name
from windrow.core.schema import Field, Schema, Type
from windrow.plan.nodes import FileSource
from windrow.plan.nodes.routed import SUBSCRIPTION
from windrow.result_files.identity import Identity
from windrow.result_files.sinks import FileSink, open_sinks
from windrow.subscriptions.predicates import Kind, plain_type
from windrow.subscriptions.script_subscriptions import attributes_in, load
from windrow.subscriptions.subscriptions import Subscriptions
from windrow.subscriptions.values import exactly
from windrow.tables.file_part import explain_unreadable
from windrow.tables.find_files import find_files
from windrow.tables.fit import script_type
from windrow.tables.readers import ROWS, read_file
from windrow.tables.typed_files import infer_declaration

SHOWN = 10
"""Matches that are printed if they are not kept."""
DECIMAL = re.compile(r"(?i:decimal|numeric)\s*\(\s*(\d{1,2})\s*(?:,\s*(\d{1,2})\s*)?\)")
MOST_DIGITS = 76


def match_files(
    subscriptions: Path,
    data: Sequence[str],
    on: Sequence[str],
    types: Sequence[str],
    into: Path | None,
    format_: str,
    *,
    overwrite: bool = False,
) -> None:
    """Match all rows of the data, and say what was found."""
    files = [path for name in data for path in find_files(FileSource(name, ""))]
    if not files:
        raise InputError(where=", ".join(data), expected="files of rows", found="none")
    kind = format_of_name(subscriptions)
    rows = rows_like(files[0], told_types(types))
    places = _places(list(on) or attributes_in(subscriptions, kind), rows.schema, files[0])
    fields = [rows.schema.field(i) for i in places]
    began = time.monotonic()
    wanted = load(FileSource(str(subscriptions), kind), {f.name: _kind(f.type) for f in fields})
    indexed = time.monotonic() - began
    form = pa.schema([pa.field(SUBSCRIPTION, pa.string()), *rows.schema])
    sinks = _sinks(into, format_, form, overwrite=overwrite)
    work = _Work(wanted, places, rows, form, next(iter(sinks), None))
    began = time.monotonic()
    with _progress() as progress:
        work.over(files, progress)
    _report(work, time.monotonic() - began, indexed, into)


def _sinks(into: Path | None, format_: str, form: pa.Schema, *, overwrite: bool) -> list[FileSink]:
    """Where the matches are kept, if they are."""
    if into is None:
        return []
    identity = Identity(uuid.uuid4().hex, "matches", format_, form)
    sinks = open_sinks([(into, identity)], overwrite=overwrite)
    for sink in sinks:
        sink.prepare()
    return sinks


class _Work:
    """Matching one file after another; ``first`` are the first matches if they are not kept."""

    def __init__(
        self,
        wanted: Subscriptions,
        places: Sequence[int],
        source: Rows,
        form: pa.Schema,
        sink: FileSink | None,
    ) -> None:
        self.wanted, self.places, self.source, self.sink = wanted, places, source, sink
        self.form = form
        self.rows = self.matches = self.unreadable = 0
        self.first = self.form.empty_table()

    def over(self, files: Sequence[Path], progress: Progress) -> None:
        task = progress.add_task("matching", total=sum(p.stat().st_size for p in files))
        for path in files:
            for rows, unreadable in self.source.of(path):
                self.unreadable += unreadable
                self._take(rows)
                said = f"{self.rows:,} rows, {self.matches:,} matches"
                progress.update(task, description=said)
            progress.advance(task, path.stat().st_size)
        if self.sink is not None:
            self.sink.flush(self.rows, None)
            self.sink.close()

    def _take(self, rows: pa.RecordBatch) -> None:
        at, owners = self.wanted.hits([rows.column(i) for i in self.places])
        self.rows += rows.num_rows
        self.matches += len(at)
        if self.sink is None:
            room = SHOWN - self.first.num_rows
            at, owners = at[:room], owners[:room]
        if len(at):
            arrays = [self.wanted.names(owners), *rows.take(pa.array(at)).columns]
            found = batch_of(arrays, self.form, len(at))
            if self.sink is None:
                self.first = pa.concat_tables([self.first, pa.Table.from_batches([found])])
            else:
                self.sink.write(found, self.rows, None)


def _kind(found: pa.DataType) -> Kind:
    """The type by its name in CQL, if it has one: messages are in those words."""
    return next((t for t, arrow in ARROW.items() if arrow == found), found)


def _places(names: Sequence[str], schema: pa.Schema, path: Path) -> list[int]:
    known = [name.lower() for name in schema.names]
    missing = [name for name in names if name.lower() not in known]
    if missing or not names:
        raise InputError(
            where=str(path),
            expected=f"a column {missing[0]}" if missing else "attributes to match on",
            found=", ".join(schema.names),
            remedy="name the columns of the subscriptions with --on",
        )
    return [known.index(name.lower()) for name in names]


def _printable(table: pa.Table) -> pa.Table:
    """Columns that Python cannot sort or hold, as texts: lists and the like, and nanoseconds."""
    for place, field in enumerate(table.schema):
        kind, column = field.type, table.column(place)
        if pa.types.is_nested(kind):
            texts = [None if v is None else str(v) for v in plain_values(column)]
            table = table.set_column(place, field.name, pa.array(texts, pa.string()))
        elif (pa.types.is_timestamp(kind) or pa.types.is_time(kind)) and kind.unit == "ns":
            table = table.set_column(place, field.name, column.cast(pa.string()))
    return table


def _progress() -> Progress:
    columns = (TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn())
    console = err()
    return Progress(*columns, console=console, transient=True, disable=not console.is_terminal)


def _report(work: _Work, seconds: float, indexed: float, into: Path | None) -> None:
    console = out()
    if work.first.num_rows:
        console.print(answer_table(_printable(work.first)))
        if work.matches > SHOWN:
            console.print(f"... and {work.matches - SHOWN:,} more; write them all with --into")
    conditions, names = count_of(len(work.wanted), "row"), ", ".join(work.wanted.attributes)
    console.print(f"subscriptions: {conditions} on {names}, indexed in {indexed:.1f} s")
    place = f" in {near(into)}" if into is not None else ""
    speed = f"{work.rows / max(seconds, 1e-9):,.0f} rows/s"
    console.print(f"data: {count_of(work.rows, 'row')}, {speed}")
    console.print(f"matches: {work.matches:,}{place}")
    if work.unreadable:
        console.print(f"{count_of(work.unreadable, 'row')} could not be read", style="yellow")


def type_named(text: str) -> pa.DataType:
    """The type that a user means: of CQL, ``decimal(20, 4)``, or as Arrow calls it.

    >>> type_named("decimal(20, 4)"), type_named("bigint"), type_named("timestamp[ns]")
    (Decimal128Type(decimal128(20, 4)), DataType(int64), TimestampType(timestamp[ns]))
    """
    if found := DECIMAL.fullmatch(text.strip()):
        digits, places = int(found[1]), int(found[2] or 0)
        if 1 <= digits <= MOST_DIGITS:
            return plain_type(pa.decimal256(digits, places))
    try:
        return ARROW[Type(text.strip().upper())]
    except ValueError:
        pass
    try:
        return plain_type(pa.type_for_alias(text.strip()))
    except ValueError as error:
        raise InputError(
            where="--type",
            expected="a type such as decimal(20,4), bigint, double, date or timestamp[ns]",
            found=text,
        ) from error


@dataclass(frozen=True)
class Rows:
    """The columns that files have."""

    schema: pa.Schema

    def of(self, path: Path) -> Iterator[tuple[pa.RecordBatch, int]]:
        """The rows of a file, a batch at a time, and how many beside them cannot be read."""
        if format_of_name(path) == "parquet":
            return ((batch, 0) for batch in self._of_parquet(path))
        return self._of_text(path)

    def _of_parquet(self, path: Path) -> Iterator[pa.RecordBatch]:
        with _open_parquet(path) as file:
            names = {name.strip().lower(): name for name in file.schema_arrow.names}
            wanted = [names.get(field.name.lower(), "") for field in self.schema]
            if "" in wanted:
                missing = self.schema.names[wanted.index("")]
                raise InputError(
                    where=str(path),
                    expected=f"a column {missing}, as in the first file",
                    found=", ".join(file.schema_arrow.names),
                )
            for batch in file.iter_batches(batch_size=ROWS.value, columns=wanted):
                columns = [
                    _cast(batch.column(name), field, path)
                    for name, field in zip(wanted, self.schema, strict=True)
                ]
                yield pa.RecordBatch.from_arrays(columns, schema=self.schema)

    def _of_text(self, path: Path) -> Iterator[tuple[pa.RecordBatch, int]]:
        """Columns of other types than a script has are read as texts first."""
        declaration = replace(
            infer_declaration(path), schema=Schema(tuple(map(_field, self.schema)))
        )
        for parsed in read_file(path, declaration):
            columns, sound = [], np.ones(parsed.rows.num_rows, np.bool_)
            for texts, field in zip(parsed.rows.columns, self.schema, strict=True):
                column = _parse_texts(texts, field.type)
                columns.append(column)
                if column.null_count != texts.null_count:
                    lost = pc.and_(pc.is_null(column), pc.is_valid(texts))
                    sound &= ~lost.to_numpy(zero_copy_only=False)
            batch = pa.RecordBatch.from_arrays(columns, schema=self.schema)
            unreadable = len(parsed.rejected) + int((~sound).sum())
            yield batch if sound.all() else batch.filter(pa.array(sound)), unreadable


def rows_like(path: Path, told: Mapping[str, pa.DataType]) -> Rows:
    """Rows with the columns of this file, of its types or of those that are told."""
    if format_of_name(path) == "parquet":
        with _open_parquet(path) as file:
            found = file.schema_arrow
    else:
        found = arrow_schema(infer_declaration(path).schema)
    said = {name.lower(): kind for name, kind in told.items()}
    fields = [
        pa.field(n.strip(), said.pop(n.strip().lower(), plain_type(t)))
        for n, t in zip(found.names, found.types, strict=True)
    ]
    if said:
        raise InputError(
            where=str(path),
            expected=f"a column {next(iter(said))}, since --type names one",
            found=", ".join(found.names),
        )
    if format_of_name(path) == "json" and any(script_type(f.type) is None for f in fields):
        raise InputError(
            where="--type",
            expected="columns of csv or parquet files",
            found=f"{path}, whose numbers are floating point",
            remedy="write the file as Parquet with the types that are meant",
        )
    return Rows(pa.schema(fields))


def told_types(options: Sequence[str]) -> dict[str, pa.DataType]:
    """Types as ``--type`` says them, ``column=type`` each."""
    found = {}
    for option in options:
        name, equals, kind = option.partition("=")
        if not equals or not name.strip():
            raise InputError(
                where="--type", expected="column=type, as in price=decimal(20,4)", found=option
            )
        found[name.strip()] = type_named(kind)
    return found


def _open_parquet(path: Path) -> pq.ParquetFile:
    with explain_unreadable(path, "a readable csv, json or parquet file"):
        return pq.ParquetFile(path)


def _field(field: pa.Field) -> Field:
    return Field(field.name, script_type(field.type) or Type.STRING)


def _cast(column: pa.Array, field: pa.Field, path: Path) -> pa.Array:
    if column.type == field.type:
        return column
    try:
        return exactly(column, field.type, field.name).cast(field.type)
    except InputError as error:
        raise InputError(
            where=f"{path}, {error.where}",
            expected=error.expected,
            found=error.found,
            remedy="match files of different types separately, or set a type with --type",
        ) from error


def _parse_texts(texts: pa.Array, kind: pa.DataType) -> pa.Array:
    """Texts as values of a type that no script has; NULL for those that say none."""
    if texts.type == kind:
        return texts
    trimmed = pc.utf8_trim_whitespace(texts)
    return readable(trimmed, lambda part: pc.cast(part, kind), kind)
