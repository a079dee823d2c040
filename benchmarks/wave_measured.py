"""Archives taken through a window of days, measured as the paper's cost model measures."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from benchmarks.wave_days import Data
from windrow.archive.archive import Archive
from windrow.archive.format.disk import Disk, Written
from windrow.archive.wave.reader import Reader
from windrow.archive.wave.wave import TechniqueName


@dataclass(frozen=True)
class Setting:
    """One archive."""

    scheme: str
    technique: TechniqueName
    window: int
    n: int


@dataclass(frozen=True)
class Measured:
    """Averages over a window of days: processor seconds, megabytes.

    ``transition`` ends when the day can be queried, ``preparation`` is all other maintenance.
    """

    transition: float
    preparation: float
    probe: float
    scan: float
    space: float
    transition_space: float
    written: float

    def work(self, probes: float, scans: float) -> float:
        return self.transition + self.preparation + probes * self.probe + scans * self.scan


class NotingDisk(Disk):
    """A disk that notes when something was published, and how much was written."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.written = 0
        self.published: list[float] = []

    def write(self, name: str, fill: Callable[[Any], None]) -> Written:
        done = super().write(name, fill)
        self.written += done.size
        return done

    def link(self, name: str, new: str) -> None:
        super().link(name, new)
        self.published.append(time.process_time())


def measured(data: Data, setting: Setting) -> Measured:
    """Fill a window, move it on by its length, and check what it then answers."""
    place = Path(tempfile.mkdtemp(prefix="windrow-wave-"))
    try:
        return _run(data, setting, NotingDisk(place))
    finally:
        shutil.rmtree(place)


def _run(data: Data, setting: Setting, disk: NotingDisk) -> Measured:
    window = setting.window
    archive = Archive.create(
        disk,
        data.days[1].schema,
        data.key,
        window=window,
        scheme=setting.scheme,
        n=setting.n,
        technique=setting.technique,
    )
    archive.append_days({day: data.days[day] for day in range(1, window + 1)}, now=window)
    archive.vacuum()
    sums = dict.fromkeys(Measured.__annotations__, 0.0)
    for day in range(window + 1, 2 * window + 1):
        resting, disk.written, disk.published = archive.stat().bytes, 0, []
        begun = time.process_time()
        archive.append(day, data.days[day], now=day)
        ended = time.process_time()
        sums["transition"] += disk.published[0] - begun
        sums["preparation"] += ended - disk.published[0]
        sums["written"] += disk.written / 1e6
        sums["transition_space"] += (resting + disk.written) / 1e6
        archive.vacuum()
        sums["space"] += archive.stat().bytes / 1e6
        with archive.reader() as reader:
            sums["probe"] += _lap(_probed, data, reader) / len(data.keys)
            sums["scan"] += _lap(_scanned, data, reader, day)
    _check(data, archive, window)
    return Measured(**{name: value / window for name, value in sums.items()})


def _lap(what: Callable[..., object], *arguments: object) -> float:
    begun = time.process_time()
    what(*arguments)
    return time.process_time() - begun


def _probed(data: Data, reader: Reader) -> None:
    for key in data.keys:
        reader.probe(key)


def _scanned(data: Data, reader: Reader, day: int) -> object:
    first = day if data.newest else None
    return _sum(reader.scan(first, first, columns=[data.summed]).column(0))


def _sum(column: pa.ChunkedArray) -> object:
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    return pc.sum(column).as_py()


def _check(data: Data, archive: Archive, window: int) -> None:
    """The archive answers as the days themselves do."""
    truth = data.records(window + 1, 2 * window)
    columns = truth.schema.names
    with archive.reader() as reader:
        held = reader.scan(columns=columns)
        assert held.num_rows == truth.num_rows, (archive.stat(), held.num_rows, truth.num_rows)
        assert _sum(held.column(data.summed)) == _sum(truth.column(data.summed))
        for key in data.keys[:5]:
            expected = data.having(truth, key)
            found = reader.probe(key, columns=columns)
            assert _ordered(found) == _ordered(expected), (archive.stat(), key)


def _ordered(rows: pa.Table) -> list[dict[str, object]]:
    return sorted(rows.to_pylist(), key=str)
