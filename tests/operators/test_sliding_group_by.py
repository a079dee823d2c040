"""A GROUP BY over a window that slides keeps summaries, and answers as one that keeps tuples.

The DIRECT strategy keeps all tuples of such a window; the UPA strategy keeps a summary for each
sub-window and group.
"""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import windrow
from tests.operators.held import held_bytes
from tests.operators.samples import changes
from tests.support.thresholds import at_their_least, reached
from windrow.columns.delta import Delta, concat
from windrow.columns.stored_columns import BytesColumn
from windrow.columns.types import arrow_schema
from windrow.core.patterns import UpdatePattern
from windrow.core.time import FOREVER
from windrow.engine.build_group_by import summaries_of
from windrow.engine.pipeline import Pipeline
from windrow.operators.aggregates.long_extreme_summaries import REPLACED
from windrow.operators.sliding_group_by import SlidingAggregation
from windrow.operators.state.sub_window_store import SubWindows
from windrow.plan.nodes import GroupBy, Node, SlidingGroupBy, StageInput, Window, walk
from windrow.plan.physical.sliding_state import merging, schema_of_summaries, sub_windows_of
from windrow.plan.program import compile_script
from windrow.plan.strategy import Strategy, apply_strategy

STREAM = (
    "CREATE STREAM s (ts BIGINT, k INT, a BIGINT, x DOUBLE, f FLOAT, b BOOLEAN, n STRING, "
    "d DECIMAL(30, 2));"
)
LONG = (
    "MIN(n), MAX(n), MAX(DISTINCT n), MIN(d), MAX(d), FIRST(n), LAST(a), MIN_BY(n, x), "
    "MAX_BY(n, b), MAX_BY(d, n), MAX(n) FILTER (WHERE a > 0)"
)
SUMMED = (
    "COUNT(*), COUNT(a), SUM(a), AVG(a), VAR(a), MIN(a), MAX(a), SUM(x), AVG(x), STDDEV(x), "
    f"MIN(x), MAX(f), SUM(f), MIN(b), {LONG}"
)
ALL = f"{SUMMED}, MEDIAN(a), QUANTILE(x, 0.2), COUNT(DISTINCT n), SUM(DISTINCT a)"
DOUBLES = [0.0, 0.1, -2.5, 1e300, -1e300, 5e-324, 1e-20, 3e15, 1e9, float("inf"), float("nan")]
LONG_DECIMAL = pa.decimal128(30, 2)
INTEGERS = [0, 1, -1, 7, 2**62, -(2**62), 2**63 - 1, -(2**63), 2**31, None]


def plan_of(select: str) -> Node:
    return compile_script(f"{STREAM} {select};").queries[-1].plan


def rows(rng: np.random.Generator, count: int, start: int) -> Delta:
    """Tuples with ties and gaps, NULLs, values of all sizes."""
    steps = rng.choice([0, 1, 2, 9, 40], count, p=[0.45, 0.3, 0.15, 0.08, 0.02])
    ts = (start + np.cumsum(steps)).astype(np.int64)

    def some(values: list[object], kind: pa.DataType) -> pa.Array:
        return pa.array([values[i] for i in rng.integers(0, len(values), count)], kind)

    wide: list[object] = [*DOUBLES, None]
    columns = [
        pa.array(ts), some([None, 1, 2, 2, 3], pa.int32()), some([*INTEGERS], pa.int64()),
        some(wide if rng.random() < 0.5 else [0.1, 1e6, None], pa.float64()),
        some([0.5, 0.0, 1e30, None], pa.float32()), some([True, False, None], pa.bool_()),
        some([None, "", "a", "a\0", "b", "é", "a longer text", "a longer text é"], pa.string()),
        some([None, Decimal("-0.50"), Decimal(3), Decimal("9" * 28)], pa.decimal128(30, 2)),
    ]  # fmt: skip
    names = ["ts", "k", "a", "x", "f", "b", "n", "d"]
    return Delta.insertions(ts, pa.RecordBatch.from_arrays(columns, names))


