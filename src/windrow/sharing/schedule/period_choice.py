"""Hybrid scheduling: which sub-groups shorten their periods to run with others (Golab 2006, 8.4.4).

A sub-group may keep its period or take a shorter one of another sub-group of its group. The choice
with the lowest ``cost_per_update`` is sought.

Where all sub-groups scan one synopsis the search is dynamic programming over sets of periods. Sub-
groups are taken in the order of falling cost. What the rest will cost depends on the set of periods
in use so far only, so for each set the cheapest way to it is remembered. A sub-group joins the
longest period in use that is short enough, which adds no scan, or begins a longer one that is
allowed. States that cannot become better than the best known choice are left out.
The result is exact as long as there are at most ``MOST_STATES`` sets, which is sure for 10
sub-groups; beyond that the most promising states are kept, and periods changed one by one in the
end.

Where they probe several synopses all choices are compared, up to ``MOST_CHOICES`` (6 sub-groups);
beyond that each sub-group gets its best period in turn, as long as that lowers the cost, from the
longest and from the shortest periods.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, pairwise, product
from operator import mul, truediv
from typing import NamedTuple

from windrow.core.thresholds import Threshold
from windrow.sharing.schedule.joint_cost import DueUpdates, Work, cost_per_update

FIRST_STATES = 32
MOST_STATES = Threshold(1_024, least=2)
MOST_CHOICES = Threshold(1_000, least=1)

Periods = tuple[int, ...]


def choose_periods(works: Sequence[Work], periods: Sequence[int]) -> Periods:
    """The period of each sub-group of a group: its own, or a shorter one of another.

    >>> works = [Work({"scan": cost}) for cost in (9, 14, 29)]
    >>> choose_periods(works, [2, 3, 5])
    (2, 2, 5)
    """
    if len(works) < 2:
        return tuple(periods)
    compare = _Comparison(works, periods)
    if len({probe for work in works for probe in work.probes}) <= 1:
        return _over_one_scan(compare)
    if math.prod(sum(p <= n for p in compare.known) for n in periods) <= MOST_CHOICES.value:
        return _of_all(compare)
    return min((_by_steps(compare, plain) for plain in compare.plain), key=compare.rank)


class _Comparison:
    """Choices of periods for the sub-groups of a group, and what they cost."""

    def __init__(self, works: Sequence[Work], periods: Sequence[int]) -> None:
        self.works, self.periods = works, periods
        self.known = sorted(set(periods))
        self.due = DueUpdates(periods)
        self.plain = (tuple(periods), (min(periods),) * len(periods))
        """Conservative and aggressive scheduling."""

    def cost(self, choice: Periods) -> float:
        return cost_per_update(self.works, choice, self.due)

    def rank(self, choice: Periods) -> tuple[float, tuple[int, ...]]:
        """The cheapest first, then the one that shortens least."""
        return self.cost(choice), tuple(-p for p in choice)


def _of_all(compare: _Comparison) -> Periods:
    allowed = ([p for p in compare.known if p <= n] for n in compare.periods)
    return min(product(*allowed), key=compare.rank)


def _by_steps(compare: _Comparison, choice: Periods) -> Periods:
    """The choice after giving each sub-group its best period in turn, as long as that pays."""
    cost = compare.cost(choice)
    while True:
        for i, n in enumerate(compare.periods):
            changes = ((*choice[:i], p, *choice[i + 1 :]) for p in compare.known if p <= n)
            choice = min(changes, key=compare.rank)
        lower = compare.cost(choice)
        if lower >= cost - 1e-9:
            return choice
        cost = lower


class _State(NamedTuple):
    """A way to a set of periods: its cost so far, the least that it ends with, the choices."""

    cost: float
    bound: float
    bits: int
    """The updates at which a task is due."""
    chosen: Periods


def _over_one_scan(compare: _Comparison) -> Periods:
    best = min(compare.plain, key=compare.rank)
    search = _ScanSearch(compare)
    for most in (FIRST_STATES, MOST_STATES.value):  # a narrow search bounds the wide one
        found = search.run(compare.cost(best), most)
        best = best if found is None else min(best, found, key=compare.rank)
        if search.exact:
            return best
    starts = (best, *compare.plain)
    return min((_by_steps(compare, start) for start in starts), key=compare.rank)


class _ScanSearch:
    """Dynamic programming for sub-groups that scan one synopsis. A set of periods is a bit mask.

    ``falls`` is by how much each scan, from the longest on, is longer than the next; ``exact``
    whether the last run left no state out.
    """

    def __init__(self, compare: _Comparison) -> None:
        works, periods = compare.works, compare.periods
        scans = [sum(work.probes.values()) for work in works]
        self._order = sorted(range(len(works)), key=lambda i: (-scans[i], periods[i]))
        self._known, self._due = compare.known, compare.due
        self._scans = [*(scans[i] for i in self._order), 0.0]
        self._falls = [a - b for a, b in pairwise(self._scans)]
        self._finishes = [works[i].finish for i in self._order]
        self._limits = [periods[i] for i in self._order]
        self._rarest = [1 / n for n in accumulate(self._limits, min)]
        self._rest_scans = _sums_from_end(map(mul, self._falls, self._rarest))
        self._rest_finishes = _sums_from_end(map(truediv, self._finishes, self._limits))
        self.exact = True

    def run(self, ceiling: float, most: int) -> Periods | None:
        """The cheapest choice that costs at most ``ceiling``; None if what was left out held it."""
        self.exact = True
        states = {0: _State(0, 0, 0, ())}
        for k in range(len(self._order)):
            following: dict[int, _State] = {}
            for used, state in states.items():
                for place in self._options(used, self._limits[k]):
                    p = self._known[place]
                    bits = state.bits | self._due.multiples[p]
                    share = self._due.share(bits)
                    cost = state.cost + self._falls[k] * share + self._finishes[k] / p
                    before = following.get(used | 1 << place)
                    bound = cost + self._rest(k + 1, share)
                    if bound <= ceiling + 1e-9 and (before is None or cost < before.cost):
                        after = _State(cost, bound, bits, (*state.chosen, p))
                        following[used | 1 << place] = after
            if len(following) > most:
                self.exact = False
                ranked = sorted(following.items(), key=lambda item: item[1].bound)
                following = dict(ranked[:most])
            states = following
        if not states:
            return None
        best = min(states.values(), key=lambda state: state.cost)
        chosen = dict(zip(self._order, best.chosen, strict=True))
        return tuple(chosen[i] for i in range(len(self._order)))

    def _options(self, used: int, limit: int) -> Iterator[int]:
        """Places of the longest period in use up to the limit, and of longer ones not in use."""
        for place in range(bisect_right(self._known, limit) - 1, -1, -1):
            yield place
            if used >> place & 1:
                return

    def _rest(self, k: int, share: float) -> float:
        """At least what the rest costs: no scan gets rarer, none rarer than the shortest allows."""
        j = max(k, bisect_right(self._rarest, share))
        scans = share * (self._scans[k] - self._scans[j]) + self._rest_scans[j]
        return scans + self._rest_finishes[k]


def _sums_from_end(values: Iterable[float]) -> list[float]:
    """The sum of all values from each place on, and 0.

    >>> _sums_from_end([1, 2, 4])
    [7, 6, 4, 0]
    """
    return list(accumulate([0, *reversed(list(values))]))[::-1]
