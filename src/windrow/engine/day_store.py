"""The archive of a script as something that days are put into, whoever has gathered them.

Streams go into a wave index, whose records all live as long as the window. Results that expire at
instants of their own go into an index of lifetimes, those that outlive the day they came on.

Invariants
    1. An archive holds whole days only, and ``done`` is the last of them. A day and the step to it
       are one version: wherever a writer dies, a day is in and done, or it is neither.
    2. What an archive holds at the end of a day does not depend on how many days were put at once.
    3. Files of versions that nobody holds are removed with every version: nobody else would do it
       for a script that runs for months. That may fail, or wait for somebody who holds them; the
       next version makes up for it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import pyarrow as pa

from windrow.archive.archive import Archive
from windrow.archive.errors import ArchiveError, ConflictError, StorageError
from windrow.archive.format.day_calendar import Calendar
from windrow.archive.format.layout import Layout
from windrow.archive.lifetimes.lifetime_index import LifetimeIndex
from windrow.archive.lifetimes.partition_grid import Grid
from windrow.archive.versions.versioned_index import VersionedIndex, disk_at
from windrow.archive.versions.versions import Versions
from windrow.columns.delta import Delta, concat
from windrow.columns.types import arrow_schema
from windrow.core.patterns import UpdatePattern
from windrow.core.time import Clock, Wall
from windrow.core.warnings import WindrowWarning, warn_caller
from windrow.plan.binder.storage import TECHNIQUES
from windrow.plan.catalog import ArchiveDeclaration
from windrow.plan.strategy import Strategy

Days = Mapping[int, Sequence[Delta]]
"""What came on each day, in pieces."""


class Store(Protocol):
    """See the module."""

    done: int | None
    """The last day that is in, or None; another writer may have come further since."""

    def put(self, day: int, days: Days) -> int:
        """Take in what came on days up to ``day`` and let time move on to its end.

        Days that are in already are skipped. Returns how many rows came on the others.
        """


def store_of(declared: ArchiveDeclaration) -> Store:
    """The archive of a declaration: the one that is there, or a new one."""
    if declared.plan.pattern is UpdatePattern.MONOTONIC:
        return _Days(declared)
    return _Lives(declared)


def strategy_for(declared: ArchiveDeclaration, strategy: Strategy) -> Strategy:
    """The strategy for a plan whose results say themselves when they expire.

    NT announces expiries when they happen, which is too late for an index that sorts by them.
    """
    lasting = declared.plan.pattern is UpdatePattern.MONOTONIC
    return strategy if lasting or strategy is not Strategy.NT else Strategy.UPA


def last_day_over(now: int, declared: ArchiveDeclaration, wall: Wall) -> int:
    """The last day of which every instant is closed at ``now``, and over by the clock on the wall.

    A row from the future closes days that are still to come. It must not expire what is archived,
    so the archive waits for them; counted ticks have no clock on the wall.
    """
    if declared.clock is Clock.TIMESTAMP:
        now = min(now, wall())
    return _last_day(now, declared.day)


def _last_day(now: int, day: int) -> int:
    return (now + 1) // day - 1


class _Days:
    """A wave index: days as they are."""

    def __init__(self, declared: ArchiveDeclaration) -> None:
        self._schema = _result_schema(declared)
        self._window = declared.window // declared.day
        calendar = Calendar(declared.day, declared.clock is Clock.TIMESTAMP)
        disk = disk_at(declared.path, patient=False)
        if Versions(disk).numbers():
            self._archive = Archive.open(disk)
            _check(declared, self._archive, calendar)
        else:
            self._archive = Archive.create(
                disk, self._schema, declared.key, window=self._window,
                scheme=declared.scheme, n=declared.constituents or 1,
                technique=declared.technique and TECHNIQUES[declared.technique],  # type: ignore[arg-type]
                format=declared.format, calendar=calendar,  # type: ignore[arg-type]
            )  # fmt: skip
        self.done = self._archive.stat().now

    def put(self, day: int, days: Days) -> int:
        self.done = self._archive.stat().now
        new = {d: days[d] for d in sorted(days) if self.done is None or d > self.done}
        rows = sum(len(part) for parts in new.values() for part in parts)
        known = {d: self._batches(new[d]) for d in new if d > day - self._window}
        if self.done is None:
            if known:  # time may be anywhere before the first row
                self._move(day, known)
        elif day > self.done + self._window:  # nothing that is there stays: one version, too
            self._move(day, known)
        elif day > self.done:
            for d, batches in known.items():
                if d - 1 > self.done:
                    self._move(d - 1, {})
                self._move(d, {d: batches})
            if day > self.done:
                self._move(day, {})
        return rows

    def _move(self, day: int, days: Mapping[int, list[pa.RecordBatch]]) -> None:
        self._archive.append_days(days, now=day)
        self.done = day
        _remove_past_versions(self._archive)

    def _batches(self, parts: Sequence[Delta]) -> list[pa.RecordBatch]:
        return [
            pa.RecordBatch.from_arrays(part.rows.columns, schema=self._schema) for part in parts
        ]


class _Lives:
    """An index of lifetimes: what outlives its day, with the instant at which it ends.

    A day's results are in memory while they are sorted out by expiry.
    """

    def __init__(self, declared: ArchiveDeclaration) -> None:
        self._day, self._schema = declared.day, arrow_schema(declared.plan.schema)
        self._names = declared.plan.schema.unique_names()
        grid = Grid(declared.constituents or 1, declared.expiries or declared.constituents or 1)
        disk = disk_at(declared.path, patient=False)
        if Versions(disk).numbers():
            self._index = LifetimeIndex.open(disk)
            _check_columns(declared, self._index.layout)
            wanted = (grid.insertions, grid.expiries, declared.window, declared.day)
            cells, periods = self._index.grid, self._index.periods
            found = (cells.insertions, cells.expiries, periods.longest, periods.interval)
            if wanted != found:  # how periods are dealt and sub-indices updated is migrate's choice
                raise ArchiveError(
                    where=declared.path,
                    expected=_shape(*wanted),
                    found=_shape(*found),
                    remedy="change the declaration, or the archive with windrow archive migrate",
                )
        else:
            self._index = LifetimeIndex.create(
                disk, _result_schema(declared), declared.key,
                longest=declared.window, interval=declared.day, grid=grid,
                format=declared.format,  # type: ignore[arg-type]
                timestamps=declared.clock is Clock.TIMESTAMP,
            )  # fmt: skip
        self.done = self._last()

    def put(self, day: int, days: Days) -> int:
        self.done = self._last()
        new = {d: days[d] for d in sorted(days) if self.done is None or d > self.done}
        if self.done is None and not new:
            return 0  # time may be anywhere before the first row
        end = self._end(day)
        for d, parts in new.items():
            living = [part.filter(part.exp > end) for part in parts]
            if d < day and any(map(len, living)):  # on a day of their own: they say when they came
                self._insert(d, living)
        if self.done is None or day > self.done:
            self._insert(day, new.get(day, ()))
        return sum(len(part) for parts in new.values() for part in parts)

    def _insert(self, day: int, parts: Sequence[Delta]) -> None:
        found = concat(parts, self._schema)
        rows = pa.Table.from_batches([found.rows]).rename_columns(list(self._names))
        self._index.insert(self._end(day), rows, pa.array(found.exp))
        self.done = day
        _remove_past_versions(self._index)

    def _end(self, day: int) -> int:
        return (day + 1) * self._day - 1

    def _last(self) -> int | None:
        now = self._index.contents().now
        return None if now is None else _last_day(now, self._day)


def _shape(insertions: int, expiries: int, longest: int, interval: int) -> str:
    return (
        f"a grid of {insertions} x {expiries} for lives up to {longest}, updated every {interval}"
    )


def _remove_past_versions(index: VersionedIndex) -> None:
    """Remove what no reader, writer or newest version needs. The day is in, whatever happens."""
    try:
        index.vacuum()
    except ConflictError:  # somebody else is at it
        pass
    except StorageError as error:
        warn_caller(
            WindrowWarning(
                f"files that are no longer needed stay until the next day is in: {error.found}",
                where=index.disk.where(),
                remedy="check the disk",
            )
        )


def _result_schema(declared: ArchiveDeclaration) -> pa.Schema:
    """The columns of a plan's results under the names that files of results have."""
    schema = declared.plan.schema
    pairs = zip(schema.unique_names(), arrow_schema(schema).types, strict=True)
    return pa.schema(list(pairs))


def _check(declared: ArchiveDeclaration, archive: Archive, calendar: Calendar) -> None:
    """The archive that is there must be the one that is declared."""
    settings = archive.stat().settings
    wanted = (declared.window // declared.day, declared.scheme, declared.constituents, calendar)
    found = (settings.window, settings.scheme, settings.n, settings.calendar)
    _check_columns(declared, archive.layout)
    if wanted != found:
        raise ArchiveError(
            where=declared.path,
            expected=f"{wanted[0]} days by {wanted[1]}({wanted[2]})",
            found=f"{found[0]} days by {found[1]}({found[2]})",
            remedy="change the declaration, or the archive with windrow archive migrate",
        )


def _check_columns(declared: ArchiveDeclaration, layout: Layout) -> None:
    if layout.schema != _result_schema(declared) or layout.key != tuple(declared.key):
        raise ArchiveError(
            where=declared.path,
            expected=f"an archive of {declared.on} by {', '.join(declared.key)}",
            found=f"one of other columns, by {', '.join(layout.key)}",
            remedy="choose another directory with INTO",
        )