def answers(plan: Node, strategy: Strategy, delta: Delta, cuts: list[int]) -> list[object]:
    """All changes; a pipeline that UPA plans is saved and loaded at every second cut."""
    pipeline = Pipeline(plan, changes=True, strategy=strategy)
    segments: dict[str, pa.RecordBatch] = {}
    found: list[object] = []
    rest = delta
    for number, cut in enumerate(cuts):
        part, rest = rest.split(cut)
        found += changes(pipeline.process({"s": part}, cut))
        if strategy is Strategy.UPA and number % 2:
            saved = pipeline.save()
            segments = {n: b for n, b in (segments | saved.put).items() if n not in saved.drop}
            pipeline = Pipeline(plan, changes=True, strategy=strategy)
            pipeline.load(segments, saved.meta)
    return found


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 2**32), st.integers(1, 40), st.integers(1, 15), st.booleans())
def test_the_answer_is_that_over_tuples_however_long_window_and_slide_are(
    seed: int, length: int, slide: int, least: bool
) -> None:
    rng = np.random.default_rng(seed)
    delta = rows(rng, 60, int(rng.integers(-50, 50)))
    group = " GROUP BY k" if rng.random() < 0.8 else ""
    window = f"[RANGE {length} SECONDS SLIDE {slide} SECONDS]"
    plan = plan_of(f"SELECT {'k, ' if group else ''}{ALL} FROM s {window} WHERE k <> 1{group}")
    end = int(delta.ts[-1]) + length + 2 * slide
    every = sorted({int(c) for c in rng.integers(-50, end, 12)} | {end})
    if least:
        with at_their_least():
            found = answers(plan, Strategy.UPA, delta, every)
    else:
        found = answers(plan, Strategy.UPA, delta, every)
    assert sorted(map(repr, found)) == sorted(
        map(repr, answers(plan, Strategy.DIRECT, delta, [end]))
    )


@pytest.mark.parametrize("seed", range(6))
def test_summaries_made_by_senders_are_merged_to_the_same_answer(seed: int) -> None:
    """Each sender has some of the tuples, in any order."""
    rng = np.random.default_rng(seed)
    delta = rows(rng, 200, -20)
    plan = plan_of(f"SELECT k, {SUMMED} FROM s [RANGE 17 SECONDS SLIDE 5 SECONDS] GROUP BY k")
    (node,) = (n for n in walk(apply_strategy(plan, Strategy.UPA)) if isinstance(n, SlidingGroupBy))
    below = Pipeline(node.input)
    tuples = below.process({"s": delta}, int(delta.ts[-1]))
    schema = schema_of_summaries(node)
    leaf = StageInput("summaries", schema, UpdatePattern.MONOTONIC)
    merged = Pipeline(merging(node, leaf), changes=True)
    whole = Pipeline(node, changes=True)
    before = -21
    for now in range(-13, int(delta.ts[-1]) + 40, 7):
        mine = tuples.filter((tuples.ts > before) & (tuples.ts <= now))
        share = rng.integers(0, 3, len(mine))
        sent = [
            summaries_of(node).summarise(mine.take(rng.permutation(np.flatnonzero(share == i))))
            for i in range(3)
        ]
        parts = concat(sent, arrow_schema(schema))
        found = changes(merged.process({"summaries": parts}, now))
        raw = delta.filter((delta.ts > before) & (delta.ts <= now))
        assert found == changes(whole.process({"s": raw}, now))
        before = now


