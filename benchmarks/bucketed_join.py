"""The n-way join with as few hash buckets as one likes: one bucket is a join by nested loops.

Windrow's own operator gives each key value a chain of its own, so a probe reads matches only.
Golab 2006, 5.4 measures windows without an index and with two, five or ten buckets, where a
probe compares the join attribute of everything in a bucket; this is the same operator with such
chains, over the same state.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numba
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.core.patterns import UpdatePattern
from windrow.core.schema import Type
from windrow.operators.join_pairs import JoinSide
from windrow.operators.multi_join import MultiwayJoin
from windrow.operators.state.tuple_index import END, EXP, LINK, TS
from windrow.plan.expressions import Column

Int64s = npt.NDArray[np.int64]
KEY = Column(0, "k", Type.BIGINT)
INPUT = pa.schema([("k", pa.int64())])


@numba.njit(cache=True)
def _link(codes, at, base, heads, life, buckets):  # type: ignore[no-untyped-def]
    for i in range(len(at)):
        bucket = codes[at[i] - base] % buckets
        life[at[i] - base, LINK] = heads[bucket]
        heads[bucket] = at[i]


@numba.njit(cache=True)
def _combine(at, me, codes, order, heads, lives, bases, buckets, since, out, lifetimes):  # type: ignore[no-untyped-def]
    """Combinations of the tuples ``at`` of ``me`` with the others in ``order``, as nested loops."""
    depth, count = len(order), 0
    place = np.empty(depth, np.int64)
    chosen = np.empty(out.shape[1], np.int64)
    start, end = np.empty(depth + 1, np.int64), np.empty(depth + 1, np.int64)
    for i in range(len(at)):
        mine = at[i] - bases[me]
        code = codes[me][mine]
        chosen[me] = at[i]
        start[0], end[0] = lives[me][mine, TS], lives[me][mine, END]
        level = 0
        place[0] = heads[order[0]][code % buckets]
        while level >= 0:
            b = order[level]
            p = place[level]
            if p < bases[b]:
                level -= 1
                continue
            row = p - bases[b]
            place[level] = lives[b][row, LINK]
            if codes[b][row] != code:
                continue
            s = max(start[level], lives[b][row, TS])
            e = min(end[level], lives[b][row, END])
            if s >= e or e <= since:
                continue
            chosen[b] = p
            if level + 1 < depth:
                level += 1
                start[level], end[level] = s, e
                place[level] = heads[order[level]][code % buckets]
                continue
            if count < len(out):
                out[count] = chosen
                lifetimes[count, TS] = s
                lifetimes[count, END] = lifetimes[count, EXP] = e
            count += 1
    return count


class _BucketedSide(JoinSide):
    def __init__(self, buckets: int) -> None:
        super().__init__(INPUT, UpdatePattern.WEAKEST, [KEY])
        self.buckets = buckets

    def link(self, positions: Int64s, codes: int) -> None:
        life = self.buffer.life
        _link(self.codes.view, positions, life.base, self.heads, life.view, self.buckets)


class FixedOrderJoin(MultiwayJoin):
    """Windrow's operator, kept from choosing a better order as it learns the rates."""

    def _review(self, came: Int64s, now: int) -> None:
        pass


class BucketedJoin(FixedOrderJoin):
    """Joins streams of one integer column over WEAKEST windows; see the module.

    What has expired is dropped when ``expiry`` ticks have passed since the last time.
    """

    def __init__(self, streams: int, order: Sequence[int], buckets: int, expiry: int = 0) -> None:
        super().__init__(**arguments(streams, order))
        self.buckets, self.expiry, self.dropped = buckets, expiry, 0
        self.sides: list[Any] = [_BucketedSide(buckets) for _ in range(streams)]

    def _probe(self, me: int, at: Int64s, whole_before: int) -> tuple[Int64s, Int64s]:
        width = len(self.sides)
        if not len(at):
            return np.empty((0, width), np.int64), np.empty((0, 4), np.int64)
        order = np.array([b for b in self.order if b != me], np.int64)
        codes, heads, lives = zip(
            *((s.codes.view, s.heads, s.buffer.life.view) for s in self.sides), strict=True
        )
        bases = np.array([side.buffer.base for side in self.sides], np.int64)
        room = 2 * len(at) + 64
        while True:
            out, lifetimes = np.empty((room, width), np.int64), np.empty((room, 4), np.int64)
            count = _combine(
                at, me, codes, order, heads, lives, bases, self.buckets, self.now, out, lifetimes
            )
            if count <= room:
                return out[:count], lifetimes[:count]
            room = count

    def _forget(self, now: int) -> None:
        self.now = now
        if now - self.dropped >= self.expiry:
            self.dropped = now
            super()._forget(now)


def arguments(streams: int, order: Sequence[int]) -> dict[str, Any]:
    """What the operator is made from, for ``streams`` windows of one integer column."""
    return {
        "schemas": [INPUT] * streams,
        "patterns": [UpdatePattern.WEAKEST] * streams,
        "keys": [[KEY]] * streams,
        "kinds": [pa.int64()],
        "residual": None,
        "order": order,
        "schema": pa.schema([(f"k{i}", pa.int64()) for i in range(streams)]),
    }
