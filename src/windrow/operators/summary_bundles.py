"""Summaries for many stores at once, so that a row is looked at once and not by every store.

Stores with sub-windows of one length are a *bundle*. Rows that the same stores of a bundle want are
of one kind. They are folded by sub-window, group and kind into summaries of all that any store
keeps, and those are merged for each store that wants their kind; a store's own columns are chosen
at the end. What comes out is what every store would have made of its rows.

Cost: one fold of the rows for each bundle, and then a merge of each kind and group for each store
that wants it. Nothing is called for each store.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.columns.arrays import Int64s
from windrow.columns.interner import Interner, IntTable
from windrow.core.thresholds import Threshold
from windrow.core.time import BEGINNING
from windrow.operators.aggregates.group_summaries import GroupSummaries
from windrow.operators.aggregates.summaries import Summary
from windrow.operators.snap import round_up
from windrow.operators.state.predicate_store import PredicateStore

AT_ONCE = Threshold(1 << 20, least=1)
"""Summaries that are merged at a time, unless one store has more: stores times groups or kinds."""
Wanted = npt.NDArray[np.bool_]
"""Which rows stores want, by store."""


@dataclass(frozen=True)
class StoreSummaries:
    """Summaries of several stores: the ``store`` and the ``group`` of each, the instant of the last
    row that is in it, and its integers, with zeros behind them."""

    store: Int64s
    group: Int64s
    last: Int64s
    table: Int64s


class SummaryBundle:
    """The stores of one bundle, by number; see the module."""

    def __init__(self, stores: Mapping[int, PredicateStore], width: int) -> None:
        """``width`` is that of the tables that are given."""
        self._numbers, self._width = np.array([*stores], np.int64), width
        self._s = next(iter(stores.values())).s
        kept = {_content(*each): each for s in stores.values() for each in s.summaries.aggregates}
        self._aggregates = tuple(kept.values())
        places = dict(zip(kept, GroupSummaries(self._aggregates).places, strict=True))
        layouts: dict[tuple[int, ...], list[int]] = {}
        for place, store in enumerate(stores.values()):
            own = [0]
            for summary, argument in store.summaries.aggregates:
                first = places[_content(summary, argument)]
                own.extend(range(first, first + summary.width))
            layouts.setdefault(tuple(own), []).append(place)
        self._layouts = [np.array(columns, np.int64) for columns in layouts]
        self._layout_of = np.empty(len(stores), np.int64)
        for number, same in enumerate(layouts.values()):
            self._layout_of[same] = number

    def summarise(
        self,
        codes: Int64s,
        ts: Int64s,
        arguments: Sequence[pa.Array],
        wanted: Wanted,
        groups: int,
    ) -> list[StoreSummaries]:
        """What the stores make of rows, in the order of time; ``wanted`` has a line for each store
        that there is, codes are below ``groups``."""
        own = wanted[self._numbers]
        comes, kinds = round_up(ts, self._s), _kinds(own)
        folded = GroupSummaries(self._aggregates)
        cells = IntTable().codes((kinds << 32) | codes)
        positions = folded.fold(cells, comes, comes, arguments)
        parts = folded.store.table.view
        row = np.empty(len(parts), np.int64)
        row[positions] = np.arange(len(codes))  # the last one of each summary wins
        own, codes, comes, ts = own[:, row], codes[row], comes[row], ts[row]
        step = max(AT_ONCE.value // max(groups, len(row), 1), 1)
        return [
            self._merge(first, own[first : first + step], codes, comes, ts, parts, groups)
            for first in range(0, len(own), step)
        ]

    def _merge(
        self,
        first: int,
        wanted: Wanted,
        codes: Int64s,
        comes: Int64s,
        last: Int64s,
        parts: Int64s,
        groups: int,
    ) -> StoreSummaries:
        """Summaries by kind as those of stores, of which these are the ones from ``first`` on."""
        part, store = np.nonzero(np.ascontiguousarray(wanted.T))
        merged = GroupSummaries(self._aggregates)
        at = comes[part]
        positions = merged.merge(store * groups + codes[part], at, at, parts[part])
        latest = np.full(len(merged), BEGINNING, np.int64)
        np.maximum.at(latest, positions, last[part])
        store, group = np.divmod(merged.held_groups(), max(groups, 1))
        store += first
        table = np.zeros((len(merged), self._width), np.int64)
        layouts = self._layout_of[store]
        for number, columns in enumerate(self._layouts):
            mine = np.flatnonzero(layouts == number)
            table[mine, : len(columns)] = merged.store.table.view[np.ix_(mine, columns)]
        return StoreSummaries(self._numbers[store], group, latest, table)


def bundles_of(stores: Sequence[PredicateStore], width: int) -> list[SummaryBundle]:
    """Stores by the length of their sub-windows, and by what tells summaries of a group apart."""
    found: dict[object, dict[int, PredicateStore]] = {}
    for number, store in enumerate(stores):
        tiers = {_content(*each) for each in store.summaries.aggregates if _has_tiers(each[0])}
        found.setdefault((store.s, frozenset(tiers)), {})[number] = store
    return [SummaryBundle(same, width) for same in found.values()]


def _has_tiers(summary: Summary) -> bool:
    return summary.tiers(pa.array([], pa.float64())) is not None


def _content(summary: Summary, argument: int) -> tuple[type[Summary], bool, int]:
    """Summaries of rows with equal contents are equal."""
    return type(summary), bool(getattr(summary, "largest", False)), argument


def _kinds(wanted: Wanted) -> Int64s:
    """A number for each row, the same for rows that the same stores want."""
    stores, rows = wanted.shape
    packed = np.packbits(wanted, axis=0)
    words = np.zeros((rows, -(-stores // 64) * 8), np.uint8)
    words[:, : len(packed)] = packed.T
    columns = [pa.array(np.ascontiguousarray(word)) for word in words.view(np.int64).T]
    return Interner([pa.int64()] * len(columns)).codes(columns, rows)
