"""Disks that lose, refuse and stop: twins of ``windrow.archive.format.disk.Disk``."""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from windrow.archive.errors import translate_os_errors
from windrow.archive.format.disk import Disk, Written


class Crash(BaseException):
    """The machine stops here."""


class FaultyDisk(Disk):
    """Counts operations that change something, and at the ``at``-th does what it is told to.

    ``fault`` None stops the machine: from then on nothing happens, and ``lose`` leaves on the real
    disk what a power failure may leave. An ``errno`` makes that one operation fail with it.
    """

    def __init__(self, root: Path, at: int | None = None, fault: int | None = None) -> None:
        super().__init__(root)
        self.at, self.fault, self.done, self.stopped = at, fault, 0, False
        self.log: list[str] = []
        self._unsynced: set[int] = set()
        self._made: dict[Path, set[Path]] = {}
        self._gone: dict[Path, dict[Path, bytes]] = {}
        self._folders: dict[Path, set[Path]] = {}

    def _operation(self, name: str, half: Callable[[], None] = lambda: None) -> None:
        if self.stopped:
            raise Crash
        self.done += 1
        self.log.append(name)
        if self.done == self.at:
            half()
            if self.fault is None:
                self.stopped = True
                raise Crash
            raise OSError(self.fault, os.strerror(self.fault))

    def make_folder(self, name: str) -> None:
        with translate_os_errors(self.path(name)):
            self._operation(f"make_folder {name}")
        path = self.path(name)
        new = [folder for folder in (path, *path.parents) if not folder.exists()]
        super().make_folder(name)
        for folder in new:
            self._folders.setdefault(folder.parent, set()).add(folder)

    def write(self, name: str, fill: Callable[..., None]) -> Written:
        path = self.path(name)

        def failing(sink):
            self._operation(f"write {name}", lambda: sink.write(b"half of a file"))
            fill(sink)

        self._made.setdefault(path.parent, set()).add(path)
        try:
            return super().write(name, failing)
        finally:
            if path.exists():
                self._unsynced.add(path.stat().st_ino)

    def _sync(self, path: Path, flags: int) -> None:
        with translate_os_errors(path):
            self._operation(f"sync {path.relative_to(self.root)}")
        if flags & os.O_DIRECTORY:
            path = Path(os.path.normpath(path))
            self._made.pop(path, None)
            self._gone.pop(path, None)
            self._folders.pop(path, None)
        else:
            self._unsynced.discard(path.stat().st_ino)

    def sync_all(self, files: Sequence[str], folders: Sequence[str] = ()) -> None:
        """One after the other, so that operations have their order: each may be the last one."""
        for name in files:
            self.sync(name)
        for folder in folders:
            self.sync_names(folder)

    def link(self, name: str, new: str) -> None:
        self._operation(f"link {new}")
        super().link(name, new)
        self._made.setdefault(self.path(new).parent, set()).add(self.path(new))

    def rename(self, name: str, new: str) -> None:
        with translate_os_errors(self.path(name)):
            self._operation(f"rename {name}")
        self._bury(self.path(name))
        super().rename(name, new)
        self._made.setdefault(self.path(new).parent, set()).add(self.path(new))

    def delete(self, name: str) -> None:
        with translate_os_errors(self.path(name)):
            self._operation(f"delete {name}")
        self._bury(self.path(name))
        super().delete(name)

    def let_go(self, name: str, handle: int) -> None:
        """A lease: taken away if the machine runs, left behind without its lock if it stopped."""
        if not self.stopped:
            self.path(name).unlink(missing_ok=True)
        os.close(handle)

    def clear_abandoned(self, name: str) -> bool:
        if self.stopped:
            raise Crash
        return Disk(self.root).clear_abandoned(name)

    def _bury(self, path: Path) -> None:
        if path.exists():
            self._gone.setdefault(path.parent, {})[path] = path.read_bytes()

    def lose(self, chance: random.Random, share: float) -> None:
        """Each change of a name that was not synced is undone with probability ``share``.

        What is left of a file that was not synced is the beginning of it.
        """
        for made in self._folders.values():
            for folder in sorted(made):
                if folder.exists() and chance.random() < share:
                    shutil.rmtree(folder)
        for made in self._made.values():
            for path in sorted(made):
                if path.exists() and chance.random() < share:
                    path.unlink()
        for path in sorted(p for p in self.root.rglob("*") if p.is_file()):
            if path.stat().st_ino in self._unsynced:
                os.truncate(path, chance.randint(0, path.stat().st_size // 2))
        for gone in self._gone.values():
            for path, data in sorted(gone.items()):
                if path.parent.exists() and not path.exists() and chance.random() < share:
                    path.write_bytes(data)


def copied(source: Path, target: Path) -> Path:
    if target.exists():
        shutil.rmtree(target)
    shutil.copytree(source, target)
    return target


def mapped(root: Path) -> list[str]:
    """Files under a directory, removed ones too, that this process has mapped (on Linux)."""
    lines = Path("/proc/self/maps").read_text().splitlines()
    return [line for line in lines if f"{root}/" in line]


def handles(root: Path) -> list[str]:
    """What this process has open of a directory, itself and removed files too (on Linux)."""
    found = []
    for handle in Path("/proc/self/fd").iterdir():
        with suppress(FileNotFoundError):  # closed meanwhile, by whoever is at work beside
            found.append(str(handle.readlink()))
    return sorted(name for name in found if f"{name}/".startswith(f"{root}/"))
