"""What updates, probes, scans and space cost under a grid, and which to take (Golab et al. 2006b).

Costs are sums of what an update or a query must do, times what that takes on a machine (3.2, 4):

    update  each touched sub-index is opened, read and written; those inserted into are also
            searched, bucket by bucket, because buckets are sorted by expiry; Rebuild
            reclusters, which costs the more per byte the larger the sub-index is
    probe   each sub-index is opened; the key's records are read, and under NoRebuild from
            several places
    scan    each sub-index is opened; everything is read
    space   NoRebuild's buckets are not full; each sub-index has a directory

Sizes are those of Theorem 4.1 of Golab 2006 (Appendix A), where records come evenly and lifetimes
are spread evenly: with p update intervals in the longest lifetime, each of the p periods of
insertion that still matter has left one unit of records for each expiry period that is not over and
within its reach, p (p + 1) / 2 units in all. Counting them for the grid at hand is exact for any
grid. Chronological and round-robin grids touch the same number of records in every update: what one
sub-index of the row still lacks, one of the column has too many. Only what grows faster than
linearly in a sub-index's size can tell them apart.

What the paper recommends (4.6), and what costs say, from here or measured, is in
`archive/advise/grid_advice.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log2

from windrow.archive.advise.grid_advice import Costs
from windrow.archive.lifetimes.partition_grid import Grid, GridTechnique, Periods


def unit_sizes(grid: Grid, periods: Periods, over: int) -> tuple[int, ...]:
    """Units of records in each sub-index right after the update that ends period ``over``."""
    sizes = [0] * grid.size
    for inserted in range(over - periods.count + 1, over + 1):
        for expires in range(over + 1, inserted + periods.count + 1):
            sizes[grid.subindex(inserted, expires, periods)] += 1
    return tuple(sizes)


def touched_units(grid: Grid, periods: Periods, over: int) -> tuple[tuple[int, ...], ...]:
    """Units in the sub-indices that one update touches, before it: (row, column without row)."""
    sizes = unit_sizes(grid, periods, over - 1)
    row = grid.row(over, periods)
    rest = (number for number in grid.column(over, periods) if number not in row)
    return tuple(sizes[i] for i in row), tuple(sizes[i] for i in rest)


def unevenness(grid: Grid, periods: Periods) -> float:
    """Sum over sub-indices of the squared deviation from the mean size, averaged over updates.

    What Appendix A calls the average variance, in squared units. Averaged over p updates, after
    which chronological and round-robin grids that divide p stand as they did before.
    """
    mean = periods.count * (periods.count + 1) / (2 * grid.size)
    total = sum(
        (size - mean) ** 2
        for over in range(periods.count)
        for size in unit_sizes(grid, periods, over)
    )
    return total / periods.count


@dataclass(frozen=True)
class Machine:
    """Seconds per sub-index (``access``, ``opening``) or per byte (the other verbs).

    ``reclustering`` is the share of ``updating`` that Rebuild adds per doubling of a sub-index
    beyond ``recluster_free`` bytes, ``scattering`` the share of a probe that NoRebuild adds per
    doubling of a key's bytes beyond ``scatter_free``.
    """

    access: float
    updating: float
    inserting: float
    reclustering: float
    recluster_free: float
    opening: float
    reading: float
    scattering: float
    scatter_free: float
    directory_entry: float = 16.0
    empty_share: float = 0.2


@dataclass(frozen=True)
class Window:
    """What is indexed: live bytes, distinct keys, update intervals in the longest lifetime."""

    bytes: float
    keys: int
    updates: int


PAPER_MACHINE = Machine(
    access=56.0,
    updating=2.4e-6,
    inserting=0.72e-6,
    reclustering=0.0125,
    recluster_free=6e6,
    opening=0.03,
    reading=1.2e-6,
    scattering=0.0053,
    scatter_free=1.87e6,
)
"""The Pentium IV of the experiments, as far as the text tells.

A scan of 500 megabytes takes about 600 s, which gives ``reading``; a sub-index is read and
written. The rest is ``FITTED`` to what the text says of the curves, and no evidence for it:
``access`` and ``inserting`` are such that update times turn where 4.3 says that they do (after
n = 16; after n = 4 for R-ins). Rebuild's surcharge of under 2 % (20-megabyte sub-indices), 3 to
5 % (125), 5 % (200) and 9 % (1,250) is a logarithm; so is NoRebuild's at probes (under 1 %, then
2 to 3 %).
"""
FITTED = (
    "access",
    "inserting",
    "reclustering",
    "recluster_free",
    "opening",
    "scattering",
    "scatter_free",
    "empty_share",
)
"""Constants of ``PAPER_MACHINE`` that the text does not give: chosen so that its words hold."""

SMALL, LARGE = Window(5e8, 100, 36), Window(5e9, 100, 36)
"""The data sets of 4.2 to 4.4 and of 4.5, with their 36 updates."""


def costs(machine: Machine, window: Window, grid: Grid) -> Costs:
    """Averages over as many updates as a record can live through."""
    periods = Periods(window.updates, 1)
    unit = window.bytes / (window.updates * (window.updates + 1) / 2)
    updates = [
        _update(machine, grid.technique, unit, *touched_units(grid, periods, over))
        for over in range(1, window.updates + 1)
    ]
    key = window.bytes / window.keys
    scattered = grid.technique is GridTechnique.NO_REBUILD
    surcharge = machine.scattering * max(0.0, log2(key / machine.scatter_free)) * scattered
    opening = grid.size * machine.opening
    return Costs(
        sum(updates) / len(updates),
        opening + key * machine.reading * (1 + surcharge),
        opening + window.bytes * machine.reading,
        window.bytes * (1 + machine.empty_share * scattered)
        + grid.size * window.keys * machine.directory_entry,
    )


def _update(
    machine: Machine,
    technique: GridTechnique,
    unit: float,
    row: tuple[int, ...],
    rest: tuple[int, ...],
) -> float:
    seconds = machine.inserting * sum(row) * unit
    for units in (*row, *rest):
        size = units * unit
        doublings = max(0.0, log2(size / machine.recluster_free)) if size else 0.0
        again = machine.reclustering * doublings * (technique is GridTechnique.REBUILD)
        seconds += machine.access + machine.updating * size * (1 + again)
    return seconds


def is_large(machine: Machine, window: Window) -> bool:
    """Whether sub-indices are so large that cutting them further than 4 x 4 still pays (4.5)."""
    four, five = (costs(machine, window, Grid(side, side)).update for side in (4, 5))
    return five < four
