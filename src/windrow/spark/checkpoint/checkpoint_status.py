"""How a checkpoint's run is doing, from its files alone: while it runs, and after.

Files are replaced as a whole, so reading takes no lock; what vanishes meanwhile is looked for
again. It takes no Java and no Spark, and reads no state and no results: only what describes them.
Which process has the checkpoint, or had it last, is what the lock says, which is not touched.
"""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from windrow.core.errors import StateError
from windrow.core.paths import is_object_url
from windrow.core.time import Wall
from windrow.object_store.bucket import Bucket
from windrow.object_store.errors import StoreError
from windrow.object_store.object_path import ObjectPath, address_of, shared_place
from windrow.result_files.directory_lock import LOCK
from windrow.spark.checkpoint.pipeline_directory import (
    PipelineHome,
    pipeline_directories,
    read_pipeline,
)
from windrow.spark.checkpoint.query_status import (
    IDENTITY,
    QueryStatus,
    Standing,
    Surroundings,
    query_status,
    state_sizes,
)
from windrow.spark.checkpoint.run_record import (
    End,
    Mishap,
    RunRecord,
    Traffic,
    read_run_record,
)
from windrow.spark.checkpoint.stream_status import STALE, StreamStatus, stream_status
from windrow.spark.stage.state_files import StateCommits, Version

START = 19
"""Of what ``/proc/<pid>/stat`` says after the name of the process, where its start is."""


class Condition(StrEnum):
    """Of a pipeline; one that was killed has ended without a word."""

    RUNNING = "running"
    STOPPED = "stopped"
    FAILED = "failed"
    KILLED = "killed"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class PipelineStatus:
    """Queries that read their streams together. ``batch`` is the last micro-batch that is done."""

    name: str
    condition: Condition
    batch: int | None
    batch_at: int | None
    batch_seconds: float | None
    mean_batch_seconds: float | None
    restarts: int
    last_error: Mishap | None
    streams: tuple[StreamStatus, ...]
    queries: tuple[QueryStatus, ...]


@dataclass(frozen=True)
class QuarantineStatus:
    """The files of a stream's refused rows."""

    stream: str
    directory: str
    files: int
    size: int


@dataclass(frozen=True)
class CheckpointStatus:
    """See the module; ``at`` is when it was looked at, in microseconds since 1970."""

    checkpoint: str
    at: int
    process: RunProcess | None
    pipelines: tuple[PipelineStatus, ...]
    quarantine: tuple[QuarantineStatus, ...]

    @property
    def last_error(self) -> Mishap | None:
        found = [p.last_error for p in self.pipelines if p.last_error is not None]
        return max(found, key=lambda mishap: mishap.at, default=None)

    @property
    def late_queries(self) -> list[QueryStatus]:
        return [query for p in self.pipelines for query in p.queries if query.is_late]


def checkpoint_status(checkpoint: Path, wall: Wall) -> CheckpointStatus:
    """StateError if there is no checkpoint of this version there."""
    homes = [read_pipeline(directory) for directory in pipeline_directories(checkpoint)]
    if not homes:
        raise _no_checkpoint(checkpoint)
    now, process = wall(), run_process(checkpoint)
    found = [(home, read_run_record(home.directory)) for home in homes]
    elsewhere = {name: home.directory for home in homes for name in home.present}
    pipelines = (_pipeline(home, record, process, now, elsewhere) for home, record in found)
    places = {record.quarantine for _, record in found if record and record.quarantine}
    return CheckpointStatus(
        str(shared_place(checkpoint)),
        now,
        process,
        tuple(p for p in pipelines if p.queries),
        tuple(q for place in sorted(places) for q in _quarantine(place)),
    )


def _no_checkpoint(checkpoint: Path) -> StateError:
    if any(checkpoint.glob(f"*/{IDENTITY}")):
        return StateError(
            "the checkpoint is of another version of Windrow, or its first run has just begun",
            where=address_of(checkpoint),
            expected="a pipeline",
            found="queries only",
            remedy="try again when the run has started, or ask with the Windrow that began it",
        )
    return StateError(
        where=address_of(checkpoint),
        expected="a directory that was passed to --checkpoint",
        found="no checkpoint of a query" if checkpoint.is_dir() else "no such directory",
    )


def _pipeline(
    home: PipelineHome,
    record: RunRecord | None,
    process: RunProcess | None,
    now: int,
    elsewhere: dict[str, Path],
) -> PipelineStatus:
    """A pipeline; jobs that go on in another one are not shown here."""
    condition = _condition(record, process, now)
    traffic = record.traffic if record and condition is Condition.RUNNING else None
    last = home.last_batch
    streams = tuple(_streams(home, record, last, traffic, now))
    around = Surroundings(
        home.directory.parent,
        {stream.name: stream for stream in streams},
        state_sizes(home.state),
        home.left,
        {} if record is None else record.failures,
        {} if record is None else record.totals,
        traffic,
        now,
        {} if record is None else record.lateness,
    )
    version = _version(home)
    queries = tuple(
        query_status(
            name,
            number,
            version.published.get(number, (None, 0))[0],
            None if record is None else record.jobs.get(name),
            around,
        )
        for number, name in enumerate(home.members)
        if name is not None and elsewhere.get(name, home.directory) == home.directory
    )
    seconds = () if record is None else record.seconds
    return PipelineStatus(
        home.directory.name,
        condition,
        None if last < 0 else last,
        None if record is None or record.batch is None else record.traffic.until,
        seconds[-1] if seconds else None,
        round(sum(seconds) / len(seconds), 3) if seconds else None,
        0 if record is None else record.restarts,
        None if record is None else record.error,
        streams,
        queries,
    )


