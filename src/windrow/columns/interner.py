"""Rows to small integers: equal rows, and only those, get the same code.

Codes are dense (0, 1, 2, ...), so that an operator's per-key state is plain arrays indexed by
code, without a hash table of its own and without a chance of a collision: values are compared,
not only hashed. One table serves one column; several columns are folded pairwise, each pair of
codes being one integer to the next table. NULL is a value like any other here (GROUP BY wants
that); a join leaves such rows out before it comes here.

A code is never given back one by one. When most are dead (``Crowding`` says when it pays to look),
``compact`` starts afresh with those that live: O(1) per row on average.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from windrow.columns.arrays import (
    Int64s,
    fixed_array,
    identity_keys,
    validity,
)
from windrow.columns.byte_forms import byte_parts, is_bytes
from windrow.columns.byte_kernels import copy_bytes, same_bytes
from windrow.columns.copied_texts import gather_bytes
from windrow.columns.growable import SMALLEST
from windrow.columns.hashing import hash_bytes, mix
from windrow.columns.kernels import (
    bytes_in,
    bytes_out,
    grid_out,
    inline,
    int64,
    ints,
    ints_out,
    kernel,
    void,
)
from windrow.columns.nested_arrays import is_nested, with_one_zero
from windrow.columns.stored_columns import column_store
from windrow.core.thresholds import Threshold

FEW = Threshold(4096)
"""Numbers that are too few to be worth looking for unused ones among them."""
GROWTH = Threshold(2, least=1)
"""How much more numbers there are when they are looked through again."""
SPARSE = Threshold(4, least=1)
"""How many numbers there are for each used one when they are renewed."""
AT_ONCE = Threshold(16_384, least=1)
"""Values that there is room for beyond those that are known, though all but a few may be known."""
ROOM = 8
"""How many times what is known there may be room for."""


@kernel(int64, ints, grid_out, ints_out, int64, ints_out)
def _intern_ints(keys, slots, known, count, codes):  # type: ignore[no-untyped-def]
    """Linear probing; a slot holds a code (or -1) and its key, side by side in one cache line.

    ``known[code]`` is the key as well, for the way back. Equal keys often stand one after the
    other.
    """
    mask = len(slots) - 1
    for i in range(len(keys)):
        key = keys[i]
        if i and key == keys[i - 1]:
            codes[i] = codes[i - 1]
            continue
        at = mix(key) & mask
        while True:
            code = slots[at, 0]
            if code < 0:
                slots[at, 0] = count
                slots[at, 1] = key
                known[count] = key
                codes[i] = count
                count += 1
                break
            if slots[at, 1] == key:
                codes[i] = code
                break
            at = (at + 1) & mask
    return count


@kernel(void, ints, grid_out)
def _place_ints(known, slots):  # type: ignore[no-untyped-def]
    mask = len(slots) - 1
    for code in range(len(known)):
        at = mix(known[code]) & mask
        while slots[at, 0] >= 0:
            at = (at + 1) & mask
        slots[at, 0] = code
        slots[at, 1] = known[code]


def stretches(length: int, known: Callable[[], int]) -> Iterator[tuple[int, int]]:
    """Cut values such that a table needs room for no more than it knows, and some."""
    start = 0
    while start < length:
        stop = min(length, start + max(ROOM * known(), AT_ONCE.value))
        yield start, stop
        start = stop


class IntTable:
    """64-bit integers to dense codes."""

    def __init__(self) -> None:
        self._slots = np.full((2 * SMALLEST.value, 2), -1, np.int64)
        self._known = np.empty(SMALLEST.value, np.int64)
        self.count = 0

    @property
    def keys(self) -> Int64s:
        """The integer of each code."""
        return self._known[: self.count]

    def codes(self, keys: Int64s) -> Int64s:
        out = np.empty(len(keys), np.int64)
        for start, stop in stretches(len(keys), lambda: self.count):
            self._reserve(self.count + stop - start)
            self.count = _intern_ints(
                keys[start:stop], self._slots, self._known, self.count, out[start:stop]
            )
        return out

    def _reserve(self, count: int) -> None:
        if count > len(self._known):
            larger = np.empty(count * 2, np.int64)
            larger[: self.count] = self.keys
            self._known = larger
        if count * 2 > len(self._slots):
            self._slots = np.full((1 << (count * 4 - 1).bit_length(), 2), -1, np.int64)
            _place_ints(self.keys, self._slots)


@inline
def _is_string(arena, ends, code, data, start, stop):  # type: ignore[no-untyped-def]
    """Whether the bytes are those of the string with a code."""
    length = stop - start
    return ends[code + 1] - ends[code] == length and same_bytes(
        arena, ends[code], data, start, length
    )


@kernel(int64, ints, bytes_in, ints_out, ints_out, ints_out, bytes_out, int64, ints_out)
def _intern_strings(  # type: ignore[no-untyped-def]
    offsets, data, slots, hashes, ends, arena, count, codes
):
    """As for integers, comparing bytes; string ``c`` is ``arena[ends[c]:ends[c + 1]]``."""
    mask = len(slots) - 1
    for i in range(len(codes)):
        start, stop = offsets[i], offsets[i + 1]
        h = hash_bytes(data, start, stop)
        at = h & mask
        while True:
            code = slots[at]
            if code < 0:
                base = ends[count]
                copy_bytes(arena, base, data, start, stop - start)
                ends[count + 1] = base + stop - start
                hashes[count] = h
                slots[at] = count
                codes[i] = count
                count += 1
                break
            if hashes[code] == h and _is_string(arena, ends, code, data, start, stop):
                codes[i] = code
                break
            at = (at + 1) & mask
    return count


@kernel(void, ints, bytes_in, ints, ints, ints, bytes_in, ints_out)
def _find_strings(  # type: ignore[no-untyped-def]
    offsets, data, slots, hashes, ends, arena, codes
):
    """As for interning, but what is not there stays out: its code is -1."""
    mask = len(slots) - 1
    for i in range(len(codes)):
        start, stop = offsets[i], offsets[i + 1]
        h = hash_bytes(data, start, stop)
        at = h & mask
        codes[i] = -1
        while slots[at] >= 0:
            code = slots[at]
            if hashes[code] == h and _is_string(arena, ends, code, data, start, stop):
                codes[i] = code
                break
            at = (at + 1) & mask


@kernel(void, ints, ints_out)
def _place_hashes(hashes, slots):  # type: ignore[no-untyped-def]
    mask = len(slots) - 1
    for code in range(len(hashes)):
        at = hashes[code] & mask
        while slots[at] >= 0:
            at = (at + 1) & mask
        slots[at] = code


class StringTable:
    """Strings to dense codes; their bytes stand one after another in an arena."""

    def __init__(self) -> None:
        self._slots = np.full(2 * SMALLEST.value, -1, np.int64)
        self._hashes = np.empty(SMALLEST.value, np.int64)
        self._ends = np.zeros(SMALLEST.value + 1, np.int64)
        self._arena = np.empty(16 * SMALLEST.value, np.uint8)
        self.count = 0

    def codes(self, offsets: Int64s, data: npt.NDArray[np.uint8]) -> Int64s:
        out = np.empty(len(offsets) - 1, np.int64)
        for start, stop in stretches(len(out), lambda: self.count):
            part = offsets[start : stop + 1]
            self._reserve(self.count + stop - start, int(part[-1] - part[0]))
            self.count = _intern_strings(
                part, data, self._slots, self._hashes, self._ends, self._arena, self.count,
                out[start:stop],
            )  # fmt: skip
        return out

    def find(self, offsets: Int64s, data: npt.NDArray[np.uint8]) -> Int64s:
        """The codes of strings that are here, -1 for others, which stay out."""
        out = np.empty(len(offsets) - 1, np.int64)
        _find_strings(
            offsets, data, self._slots, self._hashes, self._ends, self._arena, out
        )  # fmt: skip
        return out

    def take(self, codes: Int64s, valid: npt.NDArray[np.bool_], kind: pa.DataType) -> pa.Array:
        """The values of these codes, NULL where not ``valid``."""
        starts = self._ends[codes]
        lengths = np.where(valid, self._ends[codes + 1] - starts, 0)
        return gather_bytes(self._arena, starts, lengths, valid, kind)

    def _reserve(self, count: int, more_bytes: int) -> None:
        used = int(self._ends[self.count])
        if used + more_bytes > len(self._arena):
            arena = np.empty((used + more_bytes) * 2, np.uint8)
            arena[:used] = self._arena[:used]
            self._arena = arena
        if count > len(self._hashes):
            hashes, ends = np.empty(count * 2, np.int64), np.zeros(count * 2 + 1, np.int64)
            hashes[: self.count] = self._hashes[: self.count]
            ends[: self.count + 1] = self._ends[: self.count + 1]
            self._hashes, self._ends = hashes, ends
        if count * 2 > len(self._slots):
            self._slots = np.full(1 << (count * 4 - 1).bit_length(), -1, np.int64)
            _place_hashes(self._hashes[: self.count], self._slots)


class _Column:
    """One column's values to codes, with code 0 kept for NULL."""

    def __init__(self, kind: pa.DataType) -> None:
        self.kind = kind
        self.table: IntTable | StringTable = StringTable() if is_bytes(kind) else IntTable()
        self.values_seen = column_store(kind) if is_nested(kind) else None
        """The value of each code, where its bytes do not say it."""

    def codes(self, array: pa.Array) -> Int64s:
        valid = validity(array)
        if valid is not None:
            # What stands in NULL's place would get a code: those of others would depend on it,
            # and not come back when values are saved and loaded in the order of their codes.
            codes = np.zeros(len(array), np.int64)
            codes[valid] = self.codes(array.drop_null())
            return codes
        if isinstance(self.table, StringTable):
            known = self.table.count
            found = self.table.codes(*byte_parts(array))
            if self.values_seen is not None and self.table.count > known:
                self._note(array, found, known)
            return found + 1
        return self.table.codes(identity_keys(array)) + 1

    def _note(self, array: pa.Array, codes: Int64s, known: int) -> None:
        """Keep the values of new codes, which are numbered as they came."""
        assert self.values_seen is not None
        new = np.flatnonzero(codes >= known)
        _, first = np.unique(codes[new], return_index=True)
        self.values_seen.append(with_one_zero(array.take(pa.array(new[first]))))

    def values(self, codes: Int64s) -> pa.Array:
        valid = codes > 0
        at = np.maximum(codes - 1, 0)
        if isinstance(self.table, StringTable):
            if self.table.count == 0:
                return pa.nulls(len(codes), self.kind)
            if self.values_seen is not None:
                found = self.values_seen.take(at)
                return pc.if_else(pa.array(valid), found, pa.scalar(None, self.kind))
            return self.table.take(at, valid, self.kind)
        if self.table.count == 0:
            return pa.nulls(len(codes), self.kind)
        keys = self.table.keys[at]
        if pa.types.is_floating(self.kind):
            values = keys.view(np.float64).astype(self.kind.to_pandas_dtype())
        elif pa.types.is_int32(self.kind) or pa.types.is_date32(self.kind):
            values = keys.astype(np.int32)
        else:
            values = keys
        return fixed_array(values, valid, self.kind)


