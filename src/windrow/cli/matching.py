"""``windrow match``: a file of subscriptions against files of rows, without a script."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from windrow.cli.answers import answer_table, counted, near
from windrow.cli.words import err, out
from windrow.columns.delta import batch_of
from windrow.columns.types import arrow_schema
from windrow.core.errors import InputError
from windrow.core.schema import Field, Schema, Type
from windrow.engine.sinks import FileSink
from windrow.plan.catalog import FileSource, StreamDeclaration
from windrow.plan.subscribe import SUBSCRIPTION
from windrow.streams.files import find_files
from windrow.streams.inferred import inferred
from windrow.streams.readers import read_file
from windrow.subscriptions.files import attributes_in, format_of, load
from windrow.subscriptions.matcher import Subscriptions

SHOWN = 10
"""Matches that are printed if they are not kept."""


def match_files(
    subscriptions: Path, data: Sequence[str], on: Sequence[str], into: Path | None, format_: str
) -> None:
    """Match all rows of the data, and say what was found."""
    files = [path for name in data for path in find_files(FileSource(name, ""))]
    if not files:
        raise InputError(where=", ".join(data), expected="files of rows", found="none")
    kind = format_of(subscriptions)
    declaration = inferred(files[0])
    places = _places(list(on) or attributes_in(subscriptions, kind), declaration, files[0])
    fields = [declaration.schema[i] for i in places]
    began = time.monotonic()
    wanted = load(FileSource(str(subscriptions), kind), {f.name: f.type for f in fields})
    indexed = time.monotonic() - began
    sink = FileSink(into, format_) if into is not None else None
    work = _Work(wanted, places, declaration, sink)
    began = time.monotonic()
    with _progress() as progress:
        work.over(files, progress)
    _report(work, time.monotonic() - began, indexed, into)


class _Work:
    """Matching one file after another; ``first`` are the first matches if they are not kept."""

    def __init__(
        self,
        wanted: Subscriptions,
        places: Sequence[int],
        declaration: StreamDeclaration,
        sink: FileSink | None,
    ) -> None:
        self.wanted, self.places, self.declaration, self.sink = wanted, places, declaration, sink
        self.form = arrow_schema(Schema((Field(SUBSCRIPTION, Type.STRING), *declaration.schema)))
        self.rows = self.matches = self.unreadable = 0
        self.first = self.form.empty_table()

    def over(self, files: Sequence[Path], progress: Progress) -> None:
        task = progress.add_task("matching", total=sum(p.stat().st_size for p in files))
        for path in files:
            for parsed in read_file(path, self.declaration):
                self.unreadable += len(parsed.rejected)
                self._take(parsed.rows)
                said = f"{self.rows:,} rows, {self.matches:,} matches"
                progress.update(task, description=said)
            progress.advance(task, path.stat().st_size)
        if self.sink is not None:
            self.sink.flush(self.rows, None)

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


def _places(names: Sequence[str], declaration: StreamDeclaration, path: Path) -> list[int]:
    known = [f.name.lower() for f in declaration.schema]
    missing = [name for name in names if name.lower() not in known]
    if missing or not names:
        raise InputError(
            where=str(path),
            expected=f"a column {missing[0]}" if missing else "attributes to match on",
            found=", ".join(f.name for f in declaration.schema),
            remedy="say which columns the subscriptions are about with --on",
        )
    return [known.index(name.lower()) for name in names]


def _progress() -> Progress:
    columns = (TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn())
    console = err()
    return Progress(*columns, console=console, transient=True, disable=not console.is_terminal)


def _report(work: _Work, seconds: float, indexed: float, into: Path | None) -> None:
    console = out()
    if work.first.num_rows:
        console.print(answer_table(work.first))
        if work.matches > SHOWN:
            console.print(f"... and {work.matches - SHOWN:,} more; keep them all with --into")
    conditions, names = counted(len(work.wanted), "row"), ", ".join(work.wanted.attributes)
    console.print(f"subscriptions: {conditions} on {names}, indexed in {indexed:.1f} s")
    place = f" in {near(into)}" if into is not None else ""
    speed = f"{work.rows / max(seconds, 1e-9):,.0f} rows/s"
    console.print(f"data: {counted(work.rows, 'row')}, {speed}")
    console.print(f"matches: {work.matches:,}{place}")
    if work.unreadable:
        console.print(f"{counted(work.unreadable, 'row')} could not be read", style="yellow")
