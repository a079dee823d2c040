"""How an index of variable lifetimes is cut: time into periods, records into a grid of them.

An index takes updates every ``interval`` ticks and holds records that live at most ``longest``
ticks. Period ``k`` is the ticks ``origin + (k - 1) * interval + 1`` to ``origin + k * interval``,
so that an update at a period's last tick inserts what came in that period and forgets what
expires in it (Golab et al. 2006b, Algorithm 1, where these are S, delta and tau).

Which partition of insertion (or expiry) times a period belongs to is a pure function of the
period's number, so nothing has to be remembered, and the ranges of a sub-index shift by themselves:
period ``k`` leaves when period ``k + p`` comes, and under the first two assignments inherits its
place if ``p`` is a multiple of the number of partitions (Golab et al. 2006b, Algorithm 1).

The rivals that cut by one time only are corners of the same family: R-ins and D-ins have one
partition of expiry times, R-exp and D-exp one of insertion times. So one machine and one
invariant serve all: an update touches a row and a column of the grid, G + E - 1 sub-indices.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from enum import Enum
from functools import lru_cache
from typing import Any, Protocol

from windrow.archive.errors import LifetimeError
from windrow.archive.format.day_calendar import EPOCH, HOUR
from windrow.columns.arrays import Int64s


@dataclass(frozen=True)
class Periods:
    """Ticks to period numbers. Periods may be negative: what was there before the origin.

    ``timestamps`` says that a tick is a microsecond since 1970, so that instants can be written
    as dates; otherwise ticks are numbers that somebody else counts.
    """

    longest: int
    interval: int
    origin: int = 0
    timestamps: bool = False

    def __post_init__(self) -> None:
        if self.interval < 1 or self.longest < 1 or self.longest % self.interval:
            raise LifetimeError(
                where="lifetimes",
                expected="a longest lifetime that is a positive multiple of the update interval",
                found=f"longest {self.longest}, interval {self.interval}",
                remedy="round the longest lifetime up to a multiple",
            )

    @classmethod
    def from_json(cls, found: Mapping[str, Any]) -> Periods:
        """As a manifest has it; the first ones did not say what a tick is."""
        longest, interval, origin = (int(found[n]) for n in ("longest", "interval", "origin"))
        return cls(longest, interval, origin, bool(found.get("timestamps")))

    @property
    def count(self) -> int:
        """How many updates pass until all that is here now has gone (p in Appendix A)."""
        return self.longest // self.interval

    def of(self, instant: int) -> int:
        """The period in which an instant lies."""
        return -((self.origin - instant) // self.interval)

    def of_each(self, instants: Int64s) -> Int64s:
        """The period in which each of some instants lies."""
        return -((self.origin - instants) // self.interval)

    def over(self, now: int) -> int:
        """The last period that is over at ``now``: what expires in it or before is dead."""
        return (now - self.origin) // self.interval

    def label(self, instant: int) -> str:
        """An instant as people write it: a date, a moment, or its number.

        >>> Periods(30, 10).label(7), Periods(30, 10, timestamps=True).label(0)
        ('7', '1970-01-01')
        """
        if not self.timestamps:
            return str(instant)
        try:
            plain = (EPOCH + timedelta(microseconds=instant)).replace(tzinfo=None)
        except OverflowError:
            return str(instant)
        return plain.date().isoformat() if instant % (24 * HOUR) == 0 else plain.isoformat(" ")

    def first(self, period: int) -> int:
        return self.origin + (period - 1) * self.interval + 1

    def last(self, period: int) -> int:
        return self.origin + period * self.interval


class Axis(Enum):
    """The two ways in which an index is cut."""

    INSERTION = "insertion"
    EXPIRY = "expiry"


class Assignment(Protocol):
    """Period numbers to partitions ``0 .. partitions - 1``; ``count`` is how many are current."""

    @property
    def name(self) -> str: ...

    def partition(self, period: int, partitions: int, count: int, axis: Axis) -> int: ...


@dataclass(frozen=True)
class Chronological:
    """Neighbouring periods together, as in a wave index (Figure 2).

    Half the sub-indices off the diagonal are empty or filling, the other half full or
    emptying: their sizes run between none and twice the mean.
    """

    name = "chronological"

    def partition(self, period: int, partitions: int, count: int, axis: Axis) -> int:
        return (period - 1) % count * partitions // count


@dataclass(frozen=True)
class RoundRobin:
    """Each period in the next partition (Figure 3): no sub-index is inserted into, or expires,
    in two updates running, so all grow and shrink together."""

    name = "round-robin"

    def partition(self, period: int, partitions: int, count: int, axis: Axis) -> int:
        return (period - 1) % partitions


@dataclass(frozen=True)
class Randomised:
    """Each round of ``partitions`` periods in an order of its own, drawn from the seed.

    For streams whose rate swings in step with the round, which would give a round-robin index
    one partition with all the bursts (Golab et al. 2006b, 3.3). A shuffled round still gives
    every partition one period, which independent draws would not.
    """

    seed: int = 0

    name = "randomised"

    def partition(self, period: int, partitions: int, count: int, axis: Axis) -> int:
        turn, place = divmod(period - 1, partitions)
        return _shuffle_order(f"{self.seed} {axis.value} {turn}", partitions)[place]


@lru_cache(maxsize=8192)  # a migration asks for every period of every run
def _shuffle_order(seed: str, partitions: int) -> tuple[int, ...]:
    order = list(range(partitions))
    random.Random(seed).shuffle(order)  # noqa: S311
    return tuple(order)


def assignment_to_json(assignment: Assignment) -> dict[str, Any]:
    seed = {"seed": assignment.seed} if isinstance(assignment, Randomised) else {}
    return {"name": assignment.name, **seed}


def assignment_from_json(found: dict[str, Any]) -> Assignment:
    match found:
        case {"name": "chronological"}:
            return Chronological()
        case {"name": "round-robin"}:
            return RoundRobin()
        case {"name": "randomised", "seed": int(seed)}:
            return Randomised(seed)
    raise LifetimeError(
        where="assignment",
        expected="chronological, round-robin or randomised with a seed",
        found=repr(found),
        remedy="the manifest was written by a newer Windrow, or edited",
    )


class GridTechnique(Enum):
    """What happens to a sub-index that an update touches (Golab et al. 2006b, 3.1).

    >>> Grid(2, 2, GridTechnique.REBUILD).name
    'Rebuild2x2'
    """

    REBUILD = "Rebuild"
    """It is reclustered: one bucket per key, nothing dead."""
    NO_REBUILD = "NoRebuild"
    """It gets a further bucket per key for what is new; the dead stay until a merge."""


@dataclass(frozen=True)
class Grid:
    """G partitions of insertion times by E of expiry times; sub-index ``row * E + column``.

    >>> grid = Grid(4, 3)
    >>> grid.name, grid.size, grid.touched_count
    ('NoRebuild4x3', 12, 6)
    """

    insertions: int
    expiries: int
    technique: GridTechnique = GridTechnique.NO_REBUILD
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
    def touched_count(self) -> int:
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
                remedy="use fewer partitions, or update more often",
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
            GridTechnique(found["technique"]),
            assignment_from_json(found["assignment"]),
        )


def r_ins(n: int) -> Grid:
    """REINDEX by insertion time: every update rebuilds all n, for any of them may hold dead."""
    return Grid(n, 1, GridTechnique.REBUILD, Chronological())


def r_exp(n: int) -> Grid:
    """REINDEX by expiry time: every update rebuilds all n, for new records go to any of them."""
    return Grid(1, n, GridTechnique.REBUILD, Chronological())


def d_ins(n: int) -> Grid:
    """DEL by insertion time: as R-ins, with further buckets instead of rebuilding."""
    return Grid(n, 1, GridTechnique.NO_REBUILD, Chronological())


def d_exp(n: int) -> Grid:
    """DEL by expiry time."""
    return Grid(1, n, GridTechnique.NO_REBUILD, Chronological())
