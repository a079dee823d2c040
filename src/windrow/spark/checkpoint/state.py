"""The state of a query as its files have it: after which micro-batches it can be loaded."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from functools import cached_property
from pathlib import Path

from windrow.core.errors import StateError
from windrow.spark.stage.state_files import SUFFIX, BucketFiles, StateCommits


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
        try:
            files.segments(files.read(name))
        except StateError as error:
            return Path(error.where or ""), error.found or ""
        return None


def sweep(directory: Path) -> None:
    """Remove files that no version names, which attempts that failed have left; nobody writes.

    If a version cannot be read, nothing is removed: whoever needs that version will say so.
    """
    with suppress(StateError):
        needed = _needed(directory)
        for path in directory.glob(f"*/*{SUFFIX}"):
            if path not in needed:
                path.unlink(missing_ok=True)


def _needed(directory: Path) -> set[Path]:
    commits = StateCommits(directory)
    needed: set[Path] = set()
    for batch in commits.numbers():
        for key, name in commits.read(batch).files.items():
            files = BucketFiles(directory, *map(int, key.split(".")))
            contents = files.read(name)
            places = (segment.file for segment in contents.segments.values())
            needed |= {files.directory / file for file in (name, *contents.over, *places)}
    return needed
