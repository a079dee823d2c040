"""One attribute of a matcher: what every entry asks of it, and an index over some of that.

An entry with several conditions is put into the index of one attribute only, the one that it is
*reached* through; what it asks of the others is kept here to be checked.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from windrow.columns.arrays import Int64s, string_parts, validity
from windrow.columns.growable import Growable
from windrow.columns.interner import StringTable
from windrow.columns.kernels import flags, grid, inline, int64, ints, ints_out, kernel
from windrow.core.thresholds import Threshold
from windrow.subscriptions.bounds import FAR, NEAR
from windrow.subscriptions.indexes import GriddedIntervals, IntervalIndex, UnitIntervals
from windrow.subscriptions.predicates import Kind, check_kind, is_text, words_of
from windrow.subscriptions.spans import Spans
from windrow.subscriptions.values import Keys, exactly, keys_of

SAMPLE = Threshold(4096, least=2)
"""So many ends of spans are kept in order, to tell how selective another span is."""
FIRST_CODES = Threshold(1024, least=1)
"""Numbers of texts that an index is made for at first; it grows."""


class AttributeIndex:
    """``first`` and ``count`` say, per entry, which spans are its own.

    A ``count`` of -1 is no condition. An entry with one span has its ends a second time, where they
    are found at once; any other has there what no key is in. ``reached`` is the entry of each id
    in the index. ``rough`` says whether some span is told by its words only.
    """

    def __init__(self, name: str, kind: Kind) -> None:
        self.name, self.kind = name, check_kind(name, kind)
        self.texts = StringTable() if is_text(kind) else None
        self.index: IntervalIndex = (
            GriddedIntervals() if self.texts is None else UnitIntervals(0, FIRST_CODES.value)
        )
        self.first, self.count = Growable(np.int64), Growable(np.int64)
        self.lo, self.hi = Growable(np.int64), Growable(np.int64)
        self._only = Growable(np.int64, 2)
        self.rough = False
        width = words_of(kind)
        self._words = [Growable(np.int64, width) for _ in range(2)] if width else []
        self.reached = Growable(np.int64)
        self._ends: Int64s = np.empty(0, np.int64)

    @property
    def nbytes(self) -> int:
        parts = (self.first, self.count, self.lo, self.hi, self._only, self.reached)
        return self.index.nbytes + sum(p.view.nbytes for p in (*parts, *self._words))

    def encode(self, spans: Spans) -> Spans:
        """The spans over keys: texts get their numbers, known ones or new."""
        if self.texts is None or spans.texts is None:
            return spans
        codes = self.texts.codes(*string_parts(spans.texts))
        order = np.lexsort((codes, spans.entry))
        codes = codes[order]
        return Spans(spans.constrained, spans.entry[order], codes, codes)

    def shares(self, spans: Spans) -> np.ndarray:
        """For each entry the share of values that it probably takes; infinite if it takes all.

        Ranges are measured on the scale of other ranges' ends, texts as if all were as frequent.
        """
        if self.texts is not None:
            widths = np.full(len(spans), 1.0 / max(self.texts.count, 1))
        else:
            self._note(spans)
            low = np.searchsorted(self._ends, spans.lo)
            high = np.searchsorted(self._ends, spans.hi, side="right")
            widths = (high - low + 0.5) / max(len(self._ends), 1)
        total = np.bincount(spans.entry, widths, len(spans.constrained))
        return np.where(spans.constrained, total, np.inf)

    def _note(self, spans: Spans) -> None:
        step = max(1, 2 * len(spans) // SAMPLE.value)
        ends = np.concatenate([self._ends, spans.lo[::step], spans.hi[::step]])
        ends = np.sort(ends[(ends != NEAR) & (ends != FAR)])
        self._ends = ends if len(ends) <= SAMPLE.value else ends[:: -(-len(ends) // SAMPLE.value)]

    def quantiles(self, count: int) -> Int64s:
        """At most ``count`` keys with about as many ends of ranges between each two."""
        at = np.arange(1, count + 1) * len(self._ends) // (count + 1)
        return np.unique(self._ends[at]) if len(self._ends) else self._ends

    def append(self, spans: Spans) -> None:
        """Keep what further entries ask."""
        count = np.bincount(spans.entry, minlength=len(spans.constrained))
        own = np.cumsum(count) - count
        self.first.append(own + self.lo.next)
        only = np.tile(np.array([FAR, NEAR]), (len(count), 1))
        single = count == 1
        only[single, 0], only[single, 1] = spans.lo[own[single]], spans.hi[own[single]]
        self._only.append(only)
        self.count.append(np.where(spans.constrained, count, -1))
        self.lo.append(spans.lo)
        self.hi.append(spans.hi)
        for kept, words in zip(self._words, (spans.low_words, spans.high_words), strict=False):
            assert words is not None  # an attribute with words gets spans with words
            kept.append(words)
        self.rough |= spans.rough

    def conditions_of(self, entries: Int64s) -> Spans:
        """What these entries ask, as it was given."""
        first, count = self.first.take(entries), self.count.take(entries)
        constrained = count >= 0
        count = np.maximum(count, 0)
        places = runs(first, count)
        entry = np.repeat(np.arange(len(entries)), count)
        lo, hi = self.lo.take(places), self.hi.take(places)
        if self.texts is None:
            words = (w.take(places) for w in self._words)
            return Spans(constrained, entry, lo, hi, None, *words)
        texts = self.texts.take(lo, np.ones(len(lo), np.bool_), pa.string())
        return Spans(constrained, entry, lo[:0], hi[:0], texts)

    def inexact(self, spans: Spans) -> bool:
        """Whether half-open intervals cannot tell one of the spans from its neighbour."""
        return bool(((spans.lo == FAR) | (spans.hi == FAR - 1)).any())

    def reach(self, entries: Int64s) -> Int64s:
        """Put the spans of entries into the index; the first id of each, ids being consecutive."""
        first, count = self.first.take(entries), self.count.take(entries)
        places = runs(first, count)
        lo, hi = self.lo.take(places), self.hi.take(places)
        base = self.reached.append(np.repeat(entries, count))
        after = np.where(hi >= FAR - 1, FAR, hi + 1)  # FAR itself is in what ends with it
        self.index.insert(np.arange(base, base + len(lo)), np.where(lo == FAR, FAR - 1, lo), after)
        ids: Int64s = base + np.cumsum(count) - count
        return ids

    def leave(self, ids: Int64s, entries: Int64s) -> None:
        """Take entries out of the index, given their first ids."""
        self.index.remove(runs(ids, self.count.take(entries)))

    def keys(self, column: pa.Array) -> Keys:
        """The keys of a batch's values."""
        if self.texts is None:
            return keys_of(column, self.kind, self.name)
        column = exactly(column, self.kind, self.name)
        codes = self.texts.find(*string_parts(column))
        known, valid = codes >= 0, validity(column)
        return Keys(codes, known if valid is None else known & valid)

    def check(self, rows: Int64s, entries: Int64s, asked: Keys) -> int:
        """Move the pairs to the front whose row has what the entry asks for here; how many."""
        known = np.ones(len(asked), np.bool_) if asked.valid is None else asked.valid
        spans = self.first.view, self.count.view, self.lo.view, self.hi.view
        if self.rough:
            words = (w.view for w in self._words)
            return int(_within_words(rows, entries, asked.keys, asked.words, known, *spans, *words))
        return int(_within(rows, entries, asked.keys, known, self._only.view, *spans))

    def search(self, asked: Keys) -> tuple[Int64s, Int64s]:
        """Pairs of a row and an entry that is reached here, in order of rows."""
        keys, valid = asked.keys, asked.valid
        if not len(self.index):
            return np.empty(0, np.int64), np.empty(0, np.int64)
        if valid is None or valid.all():
            rows, ids = self.index.search(keys)
        else:
            inside = np.flatnonzero(valid)
            rows, ids = self.index.search(keys[inside])
            rows = inside[rows]
        return rows, self.reached.take(ids)


