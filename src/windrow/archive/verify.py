"""Checking an archive against what its manifest says: every byte, the order, the invariants.

A run is checked against what the manifest says of it: its bytes, its order, its counts. Every byte
is read twice, for its checksum and for its values, ``ROWS`` entries at a time.

What a manifest promises beyond its runs is known to the kind of index that it is of
(``wave/invariants.py``, ``lifetimes/invariants.py``), which is called when all runs have been read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from windrow.archive.errors import ArchiveError
from windrow.archive.format.disk import Disk
from windrow.archive.format.layout import DAY, EXPIRY, Layout
from windrow.archive.format.run_ref import RunRef
from windrow.archive.progress_callback import Progress, Reached, nobody
from windrow.archive.runs.run import ALL, Run
from windrow.archive.runs.run_directory import Directory
from windrow.archive.runs.sorting import listing_of, rank
from windrow.archive.versions.manifest import Manifest, unreadable_is_damaged
from windrow.columns.arrays import Int64s
from windrow.core.thresholds import Threshold

LISTED = 8
"""Days, periods or names that are listed one by one."""
ROWS = Threshold(1_000_000, least=1)
ExpiryPeriods = Callable[[Int64s], Int64s]
"""The period in which each of some expiries lies."""


@dataclass(frozen=True)
class Problem:
    """Something that is not as it should be, and where."""

    where: str
    what: str

    def __str__(self) -> str:
        return f"{self.where}: {self.what}"


def problem(where: str, *, expected: str, found: str) -> Problem:
    return Problem(where, f"expected {expected}; found {found}")


def list_text(values: Iterable[object]) -> str:
    """Values in a sentence, the first few of them if they are many.

    >>> list_text([1, 2]), list_text([]), list_text(range(20))
    ('1, 2', 'none', '0, 1, 2, 3, 4, 5, 6, 7 and 12 more')
    """
    texts = [str(value) for value in values]
    more = f" and {len(texts) - LISTED} more" if len(texts) > LISTED else ""
    return ", ".join(texts[:LISTED]) + more or "none"


@dataclass
class Tally:
    """What the entries of a run turn out to be. ``ends`` counts them by the period of expiry.

    ``lives`` has the shortest and the longest life of an entry, in periods. Both are there if
    entries have lifetimes.
    """

    days: dict[int, int] = field(default_factory=dict)
    ends: dict[int, int] = field(default_factory=dict)
    expiries: tuple[int, int] | None = None
    lives: tuple[int, int] | None = None

    def add(self, table: pa.Table, expiry_periods: ExpiryPeriods | None) -> None:
        days = table.column(DAY).to_numpy()
        _count(self.days, days)
        if expiry_periods is None or not len(table):
            return
        expiries = table.column(EXPIRY).to_numpy()
        ends = expiry_periods(expiries)
        _count(self.ends, ends)
        self.expiries = _widen(self.expiries, expiries)
        self.lives = _widen(self.lives, ends - days)


def check_run(
    disk: Disk, layout: Layout, ref: RunRef, expiry_periods: ExpiryPeriods | None
) -> tuple[Tally | None, list[Problem]]:
    """What a run has, and what is wrong with it; no tally of one that cannot be read."""
    problems = list(_files(disk, ref))
    if problems:
        return None, problems
    tally = Tally()
    try:
        run = Run(disk, layout, ref)
        problems = list(_directory(run.directory, ref))
        if problems:
            return None, problems
        return tally, list(_contents(run, layout, expiry_periods, tally))
    except (ArchiveError, pa.ArrowException) as error:
        return None, [Problem(ref.entries_file, str(error))]


def _files(disk: Disk, ref: RunRef) -> Iterator[Problem]:
    for name, written in ref.files:
        try:
            disk.forget(name)
            found = disk.sum(name)
        except ArchiveError as error:
            yield Problem(name, str(error))
            continue
        if found != written:
            of = "" if found.size != written.size else f" with the checksum {found.checksum}"
            yield problem(
                name,
                expected=f"the {written.size} bytes that were written, "
                f"with the checksum {written.checksum}",
                found=f"{found.size} bytes{of}",
            )


def _contents(
    run: Run, layout: Layout, expiry_periods: ExpiryPeriods | None, tally: Tally
) -> Iterator[Problem]:
    ref, directory = run.ref, run.directory
    schema, before = layout.reader_schema({}), None
    end = ref.rows if directory.of_lists else directory.end
    for start, stop in pairwise(sorted({*range(0, ref.rows, ROWS.value), end, ref.rows})):
        table = pa.Table.from_batches(run.entries.rows(start, stop, schema, ALL), schema)
        tally.add(table, expiry_periods)
        if directory.of_lists:
            yield from _lists(directory, layout, table, start, ref)
            continue
        if start >= directory.end:
            yield from _without_key(table, layout, ref)
            continue
        bucket = np.searchsorted(directory.starts, np.arange(start, stop), "right") - 1
        yield from _keys(directory, layout, table, bucket, ref)
        stamps = table.column(layout.order).to_numpy()
        if before is not None:  # a bucket may go on where the last stretch ended
            stamps, bucket = np.append(before[0], stamps), np.append(before[1], bucket)
        before = stamps[-1:], bucket[-1:]
        wrong = (bucket[1:] == bucket[:-1]) & (stamps[1:] < stamps[:-1])
        if wrong.any():
            place = int(wrong.argmax())
            yield problem(
                ref.entries_file,
                expected=f"each bucket in ascending order of {layout.order}",
                found=f"{stamps[place + 1]} after {stamps[place]}",
            )
    if tuple(sorted(tally.days.items())) != ref.days:
        yield problem(
            ref.entries_file,
            expected=f"entries by day as the manifest has them: {_pairs(ref.days)}",
            found=_pairs(sorted(tally.days.items())),
        )
    if tally.expiries != ref.expiries:
        yield problem(
            ref.entries_file,
            expected=f"expiries {_span(ref.expiries)}, as the manifest has it",
            found=f"expiries {_span(tally.expiries)}",
        )


def _directory(directory: Directory, ref: RunRef) -> Iterator[Problem]:
    starts = np.append(directory.starts, directory.end)
    most = len(directory.listing().rows) if directory.of_lists else ref.rows
    if (np.diff(starts) <= 0).any() or starts[0] != 0 or directory.end > most:
        yield problem(
            ref.directory_file,
            expected=f"buckets one after the other from row 0 on, none of them empty, "
            f"up to row {most} at most",
            found=f"starts {list_text(directory.starts)}, end {directory.end}",
        )
        return
    ranked = rank(directory.columns)
    if len(ranked) != len(directory) or (ranked.ranks != np.arange(len(directory))).any():
        yield problem(
            ref.directory_file,
            expected="every key once, in ascending order",
            found=f"{len(directory)} keys that are not, {len(ranked)} of them different",
        )


def _keys(
    directory: Directory, layout: Layout, table: pa.Table, bucket: np.ndarray, ref: RunRef
) -> Iterator[Problem]:
    """The directory's key of each row must be the row's."""
    for column, keys in zip(layout.key, directory.columns, strict=True):
        found = table.column(column).cast(keys.type).combine_chunks()
        expected = keys.take(pa.array(bucket))
        wrong = _differences(_chunks(found), expected)
        if wrong.any():
            place = int(wrong.argmax())
            yield problem(
                ref.entries_file,
                expected=f"{column} {expected[place]} in its bucket, as the directory has it",
                found=f"{found[place]}",
            )


def _lists(
    directory: Directory, layout: Layout, table: pa.Table, start: int, ref: RunRef
) -> Iterator[Problem]:
    """The directory has each record of a stretch under the values of its list, and no others."""
    listing, expected = directory.listing(), listing_of(layout, table)
    bucket = np.repeat(np.arange(len(directory)), np.diff(listing.starts))
    here = (listing.rows >= start) & (listing.rows < start + len(table))
    found = listing.rows[here] - start
    keys = [d.take(pa.array(bucket[here])) for d in listing.distinct]
    own = np.repeat(np.arange(len(expected.starts) - 1), np.diff(expected.starts))
    wanted = [
        d.take(pa.array(own)).cast(k.type) for d, k in zip(expected.distinct, keys, strict=True)
    ]
    if start + len(table) == ref.rows and not (listing.rows < ref.rows).all():
        wrong = f"row {int(listing.rows.max())}, where there are {ref.rows}"
    elif len(found) != len(expected.rows) or (found != expected.rows).any():
        wrong = f"{len(found)} of {len(expected.rows)} of them, in other rows"
    elif any(_differences([k], w).any() for k, w in zip(keys, wanted, strict=True)):
        wrong = "others"
    else:
        return
    yield problem(
        ref.directory_file,
        expected=f"the values of the lists of the rows {start} to {start + len(table)}",
        found=wrong,
    )


def _without_key(table: pa.Table, layout: Layout, ref: RunRef) -> Iterator[Problem]:
    """No probe finds what is in no bucket."""
    keyed = np.ones(len(table), np.bool_)
    for column in layout.key:
        keyed &= table.column(column).is_valid().to_numpy()
    if keyed.any():
        yield problem(
            ref.entries_file,
            expected="a NULL in the key of every entry that is in no bucket",
            found=f"{int(keyed.sum())} entries with a key",
        )


def _differences(found: list[pa.Array], expected: pa.Array) -> np.ndarray:
    """Which values differ; NaN is NaN."""
    ranked = rank([pa.concat_arrays([*found, expected])]).ranks
    differing: np.ndarray = ranked[: len(expected)] != ranked[len(expected) :]
    return differing


def _chunks(array: pa.Array | pa.ChunkedArray) -> list[pa.Array]:
    return list(array.chunks) if isinstance(array, pa.ChunkedArray) else [array]


def _count(counts: dict[int, int], values: Any) -> None:
    for value, count in zip(*np.unique(values, return_counts=True), strict=True):
        counts[int(value)] = counts.get(int(value), 0) + int(count)


def _widen(bounds: tuple[int, int] | None, values: Any) -> tuple[int, int]:
    low, high = int(values.min()), int(values.max())
    return (low, high) if bounds is None else (min(low, bounds[0]), max(high, bounds[1]))


def _pairs(counts: Iterable[tuple[int, int]]) -> str:
    return list_text(f"{rows} of {day}" for day, rows in counts)


def _span(bounds: tuple[int, int] | None) -> str:
    return "none" if bounds is None else f"from {bounds[0]} to {bounds[1]}"


Invariants = Callable[[Mapping[str, Tally]], Iterable[Problem]]
"""What is wrong with an index, given what was found in those of its runs that could be read."""


def verify(
    disk: Disk,
    manifest: Manifest,
    invariants: Invariants,
    progress: Progress = nobody,
    *,
    expiry_periods: ExpiryPeriods | None = None,
) -> list[Problem]:
    """Everything that is wrong. Reads all files, a million entries of one at a time.

    ``expiry_periods`` is given for a kind of index whose entries have lifetimes. ``progress`` is
    told how many runs have been read, and how many bytes they have.
    """
    if manifest.layout.lifetimes != (expiry_periods is not None):
        expected = "no expiries" if expiry_periods is None else "expiries"
        found = "a layout with them" if expiry_periods is None else "a layout without them"
        return [problem("layout", expected=f"{expected} in {manifest.kind} entries", found=found)]
    problems: list[Problem] = []
    tallies: dict[str, Tally] = {}
    size = 0
    for done, ref in enumerate(manifest.runs):
        progress(Reached("runs", done, len(manifest.runs), size))
        tally, bad = check_run(disk, manifest.layout, ref, expiry_periods)
        problems += bad
        if tally is not None:
            tallies[ref.name] = tally
        size += ref.bytes
    progress(Reached("runs", len(manifest.runs), len(manifest.runs), size))
    with unreadable_is_damaged(f"version {manifest.version}"):
        problems += invariants(tallies)
    return problems
