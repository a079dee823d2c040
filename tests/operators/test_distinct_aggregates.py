"""Aggregates of distinct values, through many groups and values that come, go and come again."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from windrow.columns.delta import Delta
from windrow.engine.pipeline import Pipeline
from windrow.operators.aggregates.distinct_values import OfDistinct, _first_and_last
from windrow.operators.group_by import GroupedAggregation
from windrow.plan.program import compile_script

pytestmark = pytest.mark.usefixtures("sizes")

DECLARATION = "CREATE STREAM s (ts BIGINT, k BIGINT, v BIGINT);"
LENGTH, STEP = 900, 300
QUERY = (
    "SELECT k, COUNT(DISTINCT v), SUM(DISTINCT v), MEDIAN(DISTINCT v) "
    f"FROM s [RANGE {LENGTH} SECONDS] GROUP BY k;"
)


def rows(groups: int, values: int, count: int = 12_000) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(groups)
    drift = np.arange(count)
    return (
        rng.integers(0, groups, count) + drift // 10 * groups // 100,
        rng.integers(0, values, count) + drift * 2,
    )


def by_hand(k: np.ndarray, v: np.ndarray, now: int) -> dict[int, tuple[int, int, float]]:
    held: dict[int, set[int]] = {}
    for at in range(max(0, now - LENGTH + 1), now + 1):
        held.setdefault(int(k[at]), set()).add(int(v[at]))
    return {key: (len(s), sum(s), float(np.median(sorted(s)))) for key, s in held.items()}


@pytest.mark.parametrize(("groups", "values"), [(3, 40), (400, 3)])
def test_values_and_groups_that_are_gone_are_forgotten_and_the_rest_stays_exact(
    groups: int, values: int
) -> None:
    k, v = rows(groups, values)
    pipeline = Pipeline(compile_script(DECLARATION + QUERY).queries[-1].plan, changes=True)
    for start in range(0, len(k), STEP):
        ts = np.arange(start, start + STEP)
        columns = [pa.array(a) for a in (ts, k[ts], v[ts])]
        batch = pa.RecordBatch.from_arrays(columns, ["ts", "k", "v"])
        pipeline.process({"s": Delta.insertions(ts, batch)}, start + STEP - 1)
        live = [tuple(row.values()) for row in pipeline.live_rows().to_pylist()]
        assert {key: tuple(values) for key, *values in live} == by_hand(k, v, start + STEP - 1)
    (group_by,) = (o for o in pipeline.operators if isinstance(o, GroupedAggregation))
    for accumulator, _ in group_by.aggregates:
        assert isinstance(accumulator, OfDistinct)
        assert len(accumulator.pairs) < 9_000  # of 12,000 that there were


def test_a_value_comes_with_its_first_tuple_and_goes_with_its_last() -> None:
    rng = np.random.default_rng(5)
    pair, sign, held = [], [], [0] * 6
    for _ in range(400):
        p = int(rng.integers(6))
        s = -1 if held[p] and rng.random() < 0.5 else 1
        held[p] += s
        pair.append(p)
        sign.append(s)
    count, slow, first = [0] * 6, [], [-1] * 6
    for at, (p, s) in enumerate(zip(pair, sign, strict=True)):
        before, count[p] = count[p], count[p] + s
        if not before:
            first[p] = at + 10
        slow.append(int(bool(count[p])) - int(bool(before)))
    kept, keeper, change = np.zeros(6, np.int64), np.full(6, -1), np.empty(400, np.int64)
    positions = np.arange(10, 410)
    _first_and_last(np.array(pair), positions, np.array(sign, np.int8), kept, keeper, change)
    assert (change.tolist(), kept.tolist(), keeper.tolist()) == (slow, held, first)
