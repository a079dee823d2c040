"""Packets, queries and synopses of Golab 2006, 8.5.1, and what it takes to execute queries.

A group has a basic interval synopsis: for each of the last hundred seconds the bandwidth of every
value of its attribute, as two arrays. A joint execution scans it from the youngest second on and
adds the counters up in a hash table (as in 7.5.1); on the way, when a query's window is reached,
its answer is made from the totals so far: the k greatest, or a quantile. This is compiled code, and
what it takes is measured. The stream's counters are made beforehand (by the buffers, which work in
the background in the text); appending them to the synopses is part of what is measured.
"""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numba import njit

from windrow.sharing.rules import (
    Aggregate,
    Function,
    PeriodicQuery,
    SharingPlan,
    SynopsisKind,
    plan_queries,
)
from windrow.sharing.schedule import CostModel, Execution, Hybrid, Task, sub_groups

INTERVALS = 100
POOL = 128
"""Different seconds of traffic; the stream goes through them again and again."""
QUANTILES = (0.25, 0.5, 0.75, 0.9, 0.95, 0.99)
FIELDS = {"source": 1000, "destination": 1000, "protocol": 100, "port": 100}
"""Values of each field at 1,500 packets a second; twice as many at 3,000."""
GROUPS = (
    ("source",),
    ("destination",),
    ("source", "destination"),
    ("protocol",),
    ("port",),
    ("protocol", "port"),
    ("source", "protocol"),
    ("destination", "port"),
)
"""The text speaks of eight groups and names the first six."""


@njit(cache=True)
def scan(keys, sums, counts, first, last, newest, table, values, totals, slots, found):  # type: ignore[no-untyped-def]
    """Add the intervals from ``first`` to ``last``, the youngest is 0; how many values are seen.

    ``table`` is a hash table by linear probing, from a value to its place among the totals.
    """
    mask = len(table) - 1
    for age in range(first, last):
        interval = (newest - age) % len(counts)
        for i in range(counts[interval]):
            key = keys[interval, i]
            slot = (key * 0x9E3779B97F4A7C15 >> 32) & mask
            place = table[slot]
            while place >= 0 and values[place] != key:
                slot = (slot + 1) & mask
                place = table[slot]
            if place < 0:
                place = found
                table[slot], slots[place] = place, slot
                values[place], totals[place] = key, 0
                found += 1
            totals[place] += sums[interval, i]
    return found


@njit(cache=True)
def clear(table, slots, found):  # type: ignore[no-untyped-def]
    for i in range(found):
        table[slots[i]] = -1


@njit(cache=True)
def top(values, totals, found, k):  # type: ignore[no-untyped-def]
    """The k greatest totals, by insertion into a short list; the values with them."""
    best = np.zeros(k, np.int64)
    names = np.full(k, -1, np.int64)
    for i in range(found):
        total = totals[i]
        if total <= best[k - 1]:
            continue
        place = k - 1
        while place and best[place - 1] < total:
            best[place], names[place] = best[place - 1], names[place - 1]
            place -= 1
        best[place], names[place] = total, values[i]
    return best, names


@njit(cache=True)
def quantile(totals, found, p):  # type: ignore[no-untyped-def]
    """The total at place p of the sorted totals: by its bytes, from the highest, counted."""
    wanted = min(found - 1, int(p * found))
    greatest = 0
    for i in range(found):
        greatest = max(greatest, totals[i])
    shift = 0
    while greatest >> shift > 255:
        shift += 8
    prefix = 0
    while True:
        histogram = np.zeros(256, np.int64)
        for i in range(found):
            if totals[i] >> (shift + 8) == prefix:
                histogram[(totals[i] >> shift) & 255] += 1
        digit = 0
        while wanted >= histogram[digit]:
            wanted -= histogram[digit]
            digit += 1
        prefix = prefix << 8 | digit
        if shift == 0:
            return prefix
        shift -= 8


