"""Which grid suits somebody's records with lifetimes, on somebody's disk: each is tried.

Nothing is modelled. Each candidate is made, filled for as long as a record can live, without
waiting for the disk, and then updated, probed and scanned for a while, files synced. What that
takes is added up with the queries that are expected between two updates. The paper's advice
(`lessons`) is told beside it: its reasons are those of a disk where adding to a sub-index means
reading and writing it, and here a run is added. Where an index is larger than the memory that its
pages may take, queries are measured with a cold cache too, and its share of them counts as that.

Cost: each of the candidates takes in the sample ``PERIODS`` times over, at most ``MOST_ROWS`` rows
in all; some seconds each.

`lessons` is what the paper recommends (Golab et al. 2006b, 4.6), by size of the window and number
of queries; `best_by_queries` is what costs say, whether they come from the paper's model or from a
measurement, as a list of turning points. The paper's advice weighs an update's duration by
judgement: the sum of its own times would prefer Rebuild for large windows with many queries.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from statistics import fmean

import numpy as np
import pyarrow as pa

from windrow.archive.advise.advise import ALIKE, FEWEST
from windrow.archive.advise.calibrate import (
    Timer,
    cold_probe,
    probe_keys,
    sample_keys,
    scan_pages,
)
from windrow.archive.advise.cold_cache import MEGA, can_evict, cold_share, evict, usual_memory
from windrow.archive.errors import ArchiveError
from windrow.archive.format.disk import Disk
from windrow.archive.lifetimes.lifetime_index import LifetimeIndex
from windrow.archive.lifetimes.partition_grid import Grid, GridTechnique, Periods, d_ins, r_ins
from windrow.columns.arrays import Int64s
from windrow.core.thresholds import Threshold


@dataclass(frozen=True)
class Costs:
    """Seconds per update, probe and scan; bytes on disk.

    >>> Costs(update=2.0, probe=0.01, scan=0.5, space=1e6).per_update(probes=100, scans=2)
    4.0
    """

    update: float
    probe: float
    scan: float
    space: float

    def per_update(self, probes: float, scans: float = 0.0) -> float:
        """All the work between two updates, if that many queries run."""
        return self.update + probes * self.probe + scans * self.scan


@dataclass(frozen=True)
class Turn:
    """From this many queries per update on, this grid is the cheapest."""

    queries: float
    grid: str


def lessons(*, large: bool, many_queries: bool, probes_crucial: bool = False) -> Grid:
    """The round-robin grid that 4.6 recommends.

    ``probes_crucial`` matters for large windows with many queries only: Rebuild is then worth
    its long updates. Measured here, other grids do less work (``advise_grid``).

    >>> lessons(large=False, many_queries=False).name
    'NoRebuild4x4'
    """
    if not many_queries:
        side = 3 if large else 4
        return Grid(side, side, GridTechnique.NO_REBUILD)
    rebuild = probes_crucial or not large
    return Grid(2, 2, GridTechnique.REBUILD if rebuild else GridTechnique.NO_REBUILD)


def best_by_queries(found: Mapping[str, Costs], scans_per_probe: float = 0.0) -> tuple[Turn, ...]:
    """The cheapest grid for every number of probes per update, as turning points.

    The lower envelope of the lines ``update + probes * (probe + scans_per_probe * scan)``:
    along it, updates become dearer and queries cheaper. O(k log k) for k grids.

    >>> costs = {"few runs": Costs(3.0, 0.01, 0.2, 1e6), "many": Costs(1.0, 0.03, 0.2, 1e6)}
    >>> [(round(turn.queries), turn.grid) for turn in best_by_queries(costs)]
    [(0, 'many'), (100, 'few runs')]
    """
    lines = sorted(
        (cost.probe + scans_per_probe * cost.scan, cost.update, name)
        for name, cost in found.items()
    )
    turns: list[tuple[float, float, float, str]] = []
    for slope, base, name in reversed(lines):
        start = 0.0
        while turns:
            since, other_slope, other_base, _ = turns[-1]
            if slope == other_slope:
                start = 0.0 if base <= other_base else float("inf")
            else:
                start = max(0.0, (base - other_base) / (other_slope - slope))
            if start > since:
                break
            turns.pop()
        if start < float("inf"):
            turns.append((start if turns else 0.0, slope, base, name))
    return tuple(Turn(start, name) for start, _, _, name in turns)


PERIODS = Threshold(36, least=5)
"""Updates that fill an index: a longer life is cut into so many."""
MOST_ROWS = Threshold(400_000, least=1_000)
"""Rows that one candidate takes in while it is filled."""
MEASURED = Threshold(6, least=2)
"""Updates that are timed."""
CANDIDATES = (
    d_ins(1),
    d_ins(4),
    d_ins(9),
    *(Grid(side, side) for side in (2, 3, 4, 5)),
    *(Grid(side, side, GridTechnique.REBUILD) for side in (2, 4)),
    r_ins(1),
    r_ins(4),
)
"""The default, all that `lessons` may name, and the corners between few runs and short updates."""


@dataclass(frozen=True)
class GridWorkload:
    """What is expected of an index: its periods, and between two updates so much.

    ``memory`` is in megabytes: what the system may keep the index's pages in, None for half of
    what the machine has.

    >>> GridWorkload(Periods(longest=60, interval=10), rows=500_000, probes=1_000).periods.count
    6
    """

    periods: Periods
    rows: int
    probes: float
    scans: float = 0.0
    memory: float | None = None


@dataclass(frozen=True)
class GridAdvice:
    """What each grid took, the least work first; from how many probes on which is the best.

    ``paper`` is the grid of section 4.6 for such a window and so many queries, ``share`` the part
    of the rows with which all was measured, ``cold`` for each grid the share of what queries read
    that was taken to come from the disk.
    """

    costs: dict[str, Costs]
    grids: dict[str, Grid]
    turns: tuple[Turn, ...]
    paper: str
    share: float
    cold: dict[str, float]
    workload: GridWorkload

    @property
    def best(self) -> Grid:
        return next(iter(self.grids.values()))

    def work(self, name: str) -> float:
        """Seconds between two updates, queries included."""
        return self.costs[name].per_update(self.workload.probes, self.workload.scans)


def advise_grid(
    sample: pa.Table,
    key: tuple[str, ...],
    lives: Int64s,
    workload: GridWorkload,
    directory: Path,
    timer: Timer,
    progress: Callable[[Grid, int], None] = lambda *_: None,
) -> GridAdvice:
    """Measure candidates below ``directory`` and put them in order.

    ``lives`` has how many ticks each row of the sample lives. What is within ``ALIKE`` of the least
    work is as good; of those the grid with the fewest sub-indices comes first.

    >>> from time import perf_counter
    >>> sample, month = pa.table({"host": ["a", "b"]}), GridWorkload(Periods(30, 1), 50_000, 200)
    >>> advise_grid(sample, ("host",), np.array([7, 30]), month, Path("tried"), perf_counter)
    Traceback (most recent call last):
    windrow.archive.errors.ArchiveError: sample: expected at least 1,000 rows; found 2; ...
    """
    if sample.num_rows < FEWEST:
        raise ArchiveError(
            where="sample",
            expected=f"at least {FEWEST:,} rows",
            found=f"{sample.num_rows:,}",
            remedy="pass a larger sample; the rows of an update or more are best",
        )
    grids = [
        grid
        for grid in CANDIDATES
        if max(grid.insertions, grid.expiries) <= min(PERIODS.value, workload.periods.count)
    ]
    share = min(1.0, MOST_ROWS.value / (workload.rows * workload.periods.count))
    found, cold = {}, {}
    for before, grid in enumerate(grids):
        progress(grid, before)
        rehearsal = _Rehearsal(sample, key, lives, workload, share)
        found[grid.name], cold[grid.name] = rehearsal.measure(grid, directory / grid.name, timer)
    by_name = {grid.name: grid for grid in grids}
    works = {n: c.per_update(workload.probes, workload.scans) for n, c in found.items()}
    order = sorted(works, key=lambda name: works[name])
    alike = [name for name in order if works[name] <= (1 + ALIKE) * works[order[0]]]
    first = min(alike, key=lambda name: (by_name[name].size, works[name]))
    order.remove(first)
    names = [first, *order]
    per_probe = workload.scans / workload.probes if workload.probes else 0.0
    return GridAdvice(
        {name: found[name] for name in names},
        {name: by_name[name] for name in names},
        best_by_queries(found, per_probe),
        paper_grid(found, workload).name,
        share,
        cold,
        workload,
    )


def paper_grid(found: dict[str, Costs], workload: GridWorkload) -> Grid:
    """What the lessons of 4.6 come to: a window is large while cutting further than 4 x 4 makes
    updates faster, and queries are many when they take longer than an update.
    """
    four, five = (found.get(Grid(side, side).name) for side in (4, 5))
    usual = four or next(iter(found.values()))
    queries = usual.per_update(workload.probes, workload.scans) - usual.update
    return lessons(
        large=four is not None and five is not None and five.update < four.update,
        many_queries=queries > usual.update,
    )


class _Rehearsal:
    """An index that is taken through a lifetime, and then measured."""

    def __init__(
        self,
        sample: pa.Table,
        key: tuple[str, ...],
        lives: Int64s,
        workload: GridWorkload,
        share: float,
    ) -> None:
        life = workload.periods
        self._updates = min(PERIODS.value, life.count)
        interval = -(-life.longest // self._updates)
        self._periods = Periods(self._updates * interval, interval)
        self._sample, self._key = sample, key
        self._lives = np.clip(lives, 1, life.longest)
        self._rows = max(1, round(workload.rows * share))
        self._fill = max(1, round(self._rows * life.count / self._updates))
        self._memory = usual_memory() if workload.memory is None else workload.memory
        self._share = share
        self._next = 0

    def measure(self, grid: Grid, place: Path, timer: Timer) -> tuple[Costs, float]:
        """What the grid takes, and which share of its queries is taken to read from the disk."""
        disk, periods = UnsyncedDisk(place), self._periods
        index = LifetimeIndex.create(
            disk,
            self._sample.schema,
            self._key,
            longest=periods.longest,
            interval=periods.interval,
            grid=grid,
        )
        instants = self._instants()
        for _ in range(self._updates):
            self._insert(index, next(instants), self._fill)
            index.vacuum()
        disk.synced = True
        keys = sample_keys(self._sample, self._key)
        updates, probes, scans = [], [], []
        for _ in range(MEASURED.value):
            now, begun = next(instants), timer()
            self._insert(index, now, self._rows)
            updates.append(timer() - begun)
            index.vacuum()
            with index.reader() as reader:
                probe_keys(reader, keys)  # files are open, and the code is warm
                begun = timer()
                probe_keys(reader, keys)
                probes.append((timer() - begun) / len(keys))
                begun = timer()
                scan_pages(reader, None, None)
                scans.append(timer() - begun)
        stored = float(index.stat().bytes)
        warm = Costs(fmean(updates), min(probes), min(scans), stored)
        share = cold_share(stored / self._share / MEGA, self._memory) if can_evict() else 0.0
        if not share:
            return warm, share
        with index.reader() as reader:
            probe = cold_probe(reader, keys, place, timer)
            evict(place)
            begun = timer()
            scan_pages(reader, None, None)
            scan = timer() - begun
        probe = (1 - share) * warm.probe + share * max(probe, warm.probe)
        scan = (1 - share) * warm.scan + share * max(scan, warm.scan)
        return Costs(warm.update, probe, scan, stored), share

    def _instants(self) -> Iterator[int]:
        return (self._periods.last(number) for number in count(1))

    def _insert(self, index: LifetimeIndex, now: int, rows: int) -> None:
        """The next rows of the sample, from its beginning again after its end."""
        places = np.arange(self._next, self._next + rows) % self._sample.num_rows
        self._next = int(places[-1]) + 1
        index.insert(now, self._sample.take(pa.array(places)), pa.array(now + self._lives[places]))


class UnsyncedDisk(Disk):
    """A disk that waits for nothing until ``synced`` is set: what fills it is not measured."""

    synced = False

    def sync(self, name: str) -> None:
        if self.synced:
            super().sync(name)

    def sync_names(self, folder: str) -> None:
        if self.synced:
            super().sync_names(folder)
