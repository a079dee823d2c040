"""Compaction: the files of many micro-batches become few, and no reader sees a difference.

    merged files, synced ──► _compacted.json, replaced ──► commits and files that it stands for go

Whatever dies between leaves the results of before or of after, and names that nobody speaks of,
which the next compaction removes. Files grow by merging neighbours of like size, so a change is
written again a number of times that is logarithmic in the number of files; none exceeds ``ROWS``.

The answer is written down beside it when more has changed since the last time than it has rows:
whoever wants it reads about twice its size, however many changes there have been.
"""

from __future__ import annotations

import fcntl
import os
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from windrow.core.file_formats import RESULT_ENDINGS
from windrow.core.thresholds import Threshold
from windrow.object_store.errors import StoreError
from windrow.object_store.object_path import ObjectPath
from windrow.result_files import atomic_files as files
from windrow.result_files.commits import COMPACTED, Compacted, Marks, Published, Segment, Snapshot
from windrow.result_files.identity import Identity
from windrow.result_files.last_answer import last_answer, write_snapshot
from windrow.result_files.ownership import clear
from windrow.result_files.reader import Reading, published_results
from windrow.tables.writers import open_writer

ROWS = Threshold(1_000_000, least=1)
"""Changes that a merged file has at most."""
WORTH_FORGETTING = 16
"""Micro-batches whose changes are let go of together, since the answer is written down then."""
MANY = 200_000
"""Changes since the last snapshot that are not gone through twice."""
BUSY = ".windrow.compacting"


@dataclass(frozen=True)
class Outcome:
    """How many files with changes there were before a compaction, and are after it."""

    before: int
    after: int


def compact(directory: Path, *, forget: int | None = None) -> Outcome | None:
    """Merge all that can be merged; None if somebody else is at it.

    ``forget`` is a micro-batch up to which the changes are not needed any more. The caller, or the
    run that it works for, holds the directory's lock.
    """
    identity = Identity.read(directory)
    with _alone(directory) as alone:
        if not alone or identity is None:
            return None
        state = published_results(directory)
        seen = files.version_read(directory / COMPACTED)
        before, names = sum(len(s.files) for s in state.segments), state.names()
        record = _record(directory, identity, state, forget)
        if record is not None:
            files.sync_names(directory)
            try:
                record.publish(directory, seen)
            except files.ReplacedError:  # by another compaction, or another run
                for name in record.names() - names:
                    files.delete(directory / name)
                return None
            state = replace(state, compacted=record, commits=())
        clear(directory, state, replaced=names)
        return Outcome(before, sum(len(s.files) for s in state.segments))


def _record(
    directory: Path, identity: Identity, state: Published, forget: int | None
) -> Compacted | None:
    """The record of all that is committed, its files written; None if nothing would change."""
    forgotten = max(state.forgotten_through, min(-1 if forget is None else forget, state.last))
    if not state.commits and forgotten == state.forgotten_through:
        return None
    reading = Reading(directory, identity.format, identity.schema)
    kept = [s for s in state.segments if s.last > forgotten]
    merged = tuple(_merge(reading, group) for group in _groups(kept))
    known = None if state.compacted is None else state.compacted.snapshot
    record = Compacted(identity.run, state.last, merged, state.totals, known, forgotten)
    if forgotten > state.forgotten_through:
        source = state  # which has what is let go of, too
    elif _is_snapshot_due(state, known):
        source = replace(state, compacted=record, commits=())  # fewer files
    else:
        return record
    if identity.stream and not {"instant", "change"} <= set(identity.schema.names):
        return replace(record, snapshot=None)
    answer = last_answer(directory, identity, source)
    return replace(record, snapshot=write_snapshot(directory, identity, answer))


def _is_snapshot_due(state: Published, known: Snapshot | None) -> bool:
    """Whether more has changed since the answer was written down than it has rows."""
    if known is None:
        return any(s.rows for s in state.segments)
    changed = sum(s.rows for s in state.segments if s.last > known.batch)
    return changed > 0 and changed >= known.rows


def _groups(segments: Sequence[Segment]) -> list[list[Segment]]:
    """Neighbours that become one: those of single micro-batches, then groups of like size."""
    singles: list[list[Segment]] = []
    for segment in segments:
        last = singles[-1] if singles else []
        if last and segment.single and last[-1].single and _rows(last) + segment.rows <= ROWS.value:
            last.append(segment)
        else:
            singles.append([segment])
    groups: list[list[Segment]] = []
    for group in singles:
        groups.append(group)
        while len(groups) > 1 and _alike(_rows(groups[-2]), _rows(groups[-1])):
            groups[-2:] = [groups[-2] + groups[-1]]
    return groups


def _rows(group: Sequence[Segment]) -> int:
    return sum(segment.rows for segment in group)


def _alike(left: int, right: int) -> bool:
    return left + right <= ROWS.value and left <= 2 * right


def _merge(reading: Reading, group: list[Segment]) -> Segment:
    """The segments as one, its file under its name; a single one stays as it is."""
    if len(group) == 1:
        return group[0]
    directory, format_ = reading.directory, reading.format
    now = next((s.now for s in reversed(group) if s.now is not None), None)
    new = Segment(group[0].first, group[-1].last, (), 0, now)
    marks: Marks = []
    own = f"-{uuid.uuid4().hex}" if isinstance(directory, ObjectPath) else ""
    name = f"batch-{new.stem}{own}.{RESULT_ENDINGS[format_]}"
    hidden = directory / f".{name}.{uuid.uuid4().hex}"

    def fill(path: Path) -> None:
        with open_writer(path, reading.schema, format_) as write:
            for segment in group:
                rows = 0
                for table in reading.pieces(segment):
                    write(table)
                    rows += table.num_rows
                marks.extend(_marks(segment, directory, rows))

    if not any(segment.rows for segment in group):
        return new
    files.write(hidden, fill)
    new = replace(new, files=(name,), rows=sum(rows for _, rows in marks))
    files.publish(directory / new.marks_name, _text(marks))
    files.rename(hidden, directory / name)
    return new


def _marks(segment: Segment, directory: Path, rows: int) -> Marks:
    if segment.single:
        return [(segment.first, rows)] if rows else []
    return segment.marks(directory)


def _text(marks: Marks) -> str:
    return f"[{','.join(f'[{batch},{rows}]' for batch, rows in marks)}]"


@contextmanager
def _alone(directory: Path) -> Iterator[bool]:
    """Whether nobody else compacts: on Spark the driver's process and those of sinks may."""
    if isinstance(directory, ObjectPath):  # of two, one replaces the record
        yield True
        return
    handle = os.open(directory / BUSY, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o644)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True
    finally:
        os.close(handle)


def forget_drained(directory: Path, drained: int) -> None:
    """Let go of changes that nobody will read again, when that is worth the writing."""
    if drained - published_results(directory).forgotten_through >= WORTH_FORGETTING:
        with suppress(OSError, StoreError):
            compact(directory, forget=drained)


def compact_before_answering(directory: Path) -> None:
    """Compact if many changes were made since the answer was last written down.

    They have to be gone through now; with that, whoever asks next has to look at few.
    """
    state = published_results(directory)
    known = None if state.compacted is None else state.compacted.snapshot
    new = sum(s.rows for s in state.segments if known is None or s.last > known.batch)
    if new > max(MANY, 0 if known is None else known.rows):
        with suppress(OSError, StoreError):
            compact(directory)