def test_groups_that_are_gone_are_forgotten_and_their_numbers_given_anew() -> None:
    plan = plan_of(f"SELECT k, {ALL} FROM s [RANGE 6 SECONDS SLIDE 2 SECONDS] GROUP BY k")
    rng = np.random.default_rng(1)
    delta = rows(rng, 400, 0)
    keys = pa.array((delta.ts // 5 + rng.integers(0, 3, len(delta))).astype(np.int32))
    delta = delta.with_rows(delta.rows.set_column(1, "k", keys))
    cuts = [*range(0, int(delta.ts[-1]), 4), int(delta.ts[-1]) + 20]
    usual = answers(plan, Strategy.DIRECT, delta, cuts)
    with (
        at_their_least(),
        reached((SlidingAggregation, "_forget_groups"), (SubWindows, "renumber")) as calls,
    ):
        assert answers(plan, Strategy.UPA, delta, cuts) == usual
    assert calls["SubWindows.renumber"] > 10


def ticks(now: int, each: int, groups: int) -> Delta:
    ts = np.repeat(np.arange(now, now + 10), each)
    rng = np.random.default_rng(now)
    count = len(ts)
    columns = [
        pa.array(ts), pa.array(rng.integers(0, groups, count).astype(np.int32)),
        pa.array(rng.integers(0, 50, count)), pa.array(rng.random(count) + 0.1),
        pa.array(rng.random(count).astype(np.float32)), pa.array(rng.random(count) < 0.5),
        pa.array([f"text {i}" for i in rng.integers(0, 2**60, count)]),
        pa.array(rng.integers(0, 2**60, count)).cast(pa.decimal128(28, 0)).cast(LONG_DECIMAL),
    ]  # fmt: skip
    names = ["ts", "k", "a", "x", "f", "b", "n", "d"]
    return Delta.insertions(ts, pa.RecordBatch.from_arrays(columns, names))


def operator_of(pipeline: Pipeline) -> SlidingAggregation:
    (found,) = (o for o in pipeline.operators if isinstance(o, SlidingAggregation))
    return found


def held_at(select: str, each: int) -> tuple[int, int]:
    """How many summaries, and bytes, a query holds after three windows' lengths."""
    pipeline = Pipeline(plan_of(select))
    for now in range(0, 300, 10):
        pipeline.process({"s": ticks(now, each, groups=5)}, now + 9)
    return pipeline.size(), held_bytes(pipeline)


def test_as_many_summaries_are_kept_as_there_are_sub_windows_however_many_tuples_come() -> None:
    window = "[RANGE 100 SECONDS SLIDE 10 SECONDS]"
    summaries, _ = held_at(f"SELECT SUM(a) FROM s {window}", each=1_000)
    assert summaries <= 10 + 1 + 1  # sub-windows in it, the open one, and the group
    select = f"SELECT k, SUM(a), AVG(x), MAX(x), VAR(x) FROM s {window} GROUP BY k"
    few, many = held_at(select, each=2_000), held_at(select, each=5_000)
    assert few[0] == many[0] <= 5 * (10 + 1) + 6
    assert many[1] < 1.1 * few[1]


@pytest.mark.parametrize("window", ["RANGE 100 SECONDS SLIDE 10 SECONDS", "ROWS {0} SLIDE {1}"])
def test_one_extreme_text_is_kept_for_each_sub_window_and_group(window: str) -> None:
    select = f"SELECT k, {LONG} FROM s [{window}] GROUP BY k"
    held = []
    for each in (500, 2_000):
        pipeline = Pipeline(plan_of(select.format(100 * each, 10 * each)))
        for now in range(0, 300, 10):
            pipeline.process({"s": ticks(now, each, groups=5)}, now + 9)
        held.append(held_bytes(operator_of(pipeline).summaries))
        assert pipeline.size() <= 5 * (10 + 1) + 6
    assert held[1] < 1.1 * held[0] < 256 * 2**10


def test_texts_that_were_replaced_in_the_open_sub_window_are_left_out() -> None:
    window = "[RANGE 600 SECONDS SLIDE 300 SECONDS]"
    plan = plan_of(f"SELECT k, LAST(n), MIN(n) FROM s {window} GROUP BY k")
    pipeline = Pipeline(plan)
    with reached((BytesColumn, "cut")) as calls:
        for now in range(0, 1500, 10):
            pipeline.process({"s": ticks(now, 3, groups=5)}, now + 9)
            summaries = operator_of(pipeline).summaries
            for summary, _, _ in summaries.long:
                assert len(summary.values.starts) <= 5 * len(summaries) + 2 * REPLACED.value
    assert calls["BytesColumn.cut"] > 5


def test_counts_of_values_grow_with_the_values_and_not_with_the_tuples() -> None:
    window = "[RANGE 100 SECONDS SLIDE 10 SECONDS]"
    select = f"SELECT k, MEDIAN(a), COUNT(DISTINCT a) FROM s {window} GROUP BY k"
    few, many = held_at(select, each=300), held_at(select, each=1_200)
    assert many[0] < 1.05 * few[0]


def test_a_closed_sub_window_is_saved_once_and_dropped_when_it_has_left() -> None:
    plan = plan_of("SELECT k, SUM(a) FROM s [RANGE 30 SECONDS SLIDE 10 SECONDS] GROUP BY k")
    pipeline, kept = Pipeline(plan), {}
    for now in range(1, 200, 10):  # as far as the multiple and no row beyond
        pipeline.process({"s": ticks(now, 50, groups=4)}, now + 9)
        saved = pipeline.save()
        assert sum(b.num_rows for b in saved.put.values()) == 4  # a summary for each group
        kept |= saved.put
        kept = {name: b for name, b in kept.items() if name not in saved.drop}
    assert len(kept) == 3


@pytest.mark.parametrize(
    ("window", "count"),
    [
        ("RANGE 100 SLIDE 10", 10),
        ("RANGE 10 SLIDE 4", 5),
        ("RANGE 3 SLIDE 5", 1),
        ("RANGE 5 SLIDE 5", 1),
    ],
)
def test_explain_says_how_many_sub_windows_there_are(window: str, count: int) -> None:
    plan = plan_of(f"SELECT k, SUM(a) FROM s [{window}] GROUP BY k")
    (node,) = (n for n in walk(apply_strategy(plan, Strategy.UPA)) if isinstance(n, SlidingGroupBy))
    assert sub_windows_of(node.spec) == count
    pipeline = Pipeline(plan)
    sizes = set()
    for now in range(200):
        pipeline.process({"s": ticks(now, 3, groups=1).split(now)[0]}, now)
        if now > 120:
            (store,) = [
                o.summaries.store for o in pipeline.operators if isinstance(o, SlidingAggregation)
            ]
            sizes.add(len(store.living().position))
    assert max(sizes) == count


OVER_WINDOW = (
    "SELECT k, SUM(a) FROM s [RANGE 9 SLIDE 3] WHERE a > 2 GROUP BY k",
    "SELECT COUNT(*) FROM s [RANGE 9 SLIDE 3]",
    "SELECT k, COUNT(*) FROM (SELECT k FROM s [RANGE 9 SLIDE 3] WHERE x > 0) AS v GROUP BY k",
)
OTHERS = (
    "SELECT k, SUM(a) FROM s [RANGE 9] GROUP BY k",
    "SELECT s.k, COUNT(*) FROM s [RANGE 9 SLIDE 3], s [NOW] AS r WHERE s.k = r.k GROUP BY s.k",
)


@pytest.mark.parametrize("query", OVER_WINDOW + OTHERS)
def test_sub_windows_are_used_directly_over_a_window_that_slides(query: str) -> None:
    plan, slides = plan_of(query), query in OVER_WINDOW
    upa = [type(n) for n in walk(apply_strategy(plan, Strategy.UPA))]
    assert (SlidingGroupBy in upa) == slides
    assert (GroupBy in upa) == (not slides)
    assert not slides or Window not in upa
    for rival in (Strategy.NT, Strategy.DIRECT):
        assert SlidingGroupBy not in [type(n) for n in walk(apply_strategy(plan, rival))]


@pytest.mark.parametrize("queries", [1, 2])
@pytest.mark.parametrize("aggregate", ["SUM(a)", "MAX(a)", "COUNT(DISTINCT a)"])
@pytest.mark.parametrize("length", [2**62, FOREVER - 800, FOREVER - 1])
def test_rows_that_leave_after_the_end_of_time_stay(
    queries: int, aggregate: str, length: int
) -> None:
    """Whether a query is alone or shares summaries with others."""
    with windrow.connect() as db:
        grouped = f"AS SELECT k, {aggregate} AS x FROM s [RANGE {{}} SLIDE 20] GROUP BY k;"
        created = [f"CREATE QUERY q{i} {grouped}".format((length, 40)[i]) for i in range(queries)]
        db.execute("CREATE STREAM s (ts BIGINT, k INT, a BIGINT);" + "".join(created))
        db.execute(f"CREATE QUERY rows AS SELECT a FROM s [RANGE {length} SLIDE 20]")
        db.push("s", {"ts": [-9, 3, 50, 900], "k": [1, 1, 1, 1], "a": [1, 3, 1, 3]})
        db.advance(to=1020)
        expected = {"SUM(a)": 8, "MAX(a)": 3, "COUNT(DISTINCT a)": 2}[aggregate]
        assert db.queries["q0"].answer().to_pylist() == [{"k": 1, "x": expected}]
        assert db.queries["rows"].answer().num_rows == 4


@pytest.mark.parametrize(
    ("items", "x"), [("k, SUM(a) AS x", {"x": 15}), ("FREQUENT 9 k, COUNT(*) AS x", {"x": 2})]
)
def test_groups_that_come_and_leave_at_one_instant_before_any_is_seen_are_no_trouble(
    items: str, x: dict[str, int]
) -> None:
    query = f"SELECT {items} FROM s [ROWS 2 SLIDE 2] WHERE a > 0 GROUP BY k"
    with at_their_least(), windrow.connect() as db:
        [found] = db.execute(f"CREATE STREAM s (ts BIGINT, k INT, a BIGINT); {query};")
        db.push("s", {"ts": [1] * 5, "k": [1, 2, 0, 0, 3], "a": [1, 1, 0, 0, 7]})
        db.advance(to=1)
        db.push("s", {"ts": [2], "k": [3], "a": [8]})
        db.advance(to=2)
        assert found.answer().select(["k", "x"]).to_pylist() == [{"k": 3} | x]
