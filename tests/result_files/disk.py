"""A disk that stops after the k-th operation on ``atomic_files``, and forgets."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from windrow.result_files import atomic_files as files


class Crash(BaseException):
    """The machine stops here."""


class StoppingDisk:
    """Counts what is done to the disk; before the ``at``-th operation the machine stops.

    Changes of names that were not synced by then may be lost, each for itself.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch, at: int | None, seed: int = 0) -> None:
        self.at, self.done, self.log = at, 0, []
        self._chance = random.Random(seed)
        self._undo: dict[Path, list[tuple[Path, bytes | None]]] = {}
        for name in ("write", "rename", "delete", "sync_names"):
            monkeypatch.setattr(files, name, self._counted(name, getattr(files, name)))

    def _counted(self, name, operation):
        def counted(path: Path, *more):
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
            return operation(path, *more)

        return counted

    def _lose(self) -> None:
        for changes in self._undo.values():
            for path, held in reversed(changes):
                if self._chance.random() < 0.5:
                    if held is None:
                        path.unlink(missing_ok=True)
                    else:
                        path.write_bytes(held)
        self._undo = {}
