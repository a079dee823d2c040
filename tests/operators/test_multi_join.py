"""The n-way join changes its order with the rates that it observes, and nothing else changes."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from windrow.columns.delta import Delta
from windrow.core.schema import Type
from windrow.engine.pipeline import Pipeline
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
