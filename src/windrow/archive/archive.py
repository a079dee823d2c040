"""A wave index on disk: an indexed window of days that takes a day in and forgets one.

    archive = Archive.create(path, schema, "src", window=30, scheme="WATA", n=4)
    archive.append(day, table, now=day)
    with archive.reader() as reader:
        reader.probe("10.0.0.1")

A window of W days lives in n constituents, each one or more immutable runs. The scheme says which
operations a new day asks for, the update technique how they are carried out, the manifest what
has become of it; a new version of the manifest is published by one put-if-absent.

Days
    Days are numbers that the caller counts. ``append`` keeps a day's data, in as many goes as it
    likes, *ahead* of the window; ``advance`` moves the window on. Only that makes anything expire,
    so data that is dated in the future waits and expires nothing. Days that are passed without
    data are empty days. Data for a day that the window has reached already is refused.

Invariants
    1. The constituents of one version cover the window once, without overlap.
    2. A file is synced before a manifest names it, and deleted only when no version that is the
       newest or is held by a reader or writer names it.
    3. Whatever fails, and wherever, the archive is the version before or the version after.

What writes, migrates and verifies is imported when it is first called: a command that looks
something up is over before it would be loaded.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import pyarrow as pa

from windrow.archive.errors import ArchiveError
from windrow.archive.format.day_calendar import NUMBERS, Calendar
from windrow.archive.format.disk import Disk
from windrow.archive.format.layout import Layout
from windrow.archive.format.run_ref import Format, check_format
from windrow.archive.lifetimes.lifetime_index import LifetimeIndex
from windrow.archive.progress_callback import Progress, Reached, nobody
from windrow.archive.versions.versioned_index import VersionedIndex, disk_at
from windrow.archive.versions.versions import Versions
from windrow.archive.wave.schemes import scheme_of
from windrow.archive.wave.wave import KIND as WAVE
from windrow.archive.wave.wave import (
    Settings,
    TechniqueName,
    Wave,
    WaveStatistics,
    usual_technique,
    wave_statistics,
)

if TYPE_CHECKING:
    from windrow.archive.verify import Problem
    from windrow.archive.versions.versioned_index import Estimate, How
    from windrow.archive.wave.migrate import Changes
    from windrow.archive.wave.operations import Step
    from windrow.archive.wave.reader import Reader
    from windrow.archive.wave.transition import WriteSession


class Archive(VersionedIndex):
    """An archive that is there: ``create`` makes one, ``open`` finds one. Holds nothing open.

    Any number of processes may read; writers race, and all but one are told (``ConflictError``).

    >>> import tempfile
    >>> directory = tempfile.TemporaryDirectory()
    >>> schema = pa.schema({"src": pa.string(), "bytes": pa.int64()})
    >>> archive = Archive.create(directory.name, schema, "src", window=7, scheme="WATA", n=2)
    >>> version = archive.append(1, pa.table({"src": ["a", "b"], "bytes": [10, 20]}), now=1)
    >>> version = archive.append(2, pa.table({"src": ["a"], "bytes": [30]}), now=2)
    >>> with archive.reader() as reader:
    ...     reader.probe("a")["bytes"].to_pylist(), reader.scan(2, 2).num_rows
    ([10, 30], 1)
    """

    KIND = WAVE
    DESCRIPTION = "an archive of days"

    @classmethod
    def create(
        cls,
        path: str | Path | Disk,
        schema: pa.Schema,
        key: str | tuple[str, ...] | list[str],
        *,
        window: int,
        scheme: str,
        n: int,
        technique: TechniqueName | None = None,
        growth: float = 2.0,
        format: Format = "arrow",  # noqa: A002 (the word for it)
        calendar: Calendar = NUMBERS,
    ) -> Archive:
        """Make an empty archive of the last ``window`` days in a new or empty directory.

        Without a ``technique`` a constituent of WATA is packed once it is complete, and those of
        the other schemes whenever they change.

        ``growth`` is the factor g by which an index that is not packed outgrows its first run
        before its runs are merged. ``format`` is that of runs: Arrow for probes in microseconds,
        Parquet for less than half the bytes and for other tools. ``calendar`` says which stretch of
        time a day is.
        """
        layout = Layout(schema, (key,) if isinstance(key, str) else tuple(key))
        layout.require_names()
        chosen = usual_technique(scheme) if technique is None else technique
        settings = Settings(window, scheme_of(scheme).name, n, chosen, float(growth), calendar)
        check_format(format)
        disk = disk_at(path)
        manifest = Wave(settings).manifest(1, uuid.uuid4().hex, layout, format, {})
        Versions(disk).create(manifest)
        return cls(disk, manifest)

    def append(self, day: int, data: Any, *, now: int | None = None) -> int:
        """Keep the records of a day. Returns the version.

        They are a table, a batch, batches, whatever exports an Arrow stream (a data frame), or the
        paths of files, which are read batch by batch in the archive's types: csv with a header,
        JSON lines, Parquet, Arrow; files, directories and patterns.

        With ``now`` the window moves on to that day in the same go, as ``advance`` does.
        """
        return self.append_days({day: data}, now=now)

    def append_days(
        self,
        days: Mapping[int, Any],
        *,
        now: int | None = None,
        batch: tuple[str, int] | None = None,
        progress: Progress = nobody,
    ) -> int:
        """Keep the records of several days, all or none.

        ``batch`` names a source and the number of its batch, which only ever grows: a batch that
        was appended before is left out, so that a source may repeat what it is not sure of.
        ``progress`` is told how many days are written, then how many the window has moved on.
        """
        with self.session() as session:
            if session.has(batch):
                return session.version
            session.check(days, now)
            runs = {}
            for done, (day, data) in enumerate(days.items(), start=1):
                runs[day] = session.write(day, data)
                progress(Reached("days written", done, len(days)))
            return session.commit(runs, now=now, batch=batch, progress=progress)

    @contextmanager
    def session(self) -> Iterator[WriteSession]:
        """A writer at work: for runs that are written elsewhere, by Spark's tasks for example."""
        from windrow.archive.wave.transition import WriteSession

        with self._versions.lease() as lease:
            yield WriteSession(self.disk, lease, self._open_runs())

    def advance(self, now: int, *, progress: Progress = nobody) -> int:
        """Move the window on so that ``now`` is its newest day. Returns the version.

        Days are taken in one after the other, each a version of its own; a failure half-way leaves
        the window at the last day that was taken in. ``progress`` is told how many are in.
        """
        with self.session() as session:
            session.check((), now)
            return session.commit({}, now=now, progress=progress)

    def reader(self, now: int | None = None, *, soft: bool = False) -> Reader:
        """Pin the newest version, as seen on day ``now`` (the newest of the window, if not given).

        A later ``now`` also sees days ahead, and no longer sees what has expired by then. A
        ``soft`` reader is given the expired days that the constituents still have as well.
        """
        from windrow.archive.wave.reader import Reader

        return self._pin(
            lambda lease: Reader(
                lease, Wave.of(lease.manifest), self._opened, self._schemas, now, soft=soft
            )
        )

    def plan(self, days: int = 1) -> list[tuple[int, Step]]:
        """The operations of the coming days, without doing them."""
        from windrow.archive.wave.transition import plan_days

        return plan_days(Wave.of(self._versions.newest()), days)

    def migrate(
        self, *, how: How = "rebuild", progress: Progress = nobody, **changes: Unpack[Changes]
    ) -> int:
        """Change the layout of the archive while it is read and appended to.

        How is told in ``wave/migrate.py``. Returns the version. ``progress`` is told how many runs
        have been written.
        """
        from windrow.archive.wave.migrate import Target, migrate

        with self._versions.lease() as lease:
            target = Target.of(lease.manifest, changes, how)
            return migrate(self.disk, lease, self._open_runs(), target, progress)

    def migration(self, *, how: How = "rebuild", **changes: Unpack[Changes]) -> Estimate:
        """What ``migrate`` would cost."""
        from windrow.archive.wave.migrate import Target, estimate

        manifest = self._versions.newest()
        return estimate(manifest, Target.of(manifest, changes, how))

    def verify(self, progress: Progress = nobody) -> list[Problem]:
        """Read everything and check it: checksums, order, counts, invariants. Empty: all well."""
        from windrow.archive.wave.invariants import verify_window

        with self._versions.lease() as lease:
            return verify_window(self.disk, lease.manifest, progress)

    def stat(self) -> WaveStatistics:
        """Which days live where, and in how many runs and bytes."""
        manifest = self._versions.newest()
        return wave_statistics(manifest, Wave.of(manifest))


def open_archive(path: str | Path | Disk) -> Archive | LifetimeIndex:
    """The archive of days, or the index of lifetimes, that is in a directory.

    ``windrow.archive.open`` is this function.

    >>> import tempfile
    >>> directory = tempfile.TemporaryDirectory()
    >>> schema = pa.schema({"src": pa.string()})
    >>> created = Archive.create(directory.name, schema, "src", window=7, scheme="DEL", n=1)
    >>> archive = open_archive(directory.name)
    >>> type(archive).__name__, archive.stat().settings.window
    ('Archive', 7)
    """
    disk = disk_at(path)
    manifest = Versions(disk).newest()
    for kind in (Archive, LifetimeIndex):
        if manifest.kind == kind.KIND:
            return kind(disk, manifest)
    raise ArchiveError(
        where=disk.where(),
        expected=f"an archive of the kind {Archive.KIND} or {LifetimeIndex.KIND}",
        found=manifest.kind,
        remedy="open it with a newer Windrow",
    )