@dataclass(frozen=True)
class Traffic:
    """One second after the other, for each group the bandwidth of its values; and of sources."""

    rate: int
    seed: int

    @property
    def scale(self) -> int:
        return 1 if self.rate <= 1500 else 2

    def domain(self, group: Sequence[str]) -> int:
        size = 1
        for name in group:
            size *= FIELDS[name] * self.scale
        return size

    @cached_property
    def seconds(self) -> list[list[tuple[np.ndarray, np.ndarray]]]:
        choose = np.random.default_rng(self.seed)
        pool = []
        for _ in range(POOL):
            packets = {
                name: choose.integers(0, size * self.scale, self.rate)
                for name, size in FIELDS.items()
            }
            length = choose.integers(40, 1500, self.rate)
            pool.append([self._counters(packets, length, group) for group in GROUPS])
        return pool

    def _counters(
        self, packets: dict[str, np.ndarray], length: np.ndarray, group: Sequence[str]
    ) -> tuple[np.ndarray, np.ndarray]:
        key = np.zeros(self.rate, np.int64)
        for name in group:
            key = key * (FIELDS[name] * self.scale) + packets[name]
        values, places = np.unique(key, return_inverse=True)
        return values, np.bincount(places, length).astype(np.int64)


class Counters:
    """The basic interval synopsis of one group."""

    def __init__(self, domain: int, rate: int) -> None:
        width = min(domain, rate)
        self.keys = np.zeros((INTERVALS, width), np.int64)
        self.sums = np.zeros((INTERVALS, width), np.int64)
        self.counts = np.zeros(INTERVALS, np.int64)
        self.newest = -1
        most = min(domain, INTERVALS * width)
        self._table = np.full(1 << (2 * most - 1).bit_length(), -1, np.int32)
        self._values, self._totals = np.zeros(most, np.int64), np.zeros(most, np.int64)
        self._slots = np.zeros(most, np.int64)

    def append(self, keys: np.ndarray, sums: np.ndarray) -> None:
        """The oldest second makes room for a new one."""
        self.newest = (self.newest + 1) % INTERVALS
        self.keys[self.newest, : len(keys)] = keys
        self.sums[self.newest, : len(keys)] = sums
        self.counts[self.newest] = len(keys)

    def execute(self, queries: Sequence[PeriodicQuery]) -> list[object]:
        """The answers of queries, the shorter windows first, by one scan (CS2)."""
        answers: list[object] = []
        reached = found = 0
        for query in queries:
            found = scan(
                self.keys, self.sums, self.counts, reached, query.window, self.newest,
                self._table, self._values, self._totals, self._slots, found,
            )  # fmt: skip
            reached = query.window
            (aggregate,) = query.aggregates
            assert aggregate.parameter is not None
            if aggregate.function is Function.TOP:
                answers.append(top(self._values, self._totals, found, int(aggregate.parameter)))
            else:
                answers.append(quantile(self._totals, found, aggregate.parameter))
        clear(self._table, self._slots, found)
        return answers


class Sources:
    """The running synopsis of bandwidth by source, for one-time queries."""

    def __init__(self, domain: int) -> None:
        self.running = np.zeros((INTERVALS + 1, domain), np.int64)
        self.newest = 0

    def append(self, keys: np.ndarray, sums: np.ndarray) -> None:
        before = self.running[self.newest]
        self.newest = (self.newest + 1) % (INTERVALS + 1)
        np.copyto(self.running[self.newest], before)
        self.running[self.newest][keys] += sums

    def usage(self, source: int, n: int) -> int:
        oldest = (self.newest - n) % (INTERVALS + 1)
        return int(self.running[self.newest, source] - self.running[oldest, source])


