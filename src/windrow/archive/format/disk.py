"""All that the archive does to a disk, in a dozen primitive operations.

Everything else in this room goes through a ``Disk``, so a test can stop after the k-th
operation, lose what was not synced, or fill the disk. The standard library does on a local file
system what is needed: ``link`` is the put-if-absent (it fails if the name is taken, atomically,
and the bytes behind it are already synced), and an advisory lock dies with its process.

What is read is mapped into memory. A mapping holds no file open: an archive may have more runs than
a process may have open files. What is mapped stays readable when the file's name is deleted.

Invariant: a name under which something was published is never written to again.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import mmap
import os
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Protocol

import pyarrow as pa

from windrow.archive.errors import DamagedError, StorageError, translate_os_errors
from windrow.archive.format.side_by_side import side_by_side
from windrow.core.paths import local_path

_advise = ctypes.CDLL(None).madvise
_advise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
_PIECE = 1 << 22
_MADE = os.O_CREAT | os.O_RDWR | os.O_CLOEXEC


class Sink(Protocol):
    """What a file is filled through."""

    def write(self, data: bytes | memoryview) -> int: ...


@dataclass(frozen=True)
class Written:
    """A file's length and the CRC-32 of its bytes."""

    size: int
    checksum: int


class CountingSink:
    """A sink as Arrow's writers want one, on the way to another, which is left open."""

    def __init__(self, sink: Sink) -> None:
        self._sink, self.size, self.closed = sink, 0, False

    def write(self, data: bytes | memoryview) -> int:
        view = memoryview(data).cast("B")
        self.size += view.nbytes
        self._sink.write(view)
        return view.nbytes

    def flush(self) -> None:
        """Nothing is held back here."""

    def tell(self) -> int:
        return self.size

    def writable(self) -> bool:
        return True

    def close(self) -> None:
        self.closed = True


class SummingSink(CountingSink):
    """A sink that sums up what goes through it, so that no file is read again to check it."""

    checksum = 0

    def write(self, data: bytes | memoryview) -> int:
        self.checksum = zlib.crc32(data, self.checksum)
        return super().write(data)


class UncertainLinkError(OSError):
    """Nobody knows whether the link was made, or will be: its answer was lost."""


