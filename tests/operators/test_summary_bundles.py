"""Summaries for many stores at once are those that each store makes of its own rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.plan.sharing.test_shared_synopses import (
    MEMBERS,
    ROWS,
    STREAM,
    delta_of,
    in_time,
    script_of,
)
from tests.support.thresholds import at_their_least
from windrow.columns.delta import Delta
from windrow.columns.evaluate import evaluate, selection_mask
from windrow.columns.interner import Interner
from windrow.engine.build_group_by import summaries_of
from windrow.operators.state.predicate_store import COUNTERS
from windrow.operators.summarise_rows import SummariseForMany
from windrow.plan.nodes.sub_window_groups import SharedGroupBy
from windrow.plan.program import compile_script
from windrow.plan.sharing.shared_synopses import shared_synopses


def store_by_store(node: SharedGroupBy, delta: Delta) -> list[tuple[Any, ...]]:
    """The slow twin: each store goes through all rows."""
    summariser = summaries_of(node)
    assert isinstance(summariser, SummariseForMany)
    delta, found = delta.sorted(), []
    keys = [evaluate(key.expression, delta.rows) for key in node.keys]
    groups = Interner([key.type for key in keys])
    codes = groups.codes(keys, len(delta))
    for number, store in enumerate(summariser.stores()):
        predicate = node.synopses[number].predicate
        wanted = np.ones(len(delta), np.bool_)
        if predicate is not None:
            wanted = selection_mask(predicate, delta.rows)
        rows = np.flatnonzero(wanted)
        if not len(rows):
            continue
        part = delta.take(rows)
        values = [evaluate(argument, part.rows) for argument in node.arguments]
        positions = store.fold(codes[rows], part.ts, values)
        last = dict(zip(positions.tolist(), part.ts.tolist(), strict=True))
        of = zip(*(key.to_pylist() for key in groups.rows(store.held_groups())), strict=True)
        nothing = (None,) * len(summariser.counted)
        no_extremes = (None,) * len(summariser.long)
        width = len(summariser.schema) - len(node.keys) - 1 - len(nothing + no_extremes)
        table = store.summaries.store.table.view.copy()
        extremes = {}
        for summary, argument, at in store.summaries.long:
            held = summary.values_of(table, at).to_pylist()
            extremes[summary.largest, argument] = held
            table[:, at : at + 3] = 0
        for position, (key, row) in enumerate(zip(of, table.tolist(), strict=True)):
            zeros = [0] * (width - len(row))
            long = [extremes[e][position] if e in extremes else None for e in summariser.long]
            found.append((last[position], *key, number, *row, *zeros, *nothing, *long))
        for place, (_, argument) in enumerate(store.by_value, 1):
            counts: dict[str, list[Any]] = {}
            keys_of = keys[0].take(pa.array(rows)).to_pylist()
            for ts, k, value in zip(part.ts.tolist(), keys_of, values[argument], strict=True):
                sub_window = -(-ts // store.s)
                _, _, count, _ = counts.get(repr((sub_window, k, value)), (0, 0, 0, 0))
                counts[repr((sub_window, k, value))] = [ts, k, count + 1, value.as_py()]
            for ts, k, count, value in counts.values():
                shown = [value if a == argument else None for a in summariser.counted]
                which = number + place * COUNTERS
                found.append((ts, k, which, count, *[0] * (width - 1), *shown, *no_extremes))
    return sorted(found, key=repr)


def flattened(delta: Delta) -> list[tuple[Any, ...]]:
    columns = [delta.ts.tolist(), *(c.to_pylist() for c in delta.rows.columns)]
    return sorted(zip(*columns, strict=True), key=repr)


@given(texts=st.lists(MEMBERS, min_size=2, max_size=8), rows=ROWS, least=st.booleans())
@settings(max_examples=40, deadline=None)
def test_every_store_gets_what_it_would_make_itself(texts, rows, least):
    groups = shared_synopses(compile_script(STREAM + script_of(texts)).queries)
    for node in (group.plan for group in groups):
        delta = delta_of(in_time(rows), node)
        summariser = summaries_of(node)
        if least:
            with at_their_least():
                found = summariser.summarise(delta)
        else:
            found = summariser.summarise(delta)
        assert (np.diff(found.ts) >= 0).all()
        assert repr(flattened(found)) == repr(store_by_store(node, delta))  # NaN is in them


@given(texts=st.lists(MEMBERS, min_size=2, max_size=4), rows=ROWS)
@settings(max_examples=20, deadline=None)
def test_who_wants_some_groups_gets_their_summaries_and_no_others(texts, rows):
    def odd(keys: pa.RecordBatch) -> np.ndarray:
        return np.array([k is not None and k % 2 == 1 for k in keys.column(0).to_pylist()])

    groups = shared_synopses(compile_script(STREAM + script_of(texts)).queries)
    for node in (group.plan for group in groups):
        delta = delta_of(in_time(rows), node)
        summariser = summaries_of(node)
        whole, mine = summariser.summarise(delta), summariser.summarise(delta, odd)
        expected = [row for row in flattened(whole) if row[1] is not None and row[1] % 2 == 1]
        assert repr(flattened(mine)) == repr(expected)
