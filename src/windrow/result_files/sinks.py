"""Result files: hidden while they are written, published by a commit that names them.

A file is on the disk before it gets its name, and its name before the commit is written: whatever
fails, power included, a commit never names what is not there.
"""

from __future__ import annotations

import uuid
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

import pyarrow as pa

from windrow.core.errors import InputError, StateError
from windrow.core.file_formats import RESULT_ENDINGS
from windrow.core.thresholds import Threshold
from windrow.object_store.errors import StoreError
from windrow.object_store.object_path import ObjectPath, path_of
from windrow.plan.catalog import QueryDeclaration
from windrow.result_files import atomic_files as files
from windrow.result_files.commits import Commit, Compacted, commit_path, committed_numbers
from windrow.result_files.directory_lock import Lock, lock_directory, publishing
from windrow.result_files.identity import Identity, identity_of
from windrow.result_files.ownership import prepare, refuse_results_of_others
from windrow.result_files.reader import in_order
from windrow.tables.writers import write_table

ROWS_PER_FILE = Threshold(250_000, least=1)
COMPACT_AT = Threshold(64, least=2)
"""Micro-batches with commits of their own at which results are compacted."""


@dataclass(frozen=True)
class Place:
    """A directory of results, and the run that publishes there."""

    directory: Path
    format: str
    run: str
    compact_at: int = field(default_factory=lambda: COMPACT_AT.value)

    def hide(self, table: pa.Table) -> str:
        """Changes in order of their instants, as a file that is not a result yet; its name."""
        path = self.directory / f".batch-{uuid.uuid4().hex}"
        if isinstance(path, ObjectPath):  # it keeps its name, and a commit will name it
            path = path.with_name(f"{path.name[1:]}.{RESULT_ENDINGS[self.format]}")
        files.write(path, lambda new: write_table(in_order(table), new, self.format))
        return path.name

    def publish(self, hidden: Sequence[str], commit: Commit) -> None:
        """Make hidden files the results of a micro-batch, unless it has been committed before."""
        with publishing(self.directory):
            done = self._is_committed(commit.batch)
            if done:
                self.discard(hidden)
            else:
                self._publish(hidden, commit)
        if not done:
            compact_if_due(self.directory, commit.batch, self.compact_at)

    def _publish(self, hidden: Sequence[str], commit: Commit) -> None:
        if isinstance(self.directory, ObjectPath):
            path = commit.path(self.directory)
            named = replace(commit, files=tuple(sorted(hidden)))
            files.publish(path, named.to_json(), files.version_read(path))
            return
        stem, suffix = f"batch-{commit.batch:08d}-", RESULT_ENDINGS[self.format]
        names = tuple(f"{stem}{i:05d}.{suffix}" for i in range(len(hidden)))
        for name in {p.name for p in self.directory.glob(f"{stem}*")} - set(names):
            files.delete(self.directory / name)
        for old, new in zip(sorted(hidden), names, strict=True):
            files.rename(self.directory / old, self.directory / new)
        if names:
            files.sync_names(self.directory)
        files.publish(commit.path(self.directory), replace(commit, files=names).to_json())

    def _is_committed(self, batch: int) -> bool:
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


