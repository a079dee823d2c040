"""Looking after an archive: what is where, what comes next, whether all is well, what can go."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from windrow.archive.archive import open_archive
from windrow.archive.errors import DamagedError
from windrow.archive.format.day_calendar import Calendar
from windrow.archive.lifetimes.lifetime_index import LifetimeIndex
from windrow.archive.wave.operations import Operation
from windrow.archive.wave.wave import IndexStatistics, WaveStatistics
from windrow.cli.answers import count_of
from windrow.cli.archive.grids import NOT_BEGUN, show_coming, show_grid
from windrow.cli.archive.options import AsJson, Verbose, Where, print_json, unit_of
from windrow.cli.console import err, out, show_progress, size
from windrow.cli.error_messages import errors_in_words

BROKEN = 1

LISTED = 8
"""Days of an index that are listed one by one."""


def stat(archive: Where, as_json: AsJson = False, verbose: Verbose = False) -> None:
    """Show which index holds which days, and how much space they take.

    Expired days that an index still holds are in brackets. With lifetimes, each sub-index of the
    grid is shown with the times at which its records were inserted and at which they expire.

    \b
    Example:
      windrow archive stat month
    """
    with errors_in_words(verbose=verbose):
        opened = open_archive(archive)
        if isinstance(opened, LifetimeIndex):
            show_grid(archive, opened, as_json=as_json)
            return
        found = opened.stat()
        if as_json:
            print_json(plain_days(found))
            return
        settings, label = found.settings, found.settings.calendar.label
        out().print(
            f"{archive}: version {found.version}, "
            f"{count_of(settings.window, unit_of(settings.calendar.length))} up to "
            f"{'-' if found.now is None else label(found.now)}, {settings.scheme} with "
            f"n = {settings.n}, {settings.technique}, {found.format} runs"
        )
        out().print(_draw(found))
        out().print(f"{count_of(found.entries, 'record')}, {size(found.bytes)} on disk")


def plain_days(found: WaveStatistics) -> dict[str, Any]:
    """For programs; days are written as every command takes them."""
    label = found.settings.calendar.label
    value = asdict(found)
    value["now"] = None if found.now is None else label(found.now)
    value["ahead"] = {label(day): rows for day, rows in sorted(found.ahead.items())}
    for index in value["indexes"]:
        index["days"] = [label(day) for day in index["days"]]
    return value


def _draw(found: WaveStatistics) -> Table:
    table = Table()
    for name, side in (("index", "left"), ("days", "left"), ("runs", "right"),
                       ("records", "right"), ("dead", "right"), ("bytes", "right")):  # fmt: skip
        table.add_column(name, justify=side)  # type: ignore[arg-type]
    for index in found.indexes:
        runs = "packed" if index.packed and index.runs else str(index.runs)
        table.add_row(
            Text(index.name, style="" if index.constituent else "dim"),
            Text(_days(index, found)),
            runs,
            f"{index.entries:,}",
            f"{index.dead:,}" if index.dead else "",
            size(index.bytes),
        )
    for day, rows in sorted(found.ahead.items()):
        label = found.settings.calendar.label(day)
        table.add_row(Text("ahead", style="dim"), label, "", f"{rows:,}", "", "")
    return table


def _days(index: IndexStatistics, found: WaveStatistics) -> str:
    """Days as the paper draws them; those that have expired in brackets."""
    first = None if found.now is None else found.now - found.settings.window + 1
    calendar = found.settings.calendar
    expired = [day for day in index.days if first is not None and day < first]
    held = [day for day in index.days if day not in expired]
    shown = [f"({part})" for part in _stretches(expired, calendar)]
    return " ".join([*shown, *_stretches(held, calendar)]) or "-"


def _stretches(days: Sequence[int], calendar: Calendar) -> list[str]:
    """Days one by one, or if they are many and follow each other, from the first to the last."""
    if len(days) > LISTED and days[-1] - days[0] == len(days) - 1:
        number = count_of(len(days), unit_of(calendar.length))
        return [f"{calendar.label(days[0])} to {calendar.label(days[-1])}, {number}"]
    return [calendar.label(day) for day in days]


def plan(
    archive: Where,
    days: Annotated[int, typer.Option(min=1, help="How many days (or updates) ahead.")] = 7,
    as_json: AsJson = False,
    verbose: Verbose = False,
) -> None:
    """Show which operations the coming days need, without running them.

    \b
    Example:
      windrow archive plan month --days 10
    """
    with errors_in_words(verbose=verbose):
        opened = open_archive(archive)
        if isinstance(opened, LifetimeIndex):
            show_coming(archive, opened, days, as_json=as_json)
            return
        found = opened.stat()
        calendar = found.settings.calendar
        steps = [] if found.now is None else opened.plan(days)
        if as_json:
            print_json([
                {"day": calendar.label(day),
                 "before": [_plain(o, calendar) for o in step.before],
                 "transition": [_plain(o, calendar) for o in step.transition],
                 "after": [_plain(o, calendar) for o in step.after]}
                for day, step in steps
            ])  # fmt: skip
            return
        if not steps:
            out().print(f"{archive}: {NOT_BEGUN}")
            return
        table = Table()
        for name in ("day", "before its data is there", "to make it visible", "afterwards"):
            table.add_column(name)
        for day, step in steps:
            parts = (step.before, step.transition, step.after)
            table.add_row(calendar.label(day), *(_operations(p, calendar) for p in parts))
        out().print(table)


def _operations(operations: Iterable[Operation], calendar: Calendar) -> Text:
    lines = []
    for operation in operations:
        fields = asdict(operation)
        days = " ".join(calendar.label(day) for day in fields.get("days", ()))
        names = " -> ".join(str(v) for name, v in fields.items() if name != "days")
        lines.append(f"{type(operation).__name__} {names}{': ' + days if days else ''}")
    return Text("\n".join(lines))


def _plain(operation: Operation, calendar: Calendar) -> dict[str, Any]:
    fields = asdict(operation)
    if "days" in fields:
        fields["days"] = [calendar.label(day) for day in fields["days"]]
    return {"operation": type(operation).__name__, **fields}


def verify(archive: Where, as_json: AsJson = False, verbose: Verbose = False) -> None:
    """Read everything and check it: checksums, order, counts, invariants.

    Ends with exit code 1 if something is wrong.

    \b
    Example:
      windrow archive verify month
    """
    with errors_in_words(verbose=verbose):
        try:
            opened = open_archive(archive)
            with show_progress("reading every run", as_json=as_json) as progress:
                problems, found = opened.verify(progress), opened.stat()
        except DamagedError as error:  # the manifest itself: there is no version to speak of
            if as_json:
                damage = {"where": error.where, "what": f"found {error.found}"}
                print_json({"version": None, "problems": [damage]})
            else:
                err().print(str(error), style="bold red")
            raise typer.Exit(BROKEN) from None
        if as_json:
            print_json({"version": found.version, "problems": [asdict(p) for p in problems]})
        elif not problems:
            whose = "grid" if isinstance(opened, LifetimeIndex) else "scheme"
            out().print(
                f"{archive}: version {found.version} is intact: checksums, order "
                f"and counts of {count_of(found.entries, 'record')}, and the {whose}'s invariants"
            )
        for problem in problems if not as_json else ():
            err().print(str(problem), style="bold red")
        if problems:
            raise typer.Exit(BROKEN)


def vacuum(archive: Where, as_json: AsJson = False, verbose: Verbose = False) -> None:
    """Remove files that no version needs: those of past versions and of failed writers.

    Files that a running reader or writer holds are kept.

    \b
    Example:
      windrow archive vacuum month
    """
    with errors_in_words(verbose=verbose):
        with show_progress("removing files", as_json=as_json) as progress:
            done = open_archive(archive).vacuum(progress)
        if as_json:
            print_json(asdict(done))
            return
        held = f"; readers hold {count_of(len(done.held), 'version')}" if done.held else ""
        out().print(f"{archive}: {count_of(done.files, 'file')} removed, {size(done.bytes)}{held}")
