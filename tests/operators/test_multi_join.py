"""The n-way join changes its order with the rates that it observes, and nothing else changes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from windrow.columns.delta import Delta
from windrow.core.patterns import UpdatePattern
from windrow.core.schema import Type
from windrow.engine.pipeline import Pipeline
from windrow.operators.join import WindowJoin
from windrow.operators.multi_join import MultiwayJoin
from windrow.plan.expressions import Column
from windrow.plan.nodes import MultiJoin
from windrow.plan.program import compile_script

pytestmark = pytest.mark.usefixtures("sizes")


def plan(order: tuple[int, ...]) -> MultiJoin:
    streams = "".join(f"CREATE STREAM s{i} (ts BIGINT, k INT, a BIGINT);" for i in range(3))
    branches = tuple(
        compile_script(f"{streams} SELECT k, a FROM s{i} [RANGE 40 SECONDS];").queries[0].plan
        for i in range(3)
    )
    return MultiJoin(branches, tuple((Column(0, "k", Type.INT),) for _ in branches), order)


def interval(rng: np.random.Generator, now: int, rates: tuple[int, ...]) -> dict[str, Delta]:
    found = {}
    for number, rate in enumerate(rates):
        ts = np.sort(rng.integers(now, now + 10, rate))
        columns = [ts, rng.integers(0, (40, 400, 4)[number], rate), np.arange(rate)]
        kinds = (pa.int64(), pa.int32(), pa.int64())
        arrays = [pa.array(c, kind) for c, kind in zip(columns, kinds, strict=True)]
        batch = pa.RecordBatch.from_arrays(arrays, ["ts", "k", "a"])
        found[f"s{number}"] = Delta.insertions(ts, batch)
    return found


def combinations(delta: Delta) -> list[tuple[object, ...]]:
    rows = [tuple(row.values()) for row in delta.rows.to_pylist()]
    return sorted(zip(delta.ts.tolist(), delta.exp.tolist(), rows, strict=True))


def test_the_order_follows_the_rates_and_the_answer_does_not_depend_on_it() -> None:
    rng, worst = np.random.default_rng(0), (2, 0, 1)
    adapting, fixed = Pipeline(plan(worst)), Pipeline(plan((1, 0, 2)))
    join = adapting.operators[-1]
    orders = [join.order]
    for step in range(60):
        rates = (120, 6, 6) if step < 30 else (6, 6, 120)
        part = interval(rng, step * 10, rates)
        now = step * 10 + 9
        assert combinations(adapting.process(part, now)) == combinations(fixed.process(part, now))
        if join.order != orders[-1]:
            orders.append(join.order)
    assert len(orders) >= 2
    assert orders[-1] != worst


def equal_tuples(now: int, sizes: tuple[int, ...]) -> dict[str, Delta]:
    found = {}
    for number, size in enumerate(sizes):
        ts, kinds = np.full(size, now), (pa.int64(), pa.int32(), pa.int64())
        columns = (ts, np.ones(size), np.arange(size))
        arrays = [pa.array(c).cast(kind) for c, kind in zip(columns, kinds, strict=True)]
        batch = pa.RecordBatch.from_arrays(arrays, ["ts", "k", "a"])
        found[f"s{number}"] = Delta.insertions(ts, batch)
    return found


@pytest.mark.parametrize("buckets", [0, 1, 5])
def test_a_group_of_equal_tuples_visits_its_partners_once(buckets: int) -> None:
    """Each of 50 equal tuples meets 20 tuples of the second branch, and with each of these 3 of
    the third: a tuple takes 20 + 20 x 3 steps, and 50 take as many."""
    pipeline = Pipeline(replace(plan((1, 2, 0)), buckets=buckets))
    join = pipeline.operators[-1]
    pipeline.process(equal_tuples(0, (0, 20, 3)), 0)
    before = join.visits
    answer = pipeline.process(equal_tuples(1, (50, 0, 0)), 1)
    assert len(answer) == 50 * 20 * 3
    assert 80 <= join.visits - before <= 160  # twice if results did not fit


def test_whoever_goes_on_probes_in_the_saved_order() -> None:
    rng = np.random.default_rng(3)
    parts = [interval(rng, step * 10, (120, 6, 6)) for step in range(60)]
    whole, first, planned = (Pipeline(plan(order)) for order in ((2, 0, 1), (2, 0, 1), (0, 1, 2)))
    for step, part in enumerate(parts):
        now = step * 10 + 9
        expected = combinations(whole.process(part, now))
        running = first if step < 30 else planned
        if step == 30:
            saved = first.save()
            assert first.operators[-1].order not in ((2, 0, 1), (0, 1, 2))
            planned.load(saved.put, saved.meta)
        assert combinations(running.process(part, now)) == expected
        assert running.operators[-1].order == whole.operators[-1].order


@pytest.mark.parametrize(("period", "held"), [(0, [3, 3, 3, 3, 0]), (2, [3, 3, 0, 0, 0])])
def test_what_expires_before_the_next_evaluation_is_dropped_at_once(period, held) -> None:
    """Tuples that are there from 2 to 6, where things change at multiples of 2: nobody who comes
    after the evaluation at 4 meets them."""
    kinds, patterns = [pa.int64()], [UpdatePattern.WEAKEST] * 3
    schema = pa.schema([("k", pa.int64())])
    both, keys = pa.schema([(n, pa.int64()) for n in "abc"]), [[Column(0, "k", Type.BIGINT)]] * 3
    join = MultiwayJoin([schema] * 3, patterns, keys, kinds, None, (0, 1, 2), both, period=period)
    rows = pa.RecordBatch.from_arrays([pa.array([1])], schema=schema)
    new = Delta.insertions(np.array([2]), rows, np.array([6]))
    found = []
    for now in range(2, 7):
        answer = join.process([new if now == 2 else Delta.empty(schema)] * 3, now)
        assert len(answer) == (now == 2)
        found.append(join.size())
    assert found == held


def test_a_join_of_windows_that_slide_drops_early_and_says_when_it_has_all_again() -> None:
    streams = "".join(f"CREATE STREAM s{i} (ts BIGINT, k INT, a BIGINT);" for i in range(2))
    for slide, whole_at in ((" SLIDE 2 SECONDS", 8), ("", 7)):
        tables = f"s0 [RANGE 4 SECONDS{slide}], s1 [RANGE 8 SECONDS{slide}]"
        query = f"{streams} SELECT s0.a FROM {tables} WHERE s0.k = s1.k;"
        pipeline = Pipeline(compile_script(query).queries[0].plan)
        (join,) = (o for o in pipeline.operators if isinstance(o, WindowJoin))
        parts = join.held_inputs().values()
        assert [part.whole_at(7) for part in parts] == [whole_at] * 2
        assert all(part.buffer.whole for part in parts)


def test_expired_tuples_that_are_dropped_late_are_in_no_result() -> None:
    kinds, patterns = [pa.int32()], [UpdatePattern.WEAKEST] * 3
    schema = pa.schema([("k", pa.int32()), ("a", pa.int64())])
    names = [(f"{n}{i}", t) for i in range(3) for n, t in zip("ka", schema.types, strict=True)]
    both = pa.schema(names)
    keys = [[Column(0, "k", Type.INT)]] * 3
    joins = [
        MultiwayJoin([schema] * 3, patterns, keys, kinds, None, (1, 2, 0), both, expiry=expiry)
        for expiry in (0, 35)
    ]
    rng, most = np.random.default_rng(1), [0, 0]
    for step in range(30):
        part = interval(rng, step * 10, (20, 20, 20))
        deltas = [
            Delta.insertions(d.ts, d.rows.select(["k", "a"]), d.ts + 40) for d in part.values()
        ]
        found = [combinations(join.process(deltas, step * 10 + 9)) for join in joins]
        assert found[0] == found[1]
        most = [max(m, join.size()) for m, join in zip(most, joins, strict=True)]
    assert most[1] > 1.3 * most[0]
