"""Packets and queries of Golab 2006, 7.5.1, and what it really costs to scan a sub-window for them.

A periodic query is the top k of addresses, or a percentile of the bandwidth of addresses. Five that
read the same column share one scan; windows differ, so the scan keeps a row of counters for each
sub-window, in one hash table of addresses, and adds the rows up from young to old at the end.
A one-time query is an aggregate of the sizes of packets of sixteen random addresses.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numba import njit

RATE = 5_000
"""Packets in a second. The text's thousand are scanned here in the time of a few function calls."""
ADDRESSES = 1000
SLOTS = 2048
PERCENTILES = (25, 50, 75, 90, 95, 99)


@dataclass(frozen=True)
class Packets:
    """One sub-window."""

    source: np.ndarray
    destination: np.ndarray
    size: np.ndarray


@dataclass(frozen=True)
class Group:
    """Queries that share a scan: they count packets, or add up sizes, by one column."""

    column: str
    weighted: bool
    windows: tuple[int, ...]
    percentiles: tuple[int, ...]

    @property
    def length(self) -> int:
        return max(self.windows)


class Workload:
    """The stream, the periodic groups and the costs of scans of one trial."""

    def __init__(self, n: int, seconds: int, queries: int, seed: int) -> None:
        self.n, self.seconds = n, seconds
        self._random = np.random.default_rng(seed)
        self._addresses = self._random.choice(2**32, ADDRESSES, replace=False).astype(np.uint32)
        self.packets = self._stream()
        self.groups = [self._group() for _ in range(queries // 5)]

    def _stream(self) -> list[Packets]:
        """2n sub-windows, one after the other, each at a rate that is off by a factor up to ten."""
        factors = 10 ** self._random.uniform(-1, 1, 2 * self.n) / MEAN_FACTOR
        tuples = (RATE * self.seconds * factors).astype(np.int64)
        cuts = np.cumsum(tuples)[:-1]
        columns = (
            self._random.choice(self._addresses, tuples.sum()),
            self._random.choice(self._addresses, tuples.sum()),
            self._random.integers(1, 101, tuples.sum(), dtype=np.uint8),
        )
        parts = (np.split(column, cuts) for column in columns)
        return [Packets(*part) for part in zip(*parts, strict=True)]

    def _group(self) -> Group:
        return Group(
            str(self._random.choice(["source", "destination"])),
            bool(self._random.integers(2)),
            tuple(int(w) for w in self._random.integers(1, self.n + 1, 5)),
            tuple(int(p) for p in self._random.choice(PERCENTILES, 5)),
        )

    @cached_property
    def subset(self) -> np.ndarray:
        """Which addresses a one-time query asks for, as a table by hash."""
        table = np.full(SLOTS, -1, dtype=np.int64)
        for address in self._addresses[:16]:
            find_slot(table, address)
        return table

    @cached_property
    def periodic_costs(self) -> dict[tuple[str, bool], np.ndarray]:
        """Processor seconds to scan each sub-window, by column and by what is added up."""
        keys, counters = np.full(SLOTS, -1, dtype=np.int64), np.zeros(SLOTS, dtype=np.int64)
        ones = np.ones(max(p.size.size for p in self.packets), dtype=np.uint8)
        return {
            (column, weighted): scan_costs(
                [
                    (getattr(p, column), p.size if weighted else ones, keys, counters)
                    for p in self.packets
                ],
                scan_group,
            )
            for column in ("source", "destination")
            for weighted in (False, True)
        }

    @cached_property
    def one_time_costs(self) -> np.ndarray:
        return scan_costs([(p.source, p.size, self.subset) for p in self.packets], scan_subset)

    @cached_property
    def answer_costs(self) -> list[float]:
        """Processor seconds to answer each group, when everything is read."""
        costs = []
        for group in self.groups:
            rows = self._random.integers(0, 1000, (group.length, SLOTS))
            costs.append(float(scan_costs([(rows, group)], answer_group)[0]))
        return costs

    @property
    def mean_execution(self) -> float:
        """Processor seconds of a group, without the scheduler's."""
        scans = [
            group.length * self.periodic_costs[group.column, group.weighted].mean()
            for group in self.groups
        ]
        return float(np.mean(scans) + np.mean(self.answer_costs))


MEAN_FACTOR = float(np.mean(10 ** np.linspace(-1, 1, 1001)))
"""So that the mean rate is ``RATE``."""


def scan_costs(arguments: list[tuple[Any, ...]], work: Callable[..., Any]) -> np.ndarray:
    """Processor seconds of each call: the median of three passes, as a query passes over a window,
    after one that warms up."""
    passes = []
    for _ in range(4):
        times = []
        for given in arguments:
            begin = time.thread_time_ns()
            work(*given)
            times.append(time.thread_time_ns() - begin)
        passes.append(times)
    return np.median(np.array(passes[1:]), axis=0) / 1e9


def answer_group(rows: np.ndarray, group: Group) -> list[np.ndarray]:
    """Each member's answer, on the way from the youngest sub-window to the oldest."""
    total = np.zeros(SLOTS, dtype=np.int64)
    answers, read = {}, 0
    for window in sorted(set(group.windows)):
        total += rows[read:window].sum(axis=0)
        read = window
        live = total[total > 0]
        if group.weighted:
            place = min(len(live) - 1, len(live) * group.percentiles[0] // 100)
            answers[window] = np.partition(live, place)[place : place + 1]
        else:
            answers[window] = np.argpartition(total, -10)[-10:]
    return [answers[window] for window in group.windows]


@njit(cache=True, nogil=True)
def find_slot(table: np.ndarray, address: int) -> int:
    """Where an address is in the table; it is added if it is new."""
    slot = (address * 0x9E3779B1 >> 16) & (SLOTS - 1)
    while table[slot] != address:
        if table[slot] == -1:
            table[slot] = address
        else:
            slot = (slot + 1) & (SLOTS - 1)
    return slot


@njit(cache=True, nogil=True)
def scan_group(addresses: np.ndarray, values: np.ndarray, keys: np.ndarray, counters: np.ndarray):
    """Add the values of a sub-window up by address."""
    counters[:] = 0
    for i in range(addresses.size):
        counters[find_slot(keys, addresses[i])] += values[i]


@njit(cache=True, nogil=True)
def scan_subset(addresses: np.ndarray, sizes: np.ndarray, subset: np.ndarray):
    """Count, sum and maximum of the sizes of packets of some addresses."""
    count, total, greatest = 0, 0, 0
    for i in range(addresses.size):
        slot = (addresses[i] * 0x9E3779B1 >> 16) & (SLOTS - 1)
        while subset[slot] != -1 and subset[slot] != addresses[i]:
            slot = (slot + 1) & (SLOTS - 1)
        if subset[slot] != -1:
            count += 1
            total += sizes[i]
            greatest = max(greatest, sizes[i])
    return count, total, greatest
