"""The state of stages as files of the checkpoint: one per level, bucket and micro-batch.

    state/commits/<batch>.json         which file is the state of each bucket after a micro-batch
    state/<level>.<bucket>/<file>      what the micro-batch changed, and the list of all that lives

On a level are the stages of one number, of all jobs (``windrow.spark.stage.level_task``); names of
segments begin with the number of the job.

A file has the segments that its micro-batch wrote, each an Arrow stream that can be mapped, and
then the *contents*: where every living segment of the bucket is, in this file or an older one. So
a micro-batch writes what changed and no more, and any version is read from the contents of one
file. Layout: the segments, each at a multiple of 64 bytes; the contents (JSON); their length and
CRC-32; a magic word.

A task writes its file under a name of its own and syncs it; the driver, which knows whose attempt
counted, names it in the commit of the micro-batch, before it is noted that the batch is over. A
task of the next one loads what that commit names. So attempts that failed, ran twice or came late
leave files that nobody names. The name is also the token by which a host that is still in memory
is known to be the committed one (``windrow.spark.stage.worker_cache``).

A file whose segments have all been dropped stays until no run can go back any more to a
micro-batch that needs it; then the task that follows removes it.

A file of this machine is mapped. Of one in an object store there is a local copy, if this machine
has written or read it; a small one is downloaded, and of a large one only the parts that are
needed.
"""

from __future__ import annotations

import json
import os
import struct
import uuid
import zlib
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO, NoReturn, Protocol, TypeVar

import pyarrow as pa

from windrow.core.errors import StateError
from windrow.core.thresholds import Threshold
from windrow.object_store.errors import StoreError
from windrow.object_store.local_copies import NamedCopies, PartialFile
from windrow.object_store.object_path import ObjectPath
from windrow.operators.base import Saved
from windrow.result_files.atomic_files import publish, read_record, sync_names, version_read
from windrow.spark.stage.blobs import as_stream

WHOLE = Threshold(8 << 20, least=0)
"""Bytes up to which an object is downloaded at once."""
MAGIC = b"windrow3"
TAIL = struct.Struct("<QI8s")
"""The length of the contents, their CRC-32, and the magic word."""
ALIGNMENT = 64
SUFFIX = ".state"
RETAINED = 16
"""Micro-batches that a run can go back; what an older one needs is removed."""
T = TypeVar("T")
REMEDY = "`windrow checkpoint check` says what else is damaged, and whether it can be repaired"


class StateBytes(Protocol):
    """``size`` bytes, of which some are asked for."""

    size: int

    def part(self, start: int, stop: int) -> pa.Buffer:
        """Those from ``start`` up to ``stop``."""
        ...


class MappedBytes:
    """Of a file of this machine."""

    def __init__(self, path: Path) -> None:
        self._whole = pa.memory_map(str(path)).read_buffer()
        self.size: int = self._whole.size

    def part(self, start: int, stop: int) -> pa.Buffer:
        return self._whole[start:stop]


class FetchedBytes:
    """Of a large object, parts of which are here."""

    def __init__(self, parts: PartialFile, size: int) -> None:
        self._parts, self.size = parts, size
        self._whole = pa.py_buffer(parts.memory)

    def part(self, start: int, stop: int) -> pa.Buffer:
        self._parts.fetch(start, min(stop, self.size))
        return self._whole[start:stop]


def open_state_bytes(path: Path) -> StateBytes:
    """FileNotFoundError if there is no such file."""
    if not isinstance(path, ObjectPath):
        return MappedBytes(path)
    copies = NamedCopies(ObjectPath(path.parent))
    copy = copies.find_named(path.name)
    if copy is None:
        bucket, stored = path.bucket, path.bucket.head(path.key)
        if stored.size > WHOLE.value:
            return FetchedBytes(PartialFile(bucket, path.key, stored, copies), stored.size)
        copy = copies.download(str(path), stored, bucket.pieces(path.key, stored))
    return MappedBytes(copy)


@dataclass(frozen=True)
class Segment:
    """Where a segment is: a stretch of a file, and the CRC-32 of its bytes."""

    file: str
    start: int
    length: int
    crc: int


