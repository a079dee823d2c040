"""Where refused rows go: into files, and the newest into the memory of a connection.

A file has JSON lines with the reason and the original text. There is one per stream and part of an
input file, written beside its final place and then renamed over it. Reading an input file again
therefore replaces its quarantine by the same one, and a reader never sees half of it.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import BinaryIO, NamedTuple

import pyarrow as pa

from windrow.core.errors import QuarantineError
from windrow.core.paths import is_object_url, local_path
from windrow.object_store.local_copies import default_cache
from windrow.object_store.object_path import ObjectPath, path_of
from windrow.tables.parsed_rows import Rejected

MOST = 100_000
"""Rows of one input file that are written down; of more only their number."""
LONGEST = 1 << 16
"""Characters of a row that are written down."""
KEPT_PAGES, KEPT_BYTES = 1000, 1 << 24
"""Of each stream, in a quarantine that is bounded."""
KEPT = 1000
"""Rows of each stream that are kept."""
LONGEST_KEPT = 10_000
"""Characters of each that are kept."""
REFUSED = pa.schema(
    [("file", pa.string()), ("row", pa.int64()), ("reason", pa.string()), ("text", pa.string())]
)


@dataclass
class Page:
    """The refused rows of one input file while it is being read."""

    stream: str
    file: str
    count: int = 0
    _out: BinaryIO | None = field(default=None, repr=False)
    _draft: Path = field(default=Path(), repr=False)

    def add(self, rejected: Iterable[Rejected]) -> int:
        """Write rows down; returns how many."""
        before = self.count
        for row in rejected:
            self.count += 1
            if self.count <= MOST:
                self._write(row.row or None, row.reason, row.text)
        return self.count - before

    def _write(self, row: int | None, reason: str, text: str) -> None:
        if len(text) > LONGEST:
            text = f"{text[:LONGEST]}... ({len(text):,} characters)"
        record = {
            "stream": self.stream,
            "file": self.file,
            "row": row,
            "reason": reason,
            "text": text,
        }
        line = json.dumps(record, ensure_ascii=False).encode(errors="backslashreplace")
        with _writable(self._draft):
            if self._out is None:
                self._draft.parent.mkdir(parents=True, exist_ok=True)
                self._out = self._draft.open("wb")
            self._out.write(line + b"\n")

    def publish(self, target: Path) -> None:
        """Put what was written in its place; a page without rows leaves none there."""
        if self.count > MOST:
            more = f"{self.count - MOST:,} more rows of this file were refused; they are counted"
            self._write(None, f"{more}, but not listed here", "")
        with _writable(target):
            if self._out is None:
                target.unlink(missing_ok=True)
                return
            self._out.flush()
            os.fsync(self._out.fileno())
            self._out.close()
            if isinstance(target, ObjectPath):
                target.bucket.put(target.key, self._draft)
                self._draft.unlink()
            else:
                self._draft.replace(target)

    def discard(self) -> None:
        if self._out is not None:
            with suppress(OSError):  # a full disk has no place for what is still to be written
                self._out.close()
            self._draft.unlink(missing_ok=True)


class _NoPage(Page):
    """For those who keep no quarantine."""

    def add(self, rejected: Iterable[Rejected]) -> int:
        return 0


NO_PAGE: Page = _NoPage("", "")


@contextmanager
def _writable(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise QuarantineError(
            where=str(path.parent),
            expected="a writable directory for quarantined rows",
            found=error.strerror or str(error),
            remedy="name another one with --quarantine (in Python, connect(quarantine=...))",
        ) from error


class Written(NamedTuple):
    """The bytes of a file, and when it was last changed, in nanoseconds since 1970."""

    size: int
    time: int


class Quarantine:
    """The quarantine below one directory: a directory per stream, a file per input file.

    It may be in an object store. One that is ``bounded`` forgets the oldest files of a stream when
    there are many.
    """

    def __init__(self, directory: Path, *, bounded: bool = False) -> None:
        remote = is_object_url(directory)
        self.directory = path_of(directory) if remote else local_path(directory, "the quarantine")
        self.bounded = bounded

    def path_of(self, stream: str, file: Path, start: int = 0) -> Path:
        """Where the refused rows of an input file, or of its part from ``start`` on, are kept."""
        digest = hashlib.sha256(str(file).encode()).hexdigest()[:8]
        part = f"-{start}" if start else ""
        return self.directory / _safe(stream) / f"{_safe(file.name)}-{digest}{part}.jsonl"

    @contextmanager
    def page(self, stream: str, file: Path, start: int = 0) -> Iterator[Page]:
        """Collect the refused rows of one input file; they appear when the block ends well."""
        with self._open_page(stream, str(file), self.path_of(stream, file, start)) as page:
            yield page

    def write(self, stream: str, file: Path, rejected: Iterable[Rejected], start: int = 0) -> int:
        """All refused rows of one input file at once; returns how many."""
        with self.page(stream, file, start) as page:
            return page.add(rejected)

    def push(self, stream: str, rejected: Iterable[Rejected], kind: str = "push") -> int:
        """Refused rows of which no file is known, in a file of their own; returns how many.

        Its name is ``kind`` and a number: ``push`` if they were pushed, ``closed`` if a query had
        closed their instant.
        """
        rows = list(rejected)
        if not rows:
            return 0
        folder = self.directory / _safe(stream)
        pages = folder.glob(f"{kind}-?????.jsonl")
        taken = [int(page.stem.removeprefix(f"{kind}-")) for page in pages]
        name = f"{kind}-{max(taken, default=0) + 1:05d}"
        with self._open_page(stream, name, folder / f"{name}.jsonl") as page:
            return page.add(rows)

    @contextmanager
    def _open_page(self, stream: str, file: str, target: Path) -> Iterator[Page]:
        if isinstance(target, ObjectPath):
            draft = default_cache().new_part()
        else:
            draft = target.with_name(f".{target.name}.{os.getpid()}.tmp")
        page = Page(stream, file, _draft=draft)
        try:
            yield page
        except BaseException:
            page.discard()
            raise
        page.publish(target)
        if self.bounded and page.count:
            self._forget_oldest(stream)

    @property
    def streams(self) -> list[str]:
        """The directories of streams of which there are pages."""
        if isinstance(self.directory, ObjectPath):
            below = self.directory.bucket.list_below(self.directory.key)
            return sorted({name.partition("/")[0] for name in below})
        return [path.name for path in self.directory.glob("*/")]

    def pages(self, stream: str) -> list[tuple[Path, Written]]:
        """The files that there are of a stream, the newest first."""
        folder = self.directory / _safe(stream)
        found: list[tuple[Path, Written]] = []
        if isinstance(folder, ObjectPath):
            for name, known in folder.bucket.list_folder(folder.key).items():
                time = 0 if known.modified is None else int(known.modified.timestamp() * 1e9)
                found.append((folder / name, Written(known.size, time)))
        else:
            for path in folder.glob("[!.]*.jsonl"):
                with suppress(FileNotFoundError):  # replaced or forgotten meanwhile
                    status = path.stat()
                    found.append((path, Written(status.st_size, status.st_mtime_ns)))
        return sorted(found, key=lambda page: (page[1].time, page[0]), reverse=True)

    def _forget_oldest(self, stream: str) -> None:
        size = 0
        for number, (path, known) in enumerate(self.pages(stream)):
            size += known.size
            if number and (number >= KEPT_PAGES or size > KEPT_BYTES):
                path.unlink(missing_ok=True)


def _safe(name: str) -> str:
    """A name that is one part of a path."""
    return re.sub(r"[^\w.-]", "_", name).lstrip(".") or "_"


@dataclass
class _Stream:
    rows: deque[tuple[str | None, Rejected]] = field(default_factory=deque)
    first: str = ""


class RefusedRows:
    """The newest refused rows of each stream or relation, by its name, in memory."""

    def __init__(self) -> None:
        self._streams: dict[str, _Stream] = {}

    def add(self, stream: str, file: str | None, rows: Sequence[Rejected]) -> None:
        """Keep rows of a file, or of pushed data if there is none."""
        if not rows:
            return
        known = self._streams.setdefault(stream.lower(), _Stream())
        known.first = known.first or rows[0].reason
        known.rows.extend((file, row) for row in rows[-KEPT:])
        while len(known.rows) > KEPT:
            known.rows.popleft()

    def copy(self) -> RefusedRows:
        """The rows as they are now."""
        other = RefusedRows()
        other._streams = {n: replace(s, rows=s.rows.copy()) for n, s in self._streams.items()}
        return other

    def restore(self, other: RefusedRows) -> None:
        """Hold what another holds, and nothing else."""
        self._streams = other._streams

    def forget(self, stream: str) -> None:
        """The stream is no more."""
        self._streams.pop(stream.lower(), None)

    @property
    def streams(self) -> list[str]:
        """The streams of which rows were put aside, in lower case."""
        return list(self._streams)

    def first_reason(self, stream: str) -> str:
        """Why the first row of the stream was put aside; empty if none was."""
        known = self._streams.get(stream.lower())
        return known.first if known is not None else ""

    def table(self, stream: str) -> pa.Table:
        """The newest rows: ``file`` (NULL: pushed), ``row`` (NULL: all), ``reason``, ``text``."""
        known = self._streams.get(stream.lower(), _Stream())
        records = [
            {
                "file": file,
                "row": row.row or None,
                "reason": row.reason,
                "text": _storable(row.text),
            }
            for file, row in known.rows
        ]
        return pa.Table.from_pylist(records, REFUSED)


def _storable(text: str) -> str:
    """The text without what Arrow cannot hold, and not endlessly long."""
    if len(text) > LONGEST_KEPT:
        text = f"{text[:LONGEST_KEPT]}... ({len(text):,} characters)"
    return text.encode(errors="backslashreplace").decode()