class Interner:
    """Rows over ``kinds`` to dense codes; see the module."""

    def __init__(self, kinds: Sequence[pa.DataType]) -> None:
        self.kinds = tuple(kinds)
        self._restart()

    def _restart(self) -> None:
        self._columns = [_Column(kind) for kind in self.kinds]
        self._folds = [IntTable() for _ in self.kinds[1:]]

    def __len__(self) -> int:
        """How many codes there are; a single column has one for NULL from the start."""
        if self._folds:
            return self._folds[-1].count
        return self._columns[0].table.count + 1 if self.kinds else 1

    def codes(self, columns: Sequence[pa.Array], length: int) -> Int64s:
        """The code of each row, new ones for rows that were never seen."""
        if not length or not self.kinds:
            return np.zeros(length, np.int64)
        codes = self._columns[0].codes(columns[0])
        for column, array, fold in zip(self._columns[1:], columns[1:], self._folds, strict=True):
            codes = fold.codes((codes << 32) | column.codes(array))
        return codes

    def rows(self, codes: Int64s) -> list[pa.Array]:
        """The rows of these codes, one array per column."""
        if not self.kinds:
            return []
        arrays: list[pa.Array] = []
        for column, fold in zip(reversed(self._columns[1:]), reversed(self._folds), strict=True):
            pairs = fold.keys[codes]
            arrays.append(column.values(pairs & 0xFFFFFFFF))
            codes = pairs >> 32
        arrays.append(self._columns[0].values(codes))
        return arrays[::-1]

    def compact(self, live: Int64s) -> Int64s:
        """Forget all but the ``live`` codes; the new code of each old one, -1 for the forgotten."""
        remap = np.full(len(self), -1, np.int64)
        columns = self.rows(live)
        self._restart()
        remap[live] = self.codes(columns, len(live))
        return remap


class Crowding:
    """When numbers are looked through for unused ones: after they have doubled, or nearly so.

    They are renewed only if three quarters are unused, so each renewal is paid for.
    """

    def __init__(self) -> None:
        self._limit = FEW.value

    def is_due(self, size: int) -> bool:
        """Whether it is time to look."""
        return size >= self._limit

    def renewal_pays(self, size: int, live: int) -> bool:
        """Whether the live ones are so few that a renewal pays; sets the time of the next look."""
        few = size > SPARSE.value * live
        self._limit = max(SPARSE.value * live if few else GROWTH.value * size, FEW.value)
        return few
