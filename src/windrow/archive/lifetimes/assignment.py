"""Which partition of insertion (or expiry) times a period belongs to.

A pure function of the period's number, so nothing has to be remembered, and the ranges of a
sub-index shift by themselves: period ``k`` leaves when period ``k + p`` comes, and under the
first two assignments inherits its place if ``p`` is a multiple of the number of partitions
(Golab et al. 2006b, Algorithm 1).
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from typing import Any, Protocol

from windrow.archive.lifetimes.periods import LifetimeError


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
        return _shuffled(f"{self.seed} {axis.value} {turn}", partitions)[place]


@lru_cache(maxsize=8192)  # a migration asks for every period of every run
def _shuffled(seed: str, partitions: int) -> tuple[int, ...]:
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
        remedy="the manifest was written by a later version, or by hand",
    )