class Workload:
    """Queries over the eight groups, the plan that they share by, and their measured costs."""

    def __init__(self, traffic: Traffic, per_group: int, seed: int) -> None:
        self.traffic = traffic
        choose = random.Random(seed)
        self.queries = [
            _query(choose, group, place) for group in GROUPS for place in range(per_group)
        ]
        self.named = {query.name: query for query in self.queries}
        self.plan = _with_basic_intervals(plan_queries(self.queries, s=1))

    def synopses(self) -> list[Counters]:
        """Synopses that hold the first hundred seconds."""
        made = []
        for place, group in enumerate(GROUPS):
            counters = Counters(self.traffic.domain(group), self.traffic.rate)
            for second in self.traffic.seconds[:INTERVALS]:
                counters.append(*second[place])
            made.append(counters)
        return made

    @cached_property
    def tasks(self) -> tuple[Task, ...]:
        """Sub-groups with measured costs, in seconds of processor time."""
        synopses = dict(zip(map(_key, GROUPS), self.synopses(), strict=True))
        merge = {key: _seconds_of_scan(counters) / INTERVALS for key, counters in synopses.items()}
        finish = {
            (key, function): _seconds_of_finish(counters, function)
            for key, counters in synopses.items()
            for function in (Function.TOP, Function.QUANTILE)
        }
        costs = CostModel(
            merge=lambda shape: merge[str(shape.contents.argument)],
            finish=lambda query: finish[
                str(query.aggregates[0].argument), query.aggregates[0].function
            ],
        )
        return sub_groups(self.plan, costs)[1]

    @cached_property
    def hybrid_tasks(self) -> tuple[Task, ...]:
        """The sub-groups with the periods of hybrid scheduling: Algorithm 10 runs over these."""
        return Hybrid().arrange(self.tasks)

    def ordered(self, execution: Execution) -> tuple[int, list[PeriodicQuery]]:
        """The group of an execution, and its queries from short windows to long ones."""
        queries = [self.named[query.name] for query in execution.queries]
        queries.sort(key=lambda query: query.window)
        return PLACES[str(queries[0].aggregates[0].argument)], queries


def _key(group: Sequence[str]) -> str:
    return "-".join(group)


PLACES = {_key(group): place for place, group in enumerate(GROUPS)}


def _query(choose: random.Random, group: Sequence[str], place: int) -> PeriodicQuery:
    window = choose.randint(20, INTERVALS)
    slide = choose.randint(1, window // 2)
    function, parameter = choose.choice(
        [
            (Function.TOP, float(choose.randint(5, 20))),
            (Function.QUANTILE, choose.choice(QUANTILES)),
        ]
    )
    aggregate = Aggregate(function, _key(group), parameter)
    return PeriodicQuery(f"{_key(group)} {place}", "packets", (aggregate,), (window,), slide)


def _with_basic_intervals(plan: SharingPlan) -> SharingPlan:
    """The experiment has basic interval synopses, also where few queries read one."""
    return replace(
        plan,
        synopses=tuple(
            replace(synopsis, shape=replace(synopsis.shape, kind=SynopsisKind.BASIC))
            for synopsis in plan.synopses
        ),
    )


def _seconds_of_scan(counters: Counters) -> float:
    return _least_seconds(lambda: counters.execute([_probe(Function.TOP, INTERVALS)])) - (
        _seconds_of_finish(counters, Function.TOP)
    )


def _seconds_of_finish(counters: Counters, function: Function) -> float:
    """What one answer more takes, at a window of sixty."""
    many = [_probe(function, 60)] * 8
    whole, one = (_least_seconds(lambda q=q: counters.execute(q)) for q in (many, many[:1]))
    return max(0.0, (whole - one) / 7)


def _probe(function: Function, window: int) -> PeriodicQuery:
    parameter = 10 if function is Function.TOP else 0.9
    return PeriodicQuery("probe", "packets", (Aggregate(function, "any", parameter),), (window,), 1)


def _least_seconds(call, rounds: int = 5) -> float:  # type: ignore[no-untyped-def]
    call()
    times = []
    for _ in range(rounds):
        begin = time.process_time()
        call()
        times.append(time.process_time() - begin)
    return min(times)
