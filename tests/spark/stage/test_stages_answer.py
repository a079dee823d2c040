"""Every kind of query, cut into stages and spread over buckets: the answer of one pipeline.

Each is run with buckets that stay in memory and with buckets that are loaded, once with the usual
thresholds and once with them at their least. The other two of the four are slow: that operators go
on after they were loaded, whatever the thresholds, is what ``tests/operators/test_contract.py``
has for each of these queries.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tests.operators.samples import QUERIES, STREAMS, plan_of, random_input, run
from tests.spark.staged import end_of, expected, run_staged
from windrow.columns.delta import Delta
from windrow.engine.pipeline import Pipeline
from windrow.plan.program import compile_script
from windrow.plan.strategy import Strategy
from windrow.spark.stage import level_task
from windrow.spark.stage.worker_cache import WorkerCache

pytestmark = pytest.mark.usefixtures("sizes")

INPUTS = random_input(seed=5)
RIVALS = [pytest.param(s, marks=pytest.mark.slow) for s in Strategy if s is not Strategy.UPA]


def sizes_in_turn(first: int) -> list[Any]:
    """All queries with both sizes of thresholds; one of the two is slow, every other time."""
    return [
        pytest.param(query, size, marks=[pytest.mark.slow] * ((first + place + turn) % 2))
        for place, query in enumerate(QUERIES)
        for turn, size in enumerate(("usual", "least"))
    ]


@cache
def whole_answer(query: str):
    """Of one pipeline, whatever the thresholds are: they change no answer."""
    plan = plan_of(query)
    changes = run(Pipeline(plan, changes=True), INPUTS, [end_of(plan, INPUTS)])
    assert changes
    return expected(changes)


@pytest.mark.parametrize("strategy", [Strategy.UPA, *RIVALS])
@pytest.mark.parametrize(("query", "sizes"), sizes_in_turn(0), indirect=["sizes"])
def test_buckets_that_stay_in_memory_give_the_answer_of_one_pipeline(query, strategy):
    found = run_staged(plan_of(query), INPUTS, strategy, seed=1, run=f"{query}-{strategy}")
    assert found == whole_answer(query)


@pytest.mark.parametrize(("query", "sizes"), sizes_in_turn(1), indirect=["sizes"])
def test_buckets_that_are_loaded_every_time_give_the_answer_of_one_pipeline(query, monkeypatch):
    monkeypatch.setattr(level_task, "CACHE", WorkerCache(seconds=-1))
    found = run_staged(plan_of(query), INPUTS, Strategy.UPA, seed=2, run=query)
    assert found == whole_answer(query)


RELATIONAL = {
    "exists": "SELECT k, a FROM s [RANGE 6 SECONDS] "
    "WHERE EXISTS (SELECT * FROM r [RANGE 4 SECONDS] WHERE r.k = s.k)",
    "or": "SELECT k, a FROM s [RANGE 6 SECONDS] WHERE k IN (SELECT k FROM r [RANGE 3 SECONDS]) "
    "OR EXISTS (SELECT * FROM rel WHERE w > a)",
    "left": "SELECT s.k, a, b FROM s [RANGE 6 SECONDS] LEFT JOIN r [RANGE 4 SECONDS] "
    "ON r.k = s.k AND b > a",
    "full": "SELECT k, a, w FROM s [RANGE 6 SECONDS] FULL JOIN rel USING (k)",
    "value": "SELECT k, a, (SELECT COUNT(*) FROM r [RANGE 3 SECONDS] WHERE r.k = s.k) AS c "
    "FROM s [RANGE 6 SECONDS] WHERE a > (SELECT AVG(b) FROM r [RANGE 9 SECONDS])",
    "intersect": "SELECT k FROM s [RANGE 6 SECONDS] INTERSECT SELECT k FROM r [ROWS 9] "
    "UNION SELECT w FROM rel",
    "every": "SELECT k, COUNT(*) AS c, MIN(a) AS least, COUNT(DISTINCT a) AS d, SUM(a) AS total "
    "FROM s GROUP BY k EVERY 4 SECONDS",
}


QUICK = ("or", "left", "value", "every")


@pytest.mark.parametrize(
    "name", [n if n in QUICK else pytest.param(n, marks=pytest.mark.slow) for n in RELATIONAL]
)
def test_what_sql_has_beside_the_algebra_gives_the_same_in_buckets(name):
    plan = compile_script(STREAMS + RELATIONAL[name] + ";").queries[-1].plan
    whole = run(Pipeline(plan, changes=True), INPUTS, [end_of(plan, INPUTS)])
    found = run_staged(plan, INPUTS, Strategy.UPA, seed=4, run=name)
    assert found == expected(whole) != {}


BOUNDED = {
    "sketches": "SELECT k, APPROXIMATE MEDIAN(x) AS m, APPROXIMATE COUNT(DISTINCT a) AS d "
    "FROM s [RANGE 400 SECONDS SLIDE 100 SECONDS] GROUP BY k",
    "lists": "SELECT FREQUENT 3 n, COUNT(*) AS c FROM s [ROWS 400 SLIDE 100] GROUP BY n",
}


@pytest.mark.parametrize("name", BOUNDED)
def test_summaries_of_many_values_in_buckets_are_those_of_one_pipeline(name):
    plan = compile_script(STREAMS + BOUNDED[name] + ";").queries[-1].plan
    rng, ts = np.random.default_rng(6), np.arange(2_000) // 2
    columns = [
        pa.array(ts), pa.array(rng.integers(0, 3, 2_000).astype(np.int32)),
        pa.array(rng.integers(0, 900, 2_000)), pa.array(rng.normal(size=2_000)),
        pa.array((rng.zipf(1.5, 2_000) % 50).astype(str)),
    ]  # fmt: skip
    rows = pa.RecordBatch.from_arrays(columns, ["ts", "k", "a", "x", "n"])
    inputs = {"s": Delta.insertions(ts, rows)}
    whole = run(Pipeline(plan, changes=True), inputs, [end_of(plan, inputs)])
    found = run_staged(plan, inputs, Strategy.UPA, seed=3, run=f"many {name}")
    assert found == expected(whole) != {}
