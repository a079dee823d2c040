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
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from windrow.columns.arrays import Bools, Int64s
from windrow.columns.delta import Delta, batch_of, concat
from windrow.columns.evaluate import SelectionMasks, evaluate
from windrow.columns.interner import Crowding, Interner
from windrow.columns.types import ARROW
from windrow.core.time import BEGINNING
from windrow.operators.aggregates.count_sum_avg import Sum
from windrow.operators.aggregates.counter_scans import (
    AskedWindows,
    CounterValue,
    ScannedWindows,
    scan_counters,
)
from windrow.operators.aggregates.replaced_rows import differ
from windrow.operators.aggregates.shared_reads import (
    AskedRows,
    DueRows,
    Executions,
    Form,
    Probe,
    ReadAggregate,
    Source,
    SourceValues,
    TouchedRows,
    number_ranges,
    row_offsets,
    split_halves,
)
from windrow.operators.aggregates.shared_values import CountValue, Pair
from windrow.operators.base import Saved, below
from windrow.operators.state.predicate_store import COUNTERS, PredicateStore, Touched
from windrow.plan.expressions import Expression
from windrow.plan.physical.state_kinds import Kept
from windrow.sharing.schedule import Pace, PacedSchedule


class SharedAggregation:
    """See the module. ``predicates`` and ``stores`` go together; None selects every row.

    If it ``merges``, what comes are summaries: the keys, the number of the store, and the columns
    of its summaries; and counters of the values of ``counted`` arguments (``SummariseForMany``).
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
        counted: Sequence[int] = (),
        schedule: PacedSchedule | None = None,
        scheduled: Sequence[str] = (),
    ) -> None:
        self.counted = tuple(counted)
        self.keys, self.arguments, self.predicates = tuple(keys), tuple(arguments), predicates
        self._masks = SelectionMasks(predicates)
        self.stores, self.probes, self.sources = tuple(stores), tuple(probes), tuple(sources)
        self.forms, self.schema, self.kept, self.merges = tuple(forms), schema, kept, merges
        self._sums = tuple(sums)
        self.schedule, self._scheduled = schedule, tuple(scheduled)
        self.pace = Pace()
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
        if self.schedule is not None and other.schedule is not None:
            self.schedule.adopt(other.schedule)
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
        touched, self.now = self._touched(self._executions(now), now), now
        answer = self._nothing if touched is None else self._answer(touched)
        self._forget_sub_windows()
        self._forget_groups()
        return answer

    # --- rows in

    def _fold(self, delta: Delta) -> None:
        keys = [evaluate(key, delta.rows) for key in self.keys]
        codes = self.groups.codes(keys, len(delta))
        values = [evaluate(argument, delta.rows) for argument in self.arguments]
        masks = self._masks.evaluate(delta.rows)
        for predicate, wanted, store in zip(self.predicates, masks, self.stores, strict=True):
            if predicate is None:
                store.fold(codes, delta.ts, values)
                continue
            rows = np.flatnonzero(wanted)
            if len(rows):
                chosen = pa.array(rows)
                store.fold(codes[rows], delta.ts[rows], [v.take(chosen) for v in values])

    def _merge(self, delta: Delta) -> None:
        width = len(self.keys)
        codes = self.groups.codes(delta.rows.columns[:width], len(delta))
        behind = delta.rows.num_columns - len(self.counted)
        number, *parts = (c.to_numpy() for c in delta.rows.columns[width:behind])
        for n in np.unique(number):
            rows, store = np.flatnonzero(number == n), self.stores[n % COUNTERS]
            if n < COUNTERS:
                table = [part[rows] for part in parts[: store.summaries.width]]
                store.merge(codes[rows], delta.ts[rows], np.stack(table, axis=1))
                continue
            argument = list(store.counters)[n // COUNTERS - 1]
            column = delta.rows.column(behind + self.counted.index(argument))
            values = column.take(pa.array(rows))
            store.merge_counters(argument, codes[rows], delta.ts[rows], values, parts[0][rows])

    # --- answers

    def _executions(self, now: int) -> Executions:
        """When each probe is executed until ``now``."""
        if self.schedule is None or not len(self._scheduled):
            return Executions.on_grid(self._slides, self.now)
        answered = self._answered()
        instants = self.schedule.executions(now, self.pace)
        if instants is None:
            return Executions.on_grid(self._slides, self.now, answered)
        return Executions.at([instants.get(name, ()) for name in self._scheduled], answered)

    def _answered(self) -> Int64s:
        """The instants that probes were last answered for."""
        assert self.schedule is not None
        found = (self.schedule.last_instant(name) for name in self._scheduled)
        return np.array([BEGINNING if at is None else at for at in found], np.int64)

    def _touched(self, executions: Executions, now: int) -> TouchedRows | None:
        """All that may change until ``now``; a probe of several stores sees their union."""
        found = []
        for store, readers in zip(self.stores, self._readers, strict=True):
            due = store.due(self._windows[readers], executions.of(readers), now, len(self.groups))
            if due is not None:
                found.append(Touched(readers[due.probe], due.time, due.group))
        return self._by_probe([*found, *self._first_answers(executions, now)], executions)

    def _first_answers(self, executions: Executions, now: int) -> Iterator[Touched]:
        """All groups, for queries that came while others ran and answer for the first time."""
        for probe, since in self._fresh:
            first = executions.first_after(probe, since)
            if executions.answered[probe] <= since < first <= now:
                held = [self.stores[s].held_groups() for s in self.probes[probe].stores]
                groups = np.unique(np.concatenate(held))
                yield Touched(np.full(len(groups), probe), np.full(len(groups), first), groups)

    def _by_probe(
        self, found: Sequence[Touched], executions: Executions | None = None
    ) -> TouchedRows | None:
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
        earlier = time if executions is None else executions.earlier(probe, time)
        return TouchedRows(probe, time, earlier, group, starts, lengths)

    def _answer(self, rows: TouchedRows) -> Delta:
        values = [self._read(source, rows) for source in self.sources]
        parts = [self._changes_of(form, values, rows) for form in self.forms]
        # Within an instant what goes stands before what comes.
        return concat([pair[side] for side in (0, 1) for pair in parts], self.schema)

    def live_rows(self) -> pa.RecordBatch:
        """The answers of all members, as of the instants that they were last answered for."""
        found = []
        grid = self.schedule is None or not len(self._scheduled)
        last = self.now // self._slides * self._slides if grid else self._answered()
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

    def answers_at(self, times: Int64s) -> Delta:
        """The answers of all members at instants up to which synopses are kept; all share them."""
        found = []
        for store, readers in zip(self.stores, self._readers, strict=True):
            groups = np.unique(store.held_groups())
            for probe in readers if len(groups) else ():
                count = len(groups) * len(times)
                instants, of = np.repeat(times, len(groups)), np.tile(groups, len(times))
                found.append(Touched(np.full(count, probe), instants, of))
        rows = self._by_probe(found)
        if rows is None:
            return self._nothing
        values = [self._read(source, rows) for source in self.sources]
        return concat([self._answer_of(form, values, rows) for form in self.forms], self.schema)

    def _read(self, source: Source, rows: TouchedRows) -> SourceValues | None:
        """Sizes of groups and aggregates, at the executions before the instants and at them."""
        due = [p for p in source.probes if rows.lengths[p]]
        if not due:
            return None
        offsets = row_offsets(due, rows.lengths)
        at = number_ranges(rows.starts[due], rows.lengths[due])
        count, probe = len(at), rows.probe[at]
        until, groups, windows = rows.time[at], rows.group[at], self._windows[probe]
        earlier = rows.earlier[at]
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
            lo, codes = hi - _twice(windows[here]), _twice(codes)
            place = None if place is None else np.concatenate([place, place + count])
            sizes.add(place, words, sign)
            for a, asked in zip(source.aggregates, wanted, strict=True):
                if asked is not None and not isinstance(a.value, CounterValue):
                    chosen = asked.choose(place)
                    column, to = a.places[number], asked.places(place)
                    if a.extreme:
                        found = store.probe_extreme(column, codes[chosen], lo[chosen], hi[chosen])
                    else:
                        found = words[chosen, column : column + a.width]
                    a.value.add(to, found, sign)
        scanned: Iterator[ScannedWindows] = iter(())
        if self.counted:
            until = np.concatenate([earlier, until])
            after = until - _twice(windows)
            scanned = self._scan(source, wanted, _twice(groups), after, until)
        read: list[tuple[Mapping[int, int], Pair] | None] = []
        for a, asked in zip(source.aggregates, wanted, strict=True):
            if asked is None:
                read.append(None)
                continue
            value = a.value
            found = value.read(next(scanned)) if isinstance(value, CounterValue) else value.read()
            read.append((asked.offsets, split_halves(found.cast(a.kind))))
        return SourceValues(offsets, (sizes.counts[:count], sizes.counts[count:]), read)

    def _scan(
        self,
        source: Source,
        wanted: Sequence[AskedRows | None],
        groups: Int64s,
        after: Int64s,
        until: Int64s,
    ) -> Iterator[ScannedWindows]:
        """What counters say of the windows that aggregates over them are asked for, in turn.

        All aggregates of an argument share a scan.
        """
        counted = [
            (n, a.counted, a.value, slice(None) if asked.at is None else asked.at)
            for n, (a, asked) in enumerate(zip(source.aggregates, wanted, strict=True))
            if asked is not None and a.counted is not None
        ]
        found: dict[int, ScannedWindows] = {}
        for argument in dict.fromkeys(argument for _, argument, _, _ in counted):
            own = [(n, value, at) for n, a, value, at in counted if a == argument]
            sizes = [len(groups[at]) for _, _, at in own]
            fractions = [v.fraction or 0.0 for _, v, _ in own if isinstance(v, CounterValue)]
            columns = (np.concatenate([c[at] for _, _, at in own]) for c in (groups, after, until))
            group, begin, end = columns
            windows = AskedWindows(group, begin, end, np.repeat(fractions, sizes))
            stores = [self.stores[number] for number in source.added]
            parts = [store.counters[argument] for store in stores]
            scanned, passed = scan_counters(parts, windows)
            stores[0].scans[argument].combined += passed
            stops = np.cumsum(sizes).tolist()
            for (n, _, _), size, stop in zip(own, sizes, stops, strict=True):
                found[n] = scanned.among(stop - size, stop)
        return (found[n] for n, _, _, _ in counted)

    @staticmethod
    def _begin(
        aggregate: ReadAggregate, offsets: Mapping[int, int], lengths: Int64s, count: int
    ) -> AskedRows | None:
        """Which of the rows of a source an aggregate is asked for."""
        due = [p for p in aggregate.probes if lengths[p]]
        if not due:
            return None
        starts = np.array([offsets[p] for p in due], np.int64)
        at = number_ranges(starts, lengths[due])
        if not isinstance(aggregate.value, CounterValue):
            aggregate.value.begin(2 * len(at))
        every = len(at) == count
        both = None if every else np.concatenate([at, at + count])
        return AskedRows(row_offsets(due, lengths) if not every else offsets, both, 2 * count)

    def _changes_of(
        self, form: Form, values: Sequence[SourceValues | None], rows: TouchedRows
    ) -> tuple[Delta, Delta]:
        """The rows that members of a form lose and get."""
        due = DueRows.of(form, values, rows)
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
        shown = [held[side][at] & form.rows_shown(groups[side]) for side in (0, 1)]
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

    def _answer_of(
        self, form: Form, values: Sequence[SourceValues | None], rows: TouchedRows
    ) -> Delta:
        """The rows that members of a form have."""
        due = DueRows.of(form, values, rows)
        if due is None:
            return self._nothing
        at = np.flatnonzero((due.sizes[1] > 0) & (due.time > due.since))
        group = self._group_rows(due, 1, at)
        columns = [evaluate(c, group) for c in form.columns]
        return self._in_slots(form, columns, due.member[at], due.time[at], form.rows_shown(group))

    def _group_rows(self, due: DueRows, side: int, at: Int64s) -> pa.RecordBatch:
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

    def _forget_sub_windows(self) -> None:
        """Drop sub-windows that neither a window nor the last answer of a query will ask for."""
        if self.schedule is None or not len(self._scheduled):
            for store in self.stores:
                store.forget()
            return
        oldest = self._answered() - self._windows
        for store, readers in zip(self.stores, self._readers, strict=True):
            store.forget(int(oldest[readers].min()) if len(readers) else None)

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
        if self.schedule is not None:
            saved.meta["schedule"] = self.schedule.save()
        return saved

    def load(self, segments: Mapping[str, pa.RecordBatch], meta: Mapping[str, Any]) -> None:
        self.now = int(meta["now"])
        if self.schedule is not None and "schedule" in meta:
            self.schedule.load(meta["schedule"])
        elif self.schedule is not None and self.now != BEGINNING:
            self.schedule.begin(self.now)
        for number, store in enumerate(self.stores):
            if str(number) in meta:
                store.load(below(str(number), segments), meta[str(number)], self.groups)
            else:  # of a query that has joined since
                store.close(self.now)


def _twice(values: Int64s) -> Int64s:
    """Once for the instants before and once for those at which something is due; for arrays as
    short as these ``np.tile`` takes several times as long."""
    return np.concatenate([values, values])


def _kinds(keys: Sequence[Expression]) -> list[pa.DataType]:
    return [ARROW[key.type] for key in keys]
