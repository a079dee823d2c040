"""``windrow match``: a file of subscriptions against files of rows, without a script."""

from __future__ import annotations

import time
import uuid
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from windrow.cli.answers import answer_table, count_of, near
from windrow.cli.console import err, out
from windrow.cli.rows import Rows, rows_like, told_types
from windrow.columns.delta import batch_of
from windrow.columns.text_forms import plain_values
from windrow.columns.types import ARROW
from windrow.core.errors import InputError
from windrow.core.file_formats import format_of_name
from windrow.plan.nodes import FileSource
from windrow.plan.nodes.routed import SUBSCRIPTION
from windrow.result_files.identity import Identity
from windrow.result_files.sinks import FileSink, open_sinks
from windrow.subscriptions.predicates import Kind
from windrow.subscriptions.script_subscriptions import attributes_in, load
from windrow.subscriptions.subscriptions import Subscriptions
from windrow.tables.find_files import find_files

SHOWN = 10
"""Matches that are printed if they are not kept."""


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
