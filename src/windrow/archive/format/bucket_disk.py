"""An archive's files as objects of a store (``s3://bucket/path``): the remote form of a ``Disk``.

- An object is durable when it is put, and there are no folders: ``sync`` has nothing to do.
- ``link`` is a put-if-absent. What it links was never put anywhere: a hidden file of a version is
  kept in memory until then.
- A file is mapped from a local copy (``object_store/local_copies.py``). One that is written here
  becomes a copy of itself. Of a large file of entries only the parts that are needed are fetched:
  every block is compared with its sum before it is read, and one that is not there yet is found
  unsound.
- A lock is a lease with signs of life (``object_store/bucket_leases.py``).
- A version's object that is empty marks a number that is used up (``versions/fences.py``): no name.
"""

from __future__ import annotations

import os
import threading
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from weakref import WeakValueDictionary

import pyarrow as pa

from windrow.archive.errors import DamagedError, StorageError, translate_os_errors
from windrow.archive.format.disk import (
    Disk,
    Pages,
    SummingSink,
    UncertainLinkError,
    Written,
    map_file,
)
from windrow.core.thresholds import Threshold
from windrow.object_store.bucket import Bucket, Stored
from windrow.object_store.bucket_leases import PERIOD, BucketLeases
from windrow.object_store.errors import StoreError
from windrow.object_store.local_copies import FileCache, PartialFile, default_cache

WHOLE = Threshold(8 << 20, least=0)
"""Bytes up to which a file of entries is fetched as a whole."""


