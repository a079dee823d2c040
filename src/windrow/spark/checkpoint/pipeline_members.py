"""Which jobs of a script run together, given what earlier runs left in the checkpoint.

A job that stayed behind goes on: its state moves from its old pipeline into one of its own. The old
pipeline has the state as it was when the job left, in whatever version is its newest, since nobody
has changed it. The micro-batch that comes next for the job, the first that has something of its
streams, may have been run and published before the job stayed behind, without its state; so may
others, if the checkpoint was set back. Then the new pipeline begins with that one, under its number
and with its rows, as one that was begun and is not over: results that were published are
recognised. What came after them is admitted anew.

``pipeline.json`` is written last, so what was cut short is no pipeline; then the job is struck from
the old one.
"""

from __future__ import annotations

import json
import shutil
import uuid
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from windrow.core.errors import StateError
from windrow.core.time import Clock
from windrow.object_store.object_path import path_of, readable_path
from windrow.operators.base import Saved
from windrow.result_files.atomic_files import publish, write
from windrow.spark.checkpoint.batch_logs import OVER, offsets_text, read_batch_log
from windrow.spark.checkpoint.pipeline_directory import (
    Joined,
    PipelineHome,
    new_pipeline,
    next_directory,
    pipeline_directories,
    read_pipeline,
)
from windrow.spark.source.file_log import Entry, FileLog
from windrow.spark.stage.state_files import BucketFiles, Contents, StateCommits, Version


@dataclass(frozen=True)
class Starting:
    """A job that is about to start: the name of its directory, its clock and its streams, and the
    last micro-batch of which it has published results; None: others write there too."""

    name: str
    clock: Clock
    streams: Sequence[str]
    published: int | None = None


def pipelines_for(
    checkpoint: Path, jobs: Sequence[Starting], running: Collection[Path] = ()
) -> list[tuple[PipelineHome, dict[str, int]]]:
    """The pipelines that run some jobs, and each job's number in its own.

    A job goes on where its state is. Others of that pipeline, which do not start now, stay behind.
    One that had stayed behind goes on in a pipeline of its own, unless nothing has happened in its
    old one since. Pipelines that are ``running`` stay as they are.
    """
    wanted = {job.name: job for job in jobs}
    homes = [read_pipeline(directory) for directory in pipeline_directories(checkpoint)]
    present = {name for home in homes for name in home.present}
    found = []
    for home in homes:
        here = home.present.keys() & wanted.keys()
        if home.directory not in running:
            back = [n for n in _back(home, wanted, present) if _misses_nothing(home, wanted[n])]
            if here and back:
                home = home.write(left=home.left - set(back))  # noqa: PLW2901 - as it is now
                here |= set(back)
            if here and home.present.keys() - here:
                home = home.without(home.present.keys() - here)  # noqa: PLW2901
        for name in _back(home, wanted, present):
            new = split_off(home, wanted[name])
            home = read_pipeline(home.directory)  # noqa: PLW2901
            found.append((new, new.present))
            del wanted[name]
        if here:
            found.append((home, {name: home.number_of(name) for name in here}))
            wanted = {name: job for name, job in wanted.items() if name not in here}
    for clock in dict.fromkeys(job.clock for job in wanted.values()):
        new = new_pipeline(checkpoint, [n for n, job in wanted.items() if job.clock is clock])
        found.append((new, new.present))
    return found


def _back(
    home: PipelineHome, wanted: Mapping[str, Starting], present: Collection[str]
) -> list[str]:
    """Jobs that have stayed behind in a pipeline and are to start again."""
    return [name for name in sorted(home.left) if name in wanted and name not in present]


def _misses_nothing(home: PipelineHome, job: Starting) -> bool:
    """Whether a job that has left a pipeline may go on there: it was in the last micro-batch that
    is over, and no later one is to be repeated that others had without it."""
    batch = home.batch_of(job.name)
    if batch < home.last_batch or job.published is None:
        return batch == home.last_batch
    entries = (e.batch or 0 for stream in job.streams for e in _entries(home, stream))
    return max(entries, default=-1) <= max(batch, job.published)


