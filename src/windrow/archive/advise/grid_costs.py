"""What updates, probes, scans and space cost under a grid (Golab et al. 2006b, 3.2 and 4).

Costs are sums of what an update or a query must do, times what that takes on a machine:

    update  each touched sub-index is opened, read and written; those inserted into are also
            searched, bucket by bucket, because buckets are sorted by expiry; Rebuild
            reclusters, which costs the more per byte the larger the sub-index is
    probe   each sub-index is opened; the key's records are read, and under NoRebuild from
            several places
    scan    each sub-index is opened; everything is read
    space   NoRebuild's buckets are not full; each sub-index has a directory

The sizes of the touched sub-indices are those of `sizes`. Chronological and round-robin
grids touch the same number of records in every update: what one sub-index of the row still
lacks, one of the column has too many. Only what grows faster than linearly in a sub-index's
size can tell them apart.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log2

from windrow.archive.advise.grid_sizes import touched_units
from windrow.archive.lifetimes.partition_grid import Grid, Technique
from windrow.archive.lifetimes.periods import Periods


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


@dataclass(frozen=True)
class Costs:
    """Seconds per update, probe and scan; bytes on disk."""

    update: float
    probe: float
    scan: float
    space: float

    def per_update(self, probes: float, scans: float = 0.0) -> float:
        """All the work between two updates, if that many queries run."""
        return self.update + probes * self.probe + scans * self.scan


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
written. ``access`` and ``inserting`` are such that update times turn where 4.3 says that they
do (after n = 16; after n = 4 for R-ins). Rebuild's surcharge of under 2 % (20-megabyte
sub-indices), 3 to 5 % (125), 5 % (200) and 9 % (1,250) is a logarithm; so is NoRebuild's at
probes (under 1 %, then 2 to 3 %).
"""

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
    scattered = grid.technique is Technique.NO_REBUILD
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
    technique: Technique,
    unit: float,
    row: tuple[int, ...],
    rest: tuple[int, ...],
) -> float:
    seconds = machine.inserting * sum(row) * unit
    for units in (*row, *rest):
        size = units * unit
        doublings = max(0.0, log2(size / machine.recluster_free)) if size else 0.0
        again = machine.reclustering * doublings * (technique is Technique.REBUILD)
        seconds += machine.access + machine.updating * size * (1 + again)
    return seconds
