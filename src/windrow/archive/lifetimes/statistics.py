"""Which periods live in which sub-index, as the paper's figures draw it, and what is coming."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from windrow.archive.lifetimes.contents import Contents
from windrow.archive.lifetimes.grid import Grid
from windrow.archive.lifetimes.periods import Periods
from windrow.archive.lifetimes.state import IndexState
from windrow.archive.manifest import Manifest
from windrow.archive.runs.ref import Format


@dataclass(frozen=True)
class SubindexStatistics:
    """One sub-index. ``entries`` outlive the last period that is over; ``dead`` do not.

    ``inserted`` and ``expires`` are its periods among those that matter at the last update.
    """

    name: str
    inserted: tuple[int, ...]
    expires: tuple[int, ...]
    runs: int
    entries: int
    dead: int
    bytes: int


@dataclass(frozen=True)
class Coming:
    """An update to come at the end of a period: the sub-indices inserted into and expired from."""

    now: int
    inserted: tuple[str, ...]
    expired: tuple[str, ...]


@dataclass(frozen=True)
class Statistics:
    """A version of an index in numbers."""

    version: int
    now: int | None
    grid: Grid
    periods: Periods
    format: Format
    encodings: Mapping[str, str]
    subindices: tuple[SubindexStatistics, ...]
    entries: int
    bytes: int

    def __str__(self) -> str:
        """A row for each sub-index: its ticks of insertion and of expiry."""
        heads = ("index", "inserted", "expires", "runs", "entries", "dead", "bytes")
        rows = [
            (
                s.name,
                self._ticks(s.inserted),
                self._ticks(s.expires),
                *(f"{number:,}" for number in (s.runs, s.entries, s.dead, s.bytes)),
            )
            for s in self.subindices
        ]
        table = [heads, *rows]
        widths = [max(len(row[i]) for row in table) for i in range(len(heads))]
        return "\n".join(
            "  ".join(
                cell.ljust(width) if place < 3 else cell.rjust(width)
                for place, (cell, width) in enumerate(zip(row, widths, strict=True))
            ).rstrip()
            for row in table
        )

    def _ticks(self, periods: tuple[int, ...]) -> str:
        """Periods as ranges of ticks, neighbours joined."""
        joined: list[tuple[int, int]] = []
        for period in periods:
            if joined and joined[-1][1] == period - 1:
                joined[-1] = joined[-1][0], period
            else:
                joined.append((period, period))
        return ", ".join(f"{self.periods.first(a)}-{self.periods.last(b)}" for a, b in joined)


def statistics(manifest: Manifest) -> Statistics:
    contents = Contents.of(manifest)
    grid, periods, now = contents.grid, contents.periods, contents.now
    subindices: tuple[SubindexStatistics, ...] = ()
    if now is not None and contents.state is not None:
        current = periods.of(now)
        past = range(current - periods.count + 1, current + 1)
        future = range(periods.over(now) + 1, current + periods.count + 1)
        rows = {period: grid.row(period, periods) for period in past}
        columns = {period: grid.column(period, periods) for period in future}
        subindices = tuple(
            _subindex(
                number,
                contents,
                contents.state,
                (tuple(p for p, at in rows.items() if number in at)),
                (tuple(p for p, at in columns.items() if number in at)),
            )
            for number in range(grid.size)
        )
    return Statistics(
        manifest.version,
        now,
        grid,
        periods,
        manifest.format,
        manifest.encodings,
        subindices,
        sum(s.entries for s in subindices),
        sum(s.bytes for s in subindices),
    )


def _subindex(
    number: int,
    contents: Contents,
    state: IndexState,
    inserted: tuple[int, ...],
    expires: tuple[int, ...],
) -> SubindexStatistics:
    runs = state.subindices[number]
    entries = sum(run.live(state.over) for run in runs)
    return SubindexStatistics(
        f"I{number + 1}",
        inserted,
        expires,
        len(runs),
        entries,
        sum(run.total for run in runs) - entries,
        sum(contents.runs[run.number].bytes for run in runs),
    )


def coming(grid: Grid, periods: Periods, now: int, updates: int) -> list[Coming]:
    """What the next updates touch, one at the end of each period."""
    first = periods.over(now) + 1
    return [
        Coming(
            periods.last(period),
            _names(grid.row(period, periods)),
            _names(grid.column(period, periods)),
        )
        for period in range(first, first + updates)
    ]


def _names(numbers: Iterable[int]) -> tuple[str, ...]:
    return tuple(f"I{number + 1}" for number in numbers)
