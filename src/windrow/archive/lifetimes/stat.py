"""Which periods live in which sub-index, as the paper's figures draw it, and what is coming."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from windrow.archive.format.run_ref import Format
from windrow.archive.lifetimes.index_contents import Contents
from windrow.archive.lifetimes.partition_grid import Grid, Periods
from windrow.archive.versions.manifest import Manifest


@dataclass(frozen=True)
class SubindexStatistics:
    """One sub-index. ``entries`` outlive the last period that is over; ``dead`` do not.

    ``inserted`` and ``expires`` are its periods among those that matter at the last update;
    that of an earlier grid, whose name begins with ``old``, is inserted into no more.
    """

    name: str
    inserted: tuple[int, ...]
    expires: tuple[int, ...]
    runs: int
    entries: int
    dead: int
    bytes: int


@dataclass(frozen=True)
class PlannedUpdate:
    """An update to come at the end of a period: the sub-indices inserted into and expired from."""

    now: int
    inserted: tuple[str, ...]
    expired: tuple[str, ...]


@dataclass(frozen=True)
class GridStatistics:
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


def grid_statistics(manifest: Manifest) -> GridStatistics:
    contents = Contents.of(manifest)
    subindices = _subindices(contents)
    return GridStatistics(
        manifest.version,
        contents.now,
        contents.grid,
        contents.periods,
        manifest.format,
        manifest.encodings,
        subindices,
        sum(s.entries for s in subindices),
        sum(s.bytes for s in subindices),
    )


def _subindices(contents: Contents) -> tuple[SubindexStatistics, ...]:
    """All of the present grid, and those of earlier ones that still hold something."""
    if contents.now is None:
        return ()
    found: list[SubindexStatistics] = []
    for number, part in enumerate(contents.partitions):
        grid, periods = part.grid, part.periods
        current = periods.of(contents.now)
        past = range(current - periods.count + 1, current + 1)
        future = range(periods.over(contents.now) + 1, current + periods.count + 1)
        rows = {period: grid.row(period, periods) for period in past}
        columns = {period: grid.column(period, periods) for period in future}
        for place, runs in enumerate(part.state.subindices):
            if number and not runs:
                continue
            entries = sum(run.live(part.state.over) for run in runs)
            found.append(
                SubindexStatistics(
                    subindex_name(number, place),
                    tuple(p for p, at in rows.items() if place in at),
                    tuple(p for p, at in columns.items() if place in at),
                    len(runs),
                    entries,
                    sum(run.total for run in runs) - entries,
                    sum(contents.runs[run.number].bytes for run in runs),
                )
            )
    return tuple(found)


def subindex_name(partition: int, place: int) -> str:
    """I1 of the present grid, old I1 of the one before, old I1 (2) of the one before that."""
    age = "" if partition < 2 else f" ({partition})"
    return f"{'old ' if partition else ''}I{place + 1}{age}"


def plan_updates(contents: Contents, updates: int) -> list[PlannedUpdate]:
    """What the next updates touch, one at the end of each period."""
    if contents.now is None:
        return []
    grid, periods = contents.grid, contents.periods
    first = periods.over(contents.now) + 1
    return [
        PlannedUpdate(
            periods.last(period),
            tuple(subindex_name(0, place) for place in grid.row(period, periods)),
            tuple(
                subindex_name(number, place)
                for number, part in enumerate(contents.partitions)
                for place in part.grid.column(period, part.periods)
                if number == 0 or part.expires_in(place, period)
            ),
        )
        for period in range(first, first + updates)
    ]