@dataclass
class Contents:
    """All of a bucket's state after a micro-batch: segments, what they mean, files that may go.

    ``over`` says of each file that no segment is in any more, since which micro-batch.
    """

    segments: dict[str, Segment] = field(default_factory=dict)
    meta: dict[str, Any] = field(default_factory=dict)
    over: dict[str, int] = field(default_factory=dict)

    def to_json(self) -> bytes:
        segments = {n: [s.file, s.start, s.length, s.crc] for n, s in self.segments.items()}
        whole = {"segments": segments, "meta": self.meta, "over": self.over}
        return json.dumps(whole, separators=(",", ":")).encode()

    def of(self, prefix: str) -> Contents:
        """What is there of one component."""
        mine = {n: s for n, s in self.segments.items() if n.startswith(f"{prefix}.")}
        return Contents(mine, {prefix: self.meta[prefix]} if prefix in self.meta else {})

    @classmethod
    def from_json(cls, text: bytes) -> Contents:
        known = json.loads(text)
        segments = {name: Segment(*place) for name, place in known["segments"].items()}
        return cls(segments, known["meta"], known["over"])


class BucketFiles:
    """The files of one level and bucket; see the module."""

    def __init__(self, state: Path, level: int, bucket: int) -> None:
        self.key = f"{level}.{bucket}"
        self.directory = state / self.key

    def read(self, name: str) -> Contents:
        """What a file says that the state is; StateError if it is damaged."""
        return self._checked(lambda: self._read(name))

    def segments(self, contents: Contents) -> dict[str, pa.RecordBatch]:
        """The living segments, mapped; each is compared with its checksum."""
        return self._checked(lambda: self._segments(contents))

    def _checked(self, read: Callable[[], T]) -> T:
        """What is read; if copies are damaged, from the store."""
        try:
            return read()
        except StateError:
            if self._copies is None:
                raise
            self.forget_copies()
            return read()

    def _read(self, name: str) -> Contents:
        path, found = self.directory / name, self._open(name)
        end = found.size - TAIL.size
        if end < 0:
            self._damaged(path, "it is cut short")
        length, crc, magic = TAIL.unpack(found.part(end, found.size))
        if magic != MAGIC or length > end:
            self._damaged(path, "it does not end as a file of state does")
        text = found.part(end - length, end).to_pybytes()
        if zlib.crc32(text) != crc:
            self._damaged(path, "its list of segments differs from its checksum")
        return Contents.from_json(text)

    def _segments(self, contents: Contents) -> dict[str, pa.RecordBatch]:
        files: dict[str, StateBytes] = {}
        found = {}
        for name, place in contents.segments.items():
            if place.file not in files:
                files[place.file] = self._open(place.file)
            part = files[place.file].part(place.start, place.start + place.length)
            if len(part) < place.length or zlib.crc32(part) != place.crc:
                self._damaged(
                    self.directory / place.file, f"segment {name} differs from its checksum"
                )
            found[name] = pa.ipc.open_stream(part).read_next_batch()
        return found

    def write(self, batch: int, before: Contents, saved: Saved) -> tuple[str, Contents]:
        """A file with what a micro-batch changed, on the disk; its name, and what is there now."""
        name = f"{batch:08d}-{uuid.uuid4().hex}{SUFFIX}"
        now = Contents(dict(before.segments), saved.meta)
        for dropped in saved.drop:
            now.segments.pop(dropped, None)

        def fill(file: BinaryIO) -> None:
            at = 0
            for segment, rows in saved.put.items():
                stream = as_stream(rows)
                now.segments[segment] = Segment(name, at, stream.size, zlib.crc32(stream))
                file.write(stream)
                at += stream.size + file.write(bytes(-stream.size % ALIGNMENT))
            living = {place.file for place in now.segments.values()}
            known = {*before.over, *(place.file for place in before.segments.values())}
            # What a file has said of itself ends now: until now it was that of the bucket.
            since = {f: b for f, b in before.over.items() if b > batch_of(Path(f))}
            now.over = {f: since.get(f, batch) for f in sorted(known - living)}
            if name not in living:  # said in the file itself: who loads it has to know
                now.over[name] = batch
            self._forget(now, batch)
            text = now.to_json()
            file.write(text)
            file.write(TAIL.pack(len(text), zlib.crc32(text), MAGIC))

        if self._copies is None:
            self._write_synced(name, fill)
        else:
            self._copies.write(name, fill)
            living = {place.file for place in now.segments.values()}
            self._copies.keep_only({name, *living, *now.over})
        return name, now

    def _write_synced(self, name: str, fill: Callable[[BinaryIO], None]) -> None:
        if not self.directory.is_dir():
            self.directory.mkdir(parents=True, exist_ok=True)
            sync_names(self.directory.parent)
        with (self.directory / name).open("wb") as file:
            fill(file)
            file.flush()
            os.fsync(file.fileno())
        sync_names(self.directory)

    def _forget(self, now: Contents, batch: int) -> None:
        """Remove files that no micro-batch needs to which a run can go back."""
        for name, since in list(now.over.items()):
            if since < batch - RETAINED - 1:
                with suppress(FileNotFoundError):
                    (self.directory / name).unlink()
                del now.over[name]

    @cached_property
    def _copies(self) -> NamedCopies | None:
        """Of files in an object store, those that are here too."""
        return NamedCopies(self.directory) if isinstance(self.directory, ObjectPath) else None

    def forget_copies(self) -> None:
        """Whatever is read from now on is what the store has."""
        if self._copies is not None:
            self._copies.keep_only(())

    def _open(self, name: str) -> StateBytes:
        try:
            return open_state_bytes(self.directory / name)
        except FileNotFoundError:
            self._damaged(self.directory / name, "it is missing")
        except StoreError as error:  # of all jobs, as a disk that fails is
            raise StateError(
                "the checkpoint cannot be read",
                where=error.where,
                expected=error.expected,
                found=error.found,
                remedy=error.remedy,
            ) from error

    def _damaged(self, path: Path, found: str) -> NoReturn:
        raise StateError("the checkpoint is damaged", where=str(path), found=found, remedy=REMEDY)


