"""MIN and MAX by sub-windows: each group keeps a chain of those that can still become extreme.

Sub-windows leave in the order in which they came, so one is useless as soon as a younger one of its
group is no worse. The useful ones are a chain from old to new in which each is worse than the one
before it: the first is the answer, a new one takes the place of those at the end that it makes
useless, and one that leaves is the first of the chain or not in it (Golab 2006, 2.2.2). Every
summary is chained once and unchained once, so nothing is ever looked through.

Values are compared as integers in their order (``windrow.columns.arrays.order_keys``); of 0.0 and
-0.0, which are equal, 0.0 is the answer, as over tuples. Texts and long decimals have no such
integers: ``windrow.operators.aggregates.long_extreme_summaries`` keeps one for each summary.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.columns.arrays import Int64s, fixed_array, numbers, order_keys, validity
from windrow.columns.byte_order import NO_TIES, Ties, comes_first, ties_type
from windrow.columns.growable import Growable, fresh, grow
from windrow.columns.kernels import (
    flags,
    flags_out,
    grid,
    grid_out,
    int64,
    ints,
    ints_out,
    kernel,
    signs,
    void,
)
from windrow.operators.aggregates.events import Events, renumber_groups

HELD, KEY, VALUE = 0, 1, 2
"""Columns: whether there is a value, the best one's key, and that value or its bits."""
OLDER, YOUNGER = 0, 1
"""Columns of a link, whose others are KEY and VALUE of its summary."""
OF_KEY, OF_VALUE = 2, 3


@kernel(void, ints, ints, ints, flags, int64, grid_out)
def _fold(rows, keys, values, present, at, table):  # type: ignore[no-untyped-def]
    for i in range(len(rows)):
        if present[i]:
            row = table[rows[i]]
            if not row[at + HELD] or keys[i] <= row[at + KEY]:
                row[at + HELD], row[at + KEY], row[at + VALUE] = 1, keys[i], values[i]


@kernel(
    void, ints, grid, ints, signs, ints, ints, int64, ties_type, ints_out, ints_out, grid_out,
    ints_out, flags_out,
)  # fmt: skip
def _follow_chains(  # type: ignore[no-untyped-def]
    position, parts, code, sign, last, groups, base, ties, first, end, links, value, held
):
    """``first[c]`` and ``end[c]`` are the oldest and the youngest of group c's chain, or -1."""
    before, i = len(groups), 0
    for j in range(before + len(last)):
        if j < before:
            c = groups[j]
        else:
            c = code[last[j - before]]
            while i <= last[j - before]:
                p = position[i]
                if parts[i, HELD] and sign[i] > 0:
                    q = end[c]
                    key, new = parts[i, KEY], parts[i, VALUE]
                    while q >= 0 and not comes_first(
                        links[q - base, OF_KEY], links[q - base, OF_VALUE], key, new, ties
                    ):
                        q = links[q - base, OLDER]
                    n = p - base
                    links[n, OLDER], links[n, YOUNGER] = q, -1
                    links[n, OF_KEY], links[n, OF_VALUE] = key, new
                    if q >= 0:
                        links[q - base, YOUNGER] = p
                    else:
                        first[c] = p
                    end[c] = p
                elif parts[i, HELD] and first[c] == p:
                    first[c] = links[p - base, YOUNGER]
                    if first[c] >= 0:
                        links[first[c] - base, OLDER] = -1
                    else:
                        end[c] = -1
                i += 1
        held[j] = first[c] >= 0
        value[j] = links[first[c] - base, OF_VALUE] if held[j] else 0


class ExtremeSummary:
    """MIN, or MAX with ``largest``, of what is an integer or a double."""

    width = 3

    def __init__(self, kind: pa.DataType, largest: bool) -> None:
        self.kind, self.largest = kind, largest
        self.first, self.end = fresh(-1), fresh(-1)
        self.links = Growable(np.int64, width=4)

    def tiers(self, argument: pa.Array) -> Int64s | None:
        return None

    def fold(self, rows: Int64s, argument: pa.Array | None, at: int, table: Int64s) -> None:
        assert argument is not None
        keys, valid = order_keys(argument), validity(argument)
        present = np.ones(len(keys), np.bool_) if valid is None else valid
        values = keys
        if pa.types.is_floating(self.kind):
            values = (numbers(argument).astype(np.float64) + 0.0).view(np.int64)  # no -0.0
        _fold(rows, ~keys if self.largest else keys, values, present, at, table)

    def merge(self, rows: Int64s, parts: Int64s, at: int, table: Int64s) -> None:
        keys, values = parts[:, at + KEY].copy(), parts[:, at + VALUE].copy()
        _fold(rows, keys, values, parts[:, at + HELD] > 0, at, table)

    def grow(self, size: int) -> None:
        self.first, self.end = grow(self.first, size, -1), grow(self.end, size, -1)

    def update(self, events: Events, parts: Int64s) -> tuple[pa.Array, pa.Array]:
        groups, links = len(events.groups), self.links
        if not len(links):
            links.clear(int(events.position.min()))
        missing = int(events.position.max()) + 1 - links.next
        if missing > 0:
            links.extend(missing, -1)
        count = groups + len(events.last)
        values, held = np.empty(count, np.int64), np.empty(count, np.bool_)
        _follow_chains(
            events.position, parts, events.code, events.sign, events.last, events.groups,
            links.base, self.ties(), self.first, self.end, links.view, values, held,
        )  # fmt: skip
        answer = self.to_array(values, held)
        return answer.slice(0, groups), answer.slice(groups)

    def ties(self) -> Ties:
        """What decides between equal keys."""
        return NO_TIES

    def to_array(self, values: Int64s, held: npt.NDArray[np.bool_]) -> pa.Array:
        """Values of the table as what they are; NULL where none is held."""
        found: npt.NDArray[Any] = values
        if pa.types.is_floating(self.kind):
            found = values.view(np.float64).astype(self.kind.to_pandas_dtype())
        elif pa.types.is_int32(self.kind) or pa.types.is_date32(self.kind):
            found = values.astype(np.int32)
        return fixed_array(found, held, self.kind)

    def drop_before(self, position: int) -> None:
        """Summaries before this position have left."""
        self.links.drop_before(position)

    def regroup(self, codes: Int64s, remap: Int64s) -> None:
        self.first = renumber_groups(self.first + 1, codes, remap) - 1
        self.end = renumber_groups(self.end + 1, codes, remap) - 1