def split_off(old: PipelineHome, job: Starting) -> PipelineHome:
    """A pipeline in which a job goes on that left ``old``."""
    name, batch, number = job.name, old.batch_of(job.name), old.number_of(job.name)
    new = PipelineHome(next_directory(old.directory.parent), uuid.uuid4().hex, (name,))
    new.directory.mkdir()
    entries = {stream: _entries(old, stream) for stream in job.streams}
    repeated = _repeated(job, batch, (e.batch or 0 for found in entries.values() for e in found))
    following = repeated[0] if repeated else None
    done = batch if following is None else following - 1
    last = repeated[-1] if repeated else batch
    logs = {stream: _copy_log(new, stream, found, last) for stream, found in entries.items()}
    if done >= 0:
        _copy_state(old, new, number, done)
    _write_notes(old, new, done, following, logs)
    if old.inboxes.exists():
        publish(new.inboxes, old.inboxes.read_text())
    joined = {name: _copy_fill(old, new, name)} if name in old.joined else {}
    new = new.write(joined=joined)
    members = tuple(None if member == name else member for member in old.members)
    left = {member: how for member, how in old.joined.items() if member != name}
    old.write(members=members, left=old.left - {name}, joined=left)
    return new


def _repeated(job: Starting, batch: int, noted: Iterable[int]) -> list[int]:
    """Of the ``noted`` micro-batches after the last one that is part of a job's state, those of
    which it may have published results: they are as they were. Of others there may be more by now:
    a stream that nobody read meanwhile has none."""
    later = sorted({number for number in noted if number > batch})
    if job.published is None:
        return later[:1]
    return [number for number in later if number <= job.published]


def _copy_fill(old: PipelineHome, new: PipelineHome, name: str) -> Joined:
    """How a job joined, and what it was filled with as far as that is still there."""
    how = old.joined[name]
    for file in (file for files in how.files.values() for file in files):
        source = old.fills / file
        if source.exists():
            new.fills.mkdir(parents=True, exist_ok=True)
            write(new.fills / file, partial(_copy_file, source))
    return how


def _entries(old: PipelineHome, stream: str) -> list[Entry]:
    return FileLog.entries_in(old.log(stream)) if old.log(stream).exists() else []


def _copy_log(new: PipelineHome, stream: str, entries: Iterable[Entry], last: int) -> FileLog:
    """The log of a stream up to the entries of a micro-batch."""
    log = FileLog(new.log(stream))
    kept = [entry for entry in entries if (entry.batch or 0) <= last]
    log.append([_with_own_updates(entry, new.updates(stream)) for entry in kept])
    return log


def _copy_file(old: Path, new: Path) -> None:
    """The bytes of a file that may be in an object store."""
    shutil.copyfile(readable_path(old), new)


def _with_own_updates(entry: Entry, updates: Path) -> Entry:
    """The same entry; what was accepted of a relation's file is copied."""
    if entry.origin is None or entry.path is None:
        return entry
    old = path_of(entry.path)
    copy = updates / old.name
    updates.mkdir(parents=True, exist_ok=True)
    write(copy, lambda new: _copy_file(old, new))
    return replace(entry, path=str(copy))


def _copy_state(old: PipelineHome, new: PipelineHome, number: int, batch: int) -> None:
    version = old.version
    files = {}
    for key, file in version.files.items():
        level, bucket = map(int, key.split("."))
        source, target = (BucketFiles(h.state, level, bucket) for h in (old, new))
        mine = source.read(file).of(str(number))
        if mine.meta:
            put = {f"0.{n.partition('.')[2]}": rows for n, rows in source.segments(mine).items()}
            saved = Saved(put=put, meta={"0": mine.meta[str(number)]})
            files[key], _ = target.write(batch, Contents(), saved)
    noted = version.published.get(number)
    published = {} if noted is None else {0: noted}
    StateCommits(new.state).publish(batch, Version(files, published))


def _write_notes(
    old: PipelineHome,
    new: PipelineHome,
    done: int,
    following: int | None,
    logs: Mapping[str, FileLog],
) -> None:
    """Let the run find that a micro-batch is over and the following one begun, if there is one.

    A streaming query looks at the one before the last that was begun, too.
    """
    last = done if following is None else following
    if last < 0:
        return
    known = read_batch_log(old.offsets).whole
    if not known:
        raise StateError(
            "the checkpoint is damaged",
            where=str(old.offsets),
            expected="notes of micro-batches",
            found="nothing that can be read",
            remedy="`windrow checkpoint check` says what else is damaged",
        )
    settings = known[max(known)][0]
    for directory in (new.offsets, new.spark / "commits"):
        directory.mkdir(parents=True)
    publish(new.spark / "metadata", json.dumps({"id": str(uuid.uuid4())}))
    for number in range(max(last - 1, 0), last + 1):
        entries = {stream: log.until(number) for stream, log in logs.items()}
        publish(new.offsets / str(number), offsets_text(settings, entries))
    if done >= 0:
        publish(new.spark / "commits" / str(done), OVER)
