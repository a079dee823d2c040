"""Archives whose newest manifest somebody has edited, and summed up again."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from windrow.archive.archive import Archive
from windrow.archive.format.disk import Disk
from windrow.archive.lifetimes.lifetime_index import LifetimeIndex


def newest(archive: Archive | LifetimeIndex) -> Path:
    return max((archive.disk.root / "versions").glob("*.json"))


def signed(value: Any) -> bytes:
    text = b"{\n" + json.dumps(value).encode()[1:-1] + b"\n}\n"
    return text.removesuffix(b"\n}\n") + b',\n"checksum": %d\n}\n' % zlib.crc32(text)


def edit(archive: Archive | LifetimeIndex, change: Callable[[Any], object]) -> None:
    """Let ``change`` have its way with the manifest."""
    value = json.loads(newest(archive).read_bytes())
    del value["checksum"]
    change(value)
    newest(archive).write_bytes(signed(value))


def vouched(archive: Archive | LifetimeIndex) -> None:
    """Give the files of all runs the checksums that they have now."""
    disk = Disk(archive.disk.root)

    def change(value: Any) -> None:
        for run in value["runs"]:
            for field, suffix in (("entries", run["format"]), ("directory", "directory")):
                found = disk.sum(f"runs/{run['name']}.{suffix}")
                run[field] = [found.size, found.checksum]

    edit(archive, change)