def _condition(record: RunRecord | None, process: RunProcess | None, now: int) -> Condition:
    if record is None:
        return Condition.UNKNOWN
    if record.end is not None:
        return Condition.FAILED if record.end is End.FAILED else Condition.STOPPED
    if process is None or (process.pid, process.host) != (record.pid, record.host):
        return Condition.KILLED
    if process.alive is None:  # on another machine: then by what it has done
        lately = now - max(record.started, record.traffic.until) < STALE
        return Condition.RUNNING if lately else Condition.UNKNOWN
    return Condition.RUNNING if process.alive else Condition.KILLED


def _streams(
    home: PipelineHome, record: RunRecord | None, last: int, traffic: Traffic | None, now: int
) -> Iterator[StreamStatus]:
    """All that the run reads, and those that only earlier ones have read."""
    known = {} if record is None else dict(record.streams)
    names = {name.lower(): name for name in known}
    logs = sorted((home.directory / "streams").glob("*.log"))
    for name in dict.fromkeys([*names, *(log.stem for log in logs)]):
        shown = names.get(name, name)
        yield stream_status(home.log(name), shown, last, known.get(shown), traffic, now)


def _version(home: PipelineHome) -> Version:
    commits = StateCommits(home.state)
    with suppress(StateError, OSError, IndexError):
        return commits.read(commits.numbers()[-1])
    return Version()


def _quarantine(place: str) -> Iterator[QuarantineStatus]:
    """What there is of each stream; nothing if it is not there."""
    if is_object_url(place):
        yield from _remote_quarantine(place)
        return
    directory = Path(place)
    with suppress(OSError):
        for stream in sorted(path for path in directory.iterdir() if path.is_dir()):
            files, size = 0, 0
            with suppress(OSError), os.scandir(stream) as entries:
                for entry in entries:
                    if entry.name.endswith(".jsonl") and not entry.name.startswith("."):
                        with suppress(OSError):
                            size += entry.stat().st_size
                            files += 1
            if files:
                yield QuarantineStatus(stream.name, str(directory), files, size)


def _remote_quarantine(place: str) -> Iterator[QuarantineStatus]:
    sizes: dict[str, list[int]] = {}
    with suppress(StoreError):
        for key, known in Bucket(place).list_below("").items():
            stream, _, name = key.rpartition("/")
            if name.endswith(".jsonl"):
                sizes.setdefault(stream, []).append(known.size)
    for stream, found in sorted(sizes.items()):
        yield QuarantineStatus(stream, place, len(found), sum(found))


__all__ = ["CheckpointStatus", "Condition", "PipelineStatus", "Standing", "checkpoint_status"]


@dataclass(frozen=True)
class RunProcess:
    """``since`` is in microseconds since 1970; on another machine nobody knows if it is alive."""

    pid: int
    host: str
    command: str
    since: int
    alive: bool | None


def run_process(checkpoint: Path) -> RunProcess | None:
    """None if nobody has had the checkpoint, or the lock cannot be read."""
    try:
        text, since = _lock(shared_place(checkpoint) / LOCK)
        known = json.loads(text)
        pid, host, command = int(known["pid"]), str(known["host"]), str(known["command"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
    alive = _is_alive(pid, since) if host == socket.gethostname() else None
    return RunProcess(pid, host, command, int(since * 1e6), alive)


def _lock(path: Path) -> tuple[str, float]:
    """What a lock says, and since when."""
    if not isinstance(path, ObjectPath):
        return path.read_text(encoding="utf-8"), path.stat().st_mtime
    since = path.bucket.head(path.key).modified
    text = path.read_text().partition("\n")[2]  # after a line that no other lock has
    return text, 0.0 if since is None else since.timestamp()


def _is_alive(pid: int, since: float) -> bool:
    """Whether there is such a process, which may not have begun after it took the lock."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # it is somebody else's
        pass
    began = _start_of(pid)
    return began is None or began <= since + 1


def _start_of(pid: int) -> float | None:
    """When a process began, in seconds since 1970, where the kernel tells."""
    with suppress(OSError, ValueError, IndexError, StopIteration):
        told = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        lines = Path("/proc/stat").read_text(encoding="utf-8").splitlines()
        booted = next(int(line.split()[1]) for line in lines if line.startswith("btime "))
        return booted + int(told[START]) / os.sysconf("SC_CLK_TCK")
    return None
