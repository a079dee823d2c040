"""The state of one partition of a stage, as RocksDB's files: which versions of it are whole.

A version is a snapshot, or a snapshot and all change logs after it; version 0 is empty.
"""

from __future__ import annotations

import json
import zipfile
from functools import cached_property
from pathlib import Path

from windrow.spark.checkpoint.checksums import damage_of

SNAPSHOT, CHANGES = ".zip", ".changelog"


class PartitionState:
    """See the module."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._tables: dict[str, str] = {}

    @cached_property
    def snapshots(self) -> dict[int, str]:
        """The damage of each snapshot, by version."""
        return {v: self._snapshot_damage(path) for v, path in self._files(SNAPSHOT).items()}

    @cached_property
    def changes(self) -> dict[int, str]:
        """The damage of each change log, by version."""
        return {v: damage_of(path) for v, path in self._files(CHANGES).items()}

    def whole(self, version: int) -> bool:
        """Whether the version can be loaded."""
        at = version
        while at and self.snapshots.get(at, "none") != "":
            if self.changes.get(at, "none") != "":
                return False
            at -= 1
        return True

    def damaged(self, last: int) -> dict[Path, str]:
        """Files of versions up to ``last`` that are not as they were written.

        Those of a later one belong to a micro-batch that did not end, and are written again.
        """
        kinds = ((SNAPSHOT, self.snapshots), (CHANGES, self.changes))
        return {
            self.directory / f"{version}{suffix}": damage
            for suffix, known in kinds
            for version, damage in known.items()
            if damage and version <= last
        }

    def later_than(self, version: int) -> list[Path]:
        """The files of later versions."""
        return [
            path
            for suffix in (SNAPSHOT, CHANGES)
            for number, path in sorted(self._files(suffix).items())
            if number > version
        ]

    def _files(self, suffix: str) -> dict[int, Path]:
        found = self.directory.glob(f"[0-9]*{suffix}")
        return {int(path.stem): path for path in found if path.stem.isdigit()}

    def _snapshot_damage(self, path: Path) -> str:
        damage = damage_of(path)
        if damage:
            return damage
        try:
            with zipfile.ZipFile(path) as archive:
                text = archive.read("metadata").decode().split("\n", 1)[1]
                tables = [file["dfsSstFileName"] for file in json.loads(text)["sstFiles"]]
        except (zipfile.BadZipFile, KeyError, ValueError, IndexError) as error:
            return f"it is no snapshot: {error}"
        for name in tables:
            if name not in self._tables:  # such a file never changes, and snapshots share it
                self._tables[name] = damage_of(self.directory / "SSTs" / name)
            if self._tables[name]:
                return f"its file SSTs/{name}: {self._tables[name]}"
        return ""


def partitions(spark: Path) -> list[PartitionState]:
    """All partitions of all stages of a query."""
    found = sorted((spark / "state").glob("[0-9]*/[0-9]*"))
    return [PartitionState(path) for path in found if path.is_dir()]
