"""What is printed when queries end: their last answers, and where everything is."""

from __future__ import annotations

import json
from contextlib import suppress
from datetime import datetime
from pathlib import Path

import pyarrow as pa
from rich.console import Console
from rich.table import Table
from rich.text import Text

from windrow.cli.console import instant
from windrow.columns.text_forms import plain_values
from windrow.core.paths import is_object_url
from windrow.engine.progress import QueryReport, Report
from windrow.streams.quarantine import Quarantine
from windrow.tables.fit import is_number

SHOWN = 10
"""Rows of an answer that are printed."""


def print_report(report: Report, console: Console, quarantine: Path) -> None:
    """Each query's last answer as a table, then a line per query on where its results are."""
    for query in report.queries:
        if query.waiting is not None:
            continue
        console.print()
        console.print(headline(query), style="bold")
        console.print(answer_table(query.answer, ordered=query.ranked), soft_wrap=False)
        hidden = query.answer.num_rows - SHOWN
        if hidden > 0:
            console.print(f"... and {hidden:,} more")
    console.print()
    for query in report.queries:
        place = f" in {near(query.destination)}" if query.destination else ""
        rows, changes = count_of(query.rows_in, "row"), count_of(query.rows_out, "change")
        if query.waiting is not None:
            changes = f"{query.rows_out:,} archived"
            rest = count_of(query.waiting, "row")
            place += f"; {rest} of a day that is not over" if query.waiting else ""
        console.print(f"{query.name}: {rows} in, {changes}{place}")
        if query.quarantined:
            console.print(
                f"{query.name}: {count_of(query.quarantined, 'row')} quarantined in {quarantine}, "
                f"{query.late:,} late",
                style="yellow",
            )
        late = query.lateness
        if late is not None and late.late:
            console.print(
                f"{query.name}: {late.late:,} of {count_of(late.executions, 'answer')} late, by "
                f"{late.mean:,.1f} s on average and {late.greatest:,.1f} s at most",
                style="yellow",
            )
        if late is not None and late.seconds:
            console.print(
                f"{query.name}: the next answer is {late.seconds:,.1f} s late, as the run ends",
                style="yellow",
            )
        if query.complete_from is not None:
            since = instant(query.complete_from, query.clock)
            console.print(
                f"{query.name}: it came late, and its answers are complete from {since} on",
                style="yellow",
            )
        for died, times in query.restarts.items():
            console.print(
                f"{query.name}: restarted {count_of(times, 'time')} because of {died}",
                style="yellow",
            )


def warn_of_unused(report: Report, console: Console, quarantine: Path) -> None:
    """A warning for each query of whose input not one row could be used."""
    for query in report.queries:
        if not query.quarantined or query.rows_in:
            continue
        rows = count_of(query.quarantined, "row")
        all_of = f"all {rows} were" if query.quarantined > 1 else "the only row was"
        kept = Quarantine(quarantine)
        files = sorted(near(page) for stream in kept.streams for page, _ in kept.pages(stream))
        place = f"{files[0]}{' and others beside it' if len(files) > 1 else ''}" if files else ""
        console.print(
            f"warning: {query.name} has had no input: {all_of} quarantined; "
            f"the reasons are in {place or quarantine}",
            style="bold yellow",
        )


def print_reasons(report: Report, console: Console, quarantine: Path, since: int) -> None:
    """Why a row of each stream was quarantined: the last in its newest file, if it is of this run,
    which began at ``since``, in nanoseconds since 1970."""
    if not any(query.quarantined for query in report.queries) or is_object_url(quarantine):
        return
    kept = Quarantine(quarantine)
    for stream in kept.streams:
        page, written = next(iter(kept.pages(stream)), (None, None))
        if page is None or written is None or written.time < since:
            continue
        *_, last = page.read_text(encoding="utf-8").splitlines() or [""]
        with suppress(json.JSONDecodeError, KeyError):
            found = json.loads(last)
            row = "" if found["row"] is None else f", row {found['row']}"
            words = f"quarantined, for example: {found['file']}{row}: {found['reason']}"
            console.print(words, style="yellow", markup=False, highlight=False)


def near(path: Path) -> Path:
    """The path as seen from the current directory, if it is below it."""
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path


def count_of(number: int, thing: str) -> str:
    """Number and noun.

    >>> count_of(1, "row"), count_of(2_000, "row")
    ('1 row', '2,000 rows')
    """
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


def headline(query: QueryReport) -> str:
    """Whose answer it is, when it held, and how large it is."""
    shown = query.answer.num_rows
    size = count_of(shown, "row")
    if query.total is not None and query.total > shown:
        size = f"the last {shown:,} of {count_of(query.total, 'row')}"
    return f"{query.name} at {instant(query.now, query.clock)}: {size}"


def answer_table(answer: pa.Table, *, ordered: bool = False, shown: int = SHOWN) -> Table:
    """The first rows of the answer, in the order of their values unless it has one of its own."""
    table = Table()
    for field in answer.schema:
        numeric = is_number(field.type)
        table.add_column(Text(field.name), justify="right" if numeric else "left")
    if answer.num_columns:
        if not ordered:
            keys = [f.name for f in answer.schema if not pa.types.is_nested(f.type)]
            answer = answer.sort_by([(key, "ascending") for key in keys]) if keys else answer
        for row in zip(*(plain_values(c) for c in answer.slice(0, shown).columns), strict=True):
            table.add_row(*(_cell(value) for value in row))
    return table


def _cell(value: object) -> Text:
    if value is None:
        return Text("NULL", style="dim")
    if isinstance(value, float):
        plain = value == 0 or 1e-2 <= abs(value) < 1e15
        return Text(f"{value:.3f}" if plain else f"{value:.6g}")
    if isinstance(value, datetime):
        return Text(value.isoformat(" "))
    return Text(str(value))
