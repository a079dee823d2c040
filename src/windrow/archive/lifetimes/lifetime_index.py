"""An index on disk of records with lifetimes of their own.

    index = LifetimeIndex.create(path, schema, "src", longest=30 * DAY, interval=DAY)
    index.insert(now, records, expiries)
    with index.reader() as reader:
        reader.probe("10.0.0.1")

Each update publishes a version: `plan_update` says what is to be done to which sub-index, a
`Carrier` does it, and one put-if-absent makes it the index. Time is what the caller says it is:
records that expire far ahead expire nothing else.

Invariants: those of `update`, and those of an archive's versions: whatever fails, the index is
the version before or the version after, and a reader keeps the version that it opened.

What writes, migrates and verifies is imported when it is first called, as in ``archive.py``.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import pyarrow as pa

from windrow.archive.errors import LifetimeError
from windrow.archive.format.disk import Disk
from windrow.archive.format.layout import Layout
from windrow.archive.format.run_ref import Format, check_format
from windrow.archive.lifetimes.index_contents import (
    KIND,
    Contents,
    GridStatistics,
    PlannedUpdate,
    grid_statistics,
    plan_updates,
)
from windrow.archive.lifetimes.partition_grid import Grid, Periods, d_ins
from windrow.archive.progress_callback import Progress, nobody
from windrow.archive.versions.manifest import Manifest
from windrow.archive.versions.versioned_index import VersionedIndex, disk_at
from windrow.archive.versions.versions import Versions

if TYPE_CHECKING:
    from windrow.archive.lifetimes.migrate import Changes
    from windrow.archive.lifetimes.plan_update import Step
    from windrow.archive.lifetimes.reader import LifetimeReader
    from windrow.archive.verify import Problem
    from windrow.archive.versions.versioned_index import Estimate, How


@dataclass(frozen=True)
class Update:
    """What an update did. ``dead`` entries were over when they came and were left out."""

    version: int
    step: Step
    bytes_written: int
    dead: int


class LifetimeIndex(VersionedIndex):
    """An index that is there: ``create`` makes one, ``open`` finds one. Holds nothing open.

    Any number of processes may read; writers race, and all but one are told (``ConflictError``).
    ``grid`` and ``periods`` are those of the last version that this object has seen.

    >>> import tempfile
    >>> directory = tempfile.TemporaryDirectory()
    >>> schema = pa.schema({"host": pa.string()})
    >>> index = LifetimeIndex.create(directory.name, schema, "host", longest=40, interval=10)
    >>> update = index.insert(10, pa.table({"host": ["a", "b"]}), [15, 35])
    >>> with index.reader(now=20) as reader:  # the first has expired
    ...     reader.scan().to_pylist()
    [{'host': 'b'}]
    """

    KIND = KIND
    DESCRIPTION = "an index of records with lifetimes"

    def __init__(self, disk: Disk, manifest: Manifest) -> None:
        super().__init__(disk, manifest)
        contents = Contents.of(manifest)
        self.grid, self.periods = contents.grid, contents.periods

    @classmethod
    def create(
        cls,
        path: str | Path | Disk,
        schema: pa.Schema,
        key: str | tuple[str, ...] | list[str],
        *,
        longest: int,
        interval: int,
        origin: int = 0,
        grid: Grid | None = None,
        format: Format = "arrow",  # noqa: A002 (the word for it)
        timestamps: bool = False,
    ) -> LifetimeIndex:
        """Make an empty index in a new or empty directory.

        ``longest`` and ``interval`` (how long records live at most, how often updates come) are
        in the ticks of the expiries; ``timestamps`` says that these are microseconds since 1970.
        Without a ``grid`` it is D-ins4, four partitions by insertion time: of all that were
        measured the least work for updates and probes. The paper's NoRebuild 4 x 4 is for disks
        where a sub-index is read and written to add to it; here a run is added.
        """
        contents = Contents(Periods(longest, interval, origin, timestamps), grid or d_ins(4))
        contents.require_room()
        layout = Layout(schema, (key,) if isinstance(key, str) else tuple(key), lifetimes=True)
        layout.require_names()
        disk = disk_at(path)
        manifest = contents.manifest(1, uuid.uuid4().hex, layout, check_format(format), {})
        Versions(disk).create(manifest)
        return cls(disk, manifest)

    def insert(
        self,
        now: int,
        data: Any,
        expiries: str | pa.Array | pa.ChunkedArray | Sequence[Any],
        *,
        batch: tuple[str, int] | None = None,
        progress: Progress = nobody,
    ) -> Update:
        """Take records in at ``now``, and forget what has expired by then.

        Records are given as to ``Archive.append``; all of them are in memory for an update.
        ``expiries`` has for each record the first instant at which it is no longer valid: ticks
        or, if these are microseconds since 1970, times; or it is the name of a column that has.
        ``batch`` names a source and the number of its batch, which only ever grows: one that was
        inserted before is left out, so that a source may repeat what it is not sure of.
        ``progress`` is told how many runs have been written.
        """
        from windrow.archive.lifetimes.update import in_ticks
        from windrow.archive.records import record_table

        period = self.periods.of(now)
        if not -(2**31) < period < 2**31:
            raise LifetimeError(
                where=f"insertion at {now}",
                expected="a period's number of at most 31 bits",
                found=str(period),
                remedy="create the index with a closer origin",
            )
        if isinstance(expiries, str):
            rows = record_table(data, self.layout.schema, expiries)
            expiries = rows.column(expiries)
        else:
            rows = record_table(data, self.layout.schema)
        if len(rows) != len(expiries):
            raise LifetimeError(
                where=f"insertion at {now}",
                expected=f"an expiry for each of {len(rows)} records",
                found=str(len(expiries)),
            )
        ends = in_ticks(expiries, self.periods, now)
        return self._update(now, self.layout.entries(rows, period, ends), batch, progress)

    def advance(self, now: int, *, progress: Progress = nobody) -> Update:
        """Forget what has expired by ``now``."""
        return self._update(now, None, None, progress)

    def reader(self, now: int | None = None) -> LifetimeReader:
        """Pin the newest version, as seen at ``now`` (its last update, if not given) or later."""
        from windrow.archive.lifetimes.reader import LifetimeReader

        return self._pin(lambda lease: LifetimeReader(lease, self._opened, self._schemas, now))

    def contents(self) -> Contents:
        """The newest version in numbers."""
        return Contents.of(self._versions.newest())

    def stat(self) -> GridStatistics:
        """Which periods live where, and in how many runs and bytes."""
        return grid_statistics(self._versions.newest())

    def plan(self, updates: int = 1) -> list[PlannedUpdate]:
        """What the next updates touch, without doing them."""
        return plan_updates(self.contents(), updates)

    def migrate(
        self, *, how: How = "rebuild", progress: Progress = nobody, **changes: Unpack[Changes]
    ) -> int:
        """Give the index another partitioning while it is read and inserted into; see
        ``lifetimes/migrate.py``. Returns the version. ``progress`` is told how many runs have been
        dealt out, then how many sub-indices are done.
        """
        from windrow.archive.lifetimes.migrate import migrate, target_of

        with self._versions.lease() as lease:
            cells = target_of(lease.manifest, changes)
            version = migrate(self.disk, lease, self._open_runs(), cells, how, progress)
            self.grid, self.periods = cells.grid, cells.periods
            return version

    def migration(self, *, how: How = "rebuild", **changes: Unpack[Changes]) -> Estimate:
        """What ``migrate`` would cost."""
        from windrow.archive.lifetimes.migrate import estimate, target_of

        manifest = self._versions.newest()
        return estimate(manifest, target_of(manifest, changes), how)

    def verify(self, progress: Progress = nobody) -> list[Problem]:
        """Read everything: checksums, order, counts, invariants. Empty if all is well."""
        from windrow.archive.lifetimes.invariants import verify_grid

        with self._versions.lease() as lease:
            return verify_grid(self.disk, lease.manifest, progress)

    def _update(
        self, now: int, entries: pa.Table | None, batch: tuple[str, int] | None, progress: Progress
    ) -> Update:
        from windrow.archive.lifetimes.plan_update import Step
        from windrow.archive.lifetimes.update import NOTHING, Carrier, sort_out, take

        with self._versions.lease() as lease:
            base, before = lease.manifest, Contents.of(lease.manifest)
            self.grid, self.periods = before.grid, before.periods
            if batch is not None and before.batches.get(batch[0], -1) >= batch[1]:
                return Update(base.version, Step((), (), (), (), 0), 0, 0)
            if before.now is not None and now < before.now:
                raise LifetimeError(
                    where=f"update at {before.periods.label(now)}",
                    expected="the instant of the last update, "
                    f"{before.periods.label(before.now)}, or a later one",
                    found=before.periods.label(now),
                    remedy="pass the time of this update",
                )
            arrivals = NOTHING
            if entries is not None:
                arrivals = sort_out(before.grid, before.periods, now, entries)
            named = partial("{}-{}".format, lease.token)
            carrier = Carrier(self.disk, self.layout, base.format, named, progress)
            taken = take(before, now, arrivals, carrier, self._open_runs(), base.encodings)
            batches = {**before.batches, **({} if batch is None else {batch[0]: batch[1]})}
            after = replace(taken.contents, batches=batches)
            version = base.version + 1
            self._versions.publish(
                after.manifest(version, lease.token, self.layout, base.format, taken.encodings)
            )
            return Update(version, taken.step, taken.bytes_written, arrivals.dead)
