"""The GROUP BYs of many queries over one stream, from synopses that they share.

Rows are folded once for each distinct predicate into summaries of sub-windows, and the synopses
that the rules of sharing chose are kept once (``windrow.operators.state.predicate_store``), those
of several predicates together (``windrow.operators.state.store_arrangement``). A query
is answered at the multiples of its SLIDE. What it answered last is not remembered: it is read from
the synopses again, as of one slide ago, and the rows that differ are replaced. So is the answer of
whoever asks for it. If members show their keys (``plan.physical.announced_ends``), nothing that
comes out cancels within its instant.

Queries that read the same synopses over the same window with the same period are one *probe*, and
aggregates that are put together from the same synopses one *source*. A batch goes through all
probes in one kernel call for each store, which finds the groups that came into or left a window
at an instant that was due; through all sources, which read old and new values of these; and through
all *forms*, which are queries that make the same of their aggregates. Members are numbers in all
of that: one that is not due, or whose groups have not changed, costs nothing.

Cost: O(1) per row and predicate that it satisfies; per probe and group that came or left, the probe
of a synopsis. State: a summary for each predicate, sub-window and group that occurs in it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from windrow.columns.arrays import Int64s
from windrow.columns.delta import Delta, concat
from windrow.columns.evaluate import evaluate
from windrow.columns.interner import Crowding, Interner
from windrow.columns.types import ARROW
from windrow.core.time import BEGINNING
from windrow.operators.aggregates.count_sum_avg import Sum
from windrow.operators.aggregates.replaced_rows import FormRows
from windrow.operators.aggregates.shared_reads import Executions, Form, Probe, Source, TouchedRows
from windrow.operators.aggregates.source_values import read_source
from windrow.operators.base import Saved, below
from windrow.operators.row_selections import RowSelections
from windrow.operators.state.predicate_store import COUNTERS, PredicateStore
from windrow.operators.state.store_arrangement import Arrangement, Together
from windrow.operators.state.touched_groups import Touched
from windrow.plan.expressions import Expression
from windrow.plan.physical.state_kinds import Kept
from windrow.sharing.schedule import Pace, PacedSchedule


class SharedAggregation:
    """See the module. Of ``predicates`` None selects every row. ``arrange`` makes the stores, given
    which predicates share one already.

    If it ``merges``, what comes are summaries: the keys, the number of the store, and the columns
    of its summaries; counters of the values of ``counted`` arguments, and the values of ``long``
    extremes (``SummariseForMany``).
    """

    def __init__(
        self,
        keys: Sequence[Expression],
        arguments: Sequence[Expression],
        predicates: Sequence[Expression | None],
        arrange: Callable[[Together], Arrangement],
        probes: Sequence[Probe],
        schema: pa.Schema,
        kept: Kept,
        merges: bool = False,
        counted: Sequence[int] = (),
        schedule: PacedSchedule | None = None,
        scheduled: Sequence[str] = (),
        long: Sequence[tuple[bool, int]] = (),
    ) -> None:
        self.counted, self.long = tuple(counted), tuple(long)
        self.keys, self.arguments, self.predicates = tuple(keys), tuple(arguments), predicates
        self._selections = RowSelections(predicates)
        self.probes, self.schema, self.kept, self.merges = tuple(probes), schema, kept, merges
        self.schedule, self._scheduled = schedule, tuple(scheduled)
        self.pace = Pace()
        self.groups, self.crowding = Interner(_kinds(keys)), Crowding()
        self.now = BEGINNING
        self._windows = np.array([p.window for p in probes], np.int64)
        self._slides = np.array([p.slide for p in probes], np.int64)
        self._several = np.array([len(p.predicates) > 1 for p in probes], np.bool_)
        self._nothing = Delta.empty(schema)
        self._arrange = arrange
        self._arranged: Arrangement | None = None

    @property
    def arrangement(self) -> Arrangement:
        """What is read of which stores; made when it is first needed, since an operator that goes
        on where another was takes over which predicates share a store there."""
        if self._arranged is None:
            self._set_arrangement(self._arrange(()))
        assert self._arranged is not None
        return self._arranged

    def _set_arrangement(self, arranged: Arrangement) -> None:
        self._arranged = arranged
        self._readers = arranged.readers(self.probes)
        self._fresh = {
            (probe, since)
            for form in arranged.forms
            for probe, since in zip(form.probes, form.since, strict=True)
            if since != BEGINNING
        }
        self._several[[probe for probe, _ in self._fresh]] = True

    @property
    def stores(self) -> tuple[PredicateStore, ...]:
        return self.arrangement.stores

    @property
    def sources(self) -> tuple[Source, ...]:
        return self.arrangement.sources

    @property
    def forms(self) -> tuple[Form, ...]:
        return self.arrangement.forms

    def set_apart(self, predicate: int) -> None:
        """Give a predicate a store of its own, the first one; nothing has come yet."""
        self._set_arrangement(self._arrange(((predicate,),)))

    def adopt(self, other: SharedAggregation) -> None:
        """Go on where another one over fewer queries was, whose synopses come first."""
        self.now, self.groups, self.crowding = other.now, other.groups, other.crowding
        if self.schedule is not None and other.schedule is not None:
            self.schedule.adopt(other.schedule)
        arranged = self._arrange(other.arrangement.together)
        for mine, held in zip(arranged.stores, other.stores, strict=False):
            held.serve(mine)
        stores = (*other.stores, *arranged.stores[len(other.stores) :])
        self._set_arrangement(replace(arranged, stores=stores))

    @property
    def state(self) -> tuple[Kept, ...]:
        return (self.kept,)

    def sums(self) -> Iterator[Sum]:
        """The sums, which count what did not fit."""
        yield from self.arrangement.sums

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
        selected = self._selections.select(delta.rows)
        for bundle in self.arrangement.folding:
            parts = bundle.summarise(codes, delta.ts, values, selected, len(self.groups))
            columns = zip(*((p.last, p.store, p.group, p.table) for p in parts), strict=True)
            last, of, group, table = map(np.concatenate, columns)
            order = np.argsort(last, kind="stable")
            self.arrangement.take_in(of[order], group[order], last[order], table[order])
        for number in np.flatnonzero(self.arrangement.is_alone).tolist():
            predicate = self.predicates[number]
            store = self.stores[self.arrangement.store_of[number]]
            if predicate is None:
                store.fold(codes, delta.ts, values)
                continue
            rows = np.flatnonzero(selected.of(number))
            if len(rows):
                chosen = pa.array(rows)
                store.fold(codes[rows], delta.ts[rows], [v.take(chosen) for v in values])

    def _merge(self, delta: Delta) -> None:
        width = len(self.keys)
        codes = self.groups.codes(delta.rows.columns[:width], len(delta))
        last = delta.rows.num_columns - len(self.long)
        behind = last - len(self.counted)
        number, *parts = (c.to_numpy() for c in delta.rows.columns[width:behind])
        alone = self.arrangement.is_alone[number % COUNTERS]
        if not alone.all():
            rows = np.flatnonzero(~alone)
            zeros = np.zeros(len(rows), np.int64)
            wide = np.stack([*(part[rows] for part in parts), zeros], axis=1)
            self.arrangement.take_in(number[rows], codes[rows], delta.ts[rows], wide)
        for n in np.unique(number[alone]):
            rows = np.flatnonzero(number == n)
            store = self.stores[self.arrangement.store_of[n % COUNTERS]]
            if n < COUNTERS:
                table = [part[rows] for part in parts[: store.summaries.width]]
                long = [
                    delta.rows.column(last + self.long.index((summary.largest, argument)))
                    for summary, argument, _ in store.summaries.long
                ]
                chosen = pa.array(rows)
                store.merge(
                    codes[rows], delta.ts[rows], np.stack(table, axis=1),
                    [values.take(chosen) for values in long],
                )  # fmt: skip
                continue
            cells = list(store.by_value)[n // COUNTERS - 1]
            column = delta.rows.column(behind + self.counted.index(cells[1]))
            values = column.take(pa.array(rows))
            store.merge_values(cells, codes[rows], delta.ts[rows], values, parts[0][rows])

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
            probes = readers.probes
            due = store.due(
                self._windows[probes], readers.places, executions.of(probes), now, len(self.groups)
            )
            if due is not None:
                found.append(Touched(probes[due.probe], due.time, due.group))
        return self._by_probe([*found, *self._first_answers(executions, now)], executions)

    def _first_answers(self, executions: Executions, now: int) -> Iterator[Touched]:
        """All groups, for queries that came while others ran and answer for the first time."""
        for probe, since in self._fresh:
            first = executions.first_after(probe, since)
            if executions.answered[probe] <= since < first <= now:
                homes = map(self.arrangement.homes.get, self.probes[probe].predicates)
                held = [self.stores[home[0]].held_groups(home[1]) for home in homes if home]
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
        values = [read_source(source, rows, self.stores, self._windows) for source in self.sources]
        made = self._form_rows
        parts = [made.changes_of(form, values, rows) for form in self.forms]
        # Within an instant what goes stands before what comes.
        return concat([pair[side] for side in (0, 1) for pair in parts], self.schema)

    def live_rows(self) -> pa.RecordBatch:
        """The answers of all members, as of the instants that they were last answered for."""
        found = []
        grid = self.schedule is None or not len(self._scheduled)
        last = self.now // self._slides * self._slides if grid else self._answered()
        for probes, groups in self._held() if self.now != BEGINNING else ():
            probe = np.repeat(probes, len(groups))
            found.append(Touched(probe, last[probe], np.tile(groups, len(probes))))
        rows = self._by_probe(found)
        if rows is None:
            return self._nothing.rows
        values = [read_source(source, rows, self.stores, self._windows) for source in self.sources]
        shown = [self._form_rows.answer_of(form, values, rows) for form in self.forms]
        return concat(shown, self.schema).rows

    def answers_at(self, times: Int64s) -> Delta:
        """The answers of all members at instants up to which synopses are kept; all share them."""
        found = []
        for probes, groups in self._held():
            for probe in probes:
                count = len(groups) * len(times)
                instants, of = np.repeat(times, len(groups)), np.tile(groups, len(times))
                found.append(Touched(np.full(count, probe), instants, of))
        rows = self._by_probe(found)
        if rows is None:
            return self._nothing
        values = [read_source(source, rows, self.stores, self._windows) for source in self.sources]
        shown = [self._form_rows.answer_of(form, values, rows) for form in self.forms]
        return concat(shown, self.schema)

    def _held(self) -> Iterator[tuple[Int64s, Int64s]]:
        """The probes of each predicate of which something is held, and the groups of that."""
        for store, readers in zip(self.stores, self._readers, strict=True):
            for place in np.unique(readers.places).tolist():
                groups = np.unique(store.held_groups(place))
                if len(groups):
                    yield readers.probes[readers.places == place], groups

    @property
    def _form_rows(self) -> FormRows:
        return FormRows(self.groups, _kinds(self.keys), self.schema)

    # --- state

    def _forget_sub_windows(self) -> None:
        """Drop sub-windows that neither a window nor the last answer of a query will ask for."""
        if self.schedule is None or not len(self._scheduled):
            for store in self.stores:
                store.forget()
            return
        oldest = self._answered() - self._windows
        for store, readers in zip(self.stores, self._readers, strict=True):
            probes = readers.probes
            store.forget(int(oldest[probes].min()) if len(probes) else None)

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
        for numbers, store in zip(self.arrangement.together, self.stores, strict=True):
            saved.add(str(numbers[0]), store.save(self.groups))
        saved.meta["now"] = self.now
        saved.meta["together"] = [n for n in self.arrangement.together if len(n) > 1]
        if self.schedule is not None:
            saved.meta["schedule"] = self.schedule.save()
        return saved

    def load(self, segments: Mapping[str, pa.RecordBatch], meta: Mapping[str, Any]) -> None:
        self.now = int(meta["now"])
        if self.schedule is not None and "schedule" in meta:
            self.schedule.load(meta["schedule"])
        elif self.schedule is not None and self.now != BEGINNING:
            self.schedule.begin(self.now)
        together = [tuple(numbers) for numbers in meta.get("together", ())]
        apart = {str(n) for numbers in together for n in numbers}
        alone = [(n,) for n in range(len(self.predicates)) if str(n) in meta.keys() - apart]
        self._set_arrangement(self._arrange((*together, *alone)))
        for (first, *_), store in zip(self.arrangement.together, self.stores, strict=True):
            if str(first) in meta:
                store.load(below(str(first), segments), meta[str(first)], self.groups)
            else:  # of a query that has joined since
                store.close(self.now)


def _kinds(keys: Sequence[Expression]) -> list[pa.DataType]:
    return [ARROW[key.type] for key in keys]
