"""Which days live in which index, as the paper's tables draw it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from windrow.archive.format.run_ref import Format
from windrow.archive.versions.manifest import Manifest
from windrow.archive.wave.schemes.operations import Days
from windrow.archive.wave.schemes.scheme import is_constituent
from windrow.archive.wave.wave import DRAINING, Index, Settings, Wave


@dataclass(frozen=True)
class IndexStatistics:
    """One index. ``entries`` are those that count; ``dead`` are masked ones that its runs have."""

    name: str
    constituent: bool
    days: Days
    runs: int
    entries: int
    dead: int
    bytes: int
    packed: bool


@dataclass(frozen=True)
class WaveStatistics:
    """A version of an archive in numbers. ``bytes`` are those of all its runs, each once."""

    version: int
    now: int | None
    settings: Settings
    format: Format
    encodings: Mapping[str, str]
    indexes: tuple[IndexStatistics, ...]
    ahead: Mapping[int, int]
    entries: int
    bytes: int

    def __str__(self) -> str:
        """A row for each index: its days, as the papers' tables have them."""
        rows = [
            (i.name, f"{{{', '.join(map(str, i.days))}}}", f"{i.entries:,}", f"{i.bytes:,}")
            for i in self.indexes
        ]
        rows += [("ahead", f"{{{d}}}", f"{n:,}", "") for d, n in sorted(self.ahead.items())]
        table = [("index", "days", "entries", "bytes"), *rows]
        widths = [max(len(row[i]) for row in table) for i in range(4)]
        return "\n".join(
            f"{a:<{widths[0]}}  {b:<{widths[1]}}  {c:>{widths[2]}}  {d:>{widths[3]}}".rstrip()
            for a, b, c, d in table
        )


def wave_statistics(manifest: Manifest, wave: Wave) -> WaveStatistics:
    indexes = tuple(_index(name, i) for name, i in (*wave.indexes.items(), *wave.draining.items()))
    return WaveStatistics(
        manifest.version,
        wave.now,
        wave.settings,
        manifest.format,
        manifest.encodings,
        indexes,
        {day: sum(run.rows for run in runs) for day, runs in wave.ahead.items()},
        sum(i.entries for i in indexes if i.constituent),
        sum(run.bytes for run in manifest.runs),
    )


def _index(name: str, index: Index) -> IndexStatistics:
    stored = sum(part.run.rows for part in index.parts)
    entries = sum(part.rows for part in index.parts)
    return IndexStatistics(
        name,
        is_constituent(name) or name.startswith(DRAINING),
        index.days,
        len(index.parts),
        entries,
        stored - entries,
        sum(part.run.bytes for part in index.parts),
        index.is_packed,
    )
