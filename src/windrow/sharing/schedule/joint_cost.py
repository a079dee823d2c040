"""What an execution costs, and what a schedule costs per update (Golab 2006, 8.4.4).

Queries that run together probe each synopsis once: one scan of a basic interval synopsis as far as
the longest window, one probe of another kind for each window. So the cost of a joint execution is
the greatest of its members' costs at each probe, and the sum of what each does with the result for
itself. Updates of synopses cost the same under every schedule and are left out.

A task is paid for whenever one of its periods is due: `DueUpdates` counts the share of such
updates.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from windrow.sharing.rules.periodic_query import PeriodicQuery
from windrow.sharing.rules.sharing_plan import Member, SharingPlan
from windrow.sharing.rules.synopsis_shape import SynopsisShape

LONGEST_HORIZON = 27_720
"""Shares are counted over the least common multiple of the periods, or over so many updates if it
is longer; it is a multiple of most small numbers, so the difference is in the fourth digit."""


class DueUpdates:
    """Multiples of periods as bits of a number, one for each update of the horizon.

    >>> due = DueUpdates([5, 2, 3])
    >>> due.horizon, due.share(due.multiples[2] | due.multiples[3]) == 2 / 3
    (30, True)
    """

    def __init__(self, periods: Iterable[int]) -> None:
        distinct = set(periods)
        self.horizon = min(math.lcm(*distinct), LONGEST_HORIZON)
        self.multiples = {p: _multiples(p, self.horizon) for p in distinct}

    def share(self, bits: int) -> float:
        """The share of updates that have a bit: at which a task is due."""
        return bits.bit_count() / self.horizon


def _multiples(period: int, horizon: int) -> int:
    """A bit for each multiple of the period from 1 to the horizon, doubled as long as it fits."""
    if period > horizon:
        return 0
    bits, count = 1 << (period - 1), 1
    wanted = horizon // period
    while count < wanted:
        step = min(count, wanted - count)
        bits |= (bits & ((1 << step * period) - 1)) << count * period
        count += step
    return bits


@dataclass(frozen=True)
class Work:
    """The cost of an execution: by probe what it takes, and ``finish``, which is not shared."""

    probes: dict[str, float] = field(default_factory=dict)
    finish: float = 0

    @property
    def cost(self) -> float:
        return sum(self.probes.values()) + self.finish


def joint_work(works: Iterable[Work]) -> Work:
    """What executing them together takes.

    >>> nine, fourteen = Work({"scan": 9}), Work({"scan": 14}, finish=1)
    >>> joint_work([nine, fourteen]).cost
    15.0
    """
    probes: dict[str, float] = {}
    finish = 0.0
    for work in works:
        finish += work.finish
        for probe, cost in work.probes.items():
            probes[probe] = max(cost, probes.get(probe, 0))
    return Work(probes, finish)


def _one(_: SynopsisShape) -> float:
    return 1


def _nothing(_: PeriodicQuery) -> float:
    return 0


@dataclass(frozen=True)
class CostModel:
    """Relative costs: to merge two intervals of a synopsis, and to finish an answer.

    By default a merge costs 1, which suits single values; with counters it is their number, and
    sorting them for a TOP k is part of ``finish``.
    """

    merge: Callable[[SynopsisShape], float] = _one
    finish: Callable[[PeriodicQuery], float] = _nothing

    def work(self, plan: SharingPlan, member: Member) -> Work:
        """The work of one query: probes of all its synopses, and what combines them."""
        probes: dict[str, float] = {}
        finish = float(self.finish(member.query))
        for part in member.parts:
            for number in part.numbers:
                shape = plan.synopsis(number).shape
                windows = tuple(window // shape.s for window in member.query.windows)
                name = f"synopsis {number}"
                if not shape.kind.is_basic:
                    name += f", windows {windows}"
                probes[name] = self.merge(shape) * _merges(shape, max(windows))
                finish += self.merge(shape) if number != part.numbers[0] else 0
        return Work(probes, finish)


def _merges(shape: SynopsisShape, n: int) -> int:
    """Merges of a probe of n intervals: n - 1 in a row, about log b of an interval synopsis, one
    subtraction of running values.
    """
    if shape.kind.is_running:
        return 1
    if shape.kind.is_basic:
        return n - 1
    return min(n - 1, math.ceil(math.log2(max(shape.b, 2))))


def cost_per_update(
    works: Sequence[Work], periods: Sequence[int], due: DueUpdates | None = None
) -> float:
    """The cost of executing each with its period, and together what is due at the same update.

    All begin together, so a task with period p is due at the multiples of p. A probe that costs c
    takes part in as many updates as one of those that need c or more is due at. Whoever compares
    choices gives ``due`` of all periods.

    >>> nine, fourteen = Work({"scan": 9}), Work({"scan": 14})
    >>> [round(cost_per_update([nine, fourteen], periods), 2) for periods in ([2, 3], [2, 2])]
    [7.67, 7.0]
    """
    due = due or DueUpdates(periods)
    total = sum(work.finish / period for work, period in zip(works, periods, strict=True))
    for probe in {probe: None for work in works for probe in work.probes}:
        pairs = zip(works, periods, strict=True)
        steps = [(work.probes[probe], p) for work, p in pairs if probe in work.probes]
        steps.sort(reverse=True)
        seen = 0
        for (cost, period), (lower, _) in zip(steps, [*steps[1:], (0, 0)], strict=True):
            seen |= due.multiples[period]
            total += (cost - lower) * due.share(seen)
    return total
