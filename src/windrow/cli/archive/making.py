"""Making an archive, taking days in, moving its window on."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import typer

from windrow.archive.archive import Archive
from windrow.archive.calendar import Calendar
from windrow.archive.errors import ArchiveError
from windrow.archive.layout import Layout
from windrow.cli.answers import counted
from windrow.cli.archive.options import AsJson, Verbose, Where, calendar_of, names_of, print_json
from windrow.cli.words import err, errors_in_words, out
from windrow.columns.types import arrow_schema
from windrow.core.errors import InputError
from windrow.core.schema import Schema
from windrow.core.time import Clock
from windrow.plan.catalog import (
    NO_TIMESTAMP,
    FileSource,
    RelationDeclaration,
    StreamDeclaration,
)
from windrow.plan.program import compile_script
from windrow.streams.files import find_files
from windrow.streams.inferred import inferred
from windrow.streams.readers import read_file


class Scheme(StrEnum):
    """The schemes of Shivakumar and Garcia-Molina 1997."""

    DEL = "DEL"
    REINDEX = "REINDEX"
    REINDEX_PLUS = "REINDEX+"
    REINDEX_PLUS_PLUS = "REINDEX++"
    WATA = "WATA"
    RATA = "RATA"


class Technique(StrEnum):
    """How an index is updated."""

    IN_PLACE = "in-place"
    SIMPLE_SHADOW = "simple shadow"
    PACKED_SHADOW = "packed shadow"


class RunFormat(StrEnum):
    """How runs are stored."""

    ARROW = "arrow"
    PARQUET = "parquet"


class Unit(StrEnum):
    """What a day is."""

    DAYS = "days"
    HOURS = "hours"
    NUMBERS = "numbers"


Files = Annotated[list[str], typer.Argument(metavar="FILES...", help="Files or directories.")]


def create(
    archive: Where,
    key: Annotated[str, typer.Option(help="The search key: a column, or several: a,b.")],
    window: Annotated[int, typer.Option(help="How many days it holds.")],
    columns: Annotated[
        str | None,
        typer.Option(help="Columns as in CREATE STREAM: src STRING, bytes BIGINT."),
    ] = None,
    like: Annotated[
        Path | None, typer.Option(help="A file that has the columns.", show_default=False)
    ] = None,
    scheme: Annotated[Scheme, typer.Option(help="How days move through indexes.")] = Scheme.WATA,
    n: Annotated[int, typer.Option("-n", help="How many indexes share the window.")] = 4,
    technique: Annotated[
        Technique, typer.Option(help="How an index is updated.")
    ] = Technique.PACKED_SHADOW,
    growth: Annotated[
        float, typer.Option(help="When runs that are not packed are merged: CONTIGUOUS's g.")
    ] = 2.0,
    format: Annotated[  # noqa: A002
        RunFormat, typer.Option(help="Arrow for fast probes, Parquet for size and other tools.")
    ] = RunFormat.ARROW,
    calendar: Annotated[Unit, typer.Option(help="What a day is.")] = Unit.DAYS,
    verbose: Verbose = False,
) -> None:
    """Make an empty archive in a new directory.

    \b
    Examples:
      windrow archive create month --like day1.parquet --key src --window 30
      windrow archive create month --columns "src STRING, bytes BIGINT" --key src --window 30
          --scheme DEL -n 1 --technique "in-place" --format parquet
    """
    with errors_in_words(verbose=verbose):
        made = Archive.create(
            archive,
            _schema(columns, like),
            tuple(names_of(key) or ()),
            window=window,
            scheme=scheme.value,
            n=n,
            technique=technique.value,
            growth=growth,
            format=format.value,
            calendar=Calendar.of(calendar.value),
        )
        settings = made.stat().settings
        out().print(
            f"{archive}: {counted(settings.window, 'day')}, n = {settings.n}, by "
            f"{settings.scheme}, {settings.technique}, {format.value} runs"
        )


def append(
    archive: Where,
    files: Files,
    day: Annotated[
        str | None, typer.Option(help="The day of all rows: a number or a date.")
    ] = None,
    by: Annotated[
        str | None, typer.Option(help="The column whose values say which day a row is of.")
    ] = None,
    advance: Annotated[
        bool, typer.Option(help="Move the window on to the last of these days.")
    ] = True,
    as_json: AsJson = False,
    verbose: Verbose = False,
) -> None:
    """Take the rows of files in as one day, or cut into days by a column; all of them or none.

    \b
    Examples:
      windrow archive append month 2026-03-01.parquet --day 2026-03-01
      windrow archive append month flows/ --by ts
      windrow archive append month early.csv --day 2026-04-01 --no-advance
    """
    with errors_in_words(verbose=verbose):
        if (day is None) == (by is None):
            raise InputError(where="append", expected="--day or --by", found="both or neither")
        opened = Archive.open(archive)
        calendar = calendar_of(opened)
        with err().status("reading"):
            rows = rows_of(files, opened.layout)
        if by is not None:
            days = _cut(rows, by, calendar)
        else:
            assert day is not None
            days = {calendar.parse(day): rows}
        now = max(days, default=None) if advance else None
        days = _in_time(days, now, opened)
        with err().status(f"writing {counted(sum(t.num_rows for t in days.values()), 'row')}"):
            version = opened.append_days(days, now=now)
        taken = {calendar.label(d): t.num_rows for d, t in days.items()}
        _say(archive, opened, version, taken, as_json)


def _in_time(days: dict[int, pa.Table], now: int | None, archive: Archive) -> dict[int, pa.Table]:
    """The days that the window will still have at ``now``; of the others a word."""
    settings = archive.stat().settings
    first = min(days, default=0) if now is None else now - settings.window + 1
    label = settings.calendar.label
    for day, rows in sorted(days.items()):
        if day < first:
            err().print(
                f"{label(day)}: {counted(rows.num_rows, 'row')} left out: the window begins on "
                f"{label(first)}",
                style="yellow",
            )
    return {day: rows for day, rows in days.items() if day >= first}


def advance(
    archive: Where,
    to: Annotated[str, typer.Option(help="The newest day of the window: a number or a date.")],
    as_json: AsJson = False,
    verbose: Verbose = False,
) -> None:
    """Move the window on: days that were appended ahead come in, the oldest go.

    \b
    Example:
      windrow archive advance month --to 2026-03-02
    """
    with errors_in_words(verbose=verbose):
        opened = Archive.open(archive)
        day = calendar_of(opened).parse(to)
        with err().status(f"advancing to {to}"):
            version = opened.advance(day)
        _say(archive, opened, version, {}, as_json)


def _schema(columns: str | None, like: Path | None) -> pa.Schema:
    if (columns is None) == (like is None):
        raise InputError(
            where="create",
            expected="--columns or --like",
            found="both or neither",
            remedy='say --like FILE, or --columns "src STRING, bytes BIGINT"',
        )
    if like is not None:
        return arrow_schema(inferred(like).schema)
    declared = compile_script(f"CREATE RELATION archive ({columns});").catalog.find("archive")
    assert isinstance(declared, RelationDeclaration)
    return arrow_schema(declared.schema)


def rows_of(names: Sequence[str], layout: Layout | None) -> pa.Table:
    """All rows of the files, of the columns that the layout has.

    A row that cannot be read spoils the lot.
    """
    files = [path for name in names for path in find_files(FileSource(name, ""))]
    if not files:
        raise InputError(where=", ".join(names), expected="files of rows", found="none")
    tables = []
    for path in files:
        declared = inferred(path)
        known = [f for f in declared.schema if layout is None or f.name in layout.schema.names]
        wanted = Schema(tuple(known))
        declaration = StreamDeclaration(path.name, wanted, NO_TIMESTAMP, Clock.INTEGER)
        for parsed in read_file(path, declaration):
            if parsed.rejected:
                first = parsed.rejected[0]
                raise InputError(
                    where=f"{path}, row {first.row}", expected="a readable row", found=first.reason
                )
            tables.append(pa.Table.from_batches([parsed.rows]))
    return pa.concat_tables(tables)


def _cut(rows: pa.Table, column: str, calendar: Calendar) -> dict[int, pa.Table]:
    """The rows of each day, by the values of a column."""
    if column not in rows.column_names:
        raise ArchiveError(
            where="--by", expected=f"one of {', '.join(rows.column_names)}", found=column
        )
    values = rows.column(column)
    temporal = pa.types.is_temporal(values.type)
    if values.null_count or not (temporal or pa.types.is_integer(values.type)):
        raise ArchiveError(
            where=f"column {column}",
            expected="times or whole numbers, and no NULL",
            found=f"{values.null_count} NULLs" if values.null_count else str(values.type),
        )
    ticks = pc.cast(values, pa.timestamp("us")) if temporal else values
    days = calendar.days_of(np.asarray(ticks.cast(pa.int64())))
    return {int(day): rows.filter(pa.array(days == day)) for day in np.unique(days)}


def _say(path: Path, archive: Archive, version: int, days: dict[str, int], as_json: bool) -> None:
    found = archive.stat()
    label = found.settings.calendar.label
    now = None if found.now is None else label(found.now)
    if as_json:
        print_json({"version": version, "now": now, "entries": found.entries, "days": days})
        return
    for day, rows in sorted(days.items()):
        out().print(f"{day}: {counted(rows, 'row')}")
    out().print(
        f"{path}: version {version}, up to {now}, {counted(found.entries, 'record')} in the window"
    )