class Disk:
    """A directory of files; names are relative to it, with ``/``. Each method is one operation.

    ``summed`` says that bytes may come back from it otherwise than they were written,
    ``leases_expire`` that a process may lose what it holds without noticing, as in an object store
    (``bucket_disk.py``).
    """

    summed = True
    leases_expire = False

    def __init__(self, root: Path) -> None:
        self.root = local_path(root, "an archive")

    def path(self, name: str) -> Path:
        return self.root / name

    def where(self, name: str = "") -> str:
        """The directory, or a file of it, for people."""
        return str(self.path(name))

    def address(self) -> str:
        """The directory for other processes of other working directories."""
        return str(self.root.absolute())

    def missing_folders(self) -> int:
        """How many folders have to be made for this one to be there."""
        root = self.root.absolute()
        return sum(not folder.exists() for folder in (root, *root.parents))

    def make_folder(self, name: str) -> None:
        path = self.path(name)
        with translate_os_errors(path):
            path.mkdir(parents=True, exist_ok=True)

    def write(self, name: str, fill: Callable[[SummingSink], object]) -> Written:
        """Create a file that must not be there yet. It is not durable before ``sync``."""
        path = self.path(name)
        with translate_os_errors(path), path.open("xb") as file:
            sink = SummingSink(file)
            fill(sink)
        return Written(sink.size, sink.checksum)

    def copy(self, name: str, new: str) -> Written:
        """Create a file with another's bytes."""

        def fill(sink: Sink) -> None:
            for piece in self._pieces(name):
                sink.write(piece)

        return self.write(new, fill)

    def sync(self, name: str) -> None:
        """Make a file's bytes durable."""
        self._sync(self.path(name), os.O_RDONLY)

    def sync_names(self, folder: str) -> None:
        """Make durable which names there are in a folder."""
        self._sync(self.path(folder), os.O_RDONLY | os.O_DIRECTORY)

    def sync_all(self, files: Sequence[str], folders: Sequence[str] = ()) -> None:
        """Both of these, for several at once: a journal that is asked by all together is written
        once, and not once for each.
        """
        syncs = [partial(self.sync, name) for name in files]
        side_by_side([*syncs, *(partial(self.sync_names, folder) for folder in folders)])

    def link(self, name: str, new: str) -> None:
        """Give a file a second name; ``FileExistsError`` if that name is taken."""
        os.link(self.path(name), self.path(new))

    def rename(self, name: str, new: str) -> None:
        path = self.path(name)
        with translate_os_errors(path):
            path.rename(self.path(new))

    def delete(self, name: str) -> None:
        """Remove a name; one that is gone already is no error."""
        path = self.path(name)
        with translate_os_errors(path):
            path.unlink(missing_ok=True)

    def names(self, folder: str) -> list[str]:
        """The names in a folder, in order; none if the folder is not there."""
        path = self.path(folder)
        with translate_os_errors(path):
            try:
                return sorted(os.listdir(path))  # noqa: PTH208 (names, not paths)
            except FileNotFoundError:
                return []

    def size(self, name: str) -> int:
        path = self.path(name)
        with translate_os_errors(path):
            return path.stat().st_size

    def read(self, name: str) -> bytes:
        """A whole small file; ``FileNotFoundError`` if it is gone."""
        path = self.path(name)
        with translate_os_errors(path):
            return path.read_bytes()

    def sum(self, name: str) -> Written:
        """What a file's bytes come to now."""
        size = checksum = 0
        for piece in self._pieces(name):
            size, checksum = size + len(piece), zlib.crc32(piece, checksum)
        return Written(size, checksum)

    def _pieces(self, name: str) -> Iterator[bytes]:
        """All of a file's bytes. They are read, not mapped: a sector that is lost is an error
        here, where looking at a page of it would end the process.
        """
        path = self.path(name)
        try:
            with translate_os_errors(path), path.open("rb") as file:
                while piece := file.read(_PIECE):
                    yield piece
        except FileNotFoundError as error:
            raise self._gone_error(name) from error

    def map(self, name: str) -> pa.Buffer:
        """A file's bytes without reading them; they stay readable when the name is deleted."""
        path = self.path(name)
        try:
            with translate_os_errors(path):
                return map_file(path)
        except FileNotFoundError as error:
            raise self._gone_error(name) from error

    def map_pages(self, name: str) -> Pages:
        """The same, for reading a little here and there."""
        return Pages(self.map(name))

    def map_parts(self, name: str) -> Pages:
        """The same, of a file of which every block is compared with its sum before it is read: it
        need not be there before that.
        """
        return self.map_pages(name)

    def _gone_error(self, name: str) -> DamagedError:
        return DamagedError(
            where=self.where(name),
            expected="a file that the manifest names",
            found="none",
            remedy="run `verify`, and restore the file from a copy of the archive",
        )

    def hold(self, name: str) -> int | None:
        """Create a file and lock it for this process's life; None if it was taken away meanwhile.

        A process that dies, however it dies, lets go. Where nothing can be written nothing can
        be deleted, and nothing is locked.
        """
        path = self.path(name)
        with translate_os_errors(path):
            try:
                handle, mine = os.open(path, _MADE, 0o644), False
            except OSError as error:
                if error.errno != errno.EROFS and not self._read_only():  # no folder, perhaps
                    raise
                return os.open(self.root, os.O_RDONLY | os.O_CLOEXEC)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX)
                mine = os.fstat(handle).st_nlink > 0
            finally:
                if not mine:
                    os.close(handle)
            return handle if mine else None

    def let_go(self, name: str, handle: int) -> None:
        """Says nothing of a disk that fails: what the file was held for is done or is not, and a
        name that cannot be removed is left without its lock, as the dead leave theirs.
        """
        try:
            with suppress(StorageError):
                self.delete(name)
        finally:
            os.close(handle)

    def unlock(self, handle: int) -> None:
        """Give back what ``try_hold`` gave."""
        os.close(handle)

    def is_lease_held(self, token: str) -> bool:
        """Whether a lease that this process took is still there: a lock is."""
        return True

    def forget(self, name: str) -> None:
        """Drop a local copy of what is stored elsewhere; here there is none."""

    def _read_only(self) -> bool:
        return bool(os.statvfs(self.root).f_flag & os.ST_RDONLY)

    def try_hold(self, name: str) -> int | None:
        """Lock a file, made if need be; None if somebody else has it."""
        with translate_os_errors(self.path(name)):
            handle, mine = os.open(self.path(name), _MADE, 0o644), False
            try:
                mine = _try_lock(handle)
            finally:
                if not mine:
                    os.close(handle)
            return handle if mine else None

    def clear_abandoned(self, name: str) -> bool:
        """Whether the holder of a file is gone; if so the file is removed."""
        with translate_os_errors(self.path(name)):
            try:
                handle = self._open_any_way(self.path(name))
            except FileNotFoundError:
                return True
            try:
                if not _try_lock(handle):
                    return False
                self.delete(name)
                return True
            finally:
                os.close(handle)

    @staticmethod
    def _open_any_way(path: Path) -> int:
        """To be locked. What somebody else has made may be there to be read only."""
        try:
            return os.open(path, os.O_RDWR | os.O_CLOEXEC)
        except PermissionError:
            return os.open(path, os.O_RDONLY | os.O_CLOEXEC)

    @staticmethod
    def _sync(path: Path, flags: int) -> None:
        with translate_os_errors(path):
            handle = os.open(path, flags)
            try:
                os.fsync(handle)
            finally:
                os.close(handle)


