"""All that the archive does to a disk, in a dozen primitive operations.

Everything else in this room goes through a ``Disk``, so a test can stop after the k-th
operation, lose what was not synced, or fill the disk. The standard library does on a local file
system what is needed: ``link`` is the put-if-absent (it fails if the name is taken, atomically,
and the bytes behind it are already synced), and an advisory lock dies with its process.

Invariant: a name under which something was published is never written to again.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import mmap
import os
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Protocol

import pyarrow as pa

from windrow.archive.errors import DamagedError, StorageError


class Sink(Protocol):
    """What a file is filled through."""

    def write(self, data: bytes | memoryview) -> int: ...


@dataclass(frozen=True)
class Written:
    """A file's length and the CRC-32 of its bytes."""

    size: int
    checksum: int


class Pages:
    """A file that is mapped to be read a little here and there.

    A system that expects the rest to be wanted too reads megabytes around every byte that is
    looked at for the first time; it is told not to, until ``read_ahead`` says that they are.
    """

    def __init__(self, pages: mmap.mmap) -> None:
        self.buffer: pa.Buffer = pa.py_buffer(pages)
        self._pages: mmap.mmap | None = pages
        pages.madvise(mmap.MADV_RANDOM)

    def read_ahead(self) -> None:
        if self._pages is not None:
            self._pages.madvise(mmap.MADV_NORMAL)
        self._pages = None

    def read_end(self, size: int) -> None:
        """Have the last ``size`` bytes read in one go."""
        if self._pages is not None:
            start = max(0, self.buffer.size - size) // mmap.PAGESIZE * mmap.PAGESIZE
            self._pages.madvise(mmap.MADV_WILLNEED, start)


class _Summing:
    """A sink that sums up what goes through it, so that no file is read again to check it."""

    def __init__(self, file: BinaryIO) -> None:
        self._file, self.size, self.checksum, self.closed = file, 0, 0, False

    def write(self, data: bytes | memoryview) -> int:
        view = memoryview(data)
        self.checksum = zlib.crc32(view, self.checksum)
        self.size += view.nbytes
        return self._file.write(view)

    def flush(self) -> None:
        self._file.flush()

    def tell(self) -> int:
        return self.size

    def writable(self) -> bool:
        return True

    def close(self) -> None:
        self.closed = True


class Disk:
    """A directory of files; names are relative to it, with ``/``. Each method is one operation."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def path(self, name: str) -> Path:
        return self.root / name

    def make_folder(self, name: str) -> None:
        with told(self.path(name)):
            self.path(name).mkdir(parents=True, exist_ok=True)

    def write(self, name: str, fill: Callable[[_Summing], None]) -> Written:
        """Create a file that must not be there yet. It is not durable before ``sync``."""
        with told(self.path(name)), self.path(name).open("xb") as file:
            sink = _Summing(file)
            fill(sink)
        return Written(sink.size, sink.checksum)

    def copy(self, name: str, new: str) -> Written:
        """Create a file with another's bytes."""
        source = self.map(name)
        return self.write(new, lambda sink: _poured(source, sink))

    def sync(self, name: str) -> None:
        """Make a file's bytes durable."""
        self._sync(self.path(name), os.O_RDONLY)

    def sync_names(self, folder: str) -> None:
        """Make durable which names there are in a folder."""
        self._sync(self.path(folder), os.O_RDONLY | os.O_DIRECTORY)

    def link(self, name: str, new: str) -> None:
        """Give a file a second name; ``FileExistsError`` if that name is taken."""
        os.link(self.path(name), self.path(new))

    def rename(self, name: str, new: str) -> None:
        with told(self.path(name)):
            self.path(name).rename(self.path(new))

    def delete(self, name: str) -> None:
        """Remove a name; one that is gone already is no error."""
        with told(self.path(name)):
            self.path(name).unlink(missing_ok=True)

    def names(self, folder: str) -> list[str]:
        """The names in a folder, in order; none if the folder is not there."""
        with told(self.path(folder)):
            try:
                return sorted(os.listdir(self.path(folder)))  # noqa: PTH208 (names, not paths)
            except FileNotFoundError:
                return []

    def size(self, name: str) -> int:
        with told(self.path(name)):
            return self.path(name).stat().st_size

    def read(self, name: str) -> bytes:
        """A whole small file; ``FileNotFoundError`` if it is gone."""
        with told(self.path(name)):
            return self.path(name).read_bytes()

    def map(self, name: str) -> pa.Buffer:
        """A file's bytes without reading them; they stay readable when the name is deleted."""
        return pa.py_buffer(self._map(name))

    def map_pages(self, name: str) -> Pages:
        """The same, for reading a little here and there."""
        return Pages(self._map(name))

    def _map(self, name: str) -> mmap.mmap:
        try:
            with told(self.path(name)), self.path(name).open("rb") as file:
                return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except (FileNotFoundError, ValueError) as error:
            raise DamagedError(
                where=str(self.path(name)),
                expected="a file that the manifest names",
                found="none" if isinstance(error, FileNotFoundError) else "an empty one",
                remedy="run `verify`, and restore the file from a copy of the archive",
            ) from error

    def hold(self, name: str) -> int | None:
        """Create a file and lock it for this process's life; None if it was taken away meanwhile.

        A process that dies, however it dies, lets go.
        """
        handle = os.open(self.path(name), os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o644)
        fcntl.flock(handle, fcntl.LOCK_EX)
        if os.fstat(handle).st_nlink == 0:
            os.close(handle)
            return None
        return handle

    def let_go(self, name: str, handle: int) -> None:
        self.delete(name)
        os.close(handle)

    def try_hold(self, name: str) -> int | None:
        """Lock a file, made if need be; None if somebody else has it."""
        handle = os.open(self.path(name), os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(handle)
            return None
        return handle

    def clear_abandoned(self, name: str) -> bool:
        """Whether the holder of a file is gone; if so the file is removed."""
        try:
            handle = os.open(self.path(name), os.O_RDWR | os.O_CLOEXEC)
        except FileNotFoundError:
            return True
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        else:
            self.delete(name)
            return True
        finally:
            os.close(handle)

    @staticmethod
    def _sync(path: Path, flags: int) -> None:
        with told(path):
            handle = os.open(path, flags)
            try:
                os.fsync(handle)
            finally:
                os.close(handle)


def _poured(source: pa.Buffer, sink: Sink) -> None:
    view, step = memoryview(source), 1 << 22
    for start in range(0, len(view), step):
        sink.write(view[start : start + step])


@contextlib.contextmanager
def told(path: Path) -> Iterator[None]:
    """The disk's refusals as errors that say what to do."""
    try:
        yield
    except (FileNotFoundError, FileExistsError):
        raise
    except OSError as error:
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        raise StorageError(
            "the archive is as it was before",
            where=str(path),
            expected="a disk that takes the file" if full else "a disk that works",
            found=os.strerror(error.errno) if error.errno else str(error),
            remedy="make room (`vacuum` removes what no version names), then try again"
            if full
            else "mend the disk or the permissions, then try again",
        ) from error
