"""Result files: hidden while they are written, published by a commit that names them.

A file is on the disk before it gets its name, and its name before the commit has its own: whatever
fails, power included, a commit never names what is not there.

    changes and commit, hidden, synced ──► changes renamed, synced ──► the commit renamed, synced

Each arrow waits for the disk. Micro-batches of many queries are therefore published together, step
by step: everything is written before anybody waits, and a disk that is asked to write down many
small things at once does so once.
"""

from __future__ import annotations

import uuid
import zlib
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from operator import methodcaller
from pathlib import Path

import pyarrow as pa

from windrow.core.errors import StateError
from windrow.core.file_formats import RESULT_ENDINGS
from windrow.core.thresholds import Threshold
from windrow.object_store.errors import StoreError
from windrow.object_store.object_path import ObjectPath
from windrow.result_files import atomic_files as files
from windrow.result_files.commits import Commit, Compacted, commit_path, committed_numbers
from windrow.result_files.directory_lock import publishing
from windrow.result_files.identity import Identity
from windrow.result_files.reader import in_order
from windrow.tables.writers import write_table

COMPACT_AT = Threshold(64, least=2)
"""Micro-batches with commits of their own at which results are compacted."""
TOGETHER = 64
"""Directories in which is published at a time: each is an open file meanwhile."""


@dataclass(frozen=True)
class Place:
    """A directory of results, and the run that publishes there."""

    directory: Path
    format: str
    run: str
    compact_at: int = field(default_factory=lambda: COMPACT_AT.value)

    def hide(self, table: pa.Table, *, synced: bool = True) -> str:
        """Changes in order of their instants, as a file that is not a result yet; its name. Who
        does not have it ``synced`` has to ``sync`` it before it is published."""
        path = self.directory / f".batch-{uuid.uuid4().hex}"
        if isinstance(path, ObjectPath):  # it keeps its name, and a commit will name it
            path = path.with_name(f"{path.name[1:]}.{RESULT_ENDINGS[self.format]}")
        changes = in_order(table)
        files.write(path, lambda new: write_table(changes, new, self.format), synced=synced)
        return path.name

    def sync(self, hidden: Iterable[str]) -> None:
        """Wait until hidden files are on the disk."""
        for name in hidden:
            files.sync(self.directory / name)

    def publish(self, hidden: Sequence[str], commit: Commit) -> None:
        """Make hidden files the results of a micro-batch, unless it has been committed before."""
        publish_together([Publication(self, hidden, commit)])

    def is_committed(self, batch: int) -> bool:
        """Whether this run has committed the micro-batch; StateError if it has lost the place."""
        known = Identity.read(self.directory)
        if known is None or known.run != self.run:
            raise StateError(
                where=f"INTO '{self.directory}'",
                expected="the results of this run",
                found="none any more" if known is None else "those of another run",
                remedy="restore the directory, or give each run one of its own",
            )
        path = commit_path(self.directory, batch)
        if path.exists() and Commit.read(path).run == self.run:
            return True
        compacted = Compacted.read(self.directory)
        return compacted is not None and compacted.run == self.run and batch <= compacted.through

    def discard(self, hidden: Sequence[str]) -> None:
        for name in hidden:
            files.delete(self.directory / name)