def batch_of(path: Path) -> int:
    """The micro-batch that has written a file."""
    return int(path.name.partition("-")[0])


@dataclass(frozen=True)
class Version:
    """What there is after a micro-batch: the ``files`` of state by level and bucket; and of each
    job that has ``published`` results, in which micro-batch it did so last, and in how many."""

    files: Mapping[str, str] = field(default_factory=dict)
    published: Mapping[int, tuple[int, int]] = field(default_factory=dict)

    def after(self, batch: int, written: Mapping[str, str], jobs: Iterable[int]) -> Version:
        """The next version, after a micro-batch in which these jobs have published."""
        counts = {job: self.published.get(job, (-1, 0))[1] + 1 for job in jobs}
        new = {job: (batch, count) for job, count in counts.items()}
        return Version({**self.files, **written}, {**self.published, **new})

    def to_json(self) -> str:
        told = {"files": dict(self.files), "published": {str(j): n for j, n in self._sorted()}}
        return json.dumps({**told, "crc": _checksum(told)})

    def _sorted(self) -> list[tuple[int, list[int]]]:
        return sorted((job, list(noted)) for job, noted in self.published.items())

    @classmethod
    def from_json(cls, known: Any) -> Version:
        told = {"files": known["files"], "published": known["published"]}
        if known["crc"] != _checksum(told):
            raise ValueError("contents that differ from their checksum")
        published = {int(job): (last, n) for job, (last, n) in known["published"].items()}
        return cls(known["files"], published)


def _checksum(told: Mapping[str, Any]) -> int:
    return zlib.crc32(json.dumps(told, sort_keys=True).encode())


class StateCommits:
    """The versions of the state after each of the last micro-batches."""

    def __init__(self, state: Path) -> None:
        self.directory = state / "commits"
        self._published: dict[int, str | None] = {}

    def before(self, batch: int) -> Version:
        """What the micro-batch before left."""
        if batch == 0:
            return Version()
        try:
            return self.read(batch - 1)
        except FileNotFoundError:
            raise StateError(
                "the checkpoint is damaged",
                where=str(self.path(batch - 1)),
                expected=f"the state after micro-batch {batch - 1}",
                found="no such file",
                remedy=REMEDY,
            ) from None

    def read(self, batch: int) -> Version:
        """What there is after a micro-batch."""
        what = "the record of the state"
        return read_record(self.path(batch), what, Version.from_json, remedy=REMEDY)

    def publish(self, batch: int, version: Version) -> None:
        """Make a version that of a micro-batch; those that nobody goes back to are removed.

        In an object store it replaces only what was published here: whoever repeats a micro-batch
        that another run has ended is told.
        """
        self.directory.mkdir(parents=True, exist_ok=True)
        path, first = self.path(batch), not self._published
        publish(path, version.to_json(), self._published.get(batch))
        self._published = {batch: version_read(path)}
        oldest = batch - RETAINED - 1
        # A listing takes a request in an object store, so there is one when a run begins.
        known = self.numbers() if first or not isinstance(path, ObjectPath) else [oldest - 1]
        for old in known:
            if 0 <= old < oldest:
                self.path(old).unlink(missing_ok=True)

    def numbers(self) -> list[int]:
        """The micro-batches of which the state is there."""
        found = self.directory.glob("[0-9]*.json")
        return sorted(int(path.stem) for path in found if path.stem.isdigit())

    def path(self, batch: int) -> Path:
        """Where the commit of a micro-batch is."""
        return self.directory / f"{batch}.json"
