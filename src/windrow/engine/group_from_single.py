"""A group that goes on where a query was that ran alone: its summaries become those of synopses.

The sub-windows of ``[RANGE T SLIDE s]`` are those of a synopsis with the same s (``windrow.plan
.sharing.group_of_one`` says when), and a summary is made of the same integers for one query as for
many. So they are merged into the group's store as if a sender had made them. What was answered last
is read from the synopses, and TOP is given the rows that it had. The single query is not changed,
so that it can go on if the group cannot start.

For queries that begin beside it, on Spark, the same summaries are rows as senders would have made
them.

Cost: that of the summaries that are kept.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from windrow.columns.arrays import Int64s
from windrow.columns.delta import Delta, concat
from windrow.columns.types import arrow_schema
from windrow.engine.build_shared import shared_aggregation, shared_summaries
from windrow.engine.pipeline import Pipeline
from windrow.operators.aggregates.long_extreme_summaries import LongExtremeSummary
from windrow.operators.aggregates.value_counts import ValueCounts
from windrow.operators.shared_group_by import SharedAggregation
from windrow.operators.shared_top import FirstOfMembers
from windrow.operators.sliding_group_by import Counted, SlidingAggregation, Slot, Summarised
from windrow.operators.state.predicate_store import COUNTERS as OF_VALUES
from windrow.operators.state.sub_window_store import COMES, FIRST, SubWindows
from windrow.operators.summarise_rows import Beside
from windrow.plan.nodes import SharedGroupBy
from windrow.plan.nodes.sub_window_groups import COUNTERS, KeptContent, PredicateSynopses
from windrow.plan.physical.sliding_state import summaries_of_synopses
from windrow.plan.sharing.shared_synopses import SharedSynopses, shareable

SERVES = {
    "SUM": ("SUM", "AVG"),
    "COUNT": ("COUNT",),
    "MIN": ("MIN",),
    "MAX": ("MAX",),
    "VAR": ("VAR", "STDDEV"),
    COUNTERS: ("COUNT DISTINCT", "QUANTILE"),
}
"""By what is kept for many: the aggregates of which one query alone keeps the same."""


def keeps_enough(group: SharedSynopses, single: Pipeline) -> bool:
    """Whether what a query keeps that runs alone is all that the group of it alone has to have."""
    operators = [operator for _, operator in single.sliding_groups().values()]
    if len(operators) != 1 or len(group.plan.synopses) != 1:
        return False
    (store,) = shared_aggregation(group.plan, arrow_schema(group.plan.schema)).stores
    found = [_slot(group.plan, c, operators[0]) for c in summaries_of_synopses(_kept(group.plan))]
    theirs = [slot.summary for slot in found if isinstance(slot, Summarised)]
    ours = [summary for summary, _ in store.summaries.aggregates]
    if [(type(s), s.width) for s in theirs] != [(type(s), s.width) for s in ours]:
        return False
    return all(
        isinstance(cells, ValueCounts) and _counters(group.plan, of, operators[0]) is not None
        for of, cells in store.by_value.items()
    )


def go_on_from_single(group: SharedSynopses, pipeline: Pipeline, single: Pipeline) -> None:
    """Bring the pipeline of a group to where that of its first query is, which ran alone."""
    ((_, operator),) = single.sliding_groups().values()
    (shared,) = (o for o in pipeline.operators if isinstance(o, SharedAggregation))
    pipeline.now = shared.now = single.now
    shared.set_apart(0)
    _move_summaries(group, operator, shared)
    _move_counters(group, operator, shared)
    for store in shared.stores:
        store.close(single.now)
    rows = shared.live_rows()
    answered = Delta.insertions(np.full(rows.num_rows, single.now, np.int64), rows)
    for top in pipeline.operators:
        if isinstance(top, FirstOfMembers):
            top.process([answered], single.now)


def rows_of_single(group: SharedSynopses, single: Pipeline) -> Delta:
    """What a query keeps that runs alone, as summaries for the group of which it is the first; the
    instant of each is that of the end of its sub-window, before which nobody reads it.
    """
    ((_, operator),) = single.sliding_groups().values()
    shared = shared_aggregation(group.plan, arrow_schema(group.plan.schema))
    shared.set_apart(0)
    _move_summaries(group, operator, shared)
    _move_counters(group, operator, shared)
    store, made = shared.stores[0], shared_summaries(group.plan)
    table, long = store.summaries.for_others()
    extremes: dict[Beside, pa.Array] = {
        (summary.largest, argument): values
        for (summary, argument, _), values in zip(store.summaries.long, long, strict=True)
    }
    keys = shared.groups.rows(store.summaries.held_groups())
    which, ends = np.zeros(len(table), np.int64), _ends(store.summaries.store)
    parts = [made.rows_of(which, keys, ends, table, extremes)]
    for place, (of, cells) in enumerate(store.by_value.items(), 1):
        assert isinstance(cells, ValueCounts)
        which = np.full(len(cells), place * OF_VALUES, np.int64)
        keys, counted = shared.groups.rows(cells.groups.view), cells.store.table.view[:, :1]
        held = np.arange(cells.groups.base, cells.groups.next, dtype=np.int64)
        found: dict[Beside, pa.Array] = {of[1]: cells.values.take(held).column(0)}
        parts.append(made.rows_of(which, keys, _ends(cells.store), counted, found))
    return concat(parts, made.schema).sorted()


def _kept(node: SharedGroupBy) -> PredicateSynopses:
    """What is kept of the tuples of the first query, which has one predicate and one s."""
    return node.synopses[0]


def _move_summaries(
    group: SharedSynopses, single: SlidingAggregation, shared: SharedAggregation
) -> None:
    held, to = single.summaries, shared.stores[0].summaries
    table = held.store.table.view
    parts = np.zeros((len(table), to.width), np.int64)
    parts[:, 0] = table[:, 0]  # how many tuples
    places = dict(zip((id(summary) for summary, _ in held.aggregates), held.places, strict=True))
    kept = summaries_of_synopses(_kept(group.plan))
    long = []
    for content, at in zip(kept, to.places, strict=True):
        slot = _slot(group.plan, content, single)
        assert isinstance(slot, Summarised)
        place, width = places[id(slot.summary)], slot.summary.width
        parts[:, at : at + width] = table[:, place : place + width]
        if isinstance(slot.summary, LongExtremeSummary):
            long.append(slot.summary.values_of(table, place))
    codes = _codes(group, single, shared, held.held_groups())
    if len(codes):
        shared.stores[0].merge(codes, _ends(held.store), parts, long)


def _move_counters(
    group: SharedSynopses, single: SlidingAggregation, shared: SharedAggregation
) -> None:
    for of in shared.stores[0].by_value:
        counters = _counters(group.plan, of, single)
        assert counters is not None
        codes = _codes(group, single, shared, counters.groups.view)
        if len(codes):
            held = np.arange(counters.groups.base, counters.groups.next, dtype=np.int64)
            values, counts = counters.values.take(held).column(0), counters.store.table.view[:, 0]
            shared.stores[0].merge_values(of, codes, _ends(counters.store), values, counts)


def _slot(node: SharedGroupBy, content: KeptContent, single: SlidingAggregation) -> Slot:
    """The aggregate of the query alone whose summaries have some contents."""
    member = node.members[0]
    assert member is not None
    serving = SERVES.get(content.function, ())
    for aggregate, slot in zip(member.aggregates, single.slots, strict=True):
        if aggregate.argument == content.argument and aggregate.function in serving:
            return slot
    return None


def _counters(
    node: SharedGroupBy, of: tuple[str, int], single: SlidingAggregation
) -> ValueCounts | None:
    """Those of the query alone that count the values of an argument."""
    contents = (c for c in _kept(node).contents if c.function == of[0])
    (content,) = (c for c in contents if node.arguments.index(c.argument) == of[1])
    slot = _slot(node, content, single)
    if not isinstance(slot, Counted):
        return None
    return single.counters[single.counted.index(slot.argument)]


def _codes(
    group: SharedSynopses, single: SlidingAggregation, shared: SharedAggregation, codes: Int64s
) -> Int64s:
    """The groups of the query alone as groups of all, whose keys may be in another order."""
    first = shareable(group.queries[0])
    assert first is not None
    own = [first.parts.source.resolve(key.expression) for key in first.parts.groups.keys]
    columns = single.groups.rows(codes)
    wanted = [columns[own.index(key.expression)] for key in group.plan.keys]
    return shared.groups.codes(wanted, len(codes))


def _ends(store: SubWindows) -> Int64s:
    """The ends of the sub-windows of all summaries, in turn."""
    windows = store.windows.view
    positions = np.arange(len(store), dtype=np.int64) + store.cells.base
    of = np.searchsorted(windows[:, FIRST], positions, side="right") - 1
    ends: Int64s = np.ascontiguousarray(windows[of, COMES])
    return ends
