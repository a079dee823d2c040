"""The bytes of a file of state, wherever it is.

One of this machine is mapped. Of one in an object store there is a local copy, if this machine has
written or read it; a small one is downloaded, and of a large one only the parts that are needed.
"""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

import pyarrow as pa

from windrow.core.thresholds import Threshold
from windrow.object_store.local_copies import NamedCopies, PartialFile
from windrow.object_store.object_path import ObjectPath

WHOLE = Threshold(8 << 20, least=0)
"""Bytes up to which an object is downloaded at once."""


class StateBytes(Protocol):
    """``size`` bytes, of which some are asked for."""

    size: int

    def part(self, start: int, stop: int) -> pa.Buffer:
        """Those from ``start`` up to ``stop``."""
        ...


class MappedBytes:
    """Of a file of this machine."""

    def __init__(self, path: Path) -> None:
        self._whole = pa.memory_map(str(path)).read_buffer()
        self.size: int = self._whole.size

    def part(self, start: int, stop: int) -> pa.Buffer:
        return self._whole[start:stop]


class FetchedBytes:
    """Of a large object, parts of which are here."""

    def __init__(self, parts: PartialFile, size: int) -> None:
        self._parts, self.size = parts, size
        self._whole = pa.py_buffer(parts.memory)

    def part(self, start: int, stop: int) -> pa.Buffer:
        self._parts.fetch(start, min(stop, self.size))
        return self._whole[start:stop]


def open_state_bytes(path: Path) -> StateBytes:
    """FileNotFoundError if there is no such file."""
    if not isinstance(path, ObjectPath):
        return MappedBytes(path)
    copies = NamedCopies(ObjectPath(path.parent))
    copy = copies.find_named(path.name)
    if copy is None:
        bucket, stored = path.bucket, path.bucket.head(path.key)
        if stored.size > WHOLE.value:
            return FetchedBytes(PartialFile(bucket, path.key, stored, copies), stored.size)
        copy = copies.download(str(path), stored, bucket.pieces(path.key, stored))
    return MappedBytes(copy)
