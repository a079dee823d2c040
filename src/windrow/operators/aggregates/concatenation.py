"""STRING_AGG and ARRAY_AGG: the values of each group in order, joined to a text or an ARRAY.

An argument is a pair (``windrow.columns.functions.sort_pairs``): what orders the text, then the
text. So the order is that of the values, and neither how they came nor what has left shows in it.
For DISTINCT the argument is the text alone, in its own order. The texts that ARRAY_AGG takes in say
NULL too.

Cost: a group that changes is written anew, so a change costs the length of its answer. State: the
pairs of each group, sorted; they are taken in again from the tuples after a restart.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from operator import itemgetter
from typing import ClassVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.columns.arrays import Int64s
from windrow.columns.functions.sort_pairs import END, items_of
from windrow.columns.nested_arrays import list_array
from windrow.operators.aggregates.events import ArgumentValues, Events
from windrow.operators.state.move import Move
from windrow.plan.nodes.relational import Joining


class Concatenation:
    """STRING_AGG(x, separator); NULLs take no part, and of nothing else it is NULL.

    With a ``kind`` it is ARRAY_AGG of values of that type.
    """

    keeps_tuples: ClassVar[bool] = True

    def __init__(self, joining: Joining, paired: bool, kind: pa.DataType | None = None) -> None:
        self.joining, self.paired, self.kind = joining, paired, kind
        self.pairs: dict[int, list[str]] = {}

    def grow(self, size: int) -> None:
        """Nothing: groups are entered as they come."""

    def update(self, events: Events, values: ArgumentValues) -> tuple[pa.Array, pa.Array]:
        return self.weigh(events, values(events.position), events.sign.astype(np.int64))

    def weigh(
        self, events: Events, argument: pa.Array, weight: Int64s
    ) -> tuple[pa.Array, pa.Array]:
        """As ``update``, for events that bring a text, or take it away, several times."""
        before = [self._texts(code) for code in events.groups.tolist()]
        after, first = [], 0
        pairs, codes, weights = argument.to_pylist(), events.code.tolist(), weight.tolist()
        for last in events.last.tolist():
            for event in range(first, last + 1):
                if pairs[event] is not None:
                    self._change(codes[event], pairs[event], weights[event])
            first = last + 1
            after.append(self._texts(codes[last]))
        return self._answers(before), self._answers(after)

    def _change(self, code: int, pair: str, weight: int) -> None:
        pairs = self.pairs.setdefault(code, [])
        for _ in range(weight):
            insort(pairs, pair)
        if weight < 0:
            place = bisect_left(pairs, pair)
            del pairs[place : place - weight]
        if not pairs:
            del self.pairs[code]

    def _texts(self, code: int) -> list[str] | None:
        """What a group has now, in order."""
        pairs = self.pairs.get(code)
        if pairs is None:
            return None
        if not self.paired:
            return list(pairs)
        parts = [pair.split(END, 1) for pair in pairs]
        if self.joining.descending:  # a sort leaves the values of one key as they are
            parts.sort(key=itemgetter(0), reverse=True)
        return [text for _, text in parts]

    def _answers(self, groups: list[list[str] | None]) -> pa.Array:
        if self.kind is not None:
            counts = np.array([len(texts or ()) for texts in groups], np.int64)
            flat = pa.array(
                [t for texts in groups if texts is not None for t in texts], pa.string()
            )
            items = items_of(flat, self.kind)
            return list_array(counts, items, counts > 0, pa.list_(self.kind))
        separator = self.joining.separator
        joined = [None if texts is None else separator.join(texts) for texts in groups]
        return pa.array(joined, pa.string())

    def obsolete(self) -> Int64s:
        return np.empty(0, np.int64)

    def keeps(
        self, positions: Int64s, codes: Int64s, values: ArgumentValues
    ) -> npt.NDArray[np.bool_]:
        return np.ones(len(positions), np.bool_)

    def follow(self, move: Move) -> None:
        """Nothing: pairs are by value, wherever the tuples are."""

    def drop_before(self, position: int) -> None:
        pass

    def regroup(self, codes: Int64s, remap: Int64s) -> None:
        self.pairs = {int(remap[code]): pairs for code, pairs in self.pairs.items()}

    def dump(self, codes: Int64s) -> list[pa.Array]:
        return []

    def restore(self, codes: Int64s, columns: list[pa.Array]) -> None:
        pass
