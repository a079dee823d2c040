"""The entries of a matcher: whose they are, when they count, and by which index they are reached.

There is an index for each attribute, and one for each pair of a text and a range that entries ask
for together: a symbol and its prices. An entry is in one of them.

Either condition of a pair alone may find thousands of entries for a row where the two together find
a few. So the values of the range's attribute are put into *bins* with about as many ends of
conditions in each, and number of the text times bins plus bin is one key. An entry is an interval
of such keys for each of its texts. Bins are coarser than values, so what is found is checked on the
range; the text is right as it is. Bins are made anew when there are twice as many conditions as
they were made for. Until then a range that lies elsewhere shares bins with others and is found too
often, which the check makes good. Cost of a row: one search of a gridded index, and the entries of
its text whose range is within a bin of it. Bytes: those of the index, and 16 for each text.

Entries are numbered as they come. One that is forgotten leaves its index at once and its place in
the columns when all is built anew, which is worth it when the forgotten outnumber the others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from windrow.columns.arrays import Int64s
from windrow.columns.growable import Growable
from windrow.columns.kernels import int64, ints, ints_out, kernel, void
from windrow.core.thresholds import Threshold
from windrow.core.time import BEGINNING, FOREVER
from windrow.subscriptions.attribute_index import AttributeIndex, runs
from windrow.subscriptions.indexes import GriddedIntervals
from windrow.subscriptions.predicates import Kind
from windrow.subscriptions.spans import Spans, reorder_entries
from windrow.subscriptions.values import Keys

GONE, NOWHERE = -1, -2
"""In place of an attribute: of an entry that was forgotten, and of one that nothing can meet."""
WORTH_REBUILDING = Threshold(4096)
"""Fewer dead entries than this are not worth a rebuilding."""
BINS_PER_ENTRY = 4
"""Bins for each entry of a text with as many as the others have, so that few share one."""
LEAST, MOST = Threshold(16, least=1), Threshold(1024, least=1)
"""Bins."""
SEARCH_WORTH = Threshold(4)
"""Pairs that can be found in vain, and checked, in the time that a row takes to search an index."""
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


class EntryStore:
    """``via`` is the attribute through which an entry is reached, or after those
    the pair.

    ``several`` says whether any entry has more than one condition, ``inexact`` whether an index
    cannot tell some condition from its neighbour, ``rough`` whether it may find an entry twice
    because it cannot tell two of its conditions from each other; ``latest`` and ``earliest`` are
    the last beginning and the first end.
    """

    def __init__(self, attributes: Mapping[str, Kind]) -> None:
        self.columns = [AttributeIndex(name, kind) for name, kind in attributes.items()]
        self.pairs: dict[tuple[int, int], TextRangeIndex] = {}
        self.owner, self.since, self.until, self._via, self._at, self._link, self._head = (
            Growable(np.int64) for _ in range(7)
        )
        self.live = 0
        self._in_vain = np.zeros(len(self.columns))
        """Of each column without an index: what rows find elsewhere in vain because it has none."""
        self.several = self.inexact = self.rough = False
        self.latest, self.earliest = BEGINNING, FOREVER

    @property
    def nbytes(self) -> int:
        own = (self.owner, self.since, self.until, self._via, self._at, self._link, self._head)
        return sum(way.nbytes for way in self.ways) + sum(g.view.nbytes for g in own)

    @property
    def ways(self) -> list[AttributeIndex | TextRangeIndex]:
        """The indexes by the numbers that ``via`` has for them."""
        return [*self.columns, *self.pairs.values()]

    @property
    def live_entries(self) -> Int64s:
        """The entries that are not forgotten."""
        return np.flatnonzero(self._via.view != GONE)

    @property
    def is_crowded(self) -> bool:
        """Whether most entries are dead."""
        return len(self.owner) - self.live > max(self.live, WORTH_REBUILDING.value)

    def insert(
        self, owners: Int64s, since: Int64s, until: Int64s, asked: Sequence[Spans]
    ) -> Int64s:
        """Keep entries and put each into one index; their numbers.

        Those that one row is likely to find get numbers next to each other, so that what has to be
        checked of them is in few lines of the cache.
        """
        count, base = len(owners), self.owner.next
        spans = [c.encode(s) for c, s in zip(self.columns, asked, strict=True)]
        shares = np.array([c.shares(s) for c, s in zip(self.columns, spans, strict=True)])
        via = self._ways(spans, shares)
        order = self._near_each_other(via, spans)
        via, owners, since, until = (values[order] for values in (via, owners, since, until))
        spans = [reorder_entries(s, order) for s in spans]
        self.several |= bool((np.isfinite(shares).sum(axis=0) > 1).any())
        for column, span in zip(self.columns, spans, strict=True):
            column.append(span)
            met = np.bincount(span.entry, minlength=count) > 0
            via[span.constrained & ~met] = NOWHERE
            self.inexact |= column.inexact(span) or column.rough
            self.rough |= column.rough
        at = np.full(count, GONE, np.int64)
        for number, way in enumerate(self.ways):
            chosen = np.flatnonzero(via == number)
            if len(chosen):
                at[chosen] = way.reach(base + chosen)
        for store, values in (
            (self.owner, owners), (self.since, since), (self.until, until),
            (self._via, via), (self._at, at),
        ):  # fmt: skip
            store.append(values)
        self._link.extend(count, GONE)
        self.live += count
        self.latest = max(self.latest, int(since.max(initial=BEGINNING)))
        self.earliest = min(self.earliest, int(until.min(initial=FOREVER)))
        numbers = np.empty(count, np.int64)
        numbers[order] = np.arange(base, base + count)
        return numbers

    def _near_each_other(self, via: Int64s, spans: Sequence[Spans]) -> Int64s:
        """Entries by the index that finds them, and there by where they begin."""
        begins = np.zeros((len(spans), len(via)), np.int64)
        for begin, span in zip(begins, spans, strict=True):
            begin[span.entry[::-1]] = span.lo[::-1]  # of several the first
        ways = [(number,) for number in range(len(spans))] + list(self.pairs)
        keys = np.zeros((2, len(via)), np.int64)
        for number, attributes in enumerate(ways):
            mine = via == number
            for key, attribute in zip(keys, attributes, strict=False):
                key[mine] = begins[attribute, mine]
        return np.lexsort((keys[1], keys[0], via))

    def _ways(self, spans: Sequence[Spans], shares: npt.NDArray[np.float64]) -> Int64s:
        """For each entry the index that will find it least often without being met."""
        via = self._fewer_ways(np.argmin(shares, axis=0), shares)
        of_texts = np.array([column.texts is not None for column in self.columns])
        if of_texts.all() or not of_texts.any():
            return via
        fit = shares.copy()
        for number, (column, span) in enumerate(zip(self.columns, spans, strict=True)):
            # Two ranges of an entry could be in one bin, and the entry be found twice.
            most = 1 if column.texts is None else MOST_TEXTS.value
            fit[number, np.bincount(span.entry, minlength=len(via)) > most] = np.inf
        texts, others = (np.where(k[:, np.newaxis], fit, np.inf) for k in (of_texts, ~of_texts))
        both = np.flatnonzero(np.isfinite(texts.min(axis=0)) & np.isfinite(others.min(axis=0)))
        wide = len(self.columns)
        best = (texts.argmin(axis=0) * wide + others.argmin(axis=0))[both]
        for number in np.flatnonzero(np.bincount(best)).tolist():
            pair = divmod(number, wide)
            if pair not in self.pairs:
                self.pairs[pair] = TextRangeIndex(*(self.columns[place] for place in pair))
            via[both[best == number]] = wide + list(self.pairs).index(pair)
        return via

    def _fewer_ways(self, via: Int64s, shares: npt.NDArray[np.float64]) -> Int64s:
        """Do without the index of a column as long as other indexes find its entries about as
        seldom: every row would search it too."""
        chosen = np.bincount(via, minlength=len(self.columns))
        searched = np.array([len(column.index) > 0 for column in self.columns]) | (chosen > 0)
        for number in np.argsort(chosen, kind="stable").tolist():
            if not chosen[number] or len(self.columns[number].index):
                continue
            searched[number] = False
            mine = np.flatnonzero(via == number)
            others = np.where(searched[:, np.newaxis], shares[:, mine], np.inf)
            next_best = others.min(axis=0)
            reached = bool(np.isfinite(next_best).all())
            more = (next_best - shares[number, mine]).sum() if reached else np.inf
            if self._in_vain[number] + more < SEARCH_WORTH.value:
                self._in_vain[number] += more
                via[mine] = others.argmin(axis=0)
            else:
                searched[number] = True
        return via

    def own(self, entries: Int64s) -> None:
        """Let entries be found by their owners."""
        owners = self.owner.take(entries)
        self._head.extend(max(int(owners.max(initial=-1)) + 1 - len(self._head), 0), GONE)
        _chain(owners, entries, self._head.view, self._link.view)

    def owning(self, owners: Int64s) -> np.ndarray:
        """Which of the owners have entries."""
        known = owners < len(self._head)
        known[known] = self._head.view[owners[known]] != GONE
        return known

    def disown(self, owners: Int64s) -> Int64s:
        """All entries of the owners, who have none afterwards."""
        found = np.empty(len(self.owner), np.int64)
        count = _unchain(owners, self._head.view, self._link.view, found)
        return found[:count]

    def end(self, entries: Int64s, at: int) -> None:
        """Let entries count for rows before ``at`` only."""
        self.until.view[entries] = np.minimum(self.until.view[entries], at)
        self.earliest = min(self.earliest, at)

    def settle(self, now: int) -> None:
        """Forget entries that count for no row later than ``now``."""
        if self.earliest > now + 1:
            return
        over = (self.until.view <= now + 1) & (self._via.view != GONE)
        self.forget(np.flatnonzero(over))
        self.earliest = int(self.until.view[self.live_entries].min(initial=FOREVER))

    def forget(self, entries: Int64s) -> None:
        """Take entries out of the indexes."""
        via = self._via.view[entries]
        for number, way in enumerate(self.ways):
            chosen = entries[via == number]
            if len(chosen):
                way.leave(self._at.view[chosen], chosen)
        self._via.view[entries] = GONE
        self.live -= len(entries)

    def move(self, target: EntryStore, owners: Int64s) -> None:
        """Put what is kept, whose owners are called ``owners`` now, into an empty store."""
        kept, owned = self.live_entries, np.zeros(len(self.owner), np.bool_)
        owned[self.disown(np.arange(len(self._head)))] = True
        asked = [c.conditions_of(kept) for c in self.columns]
        numbers = target.insert(owners, self.since.view[kept], self.until.view[kept], asked)
        target.own(numbers[owned[kept]])


@kernel(void, ints, ints, ints_out, ints_out)
def _chain(owners: Any, entries: Any, head: Any, link: Any) -> None:
    """Put entries before the others of their owners."""
    for i in range(len(owners)):
        link[entries[i]] = head[owners[i]]
        head[owners[i]] = entries[i]


@kernel(int64, ints, ints_out, ints, ints_out)
def _unchain(owners: Any, head: Any, link: Any, out: Any) -> int:
    """All entries of the owners, which have none afterwards."""
    count = 0
    for i in range(len(owners)):
        entry = head[owners[i]]
        while entry >= 0:
            out[count] = entry
            count += 1
            entry = link[entry]
        head[owners[i]] = -1
    return count
