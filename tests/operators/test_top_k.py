"""TOP k against its definition, and how much of the relation it ranks."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tests.operators.samples import plan_of, random_input, run
from windrow.columns.delta import Delta
from windrow.engine.pipeline import Pipeline
from windrow.operators import top_k
from windrow.operators.top_k import FirstK
from windrow.operators.top_k_growing import FirstOfGrowingGroups
from windrow.plan.program import compile_script
from windrow.result_files.change_table import sort_by_rank

DECLARATION = "CREATE STREAM s (ts BIGINT, k INT, v INT);"


def pipeline_of(window: str, count: int) -> tuple[Pipeline, FirstK]:
    query = f"SELECT k, v FROM s [{window}] ORDER BY v DESC, k LIMIT {count};"
    made = Pipeline(compile_script(DECLARATION + query).queries[0].plan, changes=True)
    (first,) = (o for o in made.operators if isinstance(o, FirstK))
    return made, first


def arrivals(ts: np.ndarray, k: np.ndarray, v: np.ndarray) -> dict[str, Delta]:
    arrays = [pa.array(ts), pa.array(k.astype(np.int32)), pa.array(v.astype(np.int32))]
    return {"s": Delta.insertions(ts, pa.RecordBatch.from_arrays(arrays, ["ts", "k", "v"]))}


@pytest.mark.parametrize("name", ["top", "top_strings"])
def test_a_front_that_is_chosen_often_changes_nothing(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    inputs, plan, cuts = random_input(12), plan_of(name), [*range(0, 400, 5), 400]
    usual = run(Pipeline(plan, changes=True), inputs, cuts)
    monkeypatch.setattr(top_k.SPARE, "value", 0)
    assert run(Pipeline(plan, changes=True), inputs, cuts) == usual != []


@pytest.mark.usefixtures("sizes")
@pytest.mark.parametrize("window", ["RANGE 300 SECONDS", "ROWS 250", "PARTITION BY k ROWS 9"])
@pytest.mark.parametrize("drift", [-1, 0, 1])
def test_the_first_rows_are_those_of_the_window(
    window: str, drift: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Values that rise or fall with time make the front grow, or run out."""
    monkeypatch.setattr(top_k.SPARE, "value", 0)
    rng = np.random.default_rng(5)
    count, size = 7, 4000
    ts = np.cumsum(rng.choice([0, 1, 1, 2], size)).astype(np.int64)
    k, v = rng.integers(0, 40, size), rng.integers(0, 60, size) + drift * np.arange(size) // 20
    made, first = pipeline_of(window, count)
    for start in range(0, size, 80):
        part = slice(start, start + 80)
        now = int(ts[part][-1]) - 1 if start + 80 < size else int(ts[-1])
        upto = int(np.searchsorted(ts, now, side="right"))
        begin = int(np.searchsorted(ts, made.now, side="right")) if start else 0
        made.process(arrivals(ts[begin:upto], k[begin:upto], v[begin:upto]), now)
        held = np.arange(upto)
        if window.startswith("RANGE"):
            held = held[ts[:upto] > now - 300]
        elif window.startswith("ROWS"):
            held = held[-250:]
        else:
            held = np.array([i for i in held if (k[i + 1 : upto] == k[i]).sum() < 9], np.int64)
        wanted = sorted((-int(v[i]), int(k[i])) for i in held)[:count]
        rows = made.live_rows().to_pylist()
        assert sorted((-row["v"], row["k"]) for row in rows) == wanted
    assert len(first.front) < len(first.buffer)


def test_few_rows_are_ranked_however_long_the_window(monkeypatch: pytest.MonkeyPatch) -> None:
    ranked = []
    order = FirstK.order_of

    def counted(self: FirstK, rows: pa.RecordBatch) -> np.ndarray:
        ranked.append(rows.num_rows)
        return order(self, rows)

    monkeypatch.setattr(FirstK, "order_of", counted)
    made, first = pipeline_of("RANGE 20000 SECONDS", 10)
    rng = np.random.default_rng(8)
    for now in range(100, 60_000, 100):
        ts = np.arange(now - 99, now + 1)
        made.process(arrivals(ts, ts % 7, rng.integers(0, 10**6, 100)), now)
    assert len(first.buffer) == 20_000
    assert sum(ranked[-300:]) < 300 * 1000  # of 20,000 rows that live


LARGEST, LEAST, NAN = 2**63 - 1, -(2**63), float("nan")


@pytest.mark.usefixtures("sizes")
@pytest.mark.parametrize(
    ("kind", "values", "ascending"),
    [
        ("BIGINT", [LARGEST, None, LEAST, 0], [LEAST, 0, LARGEST, None]),
        ("DOUBLE", [NAN, None, float("inf"), 1.0], [1.0, float("inf"), NAN, None]),
        ("STRING", ["\U0010ffff", None, ""], ["", "\U0010ffff", None]),
        ("BOOLEAN", [True, None, False], [False, True, None]),
    ],
)
@pytest.mark.parametrize("down", [False, True])
def test_null_is_last_and_nan_the_greatest_in_whatever_order_they_come(
    kind: str, values: list[Any], ascending: list[Any], down: bool
) -> None:
    known = [value for value in ascending if value is not None]
    wanted = [*reversed(known), None] if down else [*known, None]
    descending = " DESC" if down else ""
    stamps = np.zeros(len(values), np.int64)
    for count in (1, len(values) - 1):
        text = f"SELECT v FROM s [RANGE 9 SECONDS] ORDER BY v{descending} LIMIT {count};"
        plan = compile_script(f"CREATE STREAM s (ts BIGINT, v {kind});" + text).queries[0].plan
        for order in permutations(values):
            made = Pipeline(plan, changes=True)
            column = pa.array(order, made.schema.field(0).type)
            rows = pa.RecordBatch.from_arrays([pa.array(stamps), column], ["ts", "v"])
            made.process({"s": Delta.insertions(stamps, rows)}, 0)
            answer = sort_by_rank(pa.Table.from_batches([made.live_rows()]), plan)
            assert repr(answer["v"].to_pylist()) == repr(wanted[:count])


def test_of_a_stream_only_the_first_rows_of_each_group_are_kept() -> None:
    query = "SELECT k, v FROM s QUALIFY ROW_NUMBER() OVER (PARTITION BY k ORDER BY v DESC) <= 3;"
    made = Pipeline(compile_script(DECLARATION + query).queries[0].plan, changes=True)
    (first,) = (o for o in made.operators if isinstance(o, FirstOfGrowingGroups))
    rng = np.random.default_rng(6)
    k, v = rng.integers(0, 5, 900), rng.integers(0, 40, 900)
    for start in range(0, 900, 30):
        at = np.arange(start, start + 30)
        made.process(arrivals(at, k[at], v[at]), start + 29)
        assert first.size() <= 15
    expected = [(g, x) for g in range(5) for x in sorted(v[k == g].tolist())[-3:]]
    assert sorted((r["k"], r["v"]) for r in made.live_rows().to_pylist()) == expected
