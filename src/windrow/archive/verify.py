"""Checking an archive against what its manifest says: every byte, the order, the invariants."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pyarrow as pa

from windrow.archive.errors import ArchiveError
from windrow.archive.files import Disk
from windrow.archive.layout import DAY, Layout
from windrow.archive.manifest import Manifest, understood
from windrow.archive.runs.open import ALL, Run
from windrow.archive.runs.ref import RunRef
from windrow.archive.runs.sorting import rank
from windrow.archive.schemes.operations import all_applied
from windrow.archive.schemes.registry import scheme_of
from windrow.archive.wave import KIND, Wave

_ROWS = 1_000_000


@dataclass(frozen=True)
class Problem:
    """Something that is not as it should be, and where."""

    where: str
    what: str

    def __str__(self) -> str:
        return f"{self.where}: {self.what}"


def verify(disk: Disk, manifest: Manifest) -> list[Problem]:
    """Everything that is wrong. Reads all files, ``_ROWS`` entries of one at a time."""
    problems: list[Problem] = []
    for ref in manifest.runs:
        bad = list(_files(disk, ref))
        if not bad:
            try:
                bad = list(_contents(Run(disk, manifest.layout, ref), manifest.layout))
            except (ArchiveError, pa.ArrowException) as error:
                bad = [Problem(ref.entries_file, str(error))]
        problems += bad
    if manifest.kind == KIND:
        with understood(f"version {manifest.version}"):
            problems += _wave(Wave.of(manifest))
    return problems


def _files(disk: Disk, ref: RunRef) -> Iterator[Problem]:
    for name, written in ref.files:
        try:
            found = disk.sum(name)
        except ArchiveError as error:
            yield Problem(name, str(error))
            continue
        if found.size != written.size:
            yield Problem(name, f"{found.size} bytes where {written.size} were written")
        elif found.checksum != written.checksum:
            yield Problem(name, "its bytes are not those that were written (checksum)")


def _contents(run: Run, layout: Layout) -> Iterator[Problem]:
    name, directory = run.ref.entries_file, run.directory
    starts = np.append(directory.starts, directory.end)
    if (np.diff(starts) <= 0).any() or (len(directory) and starts[0] != 0):
        yield Problem(run.ref.directory_file, "buckets that overlap or are empty")
        return
    ranked = rank(directory.columns)
    if len(ranked) != len(directory) or (ranked.ranks != np.arange(len(directory))).any():
        yield Problem(run.ref.directory_file, "keys that are not in ascending order")
        return
    schema = layout.given({})
    days: dict[int, int] = {}
    rows = 0
    bounds = [0, *range(_ROWS, directory.end, _ROWS), directory.end, run.ref.rows]
    for start, stop in pairwise(bounds):
        table = pa.Table.from_batches(run.entries.rows(start, stop, schema, ALL), schema)
        rows += len(table)
        for day, count in zip(
            *np.unique(table.column(DAY).to_numpy(), return_counts=True), strict=True
        ):
            days[int(day)] = days.get(int(day), 0) + int(count)
        if start in (directory.end, stop):
            continue
        bucket = np.searchsorted(directory.starts, np.arange(start, stop), "right") - 1
        yield from _keys(run, layout, table, bucket, name)
        stamps = table.column(layout.order).to_numpy()
        same = bucket[1:] == bucket[:-1]
        if (same & (stamps[1:] < stamps[:-1])).any():
            yield Problem(name, f"a bucket that is not in the order of {layout.order}")
    if rows != run.ref.rows or tuple(sorted(days.items())) != run.ref.days:
        yield Problem(name, f"days {days} where the manifest has {dict(run.ref.days)}")


def _keys(
    run: Run, layout: Layout, table: pa.Table, bucket: np.ndarray, name: str
) -> Iterator[Problem]:
    """The directory's key of each row must be the row's."""
    for column, keys in zip(layout.key, run.directory.columns, strict=True):
        found = table.column(column).cast(keys.type).combine_chunks()
        expected = keys.take(pa.array(bucket))
        ranked = rank([pa.concat_arrays([*_chunks(found), expected])]).ranks
        if (ranked[: len(bucket)] != ranked[len(bucket) :]).any():
            yield Problem(name, f"entries in the bucket of another {column}")


def _chunks(array: pa.Array | pa.ChunkedArray) -> list[pa.Array]:
    return list(array.chunks) if isinstance(array, pa.ChunkedArray) else [array]


def _wave(wave: Wave) -> Iterator[Problem]:
    seen: dict[int, str] = {}
    for name, index in wave.constituents().items():
        for day in index.days:
            if day in seen:
                yield Problem(name, f"day {day} is in {seen[day]} as well")
            seen[day] = name
    for name, index in (*wave.indexes.items(), *wave.draining.items()):
        if {day for part in index.parts for day in part.days} - set(index.days):
            yield Problem(name, "entries of days that it does not cover")
    for day in wave.ahead:
        if wave.now is not None and day <= wave.now:
            yield Problem(f"day {day}", f"waits although the window has moved to {wave.now}")
    if wave.state is not None and wave.now is not None:
        window = range(wave.now - wave.settings.window + 1, wave.now + 1)
        if set(window) - set(seen):
            yield Problem("window", f"days {sorted(set(window) - set(seen))} are in no constituent")
        held = {name: index.days for name, index in wave.indexes.items()}
        expected = wave.state.indexes
        if wave.prepared:
            step = scheme_of(wave.settings.scheme).advance(wave.state, wave.state.day + 1)[1]
            expected = all_applied(expected, step.before)
        if all_applied(held, wave.pending) != expected:
            yield Problem("state", "the indexes do not cover the days that the scheme says")
