"""APPROXIMATE and FREQUENT: answers in bounded space, with bounds that hold.

The exact answer is asked in the same query, or counted from the rows.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from contextlib import nullcontext
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.operators.samples import changes
from tests.support.thresholds import at_their_least
from windrow.columns.delta import Delta
from windrow.engine.pipeline import Pipeline
from windrow.operators.aggregates.rank_summaries import thin_ranks
from windrow.plan.nodes import Node
from windrow.plan.program import compile_script
from windrow.plan.strategy import Strategy
from windrow.synopses import DistinctSketches, Frequent

STREAM = "CREATE STREAM s (ts BIGINT, k INT, x DOUBLE, a BIGINT, n STRING);"
Row = tuple[Any, ...]


def plan_of(select: str) -> Node:
    return compile_script(f"{STREAM} {select};").queries[-1].plan


def rows(count: int, end: int, seed: int = 0, nulls: bool = True) -> Delta:
    """Many values, a few of which are frequent; the group 3 has NULLs only."""
    rng = np.random.default_rng(seed)
    ts = np.sort(rng.integers(1, end, count)).astype(np.int64)
    k = rng.choice([1, 1, 1, 2, 3], count).astype(np.int32)
    absent = (k == 3) | (rng.random(count) < 0.05) if nulls else np.zeros(count, np.bool_)
    items = rng.zipf(1.4, count) % 500
    columns = [
        pa.array(ts), pa.array(k), pa.array(rng.lognormal(0, 3, count), mask=absent),
        pa.array(items, mask=absent), pa.array(items.astype(str)),
    ]  # fmt: skip
    batch = pa.RecordBatch.from_arrays(columns, ["ts", "k", "x", "a", "n"])
    return Delta.insertions(ts, batch)


def answers(delta: Delta) -> dict[int, list[Row]]:
    """The rows of the answer after each instant at which it changes."""
    table: Counter[Row] = Counter()
    found: dict[int, list[Row]] = {}
    columns = [c.to_pylist() for c in delta.rows.columns]
    at: dict[int, list[tuple[int, Row]]] = defaultdict(list)
    for ts, sign, *row in zip(delta.ts.tolist(), delta.sign.tolist(), *columns, strict=True):
        at[ts].append((sign, tuple(row)))
    for ts, changed in at.items():
        for sign, row in changed:
            table[row] += sign
        assert min(table.values()) >= 0
        found[ts] = sorted(table.elements(), key=repr)
    return found


def in_parts(plan: Node, delta: Delta, cuts: list[int]) -> list[object]:
    """All changes; the pipeline is saved and loaded after every second part."""
    pipeline, segments = Pipeline(plan, changes=True), dict[str, pa.RecordBatch]()
    found: list[object] = []
    rest = delta
    for number, cut in enumerate(cuts):
        part, rest = rest.split(cut)
        found += changes(pipeline.process({"s": part}, cut))
        if number % 2:
            saved = pipeline.save()
            segments = {n: b for n, b in (segments | saved.put).items() if n not in saved.drop}
            pipeline = Pipeline(plan, changes=True)
            pipeline.load(segments, saved.meta)
    return sorted(found)  # type: ignore[type-var]


QUANTILES = (
    "SELECT k, APPROXIMATE MEDIAN(x) AS m, MEDIAN(x), APPROXIMATE QUANTILE(x, 0.99) AS q, "
    "QUANTILE(x, 0.99), APPROXIMATE QUANTILE(a, 0) AS l, QUANTILE(a, 0) FROM s {} GROUP BY k"
)
WINDOWS = ["[RANGE 40 SLIDE 10]", "[RANGE 25 SLIDE 10]", "[ROWS 1600 SLIDE 400]"]


@pytest.mark.parametrize("window", WINDOWS)
def test_quantiles_lie_between_their_bounds_which_are_narrow(window: str) -> None:
    delta = rows(6_000, 150)
    out = Pipeline(plan_of(QUANTILES.format(window))).process({"s": delta}, 300)
    estimated, narrow = 0, []
    for table in answers(out).values():
        for _, *numbers in table:
            for estimate, lower, upper, true in (numbers[i : i + 4] for i in (0, 4, 8)):
                if true is None:
                    assert estimate is lower is upper is None
                    continue
                assert lower <= true <= upper
                assert lower <= estimate <= upper
                estimated += lower < upper
            median, lower, upper, _ = numbers[:4]
            narrow.append(median is None or upper <= lower * 1.5)
            assert numbers[8] == numbers[11]  # the least value is always known
    assert estimated > 20
    assert all(narrow)


def test_few_values_are_exact() -> None:
    delta = rows(300, 150)
    for table in answers(
        Pipeline(plan_of(QUANTILES.format(WINDOWS[1]))).process({"s": delta}, 300)
    ).values():
        for _, *numbers in table:
            for estimate, lower, upper, true in (numbers[i : i + 4] for i in (0, 4, 8)):
                assert estimate == lower == upper == true


@pytest.mark.parametrize("seed", range(5))
def test_thinned_values_are_those_of_a_list_in_blocks(seed: int) -> None:
    """The kernel against a plain list of all values; how many are up to each of them."""
    rng = np.random.default_rng(seed)
    often = rng.integers(1, 30, int(rng.integers(12, 40)))
    most, different = 10, len(often)
    valid = np.append(np.ones(different, np.bool_), False)
    counts = np.append(often, 3).astype(np.int64)
    kept, weights, errors = (np.empty(len(counts), np.int64) for _ in range(3))
    starts = np.array([0, len(counts)])
    count = thin_ranks(starts, valid, counts, most, kept, weights, errors)
    values = np.repeat(np.arange(different), often)
    block = -(-(len(values) - 2) // (most - 2))
    middle = [values[i : i + block] for i in range(1, len(values) - 1, block)]
    middle[-1] = values[1 + block * (len(middle) - 1) : -1]
    expected: Counter[int] = Counter()
    for part in (values[:1], *middle, values[-1:]):
        expected[int(part[(len(part) - 1) // 2])] += len(part)
    assert dict(zip(kept[:count].tolist(), weights[:count].tolist(), strict=True)) == expected
    assert errors[0] == block // 2
    assert not errors[1:count].any()
    chosen = np.repeat(kept[:count], weights[:count])
    wrong = [abs(int((values <= x).sum()) - int((chosen <= x).sum())) for x in range(different)]
    assert max(wrong) <= block // 2
    assert len(chosen) == len(values)


def test_distinct_counts_are_those_of_the_library_and_mostly_between_their_bounds() -> None:
    delta = rows(20_000, 150)
    select = (
        "SELECT k, APPROXIMATE COUNT(DISTINCT x) AS d, COUNT(DISTINCT x) "
        "FROM s [RANGE 40 SLIDE 10] GROUP BY k"
    )
    out = Pipeline(plan_of(select)).process({"s": delta}, 300)
    sketches, inside = DistinctSketches(), []
    groups, values = delta.rows.column("k").to_numpy(), delta.rows.column("x")
    for now, table in answers(out).items():
        for k, estimate, lower, upper, true in table:
            live = (delta.ts > now - 40) & (delta.ts <= now) & (groups == k)
            present = values.filter(pa.array(live)).drop_null().to_numpy()
            direct = sketches.summarise(np.zeros(len(present), np.int64), present)
            found = sketches.estimate(direct, 0) if direct else (0, 0, 0)
            assert estimate == round(found[0])
            assert lower == int(found[1])
            assert upper == int(np.ceil(found[2]))
            inside.append(lower <= true <= upper)
    assert len(inside) > 30
    assert sum(inside) >= 0.9 * len(inside)


def test_a_group_without_values_has_no_quantile_and_counts_nothing_and_goes_when_it_is_empty() -> (
    None
):
    ts = np.array([1, 2, 3], np.int64)
    columns = [
        pa.array(ts), pa.array([7, 7, 7], pa.int32()), pa.array([None] * 3, pa.float64()),
        pa.array([None] * 3, pa.int64()), pa.array([None] * 3, pa.string()),
    ]  # fmt: skip
    delta = Delta.insertions(ts, pa.RecordBatch.from_arrays(columns, ["ts", "k", "x", "a", "n"]))
    select = (
        "SELECT k, APPROXIMATE MEDIAN(x) AS m, APPROXIMATE COUNT(DISTINCT n) AS d "
        "FROM s [RANGE 10 SLIDE 5] GROUP BY k"
    )
    out = Pipeline(plan_of(select)).process({"s": delta}, 100)
    assert answers(out) == {5: [(7, None, None, None, 0, 0, 0)], 15: []}


CUT = [
    (
        "SELECT k, APPROXIMATE MEDIAN(x) AS m, APPROXIMATE QUANTILE(x, 0.1), "
        "APPROXIMATE COUNT(DISTINCT n) AS d, MEDIAN(a), COUNT(*) FROM s [RANGE 25 SLIDE 10] "
        "GROUP BY k"
    ),
    (
        "SELECT APPROXIMATE MEDIAN(x), APPROXIMATE COUNT(DISTINCT a) FROM s [ROWS 900 SLIDE 250] "
        "WHERE k = 1"
    ),
    "SELECT FREQUENT 5 n, COUNT(*) AS c FROM s [RANGE 25 SLIDE 10] GROUP BY n",
    (
        "SELECT FREQUENT 5 n, k, COUNT(*) AS c FROM s [ROWS 900 SLIDE 250] WHERE k < 3 "
        "GROUP BY n, k HAVING c > 20"
    ),
]


@settings(deadline=None, max_examples=6)
@given(st.lists(st.integers(0, 160), max_size=12), st.sampled_from(CUT), st.booleans())
def test_any_split_and_any_stop_gives_the_same_answer(
    cuts: list[int], select: str, least: bool
) -> None:
    plan, delta = plan_of(select), rows(2_500, 150)
    whole = in_parts(plan, delta, [200])
    parts = sorted({*cuts, 200})
    if least:
        with at_their_least():
            assert in_parts(plan, delta, parts) == whole
    else:
        assert in_parts(plan, delta, parts) == whole
    assert whole


@pytest.mark.parametrize("select", CUT)
def test_strategies_that_keep_tuples_keep_sketches_too(select: str) -> None:
    delta = rows(800, 150)
    found = [
        changes(Pipeline(plan_of(select), changes=True, strategy=s).process({"s": delta}, 300))
        for s in Strategy
    ]
    assert found[0] == found[1] == found[2] != []


# --- FREQUENT


def true_counts(delta: Delta, first: int, stop: int) -> Counter[str]:
    return Counter(delta.rows.column("n").slice(first, stop - first).to_pylist())


def test_groups_get_new_codes_when_one_of_them_is_left() -> None:
    select = "SELECT FREQUENT 5 k, COUNT(*) AS c FROM s [ROWS 4 SLIDE 2] GROUP BY k"
    plan, delta = plan_of(select), rows(300, 150)
    same = delta.with_rows(pa.RecordBatch.from_arrays(
        [pa.repeat(c[0], len(delta)) for c in delta.rows.columns], schema=delta.rows.schema
    ))  # fmt: skip
    with at_their_least():
        found = in_parts(plan, same, [*range(2, 160, 2)])
    assert found == in_parts(plan, same, [160])


@pytest.mark.parametrize("threshold", [None, 40])
@pytest.mark.parametrize("k", [3, 8, 600])
@pytest.mark.parametrize("by_rows", [False, True])
def test_frequent_reports_no_false_positive_and_no_count_that_is_too_large(
    by_rows: bool, k: int, threshold: int | None
) -> None:
    delta = rows(4_000, 160, seed=3)
    window = "[ROWS 1000 SLIDE 200]" if by_rows else "[RANGE 40 SLIDE 10]"
    having = "" if threshold is None else f" HAVING COUNT(*) > {threshold}"
    plan = plan_of(f"SELECT FREQUENT {k} n, COUNT(*) AS c FROM s {window} GROUP BY n{having}")
    if by_rows:  # one row an instant, so that each slide has one of its own
        delta = Delta.insertions(np.arange(4_000), delta.rows)
    out = Pipeline(plan).process({"s": delta}, 5_000)
    found, reported = answers(out), 0
    assert len(found) > 10
    for now, table in found.items():
        stop = now + 1 if by_rows else int(np.searchsorted(delta.ts, now, side="right"))
        start = stop - 1_000 if by_rows else int(np.searchsorted(delta.ts, now - 40, "right"))
        first = max(start, 0)
        true = true_counts(delta, first, stop)
        (error,) = {high - low for _, low, high in table} or {0}
        for n, low, high in table:
            assert low <= true[n] <= high
            assert low > (error if threshold is None else threshold)
        if k == 600:  # lists are complete, so all that there is to find is found
            least = 0 if threshold is None else threshold
            exceeding = {(n, count) for n, count in true.items() if count > least}
            assert {(n, low) for n, low, _ in table} == exceeding
        reported += len(table)
    assert reported > 0


@pytest.mark.parametrize("by_rows", [False, True])
def test_frequent_is_algorithm_6_of_the_library(by_rows: bool) -> None:
    delta = rows(3_000, 160, seed=4, nulls=False)
    items = delta.rows.column("a").to_numpy()
    window = "[ROWS 800 SLIDE 200]" if by_rows else "[RANGE 40 SLIDE 10]"
    if by_rows:
        delta = Delta.insertions(np.arange(3_000), delta.rows)
    plan = plan_of(f"SELECT FREQUENT 6 a, COUNT(*) AS c FROM s {window} GROUP BY a")
    found = answers(Pipeline(plan).process({"s": delta}, 5_000))
    made = Frequent.over_rows(800, 200, 6) if by_rows else Frequent.over_time(40, 10, 6)
    compared = 0
    for update in made.feed(items, None if by_rows else delta.ts):
        now = update * 200 - 1 if by_rows else update * 10
        reported, error = made.answer()
        assert sorted((a, c, c + error) for a, c in reported) == sorted(found[now])
        compared += 1
    assert compared >= 10


def test_frequent_keeps_lists_and_the_open_sub_window() -> None:
    plan = plan_of("SELECT FREQUENT 5 n, COUNT(*) AS c FROM s [RANGE 40 SLIDE 10] GROUP BY n")
    delta, sizes = rows(10_000, 1_000), []
    fresh = [f"{ts // 10}-{a}" for ts, a in zip(delta.ts.tolist(), range(10_000), strict=True)]
    delta = delta.with_rows(delta.rows.set_column(4, "n", pa.array([n[:-1] for n in fresh])))
    with at_their_least():
        pipeline = Pipeline(plan)
        for now in range(10, 1_000, 10):
            part, delta = delta.split(now)
            pipeline.process({"s": part}, now)
            sizes.append(pipeline.size())
    assert max(sizes) <= 5 * 4 + 4 * 40  # lists, and names of up to four times the groups on them


# --- [ROWS n SLIDE m]

ALL = (
    "COUNT(*), COUNT(x), SUM(a), SUM(x), AVG(x), MIN(x), MAX(a), MAX(n), MEDIAN(x), VAR(a), "
    "COUNT(DISTINCT n)"
)


@settings(deadline=None, max_examples=12)
@given(st.integers(0, 2**32), st.integers(1, 40), st.integers(1, 15), st.booleans())
def test_a_window_of_rows_answers_as_over_tuples(
    seed: int, count: int, slide: int, least: bool
) -> None:
    rng = np.random.default_rng(seed)
    delta = rows(120, 60, seed)
    where = " WHERE k < 3" if rng.random() < 0.5 else ""
    plan = plan_of(f"SELECT k, {ALL} FROM s [ROWS {count} SLIDE {slide}]{where} GROUP BY k")
    cuts = sorted({int(c) for c in rng.integers(0, 60, 8)} | {70})
    direct = Pipeline(plan, changes=True, strategy=Strategy.DIRECT)
    expected = sorted(changes(direct.process({"s": delta}, 70)))
    if least:
        with at_their_least():
            found = in_parts(plan, delta, cuts)
    else:
        found = in_parts(plan, delta, cuts)
    assert found == expected


@settings(deadline=None, max_examples=40)
@given(
    st.integers(0, 2**32), st.integers(1, 3), st.integers(1, 3), st.booleans(),
    st.sampled_from([
        f"k, {ALL} FROM s [] WHERE k = 1 GROUP BY k",
        "APPROXIMATE MEDIAN(x), APPROXIMATE COUNT(DISTINCT n), COUNT(*) FROM s [] WHERE k = 1",
        "FREQUENT 9 n, COUNT(*) AS c FROM s [] WHERE k = 1 GROUP BY n",
    ]),
)  # fmt: skip
def test_what_comes_into_a_window_of_rows_and_leaves_at_one_instant_leaves_once(
    seed: int, count: int, slide: int, least: bool, select: str
) -> None:
    """Of an interval in which all that is chosen does so nothing is seen."""
    plan = plan_of(f"SELECT {select}".replace("[]", f"[ROWS {count} SLIDE {slide}]"))
    delta = rows(60, 15, seed)
    whole = Pipeline(plan, changes=True, strategy=Strategy.DIRECT).process({"s": delta}, 16)
    with at_their_least() if least else nullcontext():
        assert in_parts(plan, delta, [*range(17)]) == sorted(changes(whole))


def test_a_window_of_rows_keeps_no_tuples() -> None:
    select = "SELECT k, SUM(a), MAX(x) FROM s [ROWS 5000 SLIDE 500] GROUP BY k"
    delta = rows(12_000, 100)
    kept = {}
    for strategy in (Strategy.UPA, Strategy.DIRECT):
        pipeline = Pipeline(plan_of(select), strategy=strategy)
        pipeline.process({"s": delta}, 200)
        kept[strategy] = pipeline.size()
    assert kept[Strategy.UPA] <= 3 * 12 < 5_000 < kept[Strategy.DIRECT]


def test_an_open_sub_window_that_is_saved_and_left_behind_is_no_longer_saved() -> None:
    """All rows leave between two saves, without a row that comes."""
    plan, delta = plan_of("SELECT k, COUNT(*) FROM s [RANGE 10 SLIDE 5] GROUP BY k"), rows(20, 4)
    pipeline, segments = Pipeline(plan), dict[str, pa.RecordBatch]()
    for now, part in ((3, delta), (50, delta.slice(0, 0)), (60, delta.slice(0, 0))):
        pipeline.process({"s": part}, now)
        saved = pipeline.save()
        segments = {n: b for n, b in (segments | saved.put).items() if n not in saved.drop}
    assert not segments
    later = Delta.insertions(delta.ts + 60, delta.rows)
    pipeline.process({"s": later}, 64)
    assert pipeline.save().put
