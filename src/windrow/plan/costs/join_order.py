"""Costs of a join of n windows by its global order, and the heuristic that chooses one.

The unit is comparisons of the join attribute per unit of time (Golab 2006, 5.3.1). A new tuple of
one window probes the others in the global order; each combination that has formed so far scans
the next window. Value sets are contained in one another and values are spread evenly, so a
window of size n and v values and an intermediate result with u values give, per combination,
n / max(u, v) partners, and min(u, v) values remain.

All n! orders cost n! evaluations; the heuristic of 5.3.2 looks at about n^f of them, where f is
the number of fast streams.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

Order = tuple[int, ...]
FAST = 1.5
"""A stream is fast if it brings that many times the mean rate of the streams joined."""
MOST_ORDERS = 1_000
"""Beyond so many orders, the least fast of the fast streams keep their places."""


@dataclass(frozen=True)
class WindowedStream:
    """An input of the join: tuples per unit of time, the window's length, values in the window.

    A window kept as a hash table is scanned one of its ``buckets`` at a time.
    """

    rate: float
    length: float
    distinct: float
    buckets: float = 1

    @property
    def size(self) -> float:
        return self.rate * self.length

    @property
    def bucket_size(self) -> float:
        return self.size / self.buckets


def joined_size(streams: Sequence[WindowedStream], members: Sequence[int]) -> float:
    """The expected number of combinations of live tuples of ``members``."""
    first, *rest = members
    size, values = streams[first].size, streams[first].distinct
    for member in rest:
        size *= streams[member].size / max(values, streams[member].distinct)
        values = min(values, streams[member].distinct)
    return size


def origin_cost(streams: Sequence[WindowedStream], order: Order, origin: int) -> float:
    """Comparisons per unit of time that the new tuples of one window cause."""
    combinations, values, cost = 1.0, streams[origin].distinct, 0.0
    for member in order:
        if member == origin:
            continue
        probed = streams[member]
        cost += combinations * probed.bucket_size
        combinations *= probed.size / max(values, probed.distinct)
        values = min(values, probed.distinct)
    return streams[origin].rate * cost


def order_cost(streams: Sequence[WindowedStream], order: Order) -> float:
    """Comparisons per unit of time that the new tuples of all windows cause."""
    return sum(origin_cost(streams, order, origin) for origin in order)


def selectivity_order(streams: Sequence[WindowedStream]) -> Order:
    """Most selective first: the pair with the smallest join, then what keeps it smallest."""
    every = range(len(streams))
    if len(streams) == 1:
        return (0,)
    pairs = [(i, j) for i in every for j in every if i < j]
    order = [*min(pairs, key=lambda pair: joined_size(streams, pair))]
    while len(order) < len(streams):
        rest = [i for i in every if i not in order]
        order.append(min(rest, key=lambda i: joined_size(streams, [*order, i])))
    return tuple(order)


def fast_streams(streams: Sequence[WindowedStream]) -> Order:
    """The streams that are significantly faster than the others, fastest first."""
    mean = sum(s.rate for s in streams) / len(streams)
    fast = [i for i, s in enumerate(streams) if s.rate >= FAST * mean]
    return tuple(sorted(fast, key=lambda i: -streams[i].rate))


def considered_orders(streams: Sequence[WindowedStream]) -> tuple[Order, ...]:
    """The order by selectivity, then those with fast streams moved up from where it has them."""
    base = selectivity_order(streams)
    moved = fast_streams(streams)
    while moved and len(streams) ** len(moved) > MOST_ORDERS:
        moved = moved[:-1]
    places = [range(base.index(stream), -1, -1) for stream in moved]
    orders = [base]
    for chosen in product(*places):
        order = [i for i in base if i not in moved]
        for place, stream in sorted(zip(chosen, moved, strict=True)):
            order.insert(place, stream)
        orders.append(tuple(order))
    return tuple(dict.fromkeys(orders))


def best_order(streams: Sequence[WindowedStream]) -> Order:
    """The cheapest of the considered orders."""
    return min(considered_orders(streams), key=lambda order: order_cost(streams, order))
