"""A window's days gone through without a file: what the archive's own steps would do, counted.

The paper's model prices days that are built, added, deleted and copied. This archive's indexes are
immutable runs, so what a day takes is known better: the very code that plans a step plans it here
too, over runs that exist on paper only, and what it would merge and copy, publish and leave for
queries to read is noted. Nothing is estimated but the ``Prices``, which ``calibrate.py`` measures.

Cost: the planning of two windows of days, about a tenth of a millisecond for each index a day.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import fmean

import pyarrow as pa

from windrow.archive.advise.parameters import Measures, Spread
from windrow.archive.format.disk import Disk, Written
from windrow.archive.format.layout import Layout
from windrow.archive.format.run_ref import RunRef
from windrow.archive.runs.run import Run
from windrow.archive.wave.transition import finish_pending, step_to
from windrow.archive.wave.wave import Part, Settings, Wave
from windrow.archive.wave.writer import Writer

DAY = 1_000
"""Rows of a day on paper; prices are for whole days, so any number does."""


@dataclass(frozen=True)
class Work:
    """Versions published; runs merged, into how many, of how many days; runs and days copied."""

    versions: float = 0
    merges: float = 0
    inputs: float = 0
    merged: float = 0
    copies: float = 0
    copied: float = 0

    def __add__(self, other: Work) -> Work:
        return Work(
            self.versions + other.versions,
            self.merges + other.merges,
            self.inputs + other.inputs,
            self.merged + other.merged,
            self.copies + other.copies,
            self.copied + other.copied,
        )


@dataclass(frozen=True)
class Read:
    """What a scan reads: runs, days that are read as they lie, days of runs that are sieved.

    ``wanted`` is what it hands over: the days read and what is left of those that are sieved.
    """

    runs: float
    whole: float
    sieved: float
    wanted: float


@dataclass(frozen=True)
class Stored:
    """So many runs, with so many days in them."""

    runs: float = 0
    days: float = 0

    def __add__(self, other: Stored) -> Stored:
        return Stored(self.runs + other.runs, self.days + other.days)


@dataclass(frozen=True)
class Day:
    """A day: until it can be queried, and afterwards. Sizes are in days of data.

    ``probed`` is how many runs a probe searches; ``held`` is stored once all is done, ``peak``
    with what was replaced still there.
    """

    transition: Work
    after: Work
    probed: int
    scanned: Read
    held: Stored
    peak: Stored


@dataclass
class _PaperWriter(Writer):
    """A writer whose runs are names and numbers of rows."""

    work: Work = field(default_factory=Work)
    written: Stored = field(default_factory=Stored)

    def __post_init__(self) -> None:
        nowhere = Layout(pa.schema([("key", pa.int64())]), ("key",))
        super().__init__(Disk(Path("paper")), nowhere, "arrow", {}, "paper", _refuse_to_open)

    def _merge(self, parts: Iterable[Part]) -> RunRef | None:
        found = list(parts)
        days: dict[int, int] = {}
        for part in found:
            for day in part.days:
                days[day] = days.get(day, 0) + part.run.rows_of[day]
        size = sum(days.values()) / DAY
        self.work += Work(merges=1, inputs=len(found), merged=size)
        self.written += Stored(1, size)
        return _run(self._name(), tuple(sorted(days.items()))) if days else None

    def _copy(self, run: RunRef) -> RunRef:
        self.work += Work(copies=1, copied=run.rows / DAY)
        self.written += Stored(1, run.rows / DAY)
        return replace(run, name=self._name())

    def take_work(self, versions: int) -> Work:
        """What was done since this was last asked, and so many versions."""
        done, self.work = self.work + Work(versions=versions), Work()
        return done


def rehearse(settings: Settings, scan_days: int | None = None) -> tuple[Day, ...]:
    """The days of a window once it has been moved on by its length, one after the other.

    ``scan_days`` is how many of the newest days a scan reads, all of the window if None.
    """
    window, writer = settings.window, _PaperWriter()
    ahead = {day: (_run(f"d{day}", ((day, DAY),)),) for day in range(1, window + 1)}
    wave = finish_pending(step_to(Wave(settings, ahead=ahead), window, writer), writer)
    days = []
    for day in range(window + 1, 3 * window + 1):
        noted = day > 2 * window
        held, writer.written = _storage(wave) if noted else Stored(), Stored(1, 1)
        writer.take_work(0)
        wave = replace(wave, ahead={day: (_run(f"d{day}", ((day, DAY),)),)})
        wave = step_to(wave, day, writer)
        transition = writer.take_work(1)
        done = finish_pending(wave, writer)
        after = writer.take_work(int(done != wave))
        wave = done
        if noted:
            all_of_it = _scan_reads(wave, day, window)
            scanned = all_of_it if scan_days is None else _scan_reads(wave, day, scan_days)
            peak = held + writer.written
            probed = int(all_of_it.runs)
            days.append(Day(transition, after, probed, scanned, _storage(wave), peak))
    return tuple(days)


def _scan_reads(wave: Wave, now: int, days: int) -> Read:
    """What a reader would read of the newest days."""
    first = max(now - days, now - wave.settings.window) + 1
    runs, whole, sieved, handed_over = 0, 0.0, 0.0, 0
    for index in wave.constituents().values():
        for part in index.parts:
            wanted = len(part.days) - bisect_left(part.days, first)
            if wanted:
                runs, handed_over = runs + 1, handed_over + wanted
                if wanted == len(part.run.days):
                    whole += part.run.rows / DAY
                else:
                    sieved += part.run.rows / DAY
    return Read(runs, whole, sieved, handed_over)


def _storage(wave: Wave) -> Stored:
    parts = (part.run for index in wave.indexes.values() for part in index.parts)
    rows = {run.name: run.rows for run in parts}
    return Stored(len(rows), sum(rows.values()) / DAY)


def _run(name: str, days: tuple[tuple[int, int], ...]) -> RunRef:
    return RunRef(name, "arrow", days, None, Written(sum(r for _, r in days), 0), Written(0, 0))


def _refuse_to_open(ref: RunRef) -> Run:
    raise AssertionError(f"{ref.name} is a run on paper")


@dataclass(frozen=True)
class Line:
    """Seconds or megabytes each time, and for each day of data."""

    fixed: float
    day: float

    def of(self, times: float, days: float) -> float:
        return times * self.fixed + days * self.day


@dataclass(frozen=True)
class ColdPrices:
    """Seconds of probes and scans that find nothing in memory, as those of ``Prices``."""

    probe: float
    search: float
    scan: Line


@dataclass(frozen=True)
class Prices:
    """Seconds, and megabytes. ``write`` is what a new day costs by itself.

    What is written and merged was in memory just before; queries may have to go to the disk.

    Every operation has a fixed price, which the paper's model has not: files to be created and
    synced, a manifest to be published. Where days are small it is most of what there is to pay.
    """

    publish: float
    write: float
    merge: Line
    copy: Line
    probe: float
    search: float
    """Of a probe, for each run."""
    scan: Line
    """For each run, and for each day that is read as it lies."""
    sieve: float
    """For each day of runs of which only some days are wanted."""
    consume: float
    """For each day that a scan hands over: to decode its values and to add up what are numbers."""
    space: Line
    """Megabytes of each run (its dictionaries and its directory), and of each day in it."""
    cold: ColdPrices | None = None
    """None where nothing can be dropped from memory, so that it could not be measured."""

    def with_cold(self, share: float) -> Prices:
        """These prices if such a share of what queries read comes from the disk."""
        cold = self.cold
        if cold is None or share == 0:
            return self

        def mean(warm: float, from_disk: float) -> float:
            return (1 - share) * warm + share * max(from_disk, warm)

        return replace(
            self,
            probe=mean(self.probe, cold.probe),
            search=mean(self.search, cold.search),
            scan=Line(mean(self.scan.fixed, cold.scan.fixed), mean(self.scan.day, cold.scan.day)),
            sieve=self.sieve + share * max(cold.scan.day - self.scan.day, 0.0),
        )

    def seconds_of(self, work: Work) -> float:
        return (
            work.versions * self.publish
            + self.merge.of(work.merges, work.merged)
            + self.copy.of(work.copies, work.copied)
        )

    def megabytes(self, stored: Stored) -> float:
        return self.space.of(stored.runs, stored.days)


def price_days(days: tuple[Day, ...], prices: Prices, probes: float, scans: float) -> Measures:
    """The measures of the paper's section 4, from what was rehearsed."""
    transition = Spread.of(prices.write + prices.seconds_of(day.transition) for day in days)
    after = Spread.of(prices.seconds_of(day.after) for day in days)
    probe = prices.probe + prices.search * _average(days, lambda day: day.probed)
    scan = (
        prices.scan.of(
            _average(days, lambda day: day.scanned.runs),
            _average(days, lambda day: day.scanned.whole),
        )
        + prices.sieve * _average(days, lambda day: day.scanned.sieved)
        + prices.consume * _average(days, lambda day: day.scanned.wanted)
    )
    return Measures(
        space=Spread.of(prices.megabytes(day.held) for day in days),
        transition_space=Spread.of(prices.megabytes(day.peak) for day in days),
        probe=probe,
        scan=scan,
        transition=transition,
        pre_transition=after,
        work=transition.average + after.average + probes * probe + scans * scan,
    )


def _average(days: tuple[Day, ...], value: Callable[[Day], float]) -> float:
    return fmean(map(value, days))
