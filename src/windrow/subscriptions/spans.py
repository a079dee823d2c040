"""Conditions on one attribute as spans of integer keys.

Every orderable type maps into 64-bit integers in its order: integers, dates and moments as they
are, floating point numbers by the order of their bits, decimals in units of their last place. So
an open, closed or missing end is one step more or less on the same scale. A span holds its first
and its last key:

    [a, b]  ->  key(a) .. key(b)            a < x  ->  key(a) + 1 .. FAR
    (a, b)  ->  key(a) + 1 .. key(b) - 1    x = a  ->  key(a) .. key(a)

The keys of decimals with more than 18 digits may be rough (``wide_decimals``), so
their spans have words beside the keys. While spans are put together the ends of such an attribute
are rows, a key and its words. Texts have no order here: their spans hold values, and the matcher
numbers them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from windrow.columns.arrays import Bools, Int64s, order_keys, validity
from windrow.subscriptions.bounds import FAR, NEAR, Bounds
from windrow.subscriptions.wide_decimals import ROUGH, keys_for, move_by

NOTHING = (1, 0)
"""The ends of a span without keys."""


@dataclass(frozen=True)
class Spans:
    """The conditions of ``len(constrained)`` entries on one attribute.

    ``entry`` says whose condition a span belongs to, ascending; the spans of one entry are in
    order and apart, from ``lo`` to ``hi``, both included, or from ``low_words`` to ``high_words``
    if there are any. A constrained entry without a span is never met. For texts, ``texts`` holds
    the values, one per span, and ``lo`` and ``hi`` are empty.
    """

    constrained: Bools
    entry: Int64s
    lo: Int64s
    hi: Int64s
    texts: pa.Array | None = None
    low_words: Int64s | None = None
    high_words: Int64s | None = None

    def __len__(self) -> int:
        return len(self.entry)

    @property
    def rough(self) -> bool:
        """Whether keys alone cannot tell which values the spans hold."""
        if self.low_words is None:
            return False
        ends = np.concatenate([self.lo[self.lo != NEAR], self.hi[self.hi != FAR]])
        return bool((np.abs(ends) >= ROUGH).any())

    def of(self, kept: Bools) -> Spans:
        """The spans of some entries, which are numbered anew."""
        mine = kept[self.entry]
        entry = (np.cumsum(kept) - 1)[self.entry[mine]]
        if self.texts is not None:
            texts = self.texts.filter(pa.array(mine))
            return Spans(self.constrained[kept], entry, self.lo, self.hi, texts)
        return Spans(
            self.constrained[kept], entry, self.lo[mine], self.hi[mine], None,
            None if self.low_words is None else self.low_words[mine],
            None if self.high_words is None else self.high_words[mine],
        )  # fmt: skip


def reorder_entries(spans: Spans, order: Int64s) -> Spans:
    """The spans of entries that are put in this order; texts have their numbers already."""
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    entry = place[spans.entry]
    by = np.argsort(entry, kind="stable")
    words = (None if w is None else w[by] for w in (spans.low_words, spans.high_words))
    return Spans(spans.constrained[order], entry[by], spans.lo[by], spans.hi[by], None, *words)


def ranges(low: pa.Array, high: pa.Array, low_open: Bools, high_open: Bools) -> tuple[Int64s, ...]:
    """First and last key between typed bounds, NULL for none; ``NOTHING`` if none is between."""
    return between(_at(low), _at(high), low_open, high_open, 0)


def _at(values: pa.Array) -> Bounds:
    valid = validity(values)
    given = np.ones(len(values), np.bool_) if valid is None else valid
    bounds = Bounds.over(order_keys(values), given, given)
    if pa.types.is_floating(values.type):
        bounds.never = given & (bounds.at == FAR)
    return bounds


def between(
    low: Bounds, high: Bounds, low_open: Bools, high_open: Bools, words: int
) -> tuple[Int64s, Int64s]:
    """The ends of ranges with these bounds, as keys, or as rows of a key and ``words`` words."""
    up, down = low_open | low.between, high_open & ~high.between
    if low.at.ndim == 2:
        lo, hi = _word_ends(low, up, words, NEAR, 1), _word_ends(high, down, words, FAR, -1)
        empty = np.zeros(len(up), np.bool_)
    else:
        empty = low.given & ~low.below & up & (low.at == FAR)
        empty |= high.given & (high.below | (down & (high.at == NEAR)))
        lo = np.where(low.given & ~low.below, low.at + (up & ~empty), NEAR)
        hi = np.where(high.given, high.at - (down & ~empty), FAR)
    empty |= low.never | high.never
    lo[empty], hi[empty] = NOTHING
    return lo, hi


def _word_ends(bounds: Bounds, stepped: Bools, words: int, absent: int, step: int) -> Int64s:
    """Ends in words, each after its key; of decimals that need none the keys alone."""
    at = move_by(bounds.at, np.where(stepped, step, 0))
    at[~bounds.given] = absent
    keys = np.where(bounds.given, keys_for(at), absent)
    return np.column_stack([keys, at]) if words else keys


def in_order(constrained: Bools, entry: Int64s, lo: Int64s, hi: Int64s) -> Spans:
    """Spans by entry and ``lo``; a span that is given twice for an entry counts once."""
    first, last = (e if e.ndim == 2 else e[:, np.newaxis] for e in (lo, hi))
    kept = _not_above(first, last)
    entry, first, last = entry[kept], first[kept], last[kept]
    order = np.lexsort((*first.T[::-1], entry))
    entry, first, last = entry[order], first[order], last[order]
    if len(entry) > 1:
        again = (entry[1:] == entry[:-1]) & (first[1:] == first[:-1]).all(axis=1)
        if again.any():
            kept = np.concatenate([[True], ~again])
            entry, first, last = entry[kept], first[kept], last[kept]
    keys = np.ascontiguousarray(first[:, 0]), np.ascontiguousarray(last[:, 0])
    if lo.ndim == 1:
        return Spans(constrained, entry, *keys)
    words = np.ascontiguousarray(first[:, 1:]), np.ascontiguousarray(last[:, 1:])
    return Spans(constrained, entry, *keys, None, *words)


def _not_above(first: Int64s, last: Int64s) -> Bools:
    """Where one row of keys is not after the other, compared from the left."""
    found = np.ones(len(first), np.bool_)
    for column in range(first.shape[1] - 1, -1, -1):
        a, b = first[:, column], last[:, column]
        found = (a < b) | ((a == b) & found)
    return found


def no_spans(kind_words: int, texts: bool) -> Spans:
    """Of no entries."""
    none, wide = np.empty(0, np.int64), np.empty((0, kind_words), np.int64)
    if texts:
        return Spans(np.empty(0, np.bool_), none, none, none, pa.array([], pa.string()))
    words = (wide, wide) if kind_words else (None, None)
    return Spans(np.empty(0, np.bool_), none, none, none, None, *words)


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
