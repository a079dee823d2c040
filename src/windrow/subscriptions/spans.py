"""Conditions on one attribute as spans of integer keys.

Every orderable type maps into 64-bit integers without loss (``windrow.columns.arrays.order_keys``:
integers, dates and timestamps as they are, floating point numbers by the order of their bits), so
an open, closed or missing end is one step more or less on the same scale. A span holds its first
and its last key:

    [a, b]  ->  key(a) .. key(b)            a < x  ->  key(a) + 1 .. FAR
    (a, b)  ->  key(a) + 1 .. key(b) - 1    x = a  ->  key(a) .. key(a)

Texts have no order here: their spans hold values, and the matcher numbers them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from windrow.columns.arrays import order_keys, validity
from windrow.core.schema import Type

Int64s = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

NEAR, FAR = int(np.iinfo(np.int64).min), int(np.iinfo(np.int64).max)
"""The least and the greatest key; as bounds, none."""
NOTHING = (1, 0)
"""The ends of a span without keys."""

WIDE = {Type.INT: Type.BIGINT, Type.FLOAT: Type.DOUBLE}
"""Bounds may lie outside the attribute's own type: ``x < 3000000000`` holds for every INT."""


def bound_type(kind: Type) -> Type:
    """The type in which bounds on an attribute of type ``kind`` are read."""
    return WIDE.get(kind, kind)


@dataclass(frozen=True)
class Spans:
    """The conditions of ``len(constrained)`` entries on one attribute.

    ``entry`` says whose condition a span belongs to, ascending; the spans of one entry are in
    order and apart, from ``lo`` to ``hi``, both included. A constrained entry without a span is
    never met. For STRING, ``texts`` holds the values, one per span, and ``lo`` and ``hi`` are
    empty.
    """

    constrained: Bools
    entry: Int64s
    lo: Int64s
    hi: Int64s
    texts: pa.Array | None = None

    def __len__(self) -> int:
        return len(self.entry)


def keys_of(column: pa.Array) -> tuple[Int64s, Bools | None]:
    """The keys of a column's values, and which of them can match; None if all can."""
    keys, valid = order_keys(column), validity(column)
    if pa.types.is_floating(column.type):
        # NaN is the one value whose key is FAR.
        number = keys != FAR
        if not number.all():
            valid = number if valid is None else valid & number
    return keys, valid


def ranges(low: pa.Array, high: pa.Array, low_open: Bools, high_open: Bools) -> tuple[Int64s, ...]:
    """First and last key between typed bounds, NULL for none; ``NOTHING`` if none is between."""
    lo, below = _end(low, low_open, NEAR, FAR)
    hi, above = _end(high, high_open, FAR, NEAR)
    empty = below | above
    lo[empty], hi[empty] = NOTHING
    return lo, hi


def _end(bound: pa.Array, opened: Bools, absent: int, utmost: int) -> tuple[Int64s, Bools]:
    """The keys at one end of ranges, and where there can be none: beyond ``utmost``, or NaN."""
    keys, valid = keys_of(bound)
    given = validity(bound)
    missing = np.zeros(len(keys), np.bool_) if given is None else ~given
    hopeless = opened & (keys == utmost)
    if valid is not None:
        hopeless |= ~valid
    step = 1 if utmost == FAR else -1
    moved = np.where(opened & ~hopeless, keys + step, keys)
    return np.where(missing, absent, moved), hopeless & ~missing


def in_order(constrained: Bools, entry: Int64s, lo: Int64s, hi: Int64s) -> Spans:
    """Spans by entry and ``lo``; a span that is given twice for an entry counts once."""
    kept = lo <= hi
    entry, lo, hi = entry[kept], lo[kept], hi[kept]
    order = np.lexsort((lo, entry))
    entry, lo, hi = entry[order], lo[order], hi[order]
    if len(entry) > 1:
        again = (entry[1:] == entry[:-1]) & (lo[1:] == lo[:-1])
        if again.any():
            kept = np.concatenate([[True], ~again])
            entry, lo, hi = entry[kept], lo[kept], hi[kept]
    return Spans(constrained, entry, lo, hi)


def distinct_texts(constrained: Bools, entry: Int64s, texts: pa.Array) -> Spans:
    """Spans of texts by entry, without repetitions."""
    none = np.empty(0, np.int64)
    codes = pc.dictionary_encode(texts).indices.to_numpy(zero_copy_only=False).astype(np.int64)
    order = np.lexsort((codes, entry))
    first = np.ones(len(order), np.bool_)
    e, c = entry[order], codes[order]
    first[1:] = (e[1:] != e[:-1]) | (c[1:] != c[:-1])
    kept = order[first]
    return Spans(constrained, entry[kept], none, none, texts.take(pa.array(kept)))
