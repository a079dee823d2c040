"""Summaries of sub-windows as a table: what GROUP BY over a window with SLIDE keeps for tuples.

A row is one group in one sub-window (Golab 2006, 2.3.4): the instants that the sub-window lies
between (of ``[ROWS n SLIDE m]`` the numbers of rows, the first of which is 1), how many tuples of
the group it had, the keys, and the aggregates of these tuples alone. The sub-window
that is filling is among them. Aggregates that need more than a summary of fixed size (MEDIAN,
QUANTILE, STRING_AGG, ARRAY_AGG, DISTINCT, APPROXIMATE) are left out.

Integers of summaries change while their sub-window is open, so they are copied when they are taken,
which costs O(summaries); values are made of them later.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pyarrow as pa

from windrow.columns.evaluate import evaluate
from windrow.columns.types import ARROW, arrow_schema
from windrow.core.schema import Type
from windrow.core.time import Clock
from windrow.engine.build import operator_for
from windrow.engine.build_shared import shared_aggregation
from windrow.operators.aggregates.events import Events
from windrow.operators.count_windows import InOrder
from windrow.operators.shared_group_by import SharedAggregation
from windrow.operators.sliding_group_by import SlidingAggregation, Summarised
from windrow.operators.state.sub_window_store import COMES, FIRST, LEAVES
from windrow.plan.catalog import QueryDeclaration
from windrow.plan.expressions import Call, Column, Expression
from windrow.plan.nodes import SharedGroupBy, SlidingGroupBy
from windrow.plan.nodes.sub_window_groups import GroupMember, SharedAggregate, slot_types
from windrow.plan.nodes.window_specs import RowsWindow
from windrow.plan.sharing.shared_synopses import SharedSynopses, shareable

AFTER, UPTO, ROWS = "sub_window_after", "sub_window_upto", "sub_window_rows"


def take_summaries(
    node: SlidingGroupBy, operator: SlidingAggregation, clock: Clock
) -> Callable[[], pa.Table]:
    """What makes the table of the summaries as they are now."""
    store, slide = operator.summaries.store, operator.clock.slide
    by_rows = isinstance(node.spec, RowsWindow)
    length, clock = operator.clock.length, Clock.INTEGER if by_rows else clock
    windows, table = store.windows.view.copy(), store.table.view.copy()
    long = operator.summaries.long_values()
    position = np.arange(len(table), dtype=np.int64)
    of = np.searchsorted(windows[:, FIRST], position + store.cells.base, side="right") - 1
    pairs, code = np.unique(
        (of << 32) | operator.summaries.held_groups().astype(np.int64), return_inverse=True
    )
    keys = operator.groups.rows(pairs & (2**32 - 1))

    def make() -> pa.Table:
        fresh, own = sliding_operator(node), windows[pairs >> 32]
        left = own[:, LEAVES] - length  # when the last of its tuples came, unless it was before
        after = np.maximum(own[:, COMES], left) - slide
        bounds = [_instants(after, clock), _instants(np.minimum(own[:, COMES], left), clock)]
        for (summary, _, at), held in zip(fresh.summaries.long, long, strict=True):
            summary.load(held, at, table)
        rows, values = _values(fresh, table, position, code, len(pairs))
        names = [field.name for field in node.schema]
        kept = [names[operator.width + i] for i in values]
        shown = [_shown(node.aggregates[i].argument, found) for i, found in values.items()]
        columns = [*bounds, rows, *keys, *shown]
        return pa.Table.from_arrays(columns, [AFTER, UPTO, ROWS, *names[: operator.width], *kept])

    return make


def sliding_operator(node: SlidingGroupBy) -> SlidingAggregation:
    """A fresh operator that keeps summaries as the one of the node does."""
    operator = operator_for(node)
    plain = operator.window if isinstance(operator, InOrder) else operator
    assert isinstance(plain, SlidingAggregation)
    return plain


def _shown(argument: Expression | None, found: pa.Array) -> pa.Array:
    """Values as people see them; of those of FIRST and its kin what orders them is left out."""
    if not isinstance(argument, Call) or argument.function != "sort_pair":
        return found
    pair = Column(0, "pair", Type.STRING)
    rows = pa.RecordBatch.from_arrays([found], ["pair"])
    return evaluate(Call("pair_value", (pair,), argument.args[1].type), rows)


def take_shared_summaries(
    group: SharedSynopses,
    node: SharedGroupBy,
    operator: SharedAggregation,
    number: int,
    query: QueryDeclaration,
) -> pa.Table:
    """The same for one of the queries that share synopses, from those that it reads.

    A row is of s ticks, which may be less than the SLIDE of the query. Sub-windows that are filling
    are left out, and so are those before the query's synopses began. All aggregates have a value.
    """
    member, shared = node.members[number], shareable(query)
    assert member is not None
    assert shared is not None
    first = member.aggregates[0]
    s = node.synopses[first.added[0]].s
    count = SharedAggregate("COUNT", None, Type.BIGINT, first.added, first.subtracted)
    read = (*member.aggregates, count)
    types = [*(key.expression.type for key in node.keys), *(a.type for a in read)]
    columns = tuple(Column(i, str(i), kind) for i, kind in enumerate(types))
    asked = GroupMember(s, s, read, None, columns)
    plain = replace(node, members=(asked,), types=slot_types([asked]))
    reader = shared_aggregation(plain, arrow_schema(plain.schema))
    reader.adopt(operator)
    numbers = group.sharing.member(query.name).numbers
    begun = [i for n in numbers if (i := group.sharing.synopsis(n).since) is not None]
    now = max(operator.now, 0)
    begin = max([now // member.slide * member.slide - member.window, *begun])
    times = np.arange(begin + s, now // s * s + 1, s, dtype=np.int64)
    found = reader.answers_at(times)
    slots = [found.rows.column(1 + slot) for slot in plain.slots[0]]
    groups = shared.parts.groups
    own = [shared.keys.index(shared.parts.source.resolve(key.expression)) for key in groups.keys]
    names = [AFTER, UPTO, ROWS, *(field.name for field in groups.schema)]
    bounds = [_instants(found.ts - s, query.clock), _instants(found.ts, query.clock)]
    values = [
        _shown(aggregate.argument, found)
        for aggregate, found in zip(member.aggregates, slots[len(node.keys) : -1], strict=True)
    ]
    arrays = [*bounds, slots[-1], *(slots[place] for place in own), *values]
    return pa.Table.from_arrays(arrays, names)


def _values(
    fresh: SlidingAggregation,
    table: np.ndarray,
    position: np.ndarray,
    code: np.ndarray,
    count: int,
) -> tuple[pa.Array, dict[int, pa.Array]]:
    """How many tuples each row is of, and the aggregates by their places: those of a window that
    has taken in the summaries of one sub-window and group."""
    if not count:
        kinds = fresh.schema.types[fresh.width :]
        found = {i: pa.array([], kinds[i]) for i, slot in _summarised(fresh)}
        return pa.array([], pa.int64()), found
    order = np.argsort(code, kind="stable").astype(np.int64)
    sign, zero = np.ones(len(order), np.int8), np.zeros(len(order), np.int64)
    events = Events.sort_by_code(code[order].astype(np.int64), zero, position[order], sign, count)
    parts, summaries = table[events.position], fresh.summaries
    summaries.members.grow(count)
    _, sizes = summaries.members.counts(events, parts)
    places = iter(zip(summaries.aggregates, summaries.places, strict=True))
    values: dict[int, pa.Array] = {}
    for i, slot in _summarised(fresh):
        if slot is None:
            values[i] = pa.array(sizes)
            continue
        (summary, _), place = next(places)
        summary.grow(count)
        mine = np.ascontiguousarray(parts[:, place : place + summary.width])
        values[i] = summary.update(events, mine)[1]
    return pa.array(sizes), values


def _summarised(fresh: SlidingAggregation) -> list[tuple[int, Summarised | None]]:
    """The slots that summaries of fixed size answer, with their places."""
    slots = enumerate(fresh.slots)
    return [(i, slot) for i, slot in slots if slot is None or isinstance(slot, Summarised)]


def _instants(ticks: np.ndarray, clock: Clock) -> pa.Array:
    found = pa.array(ticks, pa.int64())
    return found.cast(ARROW[Type.TIMESTAMP]) if clock is Clock.TIMESTAMP else found
