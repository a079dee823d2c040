"""Arguments that several commands of ``windrow archive`` take, and how they are read.

``--since``, ``--to`` and the like mean days to an archive of days: a date is one of them. An index
of lifetimes has instants (when an update is made, when a record expires) and periods between
updates; a date is its first instant, and as a period the one that begins there.
"""

from __future__ import annotations

import csv
import json
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Protocol

import pyarrow as pa
import pyarrow.compute as pc
import typer

from windrow.archive.archive import Archive
from windrow.archive.errors import ArchiveError
from windrow.archive.format.day_calendar import HOUR, Calendar, read_moment
from windrow.archive.format.layout import DAY, EXPIRY, Layout
from windrow.archive.lifetimes.lifetime_index import LifetimeIndex
from windrow.archive.lifetimes.partition_grid import Periods
from windrow.cli.console import out
from windrow.columns.text_forms import read_texts

Where = Annotated[
    str, typer.Argument(metavar="ARCHIVE", help="The archive's directory, or s3://bucket/path.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]
Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="Show tracebacks of errors.")]
Since = Annotated[
    str | None,
    typer.Option(help="The first day to read: its number or a date.", show_default=False),
]
Until = Annotated[
    str | None,
    typer.Option(help="The last day to read: its number or a date.", show_default=False),
]
At = Annotated[
    str | None,
    typer.Option(
        help="Read as of this day (with lifetimes, this instant), not before the last update.",
        show_default=False,
    ),
]
Soft = Annotated[
    bool, typer.Option("--soft", help="Include expired records that an index still holds.")
]
Columns = Annotated[str | None, typer.Option(help="Only these columns: a,b,c.", show_default=False)]
Into = Annotated[
    Path | None,
    typer.Option(help="A .parquet, .csv, .json or .arrow file for the answer.", show_default=False),
]


def names_of(columns: str | None) -> list[str] | None:
    return None if columns is None else [name.strip() for name in columns.split(",")]


def key_of(text: str, layout: Layout) -> Any:
    """A key as typed; the parts of a composite key are separated by commas, and quoted as in CSV
    if they have some themselves.
    """
    if len(layout.key) == 1:
        return _value(text, layout.key[0], layout.key_types[0])
    parts = next(csv.reader([text], skipinitialspace=True), [""])
    if len(parts) > len(layout.key):
        raise ArchiveError(
            where=f"key {text}",
            expected=f"at most {len(layout.key)} values: {', '.join(layout.key)}",
            found=str(len(parts)),
        )
    columns = zip(parts, layout.key, layout.key_types, strict=False)
    return tuple(_value(part, name, kind) for part, name, kind in columns)


def _value(text: str, name: str, kind: pa.DataType) -> Any:
    try:
        value = read_texts(_one_text(text), kind)[0]
        return value if pa.types.is_temporal(kind) else value.as_py()  # Python has not all of them
    except pa.ArrowException as error:
        raise ArchiveError(
            where=f"key column {name}", expected=f"a value of type {kind}", found=text
        ) from error


def _one_text(text: str) -> pa.Array:
    """An array of one text, without ``pa.array``, which loads pandas to see what it is given."""
    raw = text.encode()
    offsets = struct.pack("<2i", 0, len(raw))
    return pa.Array.from_buffers(pa.string(), 1, [None, pa.py_buffer(offsets), pa.py_buffer(raw)])


def print_json(value: Any) -> None:
    out().print(json.dumps(value, indent=2, default=str))


class Times(Protocol):
    """The times of an archive as people write them."""

    def moment(self, text: str) -> int:
        """What ``advance``, ``append`` and ``reader`` are given."""

    def period(self, text: str) -> int:
        """What bounds a probe or scan."""

    def label(self, moment: int) -> str: ...

    def add_stamps(self, entries: pa.Table) -> pa.Table:
        """Entries with their stamps, if they have any, as dates or times instead of numbers."""


@dataclass(frozen=True)
class Days:
    """Days, which are moments and periods in one."""

    calendar: Calendar

    def moment(self, text: str) -> int:
        return self.calendar.parse(text)

    period = moment

    def label(self, moment: int) -> str:
        return self.calendar.label(moment)

    def add_stamps(self, entries: pa.Table) -> pa.Table:
        if not self.calendar.timestamps:
            return entries
        return _begins(entries, 0, self.calendar.length)


@dataclass(frozen=True)
class Instants:
    """Ticks, and the periods of updates that they are cut into.

    >>> times = Instants(Periods(30 * 24 * HOUR, 24 * HOUR, timestamps=True))
    >>> times.label(times.moment("2026-03-01 06:30")), times.label(times.moment("2026-03-01"))
    ('2026-03-01 06:30:00', '2026-03-01')
    >>> times.span(times.period("2026-03-01"), times.period("2026-03-02"))
    '2026-03-01 to 2026-03-02'
    """

    periods: Periods

    def moment(self, text: str) -> int:
        timestamps = self.periods.timestamps
        expected = "a time such as 2026-03-01 06:30" if timestamps else "a number of ticks"
        return read_moment(text, 1 if timestamps else None, expected)

    def period(self, text: str) -> int:
        # A period ends with the tick at which the next one begins for people who write times.
        return self.periods.of(self.moment(text) + (1 if self.periods.timestamps else 0))

    def label(self, moment: int) -> str:
        return self.periods.label(moment)

    def add_stamps(self, entries: pa.Table) -> pa.Table:
        if not self.periods.timestamps:
            return entries
        interval = self.periods.interval
        entries = _begins(entries, self.periods.origin - interval, interval)
        if EXPIRY not in entries.column_names:
            return entries
        moments = entries.column(EXPIRY).cast(pa.timestamp("us"))
        return entries.set_column(entries.column_names.index(EXPIRY), EXPIRY, moments)

    def span(self, first: int, last: int) -> str:
        """The periods from one to another."""
        if not self.periods.timestamps:
            begin, end = self.periods.first(first), self.periods.last(last)
            return str(begin) if begin == end else f"{begin} to {end}"
        begin, end = self.periods.first(first) - 1, self.periods.last(last)
        if begin % (24 * HOUR) == 0 and end % (24 * HOUR) == 0:
            end -= 24 * HOUR  # whole days: the last one is named, not the midnight that ends it
        return self.label(begin) if begin == end else f"{self.label(begin)} to {self.label(end)}"


def _begins(entries: pa.Table, zero: int, length: int) -> pa.Table:
    """Entries with the dates or moments at which their days begin; day 0 does at ``zero``."""
    if DAY not in entries.column_names:
        return entries
    days = entries.column(DAY).cast(pa.int64())
    moments = pc.add(pc.multiply(days, length), zero).cast(pa.timestamp("us"))
    if length % (24 * HOUR) == 0 and zero % (24 * HOUR) == 0:
        moments = moments.cast(pa.date32())
    return entries.set_column(entries.column_names.index(DAY), DAY, moments)


def unit_of(length: int) -> str:
    """What people call a day of so many ticks.

    >>> unit_of(HOUR), unit_of(24 * HOUR), unit_of(1)
    ('hour', 'day', 'day')
    """
    return "hour" if length == HOUR else "day"


def times_of(archive: Archive | LifetimeIndex) -> Times:
    if isinstance(archive, LifetimeIndex):
        return Instants(archive.periods)
    return Days(archive.stat().settings.calendar)


def bounds(times: Times, since: str | None, until: str | None) -> tuple[int | None, int | None]:
    """Two options as the periods that they name."""
    first = None if since is None else times.period(since)
    return first, None if until is None else times.period(until)
