"""Which grid to take: what the paper says, and what costs say (Golab et al. 2006b, 4.6).

`lessons` is what the paper recommends, by size of the window and number of queries;
`best_by_queries` is what costs say, whether they come from the paper's model or from a measurement
(`grid_advice.py`), as a list of turning points. The paper's advice weighs an update's duration by
judgement: the sum of its own times would prefer Rebuild for large windows with many queries.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from windrow.archive.lifetimes.partition_grid import Grid, GridTechnique


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