class Publication:
    """The results of a micro-batch on their way into a place: hidden files, and ``more`` changes.

    What has been committed before is thrown away. Any thread may do any of the steps.
    """

    def __init__(
        self, place: Place, hidden: Sequence[str], commit: Commit, more: pa.Table | None = None
    ) -> None:
        self.place, self.hidden, self.commit, self.more = place, [*hidden], commit, more
        self.done = False
        self._path = commit.path(place.directory)
        self._waiting = self._path.with_name(f".{self._path.name}.{uuid.uuid4().hex}")
        self._over: str | None = None
        self._unsynced: list[str] = []

    @property
    def takes_long(self) -> bool:
        """Whether more is to be written than a commit, or not to a disk."""
        return self.more is not None or isinstance(self._path, ObjectPath)

    def write(self) -> None:
        """Write down all that there is, unless it has been committed before."""
        self.done = self.place.is_committed(self.commit.batch)
        if self.done:
            self.place.discard(self.hidden)
        else:
            self.write_anew()

    def write_anew(self) -> None:
        self._over = files.version_read(self._path)
        if self.more is not None:
            self.hidden.append(self.place.hide(self.more, synced=False))
            self._unsynced = self.hidden[-1:]
        self.commit = replace(self.commit, files=self._names())
        if not isinstance(self._path, ObjectPath):
            text = self._text.encode()
            files.write(self._waiting, lambda new: new.write_bytes(text), synced=False)
            self._unsynced.append(self._waiting.name)

    def sync(self) -> None:
        """Wait until all that was written down is on the disk."""
        self.place.sync(self._unsynced)

    @property
    def _text(self) -> str:
        return self.commit.to_json()

    def _names(self) -> tuple[str, ...]:
        if isinstance(self._path, ObjectPath):
            return tuple(sorted(self.hidden))
        return tuple(map(self._name, range(len(self.hidden))))

    def _name(self, number: int) -> str:
        return f"batch-{self.commit.batch:08d}-{number:05d}.{RESULT_ENDINGS[self.place.format]}"

    def name_files(self) -> None:
        """Give the files their names, also in place of those of an attempt that went wrong."""
        if self.done or isinstance(self._path, ObjectPath):
            return
        directory = self.place.directory
        for path in reversed(self._left()):
            files.delete(path)
        for old, new in zip(sorted(self.hidden), self.commit.files, strict=True):
            files.rename(directory / old, directory / new)

    def sync_files(self) -> None:
        """Wait until the names of the files are on the disk."""
        if self.hidden:
            self._sync_names()

    def _left(self) -> list[Path]:
        """Files of the micro-batch that were never committed and are not replaced. They were named
        in the order of their numbers, so it takes no listing to find the last."""
        found: list[Path] = []
        first = len(self.hidden)
        while (path := self.place.directory / self._name(first + len(found))).exists():
            found.append(path)
        return found

    def name_commit(self) -> None:
        """Give the commit its name: from now on they are results."""
        if self.done:
            return
        if isinstance(self._path, ObjectPath):
            files.publish(self._path, self._text, self._over)
        else:
            files.rename(self._waiting, self._path)

    def sync_commit(self) -> None:
        """Wait until the name of the commit is on the disk."""
        self._sync_names()

    def _sync_names(self) -> None:
        if not self.done:
            files.sync_names(self.place.directory)

    @property
    def counts_commits(self) -> bool:
        """Whether this is a micro-batch after which there may be something to compact."""
        place = self.place
        return not self.done and is_counted(place.directory, self.commit.batch, place.compact_at)

    def compact_if_due(self) -> None:
        compact_if_due(self.place.directory, self.commit.batch, self.place.compact_at)


STEPS = tuple(
    map(
        methodcaller,
        ("write", "sync", "name_files", "sync_files", "name_commit", "sync_commit"),
    )
)
WAIT_FOR_DISK = STEPS[1::2]
Spread = Callable[[Callable[[Publication], None], Sequence[Publication]], Iterable[None]]
"""Does something for each publication, as ``map`` does, or the ``map`` of an executor."""


def publish_together(
    publications: Sequence[Publication], waiting: Spread = map, quick: Spread = map
) -> None:
    """Publish in different places, step by step: steps that wait by ``waiting``, and by ``quick``
    those that are over, on a disk of this machine, before threads would have taken turns.

    Whoever publishes in several places holds them in the same order.
    """
    ordered = sorted(publications, key=lambda p: str(p.place.directory))
    for first in range(0, len(ordered), TOGETHER):
        part = ordered[first : first + TOGETHER]
        with ExitStack() as held:
            for publication in part:
                held.enter_context(publishing(publication.place.directory))
            takes_long = any(publication.takes_long for publication in part)
            for step in STEPS:
                spread = waiting if takes_long or step in WAIT_FOR_DISK else quick
                for _ in spread(step, part):
                    pass
        for _ in waiting(Publication.compact_if_due, [p for p in part if p.counts_commits]):
            pass


def is_counted(directory: Path, batch: int, most: int) -> bool:
    """Whether commits are counted after micro-batch ``batch``: that is every so many, in different
    directories at different ones."""
    turn = batch + zlib.crc32(str(directory).encode())
    return turn % max(most // 4, 1) == 0


def compact_if_due(directory: Path, batch: int, most: int) -> None:
    """Compact after micro-batch ``batch`` if ``most`` or more are found to have commits of their
    own. If it fails it is tried again: results are right without it."""
    if is_counted(directory, batch, most) and len(committed_numbers(directory)) >= most:
        from windrow.result_files.compaction import compact  # noqa: PLC0415 - kernels load here

        with suppress(OSError, StoreError):
            compact(directory)
