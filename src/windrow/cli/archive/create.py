"""Making an archive: of days, or of records with lifetimes of their own."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import pyarrow as pa
import typer

from windrow.archive.archive import Archive
from windrow.archive.format.day_calendar import Calendar
from windrow.archive.lifetimes.lifetime_index import LifetimeIndex
from windrow.archive.lifetimes.partition_grid import Grid
from windrow.cli.answers import count_of
from windrow.cli.archive.grids import OF_GRIDS, DealtOut, Sides, Technique, grid_of, plain_grid
from windrow.cli.archive.maintain import plain_days
from windrow.cli.archive.options import AsJson, Verbose, Where, names_of, print_json, unit_of
from windrow.cli.console import out
from windrow.cli.error_messages import errors_in_words
from windrow.columns.types import arrow_schema
from windrow.core.errors import InputError, ScriptError
from windrow.plan.catalog import RelationDeclaration
from windrow.plan.program import compile_script
from windrow.tables.typed_files import schema_of


class Scheme(StrEnum):
    """The schemes of Shivakumar and Garcia-Molina 1997."""

    DEL = "DEL"
    REINDEX = "REINDEX"
    REINDEX_PLUS = "REINDEX+"
    REINDEX_PLUS_PLUS = "REINDEX++"
    WATA = "WATA"
    RATA = "RATA"


class RunFormat(StrEnum):
    """How runs are stored."""

    ARROW = "arrow"
    PARQUET = "parquet"


class Unit(StrEnum):
    """What a day is."""

    DAYS = "days"
    HOURS = "hours"
    NUMBERS = "numbers"


AT_FIRST = 4
"""Indexes that an archive has unless it is said, and it has so many days."""

OF_DAYS = {"scheme": "--scheme", "n": "-n", "growth": "--growth"}
"""Options that only an archive of days has."""


def create(
    context: typer.Context,
    archive: Where,
    key: Annotated[str, typer.Option(help="The search key: a column, or several: a,b.")],
    window: Annotated[
        int, typer.Option(help="How many days it holds; with --grid, the longest lifetime in days.")
    ],
    columns: Annotated[
        str | None,
        typer.Option(help="Columns as in CREATE STREAM: src STRING, bytes BIGINT."),
    ] = None,
    like: Annotated[
        Path | None, typer.Option(help="A file that has the columns.", show_default=False)
    ] = None,
    scheme: Annotated[Scheme, typer.Option(help="How days move through indexes.")] = Scheme.WATA,
    n: Annotated[
        int | None,
        typer.Option(
            "-n",
            help="How many indexes share the window.",
            show_default="4, or as many as there are days",
        ),
    ] = None,
    technique: Annotated[
        Technique | None,
        typer.Option(help="How an index is updated; by default as suits the scheme."),
    ] = None,
    growth: Annotated[
        float, typer.Option(help="When runs that are not packed are merged: CONTIGUOUS's g.")
    ] = 2.0,
    format: Annotated[  # noqa: A002
        RunFormat, typer.Option(help="Arrow for fast probes, Parquet for size and other tools.")
    ] = RunFormat.ARROW,
    calendar: Annotated[Unit, typer.Option(help="What a day is.")] = Unit.DAYS,
    grid: Sides = None,
    dealt: DealtOut = None,
    as_json: AsJson = False,
    verbose: Verbose = False,
) -> None:
    """Create an empty archive in a new directory: of days, or with --grid of lifetimes.

    WATA and DEL are for use. REINDEX, REINDEX+, REINDEX++ and RATA, and simple shadow, are there
    to be compared as in the paper: runs are immutable here, so building an index merges runs as
    deleting from it does, and a copy protects files that nobody changes.

    \b
    Examples:
      windrow archive create month --like day1.parquet --key src --window 30
      windrow archive create month --columns "src STRING, bytes BIGINT" --key src --window 30
          --scheme DEL -n 1 --technique "in-place" --format parquet
      windrow archive create leases --like leases.csv --key host --window 30 --grid 4,4
          --technique Rebuild
    """
    with errors_in_words(verbose=verbose):
        day = Calendar.of(calendar.value)
        if grid is not None:
            given = {OF_DAYS[n]: n for n in OF_DAYS if _is_given(context, n)}
            refuse("create --grid", "archives of days", given)
            cells = grid_of(grid, technique, dealt, Grid(1, 1))
            index = _grid(archive, _schema(columns, like), key, window, cells, format, calendar)
            if as_json:
                print_json(plain_grid(index.stat()))
                return
            out().print(
                f"{archive}: lifetimes of up to {count_of(window, unit_of(day.length))}, "
                f"{index.grid.name}, {format.value} runs"
            )
            return
        of_grids = technique if technique in OF_GRIDS else None
        refuse("create without --grid", "grids", {"--dealt": dealt, "--technique": of_grids})
        made = Archive.create(
            archive,
            _schema(columns, like),
            tuple(names_of(key) or ()),
            window=window,
            scheme=scheme.value,
            n=min(AT_FIRST, window) if n is None else n,
            technique=None if technique is None else technique.value,  # type: ignore[arg-type]
            growth=growth,
            format=format.value,
            calendar=day,
        )
        if as_json:
            print_json(plain_days(made.stat()))
            return
        settings = made.stat().settings
        out().print(
            f"{archive}: {count_of(window, unit_of(day.length))}, n = {settings.n}, by "
            f"{settings.scheme}, {settings.technique}, {format.value} runs"
        )


def refuse(where: str, whose: str, options: Mapping[str, object]) -> None:
    """Say which of the options that have a value belong to the other kind of archive."""
    given = [name for name, value in options.items() if value is not None]
    if given:
        raise InputError(where=where, expected=f"no option for {whose}", found=", ".join(given))


def _grid(
    path: str,
    schema: pa.Schema,
    key: str,
    window: int,
    grid: Grid,
    form: RunFormat,
    unit: Unit,
) -> LifetimeIndex:
    """An index of lifetimes that is updated once a day."""
    day = Calendar.of(unit.value)
    return LifetimeIndex.create(
        path,
        schema,
        tuple(names_of(key) or ()),
        longest=window * day.length,
        interval=day.length,
        grid=grid,
        format=form.value,
        timestamps=day.timestamps,
    )


def _is_given(context: typer.Context, name: str) -> bool:
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def _schema(columns: str | None, like: Path | None) -> pa.Schema:
    if (columns is None) == (like is None):
        raise InputError(
            where="create",
            expected="--columns or --like",
            found="both" if like else "neither",
            remedy='use --like FILE, or --columns "src STRING, bytes BIGINT"',
        )
    if like is not None:
        return schema_of(like)
    return _parse_columns(columns or "")


def _parse_columns(columns: str) -> pa.Schema:
    """Columns as a script declares them; errors count lines and characters of this text alone."""
    before = "CREATE RELATION archive (\n"
    try:
        found = compile_script(f"{before}{columns}\n);").catalog.find("archive")
    except ScriptError as error:
        lines, span = columns.count("\n") + 1, error.span
        place, what = "--columns", error.found
        if span is not None and span.line - 1 > lines:
            what = "the end"
        elif span is not None:
            place += f", line {span.line - 1}" if lines > 1 else ""
            place += f", character {span.column}"
        raise InputError(
            error.message, where=place, expected=error.expected, found=what, remedy=error.remedy
        ) from error
    assert isinstance(found, RelationDeclaration)
    return arrow_schema(found.schema)
