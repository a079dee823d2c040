"""Archives that a script declares: what a plan gives goes to disk, a day at a time.

A day goes in when it is over, that is when all its instants are closed, so that each is written
once and whole; rows of a day that has only begun wait in memory. What a plan gives is a function of
its input alone, and an archive knows how far it has come: a script that is run again from the
beginning of its files passes over the days that are there, and repeats and loses none.

Streams go into a wave index, whose records all live as long as the window. Results that expire at
instants of their own go into an index of lifetimes, those that outlive the day they came on.
"""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

import numpy as np
import pyarrow as pa

from windrow.archive.archive import Archive
from windrow.archive.calendar import Calendar
from windrow.archive.errors import ArchiveError
from windrow.archive.files import Disk
from windrow.archive.layout import Layout
from windrow.archive.lifetimes.grid import Grid
from windrow.archive.lifetimes.index import LifetimeIndex
from windrow.archive.versions import Versions
from windrow.columns.delta import Delta, concat
from windrow.columns.types import arrow_schema
from windrow.core.patterns import UpdatePattern
from windrow.core.time import Clock
from windrow.engine.pipeline import Pipeline
from windrow.engine.query import EmbeddedQuery
from windrow.plan.binder.storage import TECHNIQUES
from windrow.plan.catalog import ArchiveDeclaration
from windrow.plan.strategy import Strategy


class Store(Protocol):
    """An archive as something that days are put into."""

    done: int | None
    """The last day that is in, or None."""

    def put(self, day: int, days: dict[int, Delta]) -> None:
        """Take in what came on some days, none after ``day``, and let time move on to its end."""


class ArchivedQuery(EmbeddedQuery):
    """A plan whose results are archived; its changes are in the archive and nowhere else."""

    def __init__(self, declared: ArchiveDeclaration, strategy: Strategy = Strategy.UPA) -> None:
        super().__init__(declared.query, strategy)
        self.pipeline = Pipeline(declared.plan, strategy=strategy)
        self.archive, self.path = declared, Path(declared.path)
        self.store = store_of(declared)
        self._schema = arrow_schema(declared.plan.schema)
        self._kept: list[Delta] = []

    @property
    def waiting(self) -> int:
        """Rows of days that are not over."""
        return sum(len(part) for part in self._kept)

    def advance(self, now: int) -> None:
        """Bring the archive to the last day that is over at ``now``."""
        if now <= self.pipeline.now:
            return
        self._kept.append(self._processed(now))
        over = (now + 1) // self.archive.day - 1
        if self.store.done is not None and over <= self.store.done:
            self._drop_done(over)
            return
        whole = concat(self._kept, self._schema)
        days = whole.ts // self.archive.day
        parts = {int(d): whole.filter(days == d) for d in np.unique(days) if d <= over}
        self._kept = [whole.filter(days > over)]
        self.rows_out += sum(map(len, parts.values()))
        self.store.put(over, parts)

    def _drop_done(self, over: int) -> None:
        """Rows of days that an earlier run has put in."""
        self._kept = [part.filter(part.ts // self.archive.day > over) for part in self._kept]

    def current(self) -> pa.Table:
        """Nothing: an archive is asked by probes and scans."""
        return pa.table({})

    changes = answer = current


class _Days:
    """A wave index: days as they are."""

    def __init__(self, declared: ArchiveDeclaration) -> None:
        plan, days = declared.plan, declared.window // declared.day
        self._names = plan.schema.unique_names()
        technique = TECHNIQUES[declared.technique or "PACKED"]
        calendar = Calendar(declared.day, declared.clock is Clock.TIMESTAMP)
        if _there(declared):
            self._archive = Archive.open(declared.path)
            _check(declared, self._archive, calendar)
        else:
            self._archive = Archive.create(
                declared.path, _named(declared), declared.key, window=days,
                scheme=declared.scheme, n=declared.constituents or 1,
                technique=technique, format=declared.format, calendar=calendar,  # type: ignore[arg-type]
            )  # fmt: skip
        self._window = days
        self.done = self._archive.stat().now

    def put(self, day: int, days: dict[int, Delta]) -> None:
        known = {
            d: pa.Table.from_batches([part.rows]).rename_columns(list(self._names))
            for d, part in days.items()
            if d > day - self._window and (self.done is None or d > self.done)
        }
        if self.done is None and not known:
            return  # time may be anywhere before the first row
        self._archive.append_days(known, now=day)
        self.done = day


class _Lives:
    """An index of lifetimes: what outlives its day, with the instant at which it ends."""

    def __init__(self, declared: ArchiveDeclaration) -> None:
        self._declared = declared
        self._names = declared.plan.schema.unique_names()
        grid = Grid(declared.constituents or 1, declared.expiries or declared.constituents or 1)
        if _there(declared):
            self._index = LifetimeIndex.open(declared.path)
            _check_columns(declared, self._index.layout)
            found, wanted = self._index, (grid, declared.window, declared.day)
            if wanted != (found.grid, found.periods.longest, found.periods.interval):
                raise ArchiveError(
                    where=declared.path,
                    expected=f"a grid of {grid.insertions} x {grid.expiries} for lifetimes up to "
                    f"{declared.window}",
                    found=f"one of {found.grid.insertions} x {found.grid.expiries} for lifetimes "
                    f"up to {found.periods.longest}",
                    remedy="declare what is there, or choose another directory with INTO",
                )
        else:
            self._index = LifetimeIndex.create(
                declared.path, _named(declared), declared.key,
                longest=declared.window, interval=declared.day, grid=grid,
                format=declared.format,  # type: ignore[arg-type]
                timestamps=declared.clock is Clock.TIMESTAMP,
            )  # fmt: skip
        now = self._index.contents().now
        self.done = None if now is None else (now + 1) // declared.day - 1

    def put(self, day: int, days: dict[int, Delta]) -> None:
        done, schema = self.done, arrow_schema(self._declared.plan.schema)
        fresh = [part for d, part in days.items() if done is None or d > done]
        if done is None and not fresh:
            return
        found = concat(fresh, schema)
        rows = pa.Table.from_batches([found.rows]).rename_columns(list(self._names))
        self._index.insert((day + 1) * self._declared.day - 1, rows, pa.array(found.exp))
        self.done = day


def store_of(declared: ArchiveDeclaration) -> Store:
    """The archive of a declaration: the one that is there, or a new one."""
    if declared.plan.pattern is UpdatePattern.MONOTONIC:
        return _Days(declared)
    return _Lives(declared)


def _there(declared: ArchiveDeclaration) -> bool:
    return bool(Versions(Disk(Path(declared.path))).numbers())


def _named(declared: ArchiveDeclaration) -> pa.Schema:
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
            remedy="declare what is there, or change it with windrow archive migrate",
        )


def _check_columns(declared: ArchiveDeclaration, layout: Layout) -> None:
    if layout.schema != _named(declared) or layout.key != tuple(declared.key):
        raise ArchiveError(
            where=declared.path,
            expected=f"an archive of {declared.on} by {', '.join(declared.key)}",
            found=f"one of other columns, by {', '.join(layout.key)}",
            remedy="choose another directory with INTO",
        )
