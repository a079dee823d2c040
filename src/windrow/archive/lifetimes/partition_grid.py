"""How an index of variable lifetimes is cut, and how a touched sub-index is updated.

The rivals that cut by one time only are corners of the same family: R-ins and D-ins have one
partition of expiry times, R-exp and D-exp one of insertion times. So one machine and one
invariant serve all: an update touches a row and a column of the grid, G + E - 1 sub-indices.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from windrow.archive.lifetimes.assignment import (
    Assignment,
    Axis,
    Chronological,
    RoundRobin,
    assignment_from_json,
    assignment_to_json,
)
from windrow.archive.lifetimes.periods import LifetimeError, Periods


class Technique(Enum):
    """What happens to a sub-index that an update touches (Golab et al. 2006b, 3.1)."""

    REBUILD = "Rebuild"
    """It is reclustered: one bucket per key, nothing dead."""
    NO_REBUILD = "NoRebuild"
    """It gets a further bucket per key for what is new; the dead stay until a merge."""


@dataclass(frozen=True)
class Grid:
    """G partitions of insertion times by E of expiry times; sub-index ``row * E + column``."""

    insertions: int
    expiries: int
    technique: Technique = Technique.NO_REBUILD
    assignment: Assignment = field(default_factory=RoundRobin)

    def __post_init__(self) -> None:
        if self.insertions < 1 or self.expiries < 1:
            raise LifetimeError(
                where="grid",
                expected="at least one partition of insertion and of expiry times",
                found=f"{self.insertions} x {self.expiries}",
                remedy="2 x 2 to 5 x 5 are usual",
            )

    @property
    def size(self) -> int:
        """How many sub-indices there are (n)."""
        return self.insertions * self.expiries

    @property
    def touched(self) -> int:
        """How many sub-indices one update touches (3.2)."""
        return self.insertions + self.expiries - 1

    @property
    def name(self) -> str:
        """As the paper's figures label it: R-ins16, NoRebuild4x4, Rebuild2x2chr."""
        one_way = isinstance(self.assignment, Chronological)
        letter = self.technique.value[0].replace("N", "D")
        if one_way and self.expiries == 1:
            return f"{letter}-ins{self.insertions}"
        if one_way and self.insertions == 1:
            return f"{letter}-exp{self.expiries}"
        suffix = {"round-robin": "", "chronological": "chr", "randomised": "rnd"}
        grid = f"{self.insertions}x{self.expiries}"
        return f"{self.technique.value}{grid}{suffix[self.assignment.name]}"

    def require_room(self, periods: Periods) -> None:
        """A partition must have at least one period, or it would never be used."""
        if max(self.insertions, self.expiries) > periods.count:
            raise LifetimeError(
                where=f"grid {self.name}",
                expected=f"at most {periods.count} partitions each way: as many as update "
                "intervals fit into the longest lifetime",
                found=f"{self.insertions} x {self.expiries}",
                remedy="take fewer partitions, or update more often",
            )

    def row(self, period: int, periods: Periods) -> tuple[int, ...]:
        """The sub-indices that take what is inserted in a period."""
        at = self.assignment.partition(period, self.insertions, periods.count, Axis.INSERTION)
        return tuple(range(at * self.expiries, (at + 1) * self.expiries))

    def column(self, period: int, periods: Periods) -> tuple[int, ...]:
        """The sub-indices that hold what expires in a period."""
        at = self.assignment.partition(period, self.expiries, periods.count, Axis.EXPIRY)
        return tuple(range(at, self.size, self.expiries))

    def subindex(self, inserted: int, expires: int, periods: Periods) -> int:
        """The one sub-index in both the row of one period and the column of another."""
        column = self.assignment.partition(expires, self.expiries, periods.count, Axis.EXPIRY)
        return self.row(inserted, periods)[column]

    def to_json(self) -> dict[str, Any]:
        return {
            "insertions": self.insertions,
            "expiries": self.expiries,
            "technique": self.technique.value,
            "assignment": assignment_to_json(self.assignment),
        }

    @classmethod
    def from_json(cls, found: dict[str, Any]) -> Grid:
        return cls(
            int(found["insertions"]),
            int(found["expiries"]),
            Technique(found["technique"]),
            assignment_from_json(found["assignment"]),
        )


def r_ins(n: int) -> Grid:
    """REINDEX by insertion time: every update rebuilds all n, for any of them may hold dead."""
    return Grid(n, 1, Technique.REBUILD, Chronological())


def r_exp(n: int) -> Grid:
    """REINDEX by expiry time: every update rebuilds all n, for new records go to any of them."""
    return Grid(1, n, Technique.REBUILD, Chronological())


def d_ins(n: int) -> Grid:
    """DEL by insertion time: as R-ins, with further buckets instead of rebuilding."""
    return Grid(n, 1, Technique.NO_REBUILD, Chronological())


def d_exp(n: int) -> Grid:
    """DEL by expiry time."""
    return Grid(1, n, Technique.NO_REBUILD, Chronological())
