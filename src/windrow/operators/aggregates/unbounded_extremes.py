"""MIN and MAX of tuples that never leave, of what is an integer or a double: the extreme itself.

Values are compared as integers in their order (``windrow.columns.arrays.order_keys``), and an
answer is made of them: of 0.0 and -0.0, which are equal, it is 0.0, as wherever there are extremes.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from windrow.columns.arrays import (
    Bools,
    Int64s,
    fixed_array,
    order_key_bits,
    order_keys,
    validity,
)
from windrow.columns.growable import fresh, grow
from windrow.columns.kernels import flags, flags_out, ints, ints_out, kernel, void
from windrow.operators.aggregates.events import ArgumentValues, Events


@kernel(void, ints, flags, ints, ints, ints, ints_out, flags_out, ints_out, flags_out)
def _follow_least(key, present, last, group_of, groups, best, has, found, held):  # type: ignore[no-untyped-def]
    """``found`` and ``held`` are per group before, then per segment after."""
    before, i = len(groups), 0
    for g in range(before):
        found[g], held[g] = best[groups[g]], has[groups[g]]
    for j in range(len(last)):
        c = groups[group_of[j]]
        while i <= last[j]:
            if present[i] and (not has[c] or key[i] < best[c]):
                best[c], has[c] = key[i], True
            i += 1
        found[before + j], held[before + j] = best[c], has[c]


class UnboundedExtreme:
    """MIN, or MAX with ``largest``; NULL where there is no value."""

    def __init__(self, kind: pa.DataType, largest: bool) -> None:
        self.kind, self.largest = kind, largest
        self.best, self.has = fresh(0), fresh(False, np.bool_)

    def grow(self, size: int) -> None:
        self.best, self.has = grow(self.best, size, 0), grow(self.has, size, False)

    def update(self, events: Events, values: ArgumentValues) -> tuple[pa.Array, pa.Array]:
        argument, groups = values(events.position), len(events.groups)
        valid = validity(argument)
        present = np.ones(len(argument), np.bool_) if valid is None else valid
        found = np.empty(groups + len(events.last), np.int64)
        held = np.empty(len(found), np.bool_)
        _follow_least(
            self._keys(argument), present, events.last, events.group_of, events.groups, self.best,
            self.has, found, held,
        )  # fmt: skip
        answer = self._array(found, held)
        return answer.slice(0, groups), answer.slice(groups)

    def _keys(self, argument: pa.Array) -> Int64s:
        """Integers of which the least is that of the extreme."""
        keys = order_keys(argument)
        return ~keys if self.largest else keys

    def _array(self, keys: Int64s, valid: Bools) -> pa.Array:
        keys = ~keys if self.largest else keys
        if pa.types.is_floating(self.kind):
            doubles = order_key_bits(keys).view(np.float64)
            return fixed_array(doubles.astype(self.kind.to_pandas_dtype()), valid, self.kind)
        short = pa.types.is_int32(self.kind) or pa.types.is_date32(self.kind)
        return fixed_array(keys.astype(np.int32) if short else keys, valid, self.kind)

    def dump(self, codes: Int64s) -> list[pa.Array]:
        return [self._array(self.best[codes], self.has[codes])]

    def restore(self, codes: Int64s, columns: list[pa.Array]) -> None:
        (array,) = columns
        valid = validity(array)
        self.best[codes] = self._keys(array)
        self.has[codes] = True if valid is None else valid
