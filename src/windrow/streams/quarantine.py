"""Where refused rows go: JSON lines with the reason and the original text.

There is one file per stream and part of an input file, written beside its final place and then
renamed over it. Reading an input file again therefore replaces its quarantine by the same one, and
a reader never sees half of it.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from windrow.core.errors import InputError
from windrow.core.paths import local_path
from windrow.tables.parsed_rows import Rejected

MOST = 100_000
"""Rows of one input file that are written down; of more only their number."""
LONGEST = 1 << 16
"""Characters of a row that are written down."""
KEPT_PAGES, KEPT_BYTES = 1000, 1 << 24
"""Of each stream, in a quarantine that is bounded."""


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
            self._draft.replace(target)

    def discard(self) -> None:
        if self._out is not None:
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
        raise InputError(
            where=str(path.parent),
            expected="a writable directory for quarantined rows",
            found=error.strerror or str(error),
            remedy="name another one with --quarantine (in Python, connect(quarantine=...))",
        ) from error


class Quarantine:
    """The quarantine below one directory: a directory per stream, a file per input file.

    One that is ``bounded`` forgets the oldest files of a stream when there are many.
    """

    def __init__(self, directory: Path, *, bounded: bool = False) -> None:
        self.directory, self.bounded = local_path(directory, "the quarantine"), bounded

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

    def push(self, stream: str, rejected: Iterable[Rejected]) -> int:
        """Refused rows of pushed data, in a file of their own; returns how many."""
        rows = list(rejected)
        if not rows:
            return 0
        folder = self.directory / _safe(stream)
        taken = [int(p.stem.removeprefix("push-")) for p in folder.glob("push-?????.jsonl")]
        name = f"push-{max(taken, default=0) + 1:05d}"
        with self._open_page(stream, name, folder / f"{name}.jsonl") as page:
            return page.add(rows)

    @contextmanager
    def _open_page(self, stream: str, file: str, target: Path) -> Iterator[Page]:
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

    def pages(self, stream: str) -> list[tuple[Path, os.stat_result]]:
        """The files that there are of a stream, the newest first."""
        found = []
        for path in (self.directory / _safe(stream)).glob("[!.]*.jsonl"):
            with suppress(FileNotFoundError):  # replaced or forgotten meanwhile
                found.append((path, path.stat()))
        return sorted(found, key=lambda page: (page[1].st_mtime_ns, page[0]), reverse=True)

    def _forget_oldest(self, stream: str) -> None:
        size = 0
        for number, (path, known) in enumerate(self.pages(stream)):
            size += known.st_size
            if number and (number >= KEPT_PAGES or size > KEPT_BYTES):
                path.unlink(missing_ok=True)


def _safe(name: str) -> str:
    """A name that is one part of a path."""
    return re.sub(r"[^\w.-]", "_", name).lstrip(".") or "_"
