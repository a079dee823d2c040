"""Which cases are tried in which ways, and what came of each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tests.scale.cases import CASES, Case
from tests.scale.data import Data
from tests.scale.oracle import Oracle
from tests.scale.running import run_embedded, run_in_buckets
from windrow.core.errors import WindrowError
from windrow.plan.strategy import Strategy

PUSHES, FEWER_PUSHES = (1, 7, 300), (1, 7, 50)
SMALL, LARGE = Data(20_000), Data(200_000, ticks=2_000)


@dataclass(frozen=True)
class Way:
    """How a case is run: in one pipeline by pushes, or in buckets by micro-batches."""

    strategy: Strategy
    pushes: int
    buckets: bool = False

    def __str__(self) -> str:
        unit = "micro-batches in buckets" if self.buckets else "pushes"
        return f"{self.strategy.name}, {self.pushes} {unit}"


EMBEDDED = tuple(Way(s, p) for p in PUSHES for s in Strategy)
QUICKLY = tuple(Way(s, p) for p in FEWER_PUSHES for s in Strategy)
IN_BUCKETS = tuple(Way(s, 7, buckets=True) for s in Strategy)


@dataclass(frozen=True)
class Outcome:
    """``failure`` is None if the answers are right at all instants."""

    case: Case
    way: Way
    rows: int
    failure: str | None


def attempt(case: Case, way: Way, oracle: Oracle) -> Outcome:
    """Run the case and compare."""
    run = run_in_buckets if way.buckets else run_embedded
    try:
        changes = run(case, oracle.data, way.strategy, way.pushes)
    except (WindrowError, LookupError, ValueError, ArithmeticError) as error:
        failure: str | None = f"{type(error).__name__}: {error}"
    else:
        failure = oracle.difference(case, changes)
    return Outcome(case, way, oracle.data.size, failure)


def few_ways(place: int) -> tuple[Way, ...]:
    """Two of all the ways, other ones for the next case: once embedded, once in buckets."""
    return QUICKLY[place * 4 % len(QUICKLY)], IN_BUCKETS[place % len(IN_BUCKETS)]


def some_ways(place: int) -> tuple[Way, ...]:
    """Each number of pushes once, by another strategy each, and once in buckets."""
    count = len(Strategy)
    pushed = (EMBEDDED[at * count + (place + at) % count] for at in range(len(PUSHES)))
    return (*pushed, IN_BUCKETS[place % len(IN_BUCKETS)])


def every_way(_: int) -> tuple[Way, ...]:
    return (*EMBEDDED, *IN_BUCKETS)


def all_of(quick: bool, only: str | None) -> Iterator[Outcome]:
    """The small data in two ways; in full, in every way, and the large data in four."""
    rounds = ((SMALL, few_ways),) if quick else ((SMALL, every_way), (LARGE, some_ways))
    for data, ways in rounds:
        with Oracle(data) as oracle:
            for place, (name, case) in enumerate(CASES.items()):
                if only is None or only in name:
                    for way in ways(place):
                        yield attempt(case, way, oracle)
