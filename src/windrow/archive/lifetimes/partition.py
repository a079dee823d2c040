"""A grid with what it holds: the present partitioning of an index, or an earlier one that drains.

Runs are known by number, across all partitionings of an index; a number is never used twice.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from windrow.archive.lifetimes.partition_grid import Grid, Technique
from windrow.archive.lifetimes.periods import Periods
from windrow.archive.lifetimes.state import IndexState
from windrow.archive.lifetimes.update import Step, plan_update


@dataclass(frozen=True)
class Partition:
    """``state`` is in the sub-indices of ``grid``, whose periods are those of ``periods``."""

    grid: Grid
    periods: Periods
    state: IndexState

    @property
    def live(self) -> bool:
        return any(self.state.subindices)

    def expires_in(self, place: int, period: int) -> bool:
        """Whether a sub-index has records that expire in a period."""
        ends = (end for run in self.state.subindices[place] for end, _ in run.expiries)
        return period in ends

    def updated(
        self, now: int, arrivals: Mapping[int, int], next_run: int
    ) -> tuple[Partition, Step]:
        """After an update at ``now``; its runs are numbered from ``next_run`` on."""
        state = replace(self.state, next_run=next_run)
        state, step = plan_update(self.grid, self.periods, state, now, arrivals)
        return replace(self, state=state), step

    def draining(self) -> Partition:
        """The same, when nothing will be inserted any more.

        Rebuilding it with every update would cost more than the dead are worth, so it is kept as
        NoRebuild keeps a grid: files hold at most two records for each live one.
        """
        return replace(self, grid=replace(self.grid, technique=Technique.NO_REBUILD))

    def to_json(self) -> dict[str, Any]:
        return {
            "grid": self.grid.to_json(),
            "periods": asdict(self.periods),
            "state": self.state.to_json(),
        }

    @classmethod
    def from_json(cls, found: Mapping[str, Any]) -> Partition:
        return cls(
            Grid.from_json(found["grid"]),
            Periods.from_json(found["periods"]),
            IndexState.from_json(found["state"]),
        )
