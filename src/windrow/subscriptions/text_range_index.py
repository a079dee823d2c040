"""Entries that ask for a text and for a range, reached through both: a symbol and its prices.

Either condition alone may find thousands of entries for a row where the two together find a few.
So the values of the range's attribute are put into *bins* with about as many ends of conditions in
each, and number of the text times bins plus bin is one key. An entry is an interval of such keys
for each of its texts. Bins are coarser than values, so what is found is checked on the range; the
text is right as it is.

Bins follow the conditions: they are made anew when there are twice as many as they were made for.
Until then a range that lies elsewhere shares bins with others and is found too often, which the
check makes good.

Cost of a row: one search of a gridded index, and the entries of its text whose range is within a
bin of it. Bytes: those of the index, and 16 for each text of an entry.
"""

from __future__ import annotations

import numpy as np

from windrow.columns.arrays import Int64s
from windrow.columns.growable import Growable
from windrow.core.thresholds import Threshold
from windrow.subscriptions.attribute_index import AttributeIndex, runs
from windrow.subscriptions.indexes import GriddedIntervals
from windrow.subscriptions.values import Keys

GONE = -1
BINS_PER_ENTRY = 4
"""Bins for each entry of a text with as many as the others have, so that few share one."""
LEAST, MOST = Threshold(16, least=1), Threshold(1024, least=1)
"""Bins."""
MOST_TEXTS = Threshold(16, least=1)
"""An entry with more texts is reached through the range alone: each text takes an interval."""


class TextRangeIndex:
    """An id in the index is one text of an entry; ``reached`` is whose it is."""

    def __init__(self, text: AttributeIndex, ranged: AttributeIndex) -> None:
        self.text, self.ranged = text, ranged
        self.reached, self._codes = Growable(np.int64), Growable(np.int64)
        self._built = 0
        self._start(np.empty(0, np.int64))

    def _start(self, ids: Int64s) -> None:
        """Make bins and index for ids that are known."""
        assert self.text.texts is not None  # the first of the two is one of texts
        each = BINS_PER_ENTRY * len(ids) // max(self.text.texts.count, 1)
        self._bins = self.ranged.quantiles(min(max(each, LEAST.value), MOST.value))
        self.index = GriddedIntervals()
        self._built = len(ids)
        self._insert(ids)

    @property
    def nbytes(self) -> int:
        return self.index.nbytes + self.reached.view.nbytes + self._codes.view.nbytes

    def reach(self, entries: Int64s) -> Int64s:
        """Put entries into the index; the first id of each, ids being consecutive."""
        first, count = self.text.first.take(entries), self.text.count.take(entries)
        base = self.reached.append(np.repeat(entries, count))
        self._codes.append(self.text.lo.take(runs(first, count)))
        if len(self.index) + int(count.sum()) > 2 * self._built + LEAST.value:
            self._start(np.flatnonzero(self.reached.view != GONE))
        else:
            self._insert(np.arange(base, self.reached.next))
        ids: Int64s = base + np.cumsum(count) - count
        return ids

    def leave(self, ids: Int64s, entries: Int64s) -> None:
        """Take entries out of the index, given their first ids."""
        gone = runs(ids, self.text.count.take(entries))
        self.index.remove(gone)
        self.reached.view[gone] = GONE

    def search(self, texts: Keys, values: Keys) -> tuple[Int64s, Int64s]:
        """Pairs of a row and an entry that may be met, in order of rows."""
        if not len(self.index):
            return np.empty(0, np.int64), np.empty(0, np.int64)
        known = np.ones(len(texts), np.bool_) if texts.valid is None else texts.valid
        inside = np.flatnonzero(known if values.valid is None else known & values.valid)
        points = self._places(texts.keys[inside], values.keys[inside])
        rows, ids = self.index.search(points)
        return inside[rows], self.reached.take(ids)

    def _insert(self, ids: Int64s) -> None:
        codes, span = self._codes.take(ids), self.ranged.first.take(self.reached.take(ids))
        lo = self._places(codes, self.ranged.lo.take(span))
        self.index.insert(ids, lo, self._places(codes, self.ranged.hi.take(span)) + 1)

    def _places(self, codes: Int64s, keys: Int64s) -> Int64s:
        found: Int64s = codes * (len(self._bins) + 1) + np.searchsorted(self._bins, keys, "right")
        return found
