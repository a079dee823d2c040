"""A disk that stops after the k-th operation on ``atomic_files``, and forgets; and one that fails
once."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from windrow.result_files import atomic_files as files


class Crash(BaseException):
    """The machine stops here."""


OPERATIONS = ("write", "sync", "rename", "delete", "sync_names")


class FailingDisk:
    """Its ``at``-th operation fails, the others do not."""

    def __init__(
        self, monkeypatch: pytest.MonkeyPatch, at: int | None, failure: BaseException
    ) -> None:
        self._left = at
        for name in OPERATIONS:
            monkeypatch.setattr(files, name, self._failing(getattr(files, name), failure))

    def _failing(self, operation, failure: BaseException):
        def failing(path: Path, *more, **options):
            if self._left is not None:
                self._left -= 1
                if self._left == -1:
                    raise failure
            operation(path, *more, **options)

        return failing


class StoppingDisk:
    """Counts what is done to the disk; before the ``at``-th operation the machine stops.

    Changes of names that were not synced by then may be lost, each for itself; so may what files
    hold that were not.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch, at: int | None, seed: int = 0) -> None:
        self.at, self.done, self.log = at, 0, []
        self._chance = random.Random(seed)
        self._undo: dict[Path, list[tuple[Path, bytes | None]]] = {}
        self._unsynced: set[Path] = set()
        for name in OPERATIONS:
            monkeypatch.setattr(files, name, self._counted(name, getattr(files, name)))

    def _counted(self, name, operation):
        def counted(path: Path, *more, **options):
            if self.at is not None and self.done >= self.at:
                self._lose()
                raise Crash
            self.done += 1
            self.log.append((name, path.name))
            touched = {"rename": (path, *more), "delete": (path,)}.get(name, ())
            for one in touched:
                held = one.read_bytes() if one.exists() else None
                self._undo.setdefault(one.parent, []).append((one, held))
            if name == "sync_names":
                self._undo.pop(path, None)
            operation(path, *more, **options)
            self._note_contents(name, path, *more, **options)

        return counted

    def _note_contents(self, name: str, path: Path, *more: Any, synced: bool = True) -> None:
        """Which files hold what is not on the disk yet, under the names that they have."""
        if name == "write" and not synced:
            self._unsynced.add(path)
        elif name == "rename" and path in self._unsynced:
            self._unsynced |= {more[0]}
        elif name == "sync":
            self._unsynced.discard(path)

    def _lose(self) -> None:
        for path in sorted(self._unsynced):
            if path.exists() and self._chance.random() < 0.5:
                path.write_bytes(b"")
        self._unsynced = set()
        for changes in self._undo.values():
            for path, held in reversed(changes):
                if self._chance.random() < 0.5:
                    if held is None:
                        path.unlink(missing_ok=True)
                    else:
                        path.write_bytes(held)
        self._undo = {}
