"""Archives taken through days, measured as the paper's cost model measures: on a disk.

Before a day comes, and before every probe and scan that is timed, nothing of the archive is in
memory (`benchmarks.cold_cache`), and what is written is synced before it counts as there. Beside
the clock stands processor time, of probes and scans that find everything in memory.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from benchmarks.cold_cache import evict
from benchmarks.wave_days import Data
from windrow.archive.archive import Archive
from windrow.archive.format.disk import Disk, Written
from windrow.archive.wave.reader import Reader
from windrow.archive.wave.wave import TechniqueName

COLD, ASKED_DAYS = 8, 2
"""Probes that find nothing in memory, each; and the days, the last ones, on which queries run."""


@dataclass(frozen=True)
class Setting:
    """One archive."""

    scheme: str
    technique: TechniqueName
    window: int
    n: int

    def days(self) -> int:
        """Days to be measured: after so many the next ones cost the same.

        What is built anew or packed every day costs the same every day, if all constituents have
        as many days, and so does everything where each day is a constituent. All else is taken
        through a whole window.
        """
        rewritten = self.scheme == "REINDEX" or self.technique == "packed shadow"
        alike = self.scheme in ("DEL", "REINDEX") and self.window % self.n == 0
        same = (rewritten and alike) or self.n == self.window
        return min(2, self.window) if same else self.window


class Spent(NamedTuple):
    """Seconds of the clock, with a cold cache, and of the processor."""

    clock: float
    processor: float


@dataclass(frozen=True)
class Measured:
    """Averages over the measured days: seconds of the clock, megabytes.

    ``transition`` ends when the day can be queried, ``preparation`` is all other maintenance.
    Those that begin with ``cpu_`` are processor time.
    """

    transition: float
    preparation: float
    probe: float
    scan: float
    cpu_transition: float
    cpu_preparation: float
    cpu_probe: float
    cpu_scan: float
    space: float
    transition_space: float
    written: float

    def work(self, probes: float, scans: float) -> Spent:
        """What a day takes with so many queries."""
        return Spent(
            self.transition + self.preparation + probes * self.probe + scans * self.scan,
            self.cpu_transition
            + self.cpu_preparation
            + probes * self.cpu_probe
            + scans * self.cpu_scan,
        )


class NotingDisk(Disk):
    """A disk that notes when something was published, and how much was written."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.written = 0
        self.published: list[Spent] = []

    def write(self, name: str, fill: Callable[[Any], None]) -> Written:
        done = super().write(name, fill)
        self.written += done.size
        return done

    def link(self, name: str, new: str) -> None:
        super().link(name, new)
        self.published.append(now())


def now() -> Spent:
    return Spent(time.perf_counter(), time.process_time())


def measured(data: Data, setting: Setting) -> Measured:
    """Fill a window, move it on, and check what it then answers."""
    place = Path(tempfile.mkdtemp(prefix="windrow-wave-"))
    try:
        return _run(data, setting, NotingDisk(place), place)
    finally:
        shutil.rmtree(place)


def _run(data: Data, setting: Setting, disk: NotingDisk, place: Path) -> Measured:
    window, days = setting.window, setting.days()
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
    asked = min(ASKED_DAYS, days)
    for day in range(window + 1, window + days + 1):
        resting, disk.written, disk.published = archive.stat().bytes, 0, []
        evict(place)
        begun = now()
        archive.append(day, data.days[day], now=day)
        ended, there = now(), disk.published[0]
        sums["transition"] += there.clock - begun.clock
        sums["preparation"] += ended.clock - there.clock
        sums["cpu_transition"] += there.processor - begun.processor
        sums["cpu_preparation"] += ended.processor - there.processor
        sums["written"] += disk.written / 1e6
        sums["transition_space"] += (resting + disk.written) / 1e6
        archive.vacuum()
        sums["space"] += archive.stat().bytes / 1e6
        if day > window + days - asked:
            with archive.reader() as reader:
                _ask(data, reader, day, place, sums, days / asked)
    _check(data, archive, days + 1, window + days)
    return Measured(**{name: value / days for name, value in sums.items()})


def _ask(
    data: Data, reader: Reader, day: int, place: Path, sums: dict[str, float], share: float
) -> None:
    def probe(key: object) -> None:
        reader.find(key)

    spent = time_probes(data.keys, probe, lambda: evict(place))
    sums["probe"] += share * spent.clock
    sums["cpu_probe"] += share * spent.processor
    spent = time_scan(lambda: _scanned(data, reader, day), lambda: evict(place))
    sums["scan"] += share * spent.clock
    sums["cpu_scan"] += share * spent.processor


def time_probes(
    keys: tuple[object, ...], probe: Callable[[object], object], cool: Callable[[], None]
) -> Spent:
    """A probe: the least of some that find nothing in memory, and processor time of all keys.

    ``cool`` drops what is in memory. The least, because a probe is a dozen reads of a page, and
    what else uses the disk at the time makes them ten times as slow, and never faster.
    """
    for key in keys:
        probe(key)
    cold = []
    for key in keys[:COLD]:
        cool()
        begun = time.perf_counter()
        probe(key)
        cold.append(time.perf_counter() - begun)
    for key in keys:
        probe(key)
    begun = time.process_time()
    for key in keys:
        probe(key)
    return Spent(min(cold), (time.process_time() - begun) / len(keys))


def time_scan(scan: Callable[[], object], cool: Callable[[], None]) -> Spent:
    scan()
    cool()
    begun = now()
    scan()
    cold = time.perf_counter() - begun.clock
    begun = now()
    scan()
    return Spent(cold, time.process_time() - begun.processor)


def _scanned(data: Data, reader: Reader, day: int) -> object:
    if data.by is not None:
        return reader.totals(data.by, data.summed)
    return look_at(reader.scan(day, day), data.summed)


def look_at(rows: pa.Table, summed: tuple[str, ...]) -> tuple[int, ...]:
    """Every byte of an answer, as who compares texts would; and sums."""
    seen = 0
    for column in rows.columns:
        for chunk in column.chunks:
            for buffer in chunk.buffers():
                if buffer is not None:
                    seen = max(seen, int(np.frombuffer(buffer, np.uint8).max(initial=0)))
    totals = (int(rows.column(name).to_numpy().sum(dtype=np.int64)) for name in summed)
    return seen, len(rows), *totals


def _check(data: Data, archive: Archive, first: int, last: int) -> None:
    """The archive answers as the days themselves do."""
    truth = data.records(first, last)
    columns = truth.schema.names
    with archive.reader() as reader:
        held = reader.scan(columns=[*data.summed])
        assert held.num_rows == truth.num_rows, (archive.stat(), held.num_rows, truth.num_rows)
        for name in data.summed:
            assert _sum(held.column(name)) == _sum(truth.column(name)), name
        for key in data.keys[:5]:
            expected = data.having(truth, key)
            found = reader.probe(key, columns=columns, plain=True)
            assert _ordered(found) == _ordered(expected), (archive.stat(), key)


def _sum(column: pa.ChunkedArray) -> int:
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    return int(column.to_numpy().sum(dtype=np.int64))


def _ordered(rows: pa.Table) -> list[dict[str, object]]:
    return sorted(rows.to_pylist(), key=str)
