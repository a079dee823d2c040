"""The GROUP BYs of many queries over one stream, from synopses that they share.

Rows are folded once for each distinct predicate into summaries of sub-windows, and the synopses
that the rules of sharing chose are kept once (``windrow.operators.state.predicate_store``). A query
is answered at the multiples of its SLIDE. What it answered last is not remembered: it is read from
the synopses again, as of one slide ago, and the rows that differ are replaced. So is the answer of
whoever asks for it. If members show their keys (``plan.physical.announced_ends``), nothing that
comes out cancels within its instant.

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
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa

from windrow.columns.arrays import Bools, Int64s
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
    probes: list[int] = field(default_factory=list)


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
    shows_all: bool
    """Whether rows of a group that has changed always differ."""
    members: list[int] = field(default_factory=list)
    probes: list[int] = field(default_factory=list)
    reads: list[tuple[tuple[int, int], ...]] = field(default_factory=list)
    """For each member its aggregates, as a source and a place in it."""
    exists: list[int] = field(default_factory=list)
    """For each member the source that says whether a group is there."""
    since: list[int] = field(default_factory=list)
    """For each member the instant after which it answers."""


@dataclass(frozen=True)
class _Rows:
    """What may change: a probe, an instant and a group; rows of a probe are a stretch."""

    probe: Int64s
    time: Int64s
    group: Int64s
    starts: Int64s
    lengths: Int64s


@dataclass(frozen=True)
class _Values:
    """What a source says of the rows of its probes, before and after: the sizes of groups, and each
    aggregate for those probes that ask for it; ``offsets`` is where those of a probe begin.
    """

    offsets: Mapping[int, int]
    sizes: tuple[Int64s, Int64s]
    aggregates: list[tuple[Mapping[int, int], Pair] | None]


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
        self._several = np.array([len(p.stores) > 1 for p in probes], np.bool_)
        self._fresh = {
            (probe, since)
            for form in forms
            for probe, since in zip(form.probes, form.since, strict=True)
            if since != BEGINNING
        }
        self._several[[probe for probe, _ in self._fresh]] = True
        self._nothing = Delta.empty(schema)

    def adopt(self, other: SharedAggregation) -> None:
        """Go on where another one over fewer queries was, whose synopses come first."""
        self.now, self.groups, self.crowding = other.now, other.groups, other.crowding
        for mine, held in zip(self.stores, other.stores, strict=False):
            held.serve(mine)
        self.stores = (*other.stores, *self.stores[len(other.stores) :])

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

    def _touched(self, now: int) -> _Rows | None:
        """All that may change until ``now``; a probe of several stores sees their union."""
        found = []
        for store, readers in zip(self.stores, self._readers, strict=True):
            due = store.due(
                self._windows[readers], self._slides[readers], self.now, now, len(self.groups)
            )
            if due is not None:
                found.append(Touched(readers[due.probe], due.time, due.group))
        return self._by_probe([*found, *self._first_answers(now)])

    def _first_answers(self, now: int) -> Iterator[Touched]:
        """All groups, for queries that came while others ran and answer for the first time."""
        for probe, since in self._fresh:
            first = (since // self.probes[probe].slide + 1) * self.probes[probe].slide
            if self.now < first <= now:
                held = [self.stores[s].held_groups() for s in self.probes[probe].stores]
                groups = np.unique(np.concatenate(held))
                yield Touched(np.full(len(groups), probe), np.full(len(groups), first), groups)

    def _by_probe(self, found: Sequence[Touched]) -> _Rows | None:
        """Rows of one probe next to each other, each once, in the order of time."""
        found = [touched for touched in found if len(touched)]
        if not found:
            return None
        columns = zip(*((t.probe, t.time, t.group) for t in found), strict=True)
        probe, time, group = map(np.concatenate, columns)
        several = self._several[probe]
        if several.any():  # of the others each store has had its own
            at = np.flatnonzero(several)
            at = at[np.lexsort((group[at], time[at], probe[at]))]
            new = np.ones(len(at), np.bool_)
            new[1:] = np.diff(probe[at]) != 0
            new[1:] |= (np.diff(time[at]) != 0) | (np.diff(group[at]) != 0)
            order = np.concatenate([np.flatnonzero(~several), at[new]])
            probe, time, group = probe[order], time[order], group[order]
        begins = np.flatnonzero(np.append(True, probe[1:] != probe[:-1]))
        starts, lengths = np.zeros((2, len(self.probes)), np.int64)
        starts[probe[begins]] = begins
        lengths[probe[begins]] = np.diff(np.append(begins, len(probe)))
        return _Rows(probe, time, group, starts, lengths)

    def _answer(self, rows: _Rows) -> Delta:
        values = [self._read(source, rows) for source in self.sources]
        parts = [self._changes_of(form, values, rows) for form in self.forms]
        # Within an instant what goes stands before what comes.
        return concat([pair[side] for side in (0, 1) for pair in parts], self.schema)

    def live_rows(self) -> pa.RecordBatch:
        """The answers of all members as of the last multiples of their slides."""
        found = []
        last = self.now // self._slides * self._slides
        for store, readers in zip(self.stores, self._readers, strict=True):
            groups = np.unique(store.held_groups())
            if self.now != BEGINNING and len(groups) and len(readers):
                probe = np.repeat(readers, len(groups))
                found.append(Touched(probe, last[probe], np.tile(groups, len(readers))))
        rows = self._by_probe(found)
        if rows is None:
            return self._nothing.rows
        values = [self._read(source, rows) for source in self.sources]
        shown = [self._answer_of(form, values, rows) for form in self.forms]
        return concat(shown, self.schema).rows

    def _read(self, source: Source, rows: _Rows) -> _Values | None:
        """Sizes of groups and aggregates, one slide before the instants and at them."""
        due = [p for p in source.probes if rows.lengths[p]]
        if not due:
            return None
        offsets = _offsets(due, rows.lengths)
        at = _ranges(rows.starts[due], rows.lengths[due])
        count, probe = len(at), rows.probe[at]
        until, groups, windows = rows.time[at], rows.group[at], self._windows[probe]
        earlier = until - self._slides[probe]
        sizes = CountValue()
        sizes.begin(2 * count)
        wanted = [self._begin(a, offsets, rows.lengths, count) for a in source.aggregates]
        signed = [(s, 1) for s in source.added] + [(s, -1) for s in source.subtracted]
        for number, sign in signed:
            store = self.stores[number]
            place, codes = store.cells_of(groups)
            here = slice(None) if place is None else place
            words = store.probe_sums(codes, windows[here], until[here], earlier[here])
            hi = np.concatenate([earlier[here], until[here]])
            lo, codes = hi - np.tile(windows[here], 2), np.tile(codes, 2)
            place = None if place is None else np.concatenate([place, place + count])
            sizes.add(place, words, sign)
            for a, asked in zip(source.aggregates, wanted, strict=True):
                if asked is not None:
                    chosen = asked.choose(place)
                    column, to = a.places[number], asked.places(place)
                    if a.extreme:
                        found = store.probe_extreme(column, codes[chosen], lo[chosen], hi[chosen])
                    else:
                        found = words[chosen, column : column + a.width]
                    a.value.add(to, found, sign)
        read = [
            None if asked is None else (asked.offsets, _halves(a.value.read().cast(a.kind)))
            for a, asked in zip(source.aggregates, wanted, strict=True)
        ]
        return _Values(offsets, (sizes.counts[:count], sizes.counts[count:]), read)

    @staticmethod
    def _begin(
        aggregate: ReadAggregate, offsets: Mapping[int, int], lengths: Int64s, count: int
    ) -> _Asked | None:
        """Which of the rows of a source an aggregate is asked for."""
        due = [p for p in aggregate.probes if lengths[p]]
        if not due:
            return None
        starts = np.array([offsets[p] for p in due], np.int64)
        at = _ranges(starts, lengths[due])
        aggregate.value.begin(2 * len(at))
        every = len(at) == count
        both = None if every else np.concatenate([at, at + count])
        return _Asked(_offsets(due, lengths) if not every else offsets, both, 2 * count)

    def _changes_of(
        self, form: Form, values: Sequence[_Values | None], rows: _Rows
    ) -> tuple[Delta, Delta]:
        """The rows that members of a form lose and get."""
        due = _Due.of(form, values, rows, self._slides)
        if due is None:
            return self._nothing, self._nothing
        held = due.sizes[0] > 0, due.sizes[1] > 0
        changed = held[0] != held[1]
        both = np.flatnonzero(held[0] & held[1])
        if len(both) and due.columns:
            whole = [pa.concat_arrays(pair) for pair in due.columns]
            changed[both] = differ(whole, both, both + len(changed))
        at = np.flatnonzero(changed)
        groups = [self._group_rows(due, side, at) for side in (0, 1)]
        shown = [held[side][at] & _having(form, groups[side]) for side in (0, 1)]
        columns = [[evaluate(c, g) for c in form.columns] for g in groups]
        both = np.flatnonzero(shown[0] & shown[1])
        if len(both) and not form.shows_all:
            whole = [pa.concat_arrays(pair) for pair in zip(*columns, strict=True)]
            equal = both[~differ(whole, both, both + len(at))]
            shown[0][equal] = shown[1][equal] = False
        lost, got = (
            self._in_slots(form, columns[side], due.member[at], due.time[at], shown[side])
            for side in (0, 1)
        )
        return replace(lost, sign=-lost.sign), got

    def _answer_of(self, form: Form, values: Sequence[_Values | None], rows: _Rows) -> Delta:
        """The rows that members of a form have."""
        due = _Due.of(form, values, rows, self._slides)
        if due is None:
            return self._nothing
        at = np.flatnonzero((due.sizes[1] > 0) & (due.time > due.since))
        group = self._group_rows(due, 1, at)
        columns = [evaluate(c, group) for c in form.columns]
        return self._in_slots(form, columns, due.member[at], due.time[at], _having(form, group))

    def _group_rows(self, due: _Due, side: int, at: Int64s) -> pa.RecordBatch:
        """Keys and aggregates, before or after."""
        keys = self.groups.rows(due.group[at])
        arrays = [k.cast(t) for k, t in zip(keys, _kinds(self.keys), strict=True)]
        chosen = pa.array(at)
        arrays += [pair[side].take(chosen) for pair in due.columns]
        return pa.RecordBatch.from_arrays(arrays, [str(i) for i in range(len(arrays))])

    def _in_slots(
        self,
        form: Form,
        columns: Sequence[pa.Array],
        member: Int64s,
        time: Int64s,
        shown: Bools,
    ) -> Delta:
        """The rows that are shown, with a form's columns in their slots."""
        if not shown.all():
            at = np.flatnonzero(shown)
            member, time, chosen = member[at], time[at], pa.array(at)
            columns = [column.take(chosen) for column in columns]
        own = dict(zip(form.slots, columns, strict=True))
        arrays = [pa.array(member)]
        for slot, kind in enumerate(self.schema.types[1:]):
            column = own.get(slot)
            arrays.append(pa.nulls(len(member), kind) if column is None else column.cast(kind))
        return Delta.insertions(time, batch_of(arrays, self.schema, len(member)))

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


