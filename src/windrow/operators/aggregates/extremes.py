"""MIN and MAX.

The tuples of each group are a doubly linked list over the positions of the buffer, and the group
remembers which of them is the extreme one. An arrival is compared with it; a departure unlinks,
and only the departure of the extreme itself makes the group look through its list again.

Over MONOTONIC input nothing departs, so nothing but each group's extreme is kept. Over WEAKEST
input a tuple is useless as soon as a younger one is no worse, since that one outlives it (Golab
2006, 2.2.2); ``dominated`` finds such tuples, and lists stay as short as a staircase.

0.0 and -0.0 are one value, and 0.0 is the answer: which of them came last must not be seen, as
summaries of sub-windows that are merged cannot know it.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from windrow.columns.arrays import Int64s, order_keys, validity
from windrow.columns.byte_forms import byte_parts
from windrow.columns.byte_order import NO_TIES, Ties, comes_first, leading_keys, ties_type
from windrow.columns.growable import Growable, fresh, grow
from windrow.columns.kernels import (
    boolean,
    grid,
    grid_out,
    helper,
    int64,
    ints,
    ints_out,
    kernel,
    likely_room,
    signs,
    void,
)
from windrow.columns.stored_columns import BytesColumn
from windrow.operators.aggregates.events import ArgumentValues, Events, renumber_groups
from windrow.operators.state.move import Move

KEY, BEFORE, AFTER = 0, 1, 2
NONE = np.empty(0, np.int64)


@helper
def _precedes(p, q, base, nodes, ties):  # type: ignore[no-untyped-def]
    """Whether the value at ``p`` is strictly better than that at ``q``."""
    return comes_first(nodes[p - base, KEY], p, nodes[q - base, KEY], q, ties)


@helper
def _takes_over(p, best, base, nodes, departs, ties):  # type: ignore[no-untyped-def]
    """Whether a new tuple is the extreme now; of equal ones, where tuples depart, it is."""
    if departs:
        return not _precedes(best, p, base, nodes, ties)
    return _precedes(p, best, base, nodes, ties)


@kernel(
    void, ints, ints, ints, signs, ints, int64, boolean, ties_type,
    ints_out, ints_out, grid_out, ints_out,
)  # fmt: skip
def _extremes(  # type: ignore[no-untyped-def]
    code, position, key, sign, last, base, linked, ties, heads, best, nodes, after
):
    """``nodes`` holds, per position, the order key and the neighbours in the group's list.

    ``best[c]`` is the extreme position of group c or -1. ``sign`` 0 marks a NULL, which takes no
    part. Strings are compared byte by byte where they are stored.
    """
    i = 0
    for j in range(len(last)):
        c = code[last[j]]
        lost = False
        while i <= last[j]:
            p = position[i]
            n = p - base
            if sign[i] > 0:
                nodes[n, KEY] = key[i]
                if linked:
                    nodes[n, BEFORE], nodes[n, AFTER] = -1, heads[c]
                    if heads[c] >= 0:
                        nodes[heads[c] - base, BEFORE] = p
                    heads[c] = p
                if best[c] < 0 or _takes_over(p, best[c], base, nodes, linked, ties):
                    best[c] = p
            elif sign[i] < 0:
                left, right = nodes[n, BEFORE], nodes[n, AFTER]
                if left >= 0:
                    nodes[left - base, AFTER] = right
                else:
                    heads[c] = right
                if right >= 0:
                    nodes[right - base, BEFORE] = left
                if best[c] == p:
                    lost = True
                    best[c] = -1
            i += 1
        if lost:
            best[c] = -1
            p = heads[c]
            while p >= 0:
                if best[c] < 0 or _precedes(p, best[c], base, nodes, ties):
                    best[c] = p
                p = nodes[p - base, AFTER]
        after[j] = best[c]


@kernel(
    int64, ints, int64, ties_type, ints, grid, ints_out,
)  # fmt: skip
def _find_dominated(groups, base, ties, heads, nodes, out):  # type: ignore[no-untyped-def]
    """Positions of tuples that a younger and no worse one of their group makes useless."""
    count = 0
    for g in range(len(groups)):
        best = heads[groups[g]]
        if best < 0:
            continue
        p = nodes[best - base, AFTER]
        while p >= 0:
            if _precedes(p, best, base, nodes, ties):
                best = p
            else:
                if count < len(out):
                    out[count] = p
                count += 1
            p = nodes[p - base, AFTER]
    return count


@kernel(void, ints, ints, int64, ints_out, grid_out)
def _unlink(position, code, base, heads, nodes):  # type: ignore[no-untyped-def]
    for i in range(len(position)):
        n = position[i] - base
        left, right = nodes[n, BEFORE], nodes[n, AFTER]
        if left >= 0:
            nodes[left - base, AFTER] = right
        else:
            heads[code[i]] = right
        if right >= 0:
            nodes[right - base, BEFORE] = left


class Extreme:
    """MIN, or MAX with ``largest``; ``departs`` is False for MONOTONIC input."""

    keeps_tuples: ClassVar[bool] = True

    def __init__(self, kind: pa.DataType, largest: bool, departs: bool) -> None:
        self.kind, self.largest, self.departs = kind, largest, departs
        self.heads, self.best = fresh(-1), fresh(-1)
        self.nodes = Growable(np.int64, width=3)
        self._was = NONE

    def grow(self, size: int) -> None:
        self.heads, self.best = grow(self.heads, size, -1), grow(self.best, size, -1)

    def update(self, events: Events, values: ArgumentValues) -> tuple[pa.Array, pa.Array]:
        argument = values(events.position)
        sign = events.sign
        valid = validity(argument)
        if valid is not None:
            sign = np.where(valid, sign, 0).astype(np.int8)
        self._was = self.best[events.groups]
        before = self._fetch(self._was, values)
        self._make_room(events.position)
        ties = self._ties(values)
        if ties is not NO_TIES:
            keys = leading_keys(*byte_parts(argument), self.largest)
        else:
            keys = order_keys(argument)
            keys = ~keys if self.largest else keys
        after = np.empty(len(events.last), np.int64)
        nodes = self.nodes
        _extremes(
            events.code, events.position, keys, sign, events.last, nodes.base, self.departs,
            ties, self.heads, self.best, nodes.view, after,
        )  # fmt: skip
        return before, self._fetch(after, values)

    def find_dominated(self, groups: Int64s, values: ArgumentValues) -> Int64s:
        """Tuples of these groups that cannot matter any more, if tuples leave in order of age."""
        nodes, room = self.nodes, likely_room(1024)
        ties = self._ties(values)
        while True:
            out = np.empty(room, np.int64)
            count = _find_dominated(groups, nodes.base, ties, self.heads, nodes.view, out)
            if count <= room:
                return out[:count]
            room = count

    def leave_out(self, positions: Int64s, codes: Int64s) -> None:
        """Forget tuples that are dominated; none of them is an extreme."""
        _unlink(positions, codes, self.nodes.base, self.heads, self.nodes.view)

    def _ties(self, values: ArgumentValues) -> Ties:
        """Where the argument's bytes are, if it is stored as bytes."""
        store = values.store
        return store.ties(self.largest) if isinstance(store, BytesColumn) else NO_TIES

    def _fetch(self, positions: Int64s, values: ArgumentValues) -> pa.Array:
        none = positions < 0
        if none.all():
            return pa.nulls(len(positions), self.kind)
        fetched = values(np.where(none, positions.max(), positions))
        if pa.types.is_floating(self.kind):
            fetched = pc.add(fetched, pa.scalar(0.0, self.kind))  # no answer is -0.0
        return pc.if_else(pa.array(~none), fetched, pa.scalar(None, self.kind))

    def _make_room(self, positions: Int64s) -> None:
        if not len(self.nodes):
            self.nodes.clear(int(positions.min()))
        missing = int(positions.max()) + 1 - self.nodes.next
        if missing > 0:
            self.nodes.extend(missing, -1)

    def obsolete(self) -> Int64s:
        return self._was[self._was >= 0]

    def keeps(
        self, positions: Int64s, codes: Int64s, values: ArgumentValues
    ) -> npt.NDArray[np.bool_]:
        kept: npt.NDArray[np.bool_] = self.best[codes] == positions
        return kept

    def follow(self, move: Move) -> None:
        move.carry(self.nodes)
        for column in (BEFORE, AFTER):
            self.nodes.view[:, column] = move.follow(self.nodes.view[:, column])
        self.heads, self.best = move.follow(self.heads), move.follow(self.best)

    def drop_before(self, position: int) -> None:
        self.nodes.drop_before(position)

    def regroup(self, codes: Int64s, remap: Int64s) -> None:
        self.heads = renumber_groups(self.heads + 1, codes, remap) - 1
        self.best = renumber_groups(self.best + 1, codes, remap) - 1

    def dump(self, codes: Int64s) -> list[pa.Array]:
        return []

    def restore(self, codes: Int64s, columns: list[pa.Array]) -> None:
        pass