def _try_lock(handle: int) -> bool:
    """Whether this process has the lock of an open file now, without waiting for it."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        # A network file system may refuse to lock what can only be read: taken for held.
        if error.errno in (errno.EWOULDBLOCK, errno.EBADF):
            return False
        raise
    return True


def map_file(path: Path) -> pa.Buffer:
    """A file's bytes, none of them read yet. An empty file is an empty buffer."""
    if not path.stat().st_size:
        return pa.py_buffer(b"")
    with pa.memory_map(str(path)) as file:
        return file.read_buffer()


class Pages:
    """A file that is mapped to be read a little here and there.

    A system that expects the rest to be wanted too reads megabytes around every byte that is
    looked at for the first time; it is told not to, until ``read_ahead`` says that they are.
    """

    def __init__(self, buffer: pa.Buffer, fetch: Callable[[int, int], None] | None = None) -> None:
        """``buffer`` begins with a page: that of a file, or memory that is mapped.

        ``fetch`` has the bytes between two places there, of a file that is not all there yet.
        """
        self.buffer, self.fetch = buffer, fetch
        self.scattered = True
        self._say(mmap.MADV_RANDOM, 0)

    def read_ahead(self) -> None:
        if self.scattered:
            self._say(mmap.MADV_NORMAL, 0)
        self.scattered = False

    def read_soon(self, part: pa.Buffer) -> None:
        """Have a part of the file read in one go, and the rest still a little here and there."""
        start = (part.address - self.buffer.address) // mmap.PAGESIZE * mmap.PAGESIZE
        stop = part.address + part.size - self.buffer.address
        if self.scattered and 0 <= start < stop <= self.buffer.size:
            _advise(self.buffer.address + start, stop - start, mmap.MADV_WILLNEED)

    def read_end(self, size: int) -> None:
        """Have the last ``size`` bytes read in one go."""
        if self.scattered:
            start = max(0, self.buffer.size - size) // mmap.PAGESIZE * mmap.PAGESIZE
            self._say(mmap.MADV_WILLNEED, start)

    def _say(self, advice: int, start: int) -> None:
        """Advice that is not taken changes no answer, so nobody asks whether it was."""
        _advise(self.buffer.address + start, self.buffer.size - start, advice)