@dataclass(frozen=True)
class _Asked:
    """Rows for which an aggregate is asked, ``at`` places among ``count``; None: all of them."""

    offsets: Mapping[int, int]
    at: Int64s | None
    count: int

    def choose(self, place: Int64s | None) -> Int64s | slice:
        """Which words are theirs, of words for the rows at ``place``."""
        if self.at is None:
            return slice(None)
        return self.at if place is None else np.flatnonzero(self._numbers()[place] >= 0)

    def places(self, place: Int64s | None) -> Int64s | None:
        """Where these words go; None: one to each."""
        if self.at is None or place is None:
            return place
        to = self._numbers()[place]
        return to[to >= 0]

    def _numbers(self) -> Int64s:
        numbers = np.full(self.count, -1, np.int64)
        assert self.at is not None
        numbers[self.at] = np.arange(len(self.at))
        return numbers


def _offsets(probes: Sequence[int], lengths: Int64s) -> dict[int, int]:
    """Where the rows of each probe begin, one probe after the other."""
    ends = np.cumsum(lengths[list(probes)])
    return dict(zip(probes, (ends - lengths[list(probes)]).tolist(), strict=True))


def _halves(array: pa.Array) -> Pair:
    middle = len(array) // 2
    return array.slice(0, middle), array.slice(middle)