def runs(first: Int64s, count: Int64s) -> Int64s:
    """``first[i], first[i] + 1, ...`` (``count[i]`` of them) for each i, one after another."""
    ends = np.cumsum(count)
    total = int(ends[-1]) if len(ends) else 0
    runs: Int64s = np.arange(total) + np.repeat(first - (ends - count), count)
    return runs


@inline
def _in_spans(key: int, known: bool, first: int, count: int, lo: Any, hi: Any) -> Any:
    """Whether a key is in one of the spans ``first .. first + count - 1``.

    They are in order and apart, so the last one that begins at or before the key is the only
    candidate; a negative ``count`` is no condition.
    """
    below, above = first, first + count
    while below < above:
        middle = (below + above) >> 1
        if lo[middle] <= key:
            below = middle + 1
        else:
            above = middle
    at = below - 1
    return count < 0 or (known and at >= first and key <= hi[at])


@kernel(int64, ints_out, ints_out, ints, flags, grid, ints, ints, ints, ints)
def _within(
    rows: Any, entries: Any, keys: Any, valid: Any, only: Any, first: Any, count: Any, lo: Any,
    hi: Any,
) -> int:  # fmt: skip
    """Keep the pairs whose row has a key in one of the entry's spans on this attribute.

    They are moved to the front, in their order; the answer is how many they are. Most entries
    have one span. It lies by itself in ``only``, both ends in one line of the cache, and is
    compared without a branch: whether a key is inside is what no processor can predict. Others
    have there what no key is in, and are looked up.
    """
    kept = 0
    for i in range(len(rows)):
        row, entry = rows[i], entries[i]
        low, high, key = only[entry, 0], only[entry, 1], keys[row]
        met = valid[row] & (low <= key) & (key <= high)
        if low > high:
            met = _in_spans(key, valid[row], first[entry], count[entry], lo, hi)
        rows[kept] = row
        entries[kept] = entry
        kept += met
    return kept


@inline
def _order(key: int, words: Any, row: int, other: int, others: Any, at: int) -> Any:
    """Negative, zero or positive as a value is before, at or after an end; words break ties."""
    order = (key > other) - (key < other)
    column = 0
    while order == 0 and column < words.shape[1]:
        a, b = words[row, column], others[at, column]
        order = (a > b) - (a < b)
        column += 1
    return order


@kernel(int64, ints_out, ints_out, ints, grid, flags, ints, ints, ints, ints, grid, grid)
def _within_words(
    rows: Any, entries: Any, keys: Any, words: Any, valid: Any, first: Any, count: Any,
    lo: Any, hi: Any, low_words: Any, high_words: Any,
) -> int:  # fmt: skip
    """As ``_within``, where values with one key are told apart by their words."""
    kept = 0
    for i in range(len(rows)):
        row, entry = rows[i], entries[i]
        n, key, low = count[entry], keys[row], first[entry]
        below, above = low, low + n
        while below < above:
            middle = (below + above) >> 1
            if _order(key, words, row, lo[middle], low_words, middle) >= 0:
                below = middle + 1
            else:
                above = middle
        at = below - 1
        inside = at >= low and _order(key, words, row, hi[at], high_words, at) <= 0
        if n < 0 or (valid[row] and inside):
            rows[kept] = row
            entries[kept] = entry
            kept += 1
    return kept
