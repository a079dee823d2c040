"""The checkpoint of a runtime while it has it: its directory, and locks that keep others out.

Invariant: from when it is opened until it is closed nobody else writes to the checkpoint, nor to
the directories of results that were locked with it. One in an object store has a working copy on
this machine (``windrow.spark.checkpoint.working_copy``); one that nobody named is a temporary
directory and goes when it is closed.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

from windrow.core.errors import StateError
from windrow.core.paths import local_path
from windrow.object_store.object_path import ObjectPath, path_of
from windrow.result_files.directory_lock import Lock, lock_directory
from windrow.spark.checkpoint.pipeline_directory import (
    PipelineHome,
    pipeline_directories,
    read_pipeline,
)
from windrow.spark.checkpoint.query_directory import IDENTITY
from windrow.spark.checkpoint.working_copy import WorkingCopy


class OpenCheckpoint:
    """See the module. Pushed rows are of interest to a ``live`` connection only."""

    def __init__(self, checkpoint: str | Path | None, *, live: bool) -> None:
        self._locks: list[Lock] = []
        self.temporary = checkpoint is None
        self._copy: WorkingCopy | None = None
        self.directory = self._open(checkpoint, live=live)

    def _open(self, checkpoint: str | Path | None, *, live: bool) -> Path:
        """Where it is, or what stands for it."""
        if checkpoint is None:
            return Path(tempfile.mkdtemp(prefix="windrow-")).absolute()
        place = path_of(checkpoint)
        if not isinstance(place, ObjectPath):
            place = local_path(checkpoint, "--checkpoint").absolute()
        self.lock(place, f"{'checkpoint' if live else '--checkpoint'} {checkpoint}")
        if not isinstance(place, ObjectPath):
            return place
        self._copy = WorkingCopy(place)
        try:
            self._copy.pull()
            if live:
                self._copy.pull_inboxes()
        except BaseException:
            self._copy.close()
            self._locks.pop().release()
            raise
        return self._copy.directory

    def lock(self, place: Path, title: str) -> None:
        """Keep others out of a directory too, as long as the checkpoint is open."""
        self._locks.append(lock_directory(place, title))

    @contextmanager
    def all_or_nothing(self) -> Iterator[None]:
        """Whatever fails within gives back what was locked within.

        New queries that came into no pipeline have read nothing; their names may be taken again.
        """
        before, queries = [*self._locks], self._queries()
        try:
            yield
        except BaseException:
            for lock in self._locks:
                if lock not in before:
                    lock.release()
            self._locks = before
            with suppress(StateError):  # a pipeline that cannot be read may have them
                self._forget_unplaced(self._queries() - queries)
            raise

    def _forget_unplaced(self, queries: Iterable[str]) -> None:
        """Remove the directories of those of the queries that are in no pipeline."""
        pipelines = map(read_pipeline, pipeline_directories(self.directory))
        placed = {name for pipeline in pipelines for name in pipeline.members}
        for name in queries:
            if name not in placed:
                shutil.rmtree(self.directory / name, ignore_errors=True)

    def _queries(self) -> set[str]:
        """The queries that have a directory."""
        return {path.parent.name for path in self.directory.glob(f"*/{IDENTITY}")}

    def push(self) -> None:
        """Put what is noted of all jobs and pipelines into the object store, if it is in one."""
        if self._copy is not None:
            self._copy.push()

    def push_of(self, home: PipelineHome) -> Callable[[], None] | None:
        """What puts the notes of one pipeline there; None on a disk."""
        return None if self._copy is None else partial(self._copy.push, home.directory.name)

    def close(self) -> None:
        """Let others in; without a name, forget everything."""
        if self._copy is not None:
            self._copy.close()
        elif self.temporary:
            shutil.rmtree(self.directory, ignore_errors=True)
        for lock in self._locks:
            lock.release()
        self._locks = []
