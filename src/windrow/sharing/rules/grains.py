"""Which s the synopses of several queries get: one that fits all, where that costs little space.

A synopsis with an s that divides the windows and periods of several queries serves them all (SS1),
but a small s means many intervals. Two sets of queries are given one s if its synopsis has at most
``DEAREST`` times the intervals that their two had. The text has one s given. A query whose answers
need an s of its own (values at ranks) has that, and the others choose among themselves.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

from windrow.sharing.rules.periodic_query import PeriodicQuery

DEAREST = 2
"""The seven queries of 8.4.3 have 21 intervals with periods of their own, and 30 in one synopsis,
which one scan answers."""


@dataclass(frozen=True)
class _Class:
    """Queries with one s."""

    s: int
    longest: int

    @property
    def b(self) -> int:
        return self.longest // self.s

    def merge(self, other: _Class) -> _Class:
        return _Class(math.gcd(self.s, other.s), max(self.longest, other.longest))


def choose_grains(queries: Sequence[PeriodicQuery]) -> tuple[int, ...]:
    """The s of each query's synopses.

    >>> from windrow.sharing.rules.interval_contents import Aggregate, Function
    >>> median = (Aggregate(Function.QUANTILE, "length", 0.5),)
    >>> def query(window, slide):
    ...     return PeriodicQuery(f"{window}/{slide}", "S", median, (window,), slide)
    >>> choose_grains([query(10, 2), query(14, 3)])
    (1, 1)
    >>> choose_grains([query(1000, 100), query(21, 7)])
    (100, 7)
    """
    classes = _by_grain([query for query in queries if not query.has_one_grain])
    while True:
        merges = [
            (one.b + other.b - one.merge(other).b, one, other)
            for one, other in combinations(classes, 2)
            if one.merge(other).b <= DEAREST * (one.b + other.b)
        ]
        if not merges:
            break
        _, one, other = max(merges, key=lambda merge: merge[0])
        classes = [c for c in classes if c not in (one, other)]
        classes.append(one.merge(other))
        classes.sort(key=lambda c: -c.s)
    return tuple(
        query.grain if query.has_one_grain else max(c.s for c in classes if query.fits(c.s))
        for query in queries
    )


def _by_grain(queries: Sequence[PeriodicQuery]) -> list[_Class]:
    longest: dict[int, int] = {}
    for query in queries:
        longest[query.grain] = max(longest.get(query.grain, 0), query.window)
    return [_Class(s, longest[s]) for s in sorted(longest, reverse=True)]
