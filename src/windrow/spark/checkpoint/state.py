"""The state of a query as its files have it: after which micro-batches it can be loaded."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cached_property
from pathlib import Path

from windrow.core.errors import StateError
from windrow.object_store.object_path import ObjectPath
from windrow.spark.stage.state_files import SUFFIX, BucketFiles, StateCommits, batch_of

HANDS = 16
"""Requests to an object store at a time."""


class StateVersions:
    """The versions that are kept, each file looked at once."""

    def __init__(self, directory: Path) -> None:
        self.directory, self._commits = directory, StateCommits(directory)
        self._damage: dict[tuple[str, str], tuple[Path, str] | None] = {}

    @cached_property
    def numbers(self) -> list[int]:
        """The micro-batches after which the state was written down."""
        return self._commits.numbers()

    def whole(self, batch: int) -> bool:
        """Whether the state after a micro-batch can be loaded."""
        return batch == -1 or (batch in self.numbers and not list(self._damages(batch)))

    def damaged_files(self, last: int) -> dict[Path, str]:
        """Files of versions up to ``last`` that are not as they were written.

        Those of a later one belong to a micro-batch that did not end, and are written again.
        """
        return {
            path: what
            for batch in self.numbers
            if batch <= last
            for path, what in self._damages(batch)
        }

    def path(self, batch: int) -> Path:
        """Where it says which files are the state after a micro-batch."""
        return self._commits.path(batch)

    def not_up_to(self, batch: int) -> list[Path]:
        """What says that there are versions later than one, or earlier ones that are damaged."""
        gone = [n for n in self.numbers if n > batch or not self.whole(n)]
        return [self.path(number) for number in reversed(gone)]

    def _damages(self, batch: int) -> Iterator[tuple[Path, str]]:
        try:
            named = self._commits.read(batch).files
        except StateError as error:
            yield self.path(batch), f"it is cut short or overwritten: {error.found}"
            return
        for key, name in named.items():
            if (key, name) not in self._damage:
                self._damage[key, name] = self._look(key, name)
            if (found := self._damage[key, name]) is not None:
                yield found

    def _look(self, key: str, name: str) -> tuple[Path, str] | None:
        files = BucketFiles(self.directory, *map(int, key.split(".")))
        files.forget_copies()
        try:
            files.segments(files.read(name))
        except StateError as error:
            return Path(error.where or ""), error.found or ""
        return None


def sweep(directory: Path) -> None:
    """Remove files that no version names, which attempts that failed have left; nobody writes.

    If a version cannot be read, nothing is removed: whoever needs that version will say so. In an
    object store a run that is taken for dead may still be about to commit a micro-batch: files of
    one that is not committed stay until the next start.
    """
    with suppress(StateError):
        needed, last = _needed(directory), max(StateCommits(directory).numbers(), default=-1)
        remote = isinstance(directory, ObjectPath)
        for path in directory.glob(f"*/*{SUFFIX}"):
            if path not in needed and not (remote and batch_of(path) > last):
                path.unlink(missing_ok=True)


def _needed(directory: Path) -> set[Path]:
    """The files of all versions. The newest speaks of those of others too, as long as one may go
    back to them: in an object store that has to do, since each takes a request."""
    commits = StateCommits(directory)
    numbers = commits.numbers()
    remote = isinstance(directory, ObjectPath)
    versions = [commits.read(batch).files for batch in (numbers[-1:] if remote else numbers)]
    named = {item for files in versions for item in files.items()}
    if not remote:
        return {path for key, name in named for path in _files_of(directory, key, name)}
    with ThreadPoolExecutor(HANDS) as hands:
        parts = hands.map(lambda item: _files_of(directory, *item), named)
        return {path for part in parts for path in part}


def _files_of(directory: Path, key: str, name: str) -> set[Path]:
    """A file of state, and those that it speaks of."""
    files = BucketFiles(directory, *map(int, key.split(".")))
    contents = files.read(name)
    places = (segment.file for segment in contents.segments.values())
    return {files.directory / file for file in (name, *contents.over, *places)}
