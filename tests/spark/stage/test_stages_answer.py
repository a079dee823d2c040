"""Every kind of query, cut into stages and spread over buckets: the answer of one pipeline."""

from __future__ import annotations

import pytest

from tests.operators.samples import QUERIES, plan_of, random_input, run
from tests.spark.staged import end_of, expected, run_staged
from windrow.engine.pipeline import Pipeline
from windrow.plan.strategy import Strategy
from windrow.spark.stage import level_task
from windrow.spark.stage.worker_cache import WorkerCache

pytestmark = pytest.mark.usefixtures("sizes")

INPUTS = random_input(seed=5)
RIVALS = [pytest.param(s, marks=pytest.mark.slow) for s in Strategy if s is not Strategy.UPA]


def whole_answer(query: str):
    plan = plan_of(query)
    changes = run(Pipeline(plan, changes=True), INPUTS, [end_of(plan, INPUTS)])
    assert changes
    return expected(changes)


@pytest.mark.parametrize("strategy", [Strategy.UPA, *RIVALS])
@pytest.mark.parametrize("query", QUERIES)
def test_buckets_that_stay_in_memory_give_the_answer_of_one_pipeline(query, strategy):
    found = run_staged(plan_of(query), INPUTS, strategy, seed=1, run=f"{query}-{strategy}")
    assert found == whole_answer(query)


@pytest.mark.parametrize("query", QUERIES)
def test_buckets_that_are_loaded_every_time_give_the_answer_of_one_pipeline(query, monkeypatch):
    monkeypatch.setattr(level_task, "CACHE", WorkerCache(seconds=-1))
    found = run_staged(plan_of(query), INPUTS, Strategy.UPA, seed=2, run=query)
    assert found == whole_answer(query)