class BucketDisk(Disk):
    """See the module. ``leases_expire``: a holder may lose its lease and not notice."""

    leases_expire = True

    def __init__(
        self,
        url: str,
        *,
        cache: FileCache | None = None,
        period: float = PERIOD,
        patient: bool = True,
    ) -> None:
        with _storage_errors():
            self.bucket = Bucket(url)
            self.bucket.require_put_if_absent()
        self.cache = default_cache() if cache is None else cache
        self.leases = BucketLeases(self.bucket, period, patient=patient)
        self._drafts: dict[str, bytes] = {}
        self._known: dict[str, Stored] = {}
        self._mapped: WeakValueDictionary[str, pa.Buffer] = WeakValueDictionary()
        self._partial: WeakValueDictionary[str, PartialFile] = WeakValueDictionary()
        self._busy = threading.Lock()

    def where(self, name: str = "") -> str:
        return self.bucket.where(name)

    def address(self) -> str:
        return self.bucket.url

    def path(self, name: str) -> Path:
        raise AssertionError(f"{self.where(name)} has no path")

    def missing_folders(self) -> int:
        return 0

    def make_folder(self, name: str) -> None:
        """There are none."""

    def sync(self, name: str) -> None:
        """What is put is durable."""

    def sync_names(self, folder: str) -> None:
        """What is put is durable."""

    def write(self, name: str, fill: Callable[[SummingSink], object]) -> Written:
        if _is_hidden(name):
            return self._draft(name, fill)
        part = None
        try:
            with translate_os_errors(self.cache.directory):
                part = self.cache.new_part()
                with part.open("xb") as file:
                    sink = SummingSink(file)
                    fill(sink)
                    file.flush()
                    os.fsync(file.fileno())
            with _storage_errors():
                stored = self.bucket.put(name, part)
            self._known[name] = stored
            with suppress(OSError):  # it is there; a copy only saves time
                self.cache.adopt(self.where(name), stored, part)
            return Written(sink.size, sink.checksum)
        finally:
            if part is not None:
                part.unlink(missing_ok=True)

    def _draft(self, name: str, fill: Callable[[SummingSink], object]) -> Written:
        pieces: list[bytes] = []

        class Kept:
            def write(self, data: bytes | memoryview) -> int:
                pieces.append(bytes(data))
                return len(pieces[-1])

        sink = SummingSink(Kept())
        fill(sink)
        self._drafts[name] = b"".join(pieces)
        return Written(sink.size, sink.checksum)

    def link(self, name: str, new: str) -> None:
        """Put what was written under a hidden name, unless there is something already."""
        try:
            if self.bucket.put_new(new, self._drafts[name]):
                return
        except StoreError as error:
            raise (UncertainLinkError if error.uncertain else OSError)(str(error)) from error
        raise FileExistsError(self.where(new))

    def rename(self, name: str, new: str) -> None:
        """Copy, then delete: whoever stops between leaves both."""
        with _storage_errors():
            self.bucket.put(new, self.bucket.get(name))
            self.bucket.delete(name)

    def rename_and_use_up(self, name: str, new: str) -> None:
        """The same, but that nobody can ever put anything under the old name."""
        with _storage_errors():
            self.bucket.put(new, self.bucket.get(name))
            self.bucket.put(name, b"")

    def delete(self, name: str) -> None:
        if self._drafts.pop(name, None) is None:
            with _storage_errors():
                self.bucket.delete(name)

    def names(self, folder: str) -> list[str]:
        with _storage_errors():
            found = self.bucket.list_folder(folder)
        return sorted(name for name, stored in found.items() if stored.size or folder == "runs")

    def size(self, name: str) -> int:
        with _storage_errors():
            return self.bucket.head(name).size

    def read(self, name: str) -> bytes:
        with _storage_errors():
            data = self.bucket.get(name)
        if not data:
            raise FileNotFoundError(self.where(name))
        return data

    def _pieces(self, name: str) -> Iterator[bytes]:
        """Of what is mapped, if it is, so that whoever maps it may go by its sum."""
        buffer = memoryview(self.map(name))
        for start in range(0, len(buffer), 1 << 22):
            yield bytes(buffer[start : start + (1 << 22)])

    def sum(self, name: str) -> Written:
        buffer = self.map(name)
        return Written(buffer.size, zlib.crc32(buffer))

    def map(self, name: str) -> pa.Buffer:
        """The local copy, which is made first if there is none."""
        with self._busy:
            buffer = self._mapped.get(name)
            if buffer is None:
                buffer = self._mapped[name] = self._map(name)
            return buffer

    def map_parts(self, name: str) -> Pages:
        """A large file of which there is no copy: its parts are fetched when they are needed."""
        with self._busy:
            partial = self._partial.get(name)
            if partial is None and name not in self._mapped:
                partial = self._open_parts(name)
        if partial is None:
            return self.map_pages(name)
        return Pages(pa.py_buffer(partial.memory), self._fetch_of(name, partial))

    def _fetch_of(self, name: str, partial: PartialFile) -> Callable[[int, int], None]:
        def fetch(start: int, stop: int) -> None:
            try:
                with _storage_errors():
                    partial.fetch(start, stop)
            except FileNotFoundError as error:
                raise self._gone_error(name) from error

        return fetch

    def _open_parts(self, name: str) -> PartialFile | None:
        try:
            with _storage_errors(), translate_os_errors(self.cache.directory):
                stored = self._stored(name)
                if stored.size <= WHOLE.value or self.cache.find(self.where(name), stored):
                    return None
                partial = PartialFile(self.bucket, name, stored, self.cache)
        except FileNotFoundError as error:
            raise self._gone_error(name) from error
        self._partial[name] = partial
        return partial

    def _map(self, name: str) -> pa.Buffer:
        url = self.where(name)
        try:
            with _storage_errors(), translate_os_errors(self.cache.directory):
                stored = self._stored(name)
                for _ in range(2):  # another process may make room between
                    path = self.cache.find(url, stored) or self.cache.download(
                        url, stored, self.bucket.pieces(name, stored)
                    )
                    with suppress(FileNotFoundError):
                        return map_file(path)
                return pa.py_buffer(b"".join(self.bucket.pieces(name, stored)))
        except FileNotFoundError as error:
            raise self._gone_error(name) from error

    def _stored(self, name: str) -> Stored:
        """What the store says of a file; a folder is asked for once, since files do not change."""
        if name not in self._known:
            folder, _, _ = name.rpartition("/")
            found = self.bucket.list_folder(folder)
            self._known = {f"{folder}/{one}": stored for one, stored in found.items()}
        if name not in self._known:
            raise FileNotFoundError(self.where(name))
        return self._known[name]

    def forget(self, name: str) -> None:
        """Drop the local copy, so that what is read next is what is stored."""
        with self._busy, _storage_errors(), translate_os_errors(self.cache.directory):
            self._mapped.pop(name, None)
            self._partial.pop(name, None)
            self._known.pop(name, None)
            with suppress(FileNotFoundError):
                self.cache.discard(self.where(name), self._stored(name))

    def _gone_error(self, name: str) -> DamagedError:
        return DamagedError(
            where=self.where(name),
            expected="an object that the manifest names",
            found="none",
            remedy="if this process was suspended for a minute or more, open the archive again; "
            "otherwise run `verify`, and restore the object from a copy of the archive",
        )

    def hold(self, name: str) -> int | None:
        with _storage_errors():
            return self.leases.take(name)

    def let_go(self, name: str, handle: int) -> None:
        self.leases.release(handle)

    def try_hold(self, name: str) -> int | None:
        with _storage_errors():
            handle = self.leases.take(name)
            if handle is None and self.leases.is_abandoned(name):
                self.bucket.delete(name)
                handle = self.leases.take(name)
            return handle

    def unlock(self, handle: int) -> None:
        self.leases.release(handle)

    def is_abandoned(self, name: str) -> bool:
        with _storage_errors():
            return self.leases.is_abandoned(name)

    def clear_abandoned(self, name: str) -> bool:
        """What the holder might still publish has to be ruled out first: ``versions/fences.py``."""
        raise AssertionError("a lease that may be lost is cleared behind a fence")

    def discard_sign(self, lease: str) -> None:
        with _storage_errors():
            self.leases.discard_sign(lease)

    def mark(self, name: str) -> None:
        """Put a small object that says something by its name."""
        with _storage_errors():
            self.bucket.put(name, b"marked\n")

    def is_lease_held(self, token: str) -> bool:
        with _storage_errors():
            return self.leases.is_held(token)


def _is_hidden(name: str) -> bool:
    return name.rpartition("/")[2].startswith(".")


@contextmanager
def _storage_errors() -> Iterator[None]:
    """The store's refusals as those of a disk."""
    try:
        yield
    except StoreError as error:
        raise StorageError(
            where=error.where, expected=error.expected, found=error.found, remedy=error.remedy
        ) from error
