"""The GROUP BYs of many queries over one stream, from synopses that they share.

Rows are folded once for each distinct predicate into summaries of sub-windows, and the synopses
that the rules of sharing chose are kept once (``windrow.operators.state.predicate_store``). A query
is answered at the multiples of its SLIDE. What it answered last is not remembered: it is read from
the synopses again, as of one slide ago, and the rows that differ are replaced.

Queries that read the same synopses over the same window with the same period are one *probe*, and
aggregates that are put together from the same synopses one *source*. A batch goes through all
probes in one kernel call for each predicate, which finds the groups that came into or left a window
at an instant that was due; through all sources, which read old and new values of these; and through
all *forms*, which are queries that make the same of their aggregates. Members are numbers in all
of that: one that is not due, or whose groups have not changed, costs nothing.

Cost: O(1) per row and predicate that it satisfies; per probe and group that came or left, the probe
of a synopsis. State: a summary for each predicate, sub-window and group that occurs in it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from windrow.columns.arrays import Int64s
from windrow.columns.delta import Delta, batch_of, concat
from windrow.columns.evaluate import evaluate, selection_mask
from windrow.columns.interner import Crowding, Interner
from windrow.columns.types import ARROW
from windrow.core.time import BEGINNING
from windrow.operators.aggregates.count_sum_avg import Sum
from windrow.operators.aggregates.replaced_rows import differ
from windrow.operators.aggregates.shared_values import CountValue, Pair, WindowValue
from windrow.operators.base import Saved, below
from windrow.operators.state.predicate_store import PredicateStore, Touched
from windrow.plan.expressions import Expression
from windrow.plan.physical.state_kinds import Kept


@dataclass
class ReadAggregate:
    """How an aggregate is read from a store: the sum at a place, or the extreme of a number."""

    value: WindowValue
    places: Mapping[int, int]
    """By store: the first column of a sum, or the number of an extreme."""
    width: int
    kind: pa.DataType
    extreme: bool = False


@dataclass
class Source:
    """Stores that are added and subtracted, what is read of them, and which probes ask for it."""

    added: tuple[int, ...]
    subtracted: tuple[int, ...]
    aggregates: list[ReadAggregate] = field(default_factory=list)
    probes: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class Probe:
    """A window and a period over some stores."""

    stores: tuple[int, ...]
    window: int
    slide: int


@dataclass
class Form:
    """Members that make the same of their aggregates: HAVING, columns, and where these go."""

    having: Expression | None
    columns: tuple[Expression, ...]
    slots: tuple[int, ...]
    kinds: tuple[pa.DataType, ...]
    members: list[int] = field(default_factory=list)
    probes: list[int] = field(default_factory=list)
    reads: list[tuple[tuple[int, int], ...]] = field(default_factory=list)
    """For each member its aggregates, as a source and a place in it."""
    exists: list[int] = field(default_factory=list)
    """For each member the source that says whether a group is there."""


@dataclass(frozen=True)
class _Values:
    """What a source says: sizes and aggregates before and after, for the rows of its probes."""

    offsets: Mapping[int, int]
    sizes: tuple[Int64s, Int64s]
    aggregates: list[Pair]


class SharedAggregation:
    """See the module. ``predicates`` and ``stores`` go together; None selects every row.

    If it ``merges``, what comes are summaries: the keys, the number of the store, and the columns
    of its summaries.
    """

    def __init__(
        self,
        keys: Sequence[Expression],
        arguments: Sequence[Expression],
        predicates: Sequence[Expression | None],
        stores: Sequence[PredicateStore],
        probes: Sequence[Probe],
        sources: Sequence[Source],
        forms: Sequence[Form],
        schema: pa.Schema,
        kept: Kept,
        sums: Sequence[Sum] = (),
        merges: bool = False,
    ) -> None:
        self.keys, self.arguments, self.predicates = tuple(keys), tuple(arguments), predicates
        self.stores, self.probes, self.sources = tuple(stores), tuple(probes), tuple(sources)
        self.forms, self.schema, self.kept, self.merges = tuple(forms), schema, kept, merges
        self._sums = tuple(sums)
        self.groups, self.crowding = Interner(_kinds(keys)), Crowding()
        self.now = BEGINNING
        self._windows = np.array([p.window for p in probes], np.int64)
        self._slides = np.array([p.slide for p in probes], np.int64)
        self._readers = [
            np.array([n for n, p in enumerate(probes) if s in p.stores], np.int64)
            for s in range(len(stores))
        ]
        self._nothing = Delta.empty(schema)

    @property
    def state(self) -> tuple[Kept, ...]:
        return (self.kept,)

    def sums(self) -> Iterator[Sum]:
        """The sums, which count what did not fit."""
        yield from self._sums

    def process(self, inputs: Sequence[Delta], now: int) -> Delta:
        (delta,) = inputs
        if len(delta):
            self._merge(delta) if self.merges else self._fold(delta)
        for store in self.stores:
            store.close(now)
        touched, self.now = self._touched(now), now
        answer = self._nothing if touched is None else self._answer(touched)
        for store in self.stores:
            store.forget()
        self._forget_groups()
        return answer

    # --- rows in

    def _fold(self, delta: Delta) -> None:
        keys = [evaluate(key, delta.rows) for key in self.keys]
        codes = self.groups.codes(keys, len(delta))
        values = [evaluate(argument, delta.rows) for argument in self.arguments]
        for predicate, store in zip(self.predicates, self.stores, strict=True):
            if predicate is None:
                store.fold(codes, delta.ts, values)
                continue
            rows = np.flatnonzero(selection_mask(predicate, delta.rows))
            if len(rows):
                chosen = pa.array(rows)
                store.fold(codes[rows], delta.ts[rows], [v.take(chosen) for v in values])

    def _merge(self, delta: Delta) -> None:
        width = len(self.keys)
        codes = self.groups.codes(delta.rows.columns[:width], len(delta))
        number, *parts = (c.to_numpy() for c in delta.rows.columns[width:])
        for n in np.unique(number):
            rows, store = np.flatnonzero(number == n), self.stores[n]
            table = [part[rows] for part in parts[: store.summaries.width]]
            store.merge(codes[rows], delta.ts[rows], np.stack(table, axis=1))

    # --- answers

    def _touched(self, now: int) -> Touched | None:
        """All that may change until ``now``, by probe; one of several stores sees their union."""
        found = []
        for store, readers in zip(self.stores, self._readers, strict=True):
            due = store.due(
                self._windows[readers], self._slides[readers], self.now, now, len(self.groups)
            )
            if due is not None:
                found.append((readers[due.probe], due.time, due.group))
        if not found:
            return None
        probe, time, group = (np.concatenate(column) for column in zip(*found, strict=True))
        order = np.lexsort((group, time, probe))
        probe, time, group = probe[order], time[order], group[order]
        new = np.ones(len(order), np.bool_)
        new[1:] = (np.diff(probe) != 0) | (np.diff(time) != 0) | (np.diff(group) != 0)
        return Touched(probe[new], time[new], group[new])

    def _answer(self, touched: Touched) -> Delta:
        numbers = np.arange(len(self.probes))
        starts = np.searchsorted(touched.probe, numbers, side="left")
        lengths = np.searchsorted(touched.probe, numbers, side="right") - starts
        values = [self._read(source, touched, starts, lengths) for source in self.sources]
        parts = [self._rows_of(form, values, touched, starts, lengths) for form in self.forms]
        return concat([delta for pair in parts for delta in pair], self.schema)

    def _read(
        self, source: Source, touched: Touched, starts: Int64s, lengths: Int64s
    ) -> _Values | None:
        """Sizes of groups and aggregates, one slide before the instants and at them."""
        due = [p for p in source.probes if lengths[p]]
        if not due:
            return None
        offsets = dict(zip(due, np.cumsum([0, *lengths[due]]).tolist(), strict=False))
        rows = _ranges(starts[due], lengths[due])
        count, probe = len(rows), touched.probe[rows]
        until = np.tile(touched.time[rows], 2)
        until[:count] -= self._slides[probe]
        after = until - np.tile(self._windows[probe], 2)
        groups = np.tile(touched.group[rows], 2)
        sizes = CountValue()
        every = [sizes, *(a.value for a in source.aggregates)]
        for value in every:
            value.begin(2 * count)
        signed = [(s, 1) for s in source.added] + [(s, -1) for s in source.subtracted]
        for number, sign in signed:
            store = self.stores[number]
            place, codes = store.cells_of(groups)
            lo, hi = (after, until) if place is None else (after[place], until[place])
            words = store.probe_sums(codes, lo, hi)
            sizes.add(place, words, sign)
            for a in source.aggregates:
                at = a.places[number]
                if a.extreme:
                    a.value.add(place, store.probe_extreme(at, codes, lo, hi), sign)
                else:
                    a.value.add(place, words[:, at : at + a.width], sign)
        read = [a.value.read().cast(a.kind) for a in source.aggregates]
        pairs = [(array.slice(0, count), array.slice(count)) for array in read]
        return _Values(offsets, (sizes.counts[:count], sizes.counts[count:]), pairs)

    def _rows_of(
        self,
        form: Form,
        values: Sequence[_Values | None],
        touched: Touched,
        starts: Int64s,
        lengths: Int64s,
    ) -> tuple[Delta, Delta]:
        """The rows that members of a form lose and get."""
        due = [n for n, probe in enumerate(form.probes) if lengths[probe]]
        if not due:
            return self._nothing, self._nothing
        probes = np.array(form.probes, np.int64)[due]
        count = lengths[probes]
        rows = _ranges(starts[probes], count)
        member = np.repeat(np.array(form.members, np.int64)[due], count)
        sizes = _sizes(form, due, values, count)
        columns = [_column(form, j, due, values, count) for j in range(len(form.kinds))]
        held = sizes[0] > 0, sizes[1] > 0
        changed = held[0] != held[1]
        both = np.flatnonzero(held[0] & held[1])
        if len(both) and columns:
            whole = [pa.concat_arrays(pair) for pair in columns]
            changed[both] = differ(whole, both, both + len(rows))
        found = []
        for side, sign in ((0, -1), (1, 1)):
            at = np.flatnonzero(changed & held[side])
            chosen = pa.array(at)
            keys = self.groups.rows(touched.group[rows[at]])
            arrays = [k.cast(t) for k, t in zip(keys, _kinds(self.keys), strict=True)]
            arrays += [pair[side].take(chosen) for pair in columns]
            row = pa.RecordBatch.from_arrays(arrays, [str(i) for i in range(len(arrays))])
            found.append(self._shown(form, row, member[at], touched.time[rows[at]], sign))
        return found[0], found[1]

    def _shown(
        self, form: Form, row: pa.RecordBatch, member: Int64s, time: Int64s, sign: int
    ) -> Delta:
        """What a form makes of groups: HAVING, and its columns in their slots."""
        if form.having is not None and len(member):
            kept = np.flatnonzero(selection_mask(form.having, row))
            row, member, time = row.take(pa.array(kept)), member[kept], time[kept]
        if not len(member):
            return self._nothing
        own = dict(zip(form.slots, form.columns, strict=True))
        arrays = [pa.array(member)]
        for slot, kind in enumerate(self.schema.types[1:]):
            shown = own.get(slot)
            arrays.append(
                pa.nulls(len(member), kind) if shown is None else evaluate(shown, row).cast(kind)
            )
        rows = batch_of(arrays, self.schema, len(member))
        made = Delta.insertions if sign > 0 else Delta.withdrawals
        return made(time, rows).sorted()

    # --- state

    def _forget_groups(self) -> None:
        """Give groups that have summaries new codes, once most groups have none."""
        size = len(self.groups)
        if not self.crowding.is_due(size):
            return
        held = np.zeros(size, np.bool_)
        for store in self.stores:
            held[store.held_groups()] = True
        live = np.flatnonzero(held)
        if self.crowding.renewal_pays(size, len(live)):
            remap = self.groups.compact(live)
            for store in self.stores:
                store.regroup(remap)

    def size(self) -> int:
        return sum(map(len, self.stores)) + len(self.groups)

    def save(self) -> Saved:
        saved = Saved()
        for number, store in enumerate(self.stores):
            saved.add(str(number), store.save(self.groups))
        saved.meta["now"] = self.now
        return saved

    def load(self, segments: Mapping[str, pa.RecordBatch], meta: Mapping[str, Any]) -> None:
        self.now = int(meta["now"])
        for number, store in enumerate(self.stores):
            store.load(below(str(number), segments), meta[str(number)], self.groups)


def _kinds(keys: Sequence[Expression]) -> list[pa.DataType]:
    return [ARROW[key.type] for key in keys]


def _ranges(starts: Int64s, lengths: Int64s) -> Int64s:
    """The numbers of ranges, one range after the other."""
    ends = np.cumsum(lengths)
    numbers: Int64s = np.arange(int(ends[-1])) + np.repeat(starts - (ends - lengths), lengths)
    return numbers


def _sizes(
    form: Form, due: Sequence[int], values: Sequence[_Values | None], count: Int64s
) -> tuple[Int64s, Int64s]:
    found = [_of(values, form.exists[n]) for n in due]
    spans = [
        (v.offsets[form.probes[n]], v.offsets[form.probes[n]] + c)
        for v, n, c in zip(found, due, count.tolist(), strict=True)
    ]
    before, after = (
        np.concatenate([v.sizes[side][a:b] for v, (a, b) in zip(found, spans, strict=True)])
        for side in (0, 1)
    )
    return before, after


def _column(
    form: Form, number: int, due: Sequence[int], values: Sequence[_Values | None], count: Int64s
) -> Pair:
    """One aggregate of the due members, before and after, one member after the other."""
    sides: tuple[list[pa.Array], list[pa.Array]] = ([], [])
    for n, c in zip(due, count.tolist(), strict=True):
        source, place = form.reads[n][number]
        found = _of(values, source)
        for side in (0, 1):
            whole = found.aggregates[place][side]
            sides[side].append(whole.slice(found.offsets[form.probes[n]], c))
    before, after = (pa.concat_arrays(side) for side in sides)
    return before, after


def _of(values: Sequence[_Values | None], source: int) -> _Values:
    found = values[source]
    assert found is not None  # its probe has rows
    return found
