"""Subscriptions matched against batches of rows, in two phases (Wu, Chen, Yu 2004, 2.1).

Phase 1 searches the index of each attribute. Phase 2 puts the findings together. The plain way
is to search for every condition and to count: an entry matches a row if as many of its conditions
were found as it has. Here an entry is in one index only, that of its most selective condition, or
of a text and a range together, and its other conditions are checked on the pairs that come out; an
entry with one condition needs no second phase. Both ways give the same pairs; this one makes fewer
(``benchmarks.conjunctions``).

Changes take effect at an instant: an entry counts for rows with ``since <= ts < until``, whatever
batches they come in. Entries that will never count again are forgotten by ``settle``.

Cost of a batch: the index searches, then one visit to each pair. Entries that are gone stay in
place until they outnumber the others, and then all is built anew: O(1) on average per change.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from windrow.columns.arrays import Int64s
from windrow.columns.interner import Interner
from windrow.columns.kernels import flags_out, int64, ints, ints_out, kernel, void
from windrow.core.errors import InputError
from windrow.core.thresholds import Threshold
from windrow.core.time import BEGINNING, FOREVER, Clock
from windrow.subscriptions.entry_columns import EntryColumns, entries_of
from windrow.subscriptions.entry_store import EntryStore
from windrow.subscriptions.predicates import Id, Kind
from windrow.subscriptions.values import Keys

CANDIDATE_ROWS = Threshold(1 << 12, least=1)
"""Rows whose candidates are looked at together if some have to be checked."""


class Subscriptions:
    """Subscriptions, and which of them rows satisfy.

    ``ids`` is the type of identifiers: texts, or 64-bit integers.

    Attributes are of the types that ``windrow.subscriptions.predicates`` names, and every value is
    compared exactly.

    >>> alerts = Subscriptions({"bytes": pa.int64()})
    >>> alerts.add([{"id": "big", "bytes": "> 1000"}, {"id": "small", "bytes": "[1, 10)"}])
    2
    >>> rows = pa.record_batch({"bytes": [5, 2000, 100, None]})
    >>> alerts.match(rows).to_pylist()
    [{'row': 0, 'subscription': 'small'}, {'row': 1, 'subscription': 'big'}]
    """

    def __init__(
        self,
        attributes: Mapping[str, Kind],
        *,
        ids: pa.DataType | None = None,
        clock: Clock = Clock.INTEGER,
    ) -> None:
        self.attributes, self.clock = dict(attributes), clock
        self.ids = pa.string() if ids is None else ids
        self._names = Interner([self.ids])
        self._store = EntryStore(self.attributes)
        self._repeated = False  # whether any subscription has, or had, several entries

    def __len__(self) -> int:
        """How many entries there are, those that count later included."""
        return self._store.live

    @property
    def nbytes(self) -> int:
        """Bytes of the indexes and of what is kept per entry."""
        return self._store.nbytes

    def add(self, subscriptions: Any, at: int | None = None) -> int:
        """Add entries, from the instant ``at`` on if one is given; returns how many.

        Takes what ``entry_columns`` describes. An identifier that is there already gets
        further entries.
        """
        found = (
            subscriptions
            if isinstance(subscriptions, EntryColumns)
            else entries_of(subscriptions, self.attributes, ids=self.ids, clock=self.clock)
        )
        if not len(found):
            return 0
        since = found.since if at is None else np.maximum(found.since, at)
        known = len(self._names)
        owners = self._names.codes([found.ids], len(found))
        self._repeated |= bool((owners < known).any()) or len(self._names) - known < len(owners)
        self._store.own(self._store.insert(owners, since, found.until, found.spans))
        return len(found)

    def drop(self, ids: Id | Iterable[Id] | pa.Array, at: int | None = None) -> int:
        """End all entries of these subscriptions, at the instant ``at`` if one is given.

        Returns how many entries there were. What is added later under the same id is new.
        """
        given = [ids] if isinstance(ids, int | str) else ids
        wanted = given if isinstance(given, pa.Array) else pa.array(list(given), self.ids)
        owners = self._names.codes([wanted], len(wanted))
        known = self._store.owning(owners)
        if not known.all():
            missing = wanted[int(np.flatnonzero(~known)[0])].as_py()
            raise InputError(
                where="drop",
                expected="ids of existing subscriptions",
                found=repr(missing),
                remedy="each can be dropped only once",
            )
        ended = self._store.disown(np.unique(owners))
        if at is not None:
            self._store.end(ended, at)
        else:
            self._store.forget(ended)
            self._rebuild_if_crowded()
        return len(ended)

    def settle(self, now: int) -> None:
        """Forget entries that count for no row later than ``now``."""
        self._store.settle(now)
        self._rebuild_if_crowded()

    def _rebuild_if_crowded(self) -> None:
        """Start afresh with the entries that are not forgotten, and with their names."""
        if not self._store.is_crowded:
            return
        owners = self._store.owner.view[self._store.live_entries]
        distinct = np.unique(owners)
        renamed = self._names.compact(distinct)[owners]
        self._repeated &= len(distinct) < len(owners)
        before, self._store = self._store, EntryStore(self.attributes)
        before.move(self._store, renamed)

    def entries(self) -> EntryColumns:
        """All entries that are not forgotten, to be added elsewhere."""
        store = self._store
        kept = store.live_entries
        return EntryColumns(
            self.names(store.owner.view[kept]),
            store.since.view[kept],
            store.until.view[kept],
            tuple(c.conditions_of(kept) for c in store.columns),
        )

    def match(self, rows: pa.RecordBatch | pa.Table, ts: Int64s | None = None) -> pa.RecordBatch:
        """Pairs of a row's position and a subscription's id, each once, in order of rows.

        ``ts`` are the rows' instants; they are needed if any entry has a beginning or an end.
        """
        lower = {name.lower(): name for name in rows.schema.names}
        columns = []
        for name in self.attributes:
            if name.lower() not in lower:
                raise InputError(
                    where="match",
                    expected=f"a column {name}",
                    found=", ".join(rows.schema.names) or "no columns",
                )
            column = rows.column(lower[name.lower()])
            columns.append(
                pa.concat_arrays(column.chunks or [pa.nulls(0)])
                if isinstance(column, pa.ChunkedArray)
                else column
            )
        at, owners = self.hits(columns, ts)
        return pa.RecordBatch.from_arrays(
            [pa.array(at), self.names(owners)], ["row", "subscription"]
        )

    def names(self, owners: Int64s) -> pa.Array:
        """The ids of subscriptions by their numbers in ``hits``."""
        return self._names.rows(owners)[0]

    def hits(self, columns: Sequence[pa.Array], ts: Int64s | None = None) -> tuple[Int64s, Int64s]:
        """As ``match``, over the attributes' columns in their order, with numbers for ids."""
        asked = [c.keys(column) for c, column in zip(self._store.columns, columns, strict=True)]
        length = len(columns[0])
        # Candidates that will not be confirmed can be many more than matches.
        step = CANDIDATE_ROWS.value if self._store.several else max(length, 1)
        parts = [self._candidates(asked, at, at + step) for at in range(0, length, step)]
        if not parts:
            return np.empty(0, np.int64), np.empty(0, np.int64)
        rows, entries = (_concatenate(side) for side in zip(*parts, strict=True))
        rows, entries = self._counting(rows, entries, ts)
        owners = self._store.owner.take(entries)
        if self._repeated or self._store.rough:
            seen = np.full(len(self._names), -1, np.int64)
            told = np.empty(len(rows), np.int64), np.empty(len(rows), np.int64)
            count = _once(rows, owners, seen, *told)
            rows, owners = told[0][:count], told[1][:count]
        return rows, owners

    def _candidates(self, asked: Sequence[Keys], start: int, stop: int) -> tuple[Int64s, Int64s]:
        """Pairs of a row from ``start`` to ``stop`` and an entry whose conditions hold."""
        part = [keys.part(start, stop) for keys in asked]
        found = [
            self._confirm(number, *column.search(part[number]), part)
            for number, column in enumerate(self._store.columns)
        ]
        found += [
            self._confirm(text, *pair.search(part[text], part[ranged]), part)
            for (text, ranged), pair in self._store.pairs.items()
        ]
        rows, entries = (_concatenate(side) for side in zip(*found, strict=True))
        if sum(len(pair[0]) > 0 for pair in found) > 1:
            order = np.argsort(rows, kind="stable")  # merges what is in order already
            rows, entries = rows[order], entries[order]
        return rows + start if start else rows, entries

    def _confirm(
        self, via: int, rows: Int64s, entries: Int64s, asked: Sequence[Keys]
    ) -> tuple[Int64s, Int64s]:
        """Of pairs whose condition on the attribute ``via`` holds those whose others do too."""
        if not len(rows) or not (self._store.several or self._store.inexact):
            return rows, entries
        for number, column in enumerate(self._store.columns):
            if number != via or self._store.inexact:
                kept = column.check(rows, entries, asked[number])
                rows, entries = rows[:kept], entries[:kept]
        return rows, entries

    def _counting(self, rows: Int64s, entries: Int64s, ts: Int64s | None) -> tuple[Int64s, Int64s]:
        """The pairs whose entries count at their rows' instants."""
        if self._store.latest == BEGINNING and self._store.earliest == FOREVER:
            return rows, entries
        if ts is None:
            raise InputError(
                where="match",
                expected="the instants of the rows, since some subscriptions begin or end",
                found="none",
                remedy="give ts, an array of ticks",
            )
        if ts.min() >= self._store.latest and ts.max() < self._store.earliest:
            return rows, entries
        kept = np.ones(len(rows), np.bool_)
        _alive(rows, entries, ts, self._store.since.view, self._store.until.view, kept)
        return rows[kept], entries[kept]


def _concatenate(parts: Sequence[Int64s]) -> Int64s:
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


@kernel(void, ints, ints, ints, ints, ints, flags_out)
def _alive(rows: Any, entries: Any, ts: Any, since: Any, until: Any, kept: Any) -> None:
    """Clear ``kept`` where the entry does not count at the row's instant."""
    for i in range(len(rows)):
        t, e = ts[rows[i]], entries[i]
        if t < since[e] or t >= until[e]:
            kept[i] = False


@kernel(int64, ints, ints, ints_out, ints_out, ints_out)
def _once(rows: Any, owners: Any, seen: Any, out_rows: Any, out_owners: Any) -> int:
    """The pairs without repetitions; ``rows`` is in order, ``seen`` is -1 for every owner."""
    count = 0
    for i in range(len(rows)):
        row, owner = rows[i], owners[i]
        if seen[owner] != row:
            seen[owner] = row
            out_rows[count] = row
            out_owners[count] = owner
            count += 1
    return count
