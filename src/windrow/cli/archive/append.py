"""Taking rows in, and moving an archive on in time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Annotated, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import typer

from windrow.archive.archive import Archive, open_archive
from windrow.archive.errors import ArchiveError
from windrow.archive.format.day_calendar import Calendar, latest_plausible_day
from windrow.archive.lifetimes.lifetime_index import LifetimeIndex
from windrow.archive.records import rows_of
from windrow.cli.answers import count_of
from windrow.cli.archive.options import AsJson, Verbose, Where, print_json, times_of
from windrow.cli.console import err, out, show_progress
from windrow.cli.error_messages import errors_in_words
from windrow.columns.arrays import Int64s
from windrow.core.errors import InputError
from windrow.core.time import wall_clock
from windrow.tables.typed_files import files_of, unused_columns

Files = Annotated[list[str], typer.Argument(metavar="FILES...", help="Files or directories.")]


def append(
    archive: Where,
    files: Files,
    day: Annotated[
        str | None, typer.Option(help="The day of all rows: a number or a date.")
    ] = None,
    by: Annotated[
        str | None, typer.Option(help="The column that says which day a row belongs to.")
    ] = None,
    expires: Annotated[
        str | None,
        typer.Option(help="With lifetimes: the column that says when a row expires."),
    ] = None,
    advance: Annotated[
        bool,
        typer.Option(
            help="Move the window to the last of these days; with --by, never into the future."
        ),
    ] = True,
    as_json: AsJson = False,
    verbose: Verbose = False,
) -> None:
    """Append the rows of files as one day, or split into days by a column; all or nothing.

    Files are csv, json, parquet or arrow, and their values must fit the archive's types. Columns
    are matched by name; those that the archive does not have are left out. With --by, rows of
    future days wait until the window reaches them.

    With lifetimes, all rows are inserted at one instant, --day, and each expires at its own.

    \b
    Examples:
      windrow archive append month 2026-03-01.parquet --day 2026-03-01
      windrow archive append month flows/ --by ts
      windrow archive append month early.csv --day 2026-04-01 --no-advance
      windrow archive append leases 2026-03-01.csv --day "2026-03-02 00:00" --expires until
    """
    with errors_in_words(verbose=verbose):
        opened = open_archive(archive)
        if isinstance(opened, LifetimeIndex):
            if day is None or expires is None or by is not None or not advance:
                raise InputError(
                    where="append",
                    expected="--day INSTANT and --expires COLUMN: this is an index of lifetimes",
                    found="--by or --no-advance" if day and expires else "not both",
                )
            _insert(archive, opened, files, day, expires, as_json=as_json)
            return
        if (day is None) == (by is None):
            raise InputError(
                where="append", expected="--day or --by", found="both" if by else "neither"
            )
        if expires is not None:
            raise InputError(
                where="append",
                expected="an index of lifetimes for --expires",
                found="an archive of days, whose rows all live as long as the window",
                remedy="make one with windrow archive create --grid",
            )
        calendar = opened.stat().settings.calendar
        rows, unused = _read_files(files, opened.layout.schema, by, as_json=as_json)
        if by is not None:
            days = _by_day(rows, by, calendar)
            last = _newest(days, opened)
        else:
            assert day is not None
            last = calendar.parse(day)
            days = {last: rows}
        now = last if advance else None
        days, late = _in_time(days, now, opened)
        count = count_of(sum(t.num_rows for t in days.values()), "row")
        with show_progress(f"writing {count}", as_json=as_json) as progress:
            version = opened.append_days(days, now=now, progress=progress)
        taken = {calendar.label(d): t.num_rows for d, t in sorted(days.items())}
        done = {"days": taken, "unused_columns": late, "left_out_columns": unused}
        _say(archive, opened, version, done, as_json)


def _read_files(
    files: Sequence[str], schema: pa.Schema, column: str | None, *, as_json: bool
) -> tuple[pa.Table, list[str]]:
    """The rows of files with another column, if the archive lacks it; of those without use a word.

    They are returned too.
    """
    others = [] if column is None or column in schema.names else [column]
    with show_progress("reading", as_json=as_json) as progress:
        paths = files_of(files)
        rows = rows_of(paths, schema, *others, progress=progress)
        unused = unused_columns(paths, [*schema.names, *others])
    if unused:
        names = ", ".join(unused)
        err().print(f"columns left out, which the archive does not have: {names}", style="yellow")
    return rows, unused


def _newest(days: Iterable[int], archive: Archive) -> int | None:
    """The last of the days that is not in the future: one wrong date must not expire the rest."""
    found = archive.stat()
    calendar, window = found.settings.calendar, found.settings.window
    if calendar.timestamps:
        today, kept = (
            wall_clock() // calendar.length,
            "is in the future: kept until the window reaches it",
        )
    else:
        today = (
            latest_plausible_day([*days, *found.ahead], found.now, window) or 0
        )  # without days, any will do
        kept = (
            f"is more than the window of {window} after {today}: kept until later days arrive, "
            "or windrow archive advance names it"
        )
    for day in sorted(day for day in days if day > today):
        err().print(f"{calendar.label(day)} {kept}", style="yellow")
    return max((day for day in days if day <= today), default=None)


def _insert(
    path: str, index: LifetimeIndex, files: Sequence[str], at: str, expires: str, *, as_json: bool
) -> None:
    """Rows that come at one instant and each have their own end."""
    now = times_of(index).moment(at)
    rows, unused = _read_files(files, index.layout.schema, expires, as_json=as_json)
    ends = ticks_of(rows, expires, timestamps=index.periods.timestamps)
    with show_progress(f"writing {count_of(rows.num_rows, 'row')}", as_json=as_json) as progress:
        done = index.insert(now, rows, pa.array(ends), progress=progress)
    if done.dead:
        err().print(
            f"{count_of(done.dead, 'row')} left out: expired by {times_of(index).label(now)}",
            style="yellow",
        )
    taken = {"rows": rows.num_rows, "dead": done.dead, "left_out_columns": unused}
    _say(path, index, done.version, taken, as_json)


def _in_time(
    days: dict[int, pa.Table], now: int | None, archive: Archive
) -> tuple[dict[int, pa.Table], dict[str, int]]:
    """The days that the window will still have at ``now``; of the others a word, and how many."""
    settings = archive.stat().settings
    first = min(days, default=0) if now is None else now - settings.window + 1
    label = settings.calendar.label
    late = {label(d): rows.num_rows for d, rows in sorted(days.items()) if d < first}
    for day, rows in late.items():
        err().print(
            f"{day}: {count_of(rows, 'row')} left out: the window begins on {label(first)}",
            style="yellow",
        )
    return {day: rows for day, rows in days.items() if day >= first}, late


def advance(
    archive: Where,
    to: Annotated[
        str, typer.Option(help="The newest day of the window, or the instant: a number or a date.")
    ],
    as_json: AsJson = False,
    verbose: Verbose = False,
) -> None:
    """Move the window forward: days that were appended ahead enter it, the oldest leave.

    With lifetimes, records that have expired by that instant are removed.

    \b
    Example:
      windrow archive advance month --to 2026-03-02
    """
    with errors_in_words(verbose=verbose):
        opened = open_archive(archive)
        moment = times_of(opened).moment(to)
        with show_progress(f"advancing to {to}", as_json=as_json) as progress:
            done = opened.advance(moment, progress=progress)
        version = done if isinstance(done, int) else done.version
        _say(archive, opened, version, {}, as_json)


def _by_day(rows: pa.Table, column: str, calendar: Calendar) -> dict[int, pa.Table]:
    """The rows of each day, by the values of a column."""
    days = calendar.days_of(ticks_of(rows, column, timestamps=calendar.timestamps))
    return {int(day): rows.filter(pa.array(days == day)) for day in np.unique(days)}


def ticks_of(rows: pa.Table, column: str, *, timestamps: bool) -> Int64s:
    """A column of instants: times in microseconds, or numbers, as the archive has them."""
    values = rows.column(column)
    temporal = pa.types.is_timestamp(values.type) or pa.types.is_date(values.type)
    sound = temporal if timestamps else pa.types.is_integer(values.type)
    if values.null_count or not sound:
        raise ArchiveError(
            where=f"column {column}",
            expected=f"{'times' if timestamps else 'whole numbers'}, as in this archive, "
            "and no NULL",
            found=count_of(values.null_count, "NULL") if sound else str(values.type),
        )
    # What is finer than microseconds is cut off, towards the past.
    if temporal and values.type == pa.timestamp("ns", getattr(values.type, "tz", None)):
        values = pc.floor_temporal(values, unit="microsecond")
    ticks = pc.cast(values, pa.timestamp("us")) if temporal else values
    return np.asarray(ticks.cast(pa.int64()))


def _say(
    path: str,
    archive: Archive | LifetimeIndex,
    version: int,
    taken: dict[str, Any],
    as_json: bool,
) -> None:
    found, label = archive.stat(), times_of(archive).label
    now = None if found.now is None else label(found.now)
    if as_json:
        print_json({"version": version, "now": now, "entries": found.entries, **taken})
        return
    for day, rows in taken.get("days", {}).items():
        out().print(f"{day}: {count_of(rows, 'row')}")
    window = "the window has not begun" if now is None else f"up to {now}"
    out().print(f"{path}: version {version}, {window}, holding {count_of(found.entries, 'record')}")