def compact_if_due(directory: Path, batch: int, most: int) -> None:
    """Compact after micro-batch ``batch`` if ``most`` or more have commits of their own.

    It is looked at every so many micro-batches, in different directories at different ones. If it
    fails it is tried again: results are right without it.
    """
    rhythm = max(most // 4, 1)
    if (batch + zlib.crc32(str(directory).encode())) % rhythm:
        return
    if len(committed_numbers(directory)) >= most:
        from windrow.result_files.compaction import compact  # noqa: PLC0415 - kernels load here

        with suppress(OSError, StoreError):
            compact(directory)


class FileSink:
    """Changes of one query as files of a directory that the sink holds until it is closed.

    ``prepare`` comes first; results of another run are there until then.
    """

    def __init__(self, lock: Lock, identity: Identity, *, overwrite: bool = False) -> None:
        self.directory, self._lock, self._identity = lock.directory, lock, identity
        self._overwrite = overwrite
        self._batch = self._rows = self._rows_in = 0
        self._pending: list[pa.RecordBatch] = []
        self._undecided: StoreError | None = None

    def prepare(self) -> None:
        """Make the directory ready."""
        prepare(self.directory, self._identity, overwrite=self._overwrite)

    def describe(self, query: QueryDeclaration) -> None:
        """Say what the changes are, before the first: a relation's clock may become known late."""
        if not self._batch:
            self._identity = identity_of(query, self._identity.run, self._identity.format)

    @property
    def pending(self) -> Sequence[pa.RecordBatch]:
        """Changes that are in no file yet."""
        return self._pending

    @property
    def last(self) -> int:
        """The last micro-batch that is published; -1 if there is none."""
        return self._batch - 1

    def parts(self, after: int) -> Iterator[tuple[int, pa.Table]]:
        """What is published after a micro-batch, each part with the last one that it is of."""
        from windrow.result_files.reader import Reading  # noqa: PLC0415 - kernels load here

        known = self._identity
        yield from Reading(self.directory, known.format, known.schema).parts(after)

    def write(self, changes: pa.RecordBatch, rows_in: int, now: int | None) -> None:
        """Take changes in; they are published when there are enough for a file."""
        self._pending.append(changes)
        self._rows += changes.num_rows
        if self._rows >= ROWS_PER_FILE.value:
            self.flush(rows_in, now)

    def flush(self, rows_in: int, now: int | None) -> None:
        """Publish what is pending; if that fails, the next time. ``rows_in`` is a total."""
        if not self._pending:
            return
        if self._undecided is not None:  # nobody knows whether the last commit is there
            raise self._undecided
        place = Place(self.directory, self._identity.format, self._identity.run, COMPACT_AT.value)
        new = rows_in - self._rows_in
        commit = Commit(self._batch, self._identity.run, (), now, new, self._rows, 0, 0)
        try:
            self._make_again()
            hidden = place.hide(pa.Table.from_batches(self._pending))
            try:
                place.publish([hidden], commit)
            except OSError:
                place.discard([hidden])
                raise
            except StoreError as error:
                if not error.uncertain:
                    place.discard([hidden])
                self._undecided = error if error.uncertain else None
                raise
        except OSError as error:
            raise InputError(
                where=f"INTO '{self.directory}'",
                expected="a directory that results can be written to",
                found=str(error),
                remedy="free some space, or create the directory again",
            ) from error
        self._batch, self._rows, self._pending = self._batch + 1, 0, []
        self._rows_in = rows_in

    def _make_again(self) -> None:
        """Before the first commit a directory that was removed is as good as a new one."""
        if self._batch or not self.directory.is_dir():
            return
        known = Identity.read(self.directory)
        if known is None:
            self._lock.release()
            self._lock = lock_directory(self.directory, into(self.directory))
        if known != self._identity:
            prepare(self.directory, self._identity)

    def close(self) -> None:
        """Let others write there."""
        self._lock.release()


def open_sinks(
    places: Sequence[tuple[Path, Identity]], *, overwrite: bool = False
) -> list[FileSink]:
    """A sink for each directory, locked, and none if one of them is not ours to write in."""
    with ExitStack() as undo:
        locks = []
        for directory, _ in places:
            locks.append(lock := lock_directory(directory, into(directory)))
            undo.callback(lock.release)
        for directory, identity in places:
            refuse_results_of_others(directory, (identity.run,), overwrite=overwrite)
        sinks = [
            FileSink(lock, identity, overwrite=overwrite)
            for lock, (_, identity) in zip(locks, places, strict=True)
        ]
        undo.pop_all()
        return sinks


def into(directory: Path) -> str:
    """What messages call a directory of results."""
    return f"INTO '{directory}'"


def result_directories(queries: Iterable[QueryDeclaration]) -> list[Path]:
    """Where queries write files."""
    places = [query.into for query in queries if query.into is not None]
    return [path_of(place.path) for place in places if place.format in RESULT_ENDINGS]