def _having(form: Form, group: pa.RecordBatch) -> Bools:
    if form.having is None:
        return np.ones(group.num_rows, np.bool_)
    return selection_mask(form.having, group)


@dataclass(frozen=True)
class _Due:
    """The rows of the members of a form that are due, one member after the other."""

    member: Int64s
    time: Int64s
    group: Int64s
    since: Int64s
    sizes: tuple[Int64s, Int64s]
    columns: list[Pair]

    @classmethod
    def of(
        cls, form: Form, values: Sequence[_Values | None], rows: _Rows, slides: Int64s
    ) -> _Due | None:
        due = [n for n, probe in enumerate(form.probes) if rows.lengths[probe]]
        if not due:
            return None
        probes = np.array(form.probes, np.int64)[due]
        count = rows.lengths[probes]
        at = _ranges(rows.starts[probes], count)
        member = np.repeat(np.array(form.members, np.int64)[due], count)
        spans = [(n, int(probe), int(c)) for n, probe, c in zip(due, probes, count, strict=True)]
        found = [(_of(values, form.exists[n]), probe, c) for n, probe, c in spans]
        before, after = (
            np.concatenate([v.sizes[side][v.offsets[p] : v.offsets[p] + c] for v, p, c in found])
            for side in (0, 1)
        )
        columns = [_column(form, j, spans, values) for j in range(len(form.kinds))]
        since, time = np.repeat(np.array(form.since, np.int64)[due], count), rows.time[at]
        before = np.where(time - np.repeat(slides[probes], count) <= since, 0, before)
        return cls(member, time, rows.group[at], since, (before, after), columns)


def _column(
    form: Form,
    number: int,
    spans: Sequence[tuple[int, int, int]],
    values: Sequence[_Values | None],
) -> Pair:
    """One aggregate of the due members, before and after, one member after the other."""
    sides: tuple[list[pa.Array], list[pa.Array]] = ([], [])
    for n, probe, count in spans:
        source, place = form.reads[n][number]
        found = _of(values, source).aggregates[place]
        assert found is not None  # its probe asked for it
        offsets, pair = found
        for side in (0, 1):
            sides[side].append(pair[side].slice(offsets[probe], count))
    before, after = (pa.concat_arrays(side) for side in sides)
    return before, after


def _of(values: Sequence[_Values | None], source: int) -> _Values:
    found = values[source]
    assert found is not None  # its probe has rows
    return found
