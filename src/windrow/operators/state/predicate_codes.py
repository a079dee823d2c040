"""Groups of several predicates as one row of numbers: a code for each pair of them that occurs.

What keeps a summary for each group keeps one for each predicate and group if it is given these
codes in place of those of groups.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa

from windrow.columns.arrays import Int64s
from windrow.columns.interner import Interner, IntTable

BITS = 32
"""Of a group in the number of a pair; groups are fewer."""


class GroupCodes(Protocol):
    """What ``Interner`` is to those who save groups by their keys and load them again."""

    @property
    def kinds(self) -> tuple[pa.DataType, ...]: ...

    def rows(self, codes: Int64s) -> list[pa.Array]: ...

    def codes(self, columns: Sequence[pa.Array], length: int) -> Int64s: ...


class PredicateCodes:
    """Pairs to codes, and back; a predicate is a small number.

    >>> import numpy as np
    >>> from windrow.operators.state.predicate_codes import PredicateCodes
    >>> pairs = PredicateCodes()
    >>> codes = pairs.codes(np.array([0, 1, 0]), np.array([7, 7, 7]))
    >>> codes.tolist(), [part.tolist() for part in pairs.split(codes)]
    ([0, 1, 0], [[0, 1, 0], [7, 7, 7]])
    """

    def __init__(self) -> None:
        self._table = IntTable()

    def codes(self, predicates: Int64s, groups: Int64s) -> Int64s:
        """New ones for pairs that were never seen."""
        return self._table.codes((predicates << BITS) | groups)

    def split(self, codes: Int64s) -> tuple[Int64s, Int64s]:
        """The predicates and the groups of codes."""
        pairs = self._table.keys[codes]
        return pairs >> BITS, pairs & ((1 << BITS) - 1)


@dataclass(frozen=True)
class SavedPairs:
    """Pairs as they are saved: the predicate, and then the keys of the group."""

    pairs: PredicateCodes
    groups: Interner

    @property
    def kinds(self) -> tuple[pa.DataType, ...]:
        return (pa.int64(), *self.groups.kinds)

    def rows(self, codes: Int64s) -> list[pa.Array]:
        predicates, groups = self.pairs.split(codes)
        return [pa.array(predicates), *self.groups.rows(groups)]

    def codes(self, columns: Sequence[pa.Array], length: int) -> Int64s:
        predicates, *keys = columns
        return self.pairs.codes(predicates.to_numpy(), self.groups.codes(keys, length))
