"""A group-by that keeps no tuples answers as the one that keeps what aggregates point at."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.operators.samples import changes
from windrow.columns.delta import Delta
from windrow.engine.pipeline import Pipeline
from windrow.operators.group_by import GroupedAggregation
from windrow.operators.unbounded_group_by import UnboundedAggregation
from windrow.plan.program import compile_script

DECLARATION = "CREATE STREAM s (ts BIGINT, k STRING, v BIGINT, x DOUBLE, b BOOLEAN, n STRING);"
CONDITIONS = ("v < 2", "x IS NULL", "b OR n = 'q'", "v + 1 < 3", "TRUE")
AGGREGATES = (
    "COUNT(*)", "COUNT(x)", "COUNT(1)", "COUNT(NULL)", "MIN(v)", "MAX(x)", "MIN(b)", "SUM(v)",
    "AVG(x)", "STDDEV(v)", "MAX(TRY_CAST(v AS DECIMAL(9, 1)))", "MAX(CAST(x AS FLOAT))",
    "COUNT(DISTINCT n)", "COUNT(DISTINCT v)", "SUM(DISTINCT v)", "AVG(DISTINCT x)",
    "COUNT(DISTINCT 1)", "VAR(DISTINCT v)", "COUNT(DISTINCT v % 2)", "COUNT(DISTINCT 6 / v)",
)  # fmt: skip
COLUMNS: dict[str, tuple[pa.DataType, tuple[Any, ...]]] = {
    "k": (pa.string(), ("a", "b", None)),
    "v": (pa.int64(), (0, 1, 2, -3, 2**62, None)),
    "x": (pa.float64(), (0.0, -0.0, 1.5, float("nan"), float("-inf"), None)),
    "b": (pa.bool_(), (True, False, None)),
    "n": (pa.string(), ("p", "q", "", None)),
}


@st.composite
def items(draw: st.DrawFn) -> str:
    aggregate = draw(st.sampled_from(AGGREGATES))
    condition = draw(st.none() | st.sampled_from(CONDITIONS))
    return aggregate if condition is None else f"{aggregate} FILTER (WHERE {condition})"


def queries() -> st.SearchStrategy[str]:
    keys = st.sampled_from(["", "k", "k, b", "v % 2"])
    every = st.sampled_from(["", " EVERY 3 SECONDS"])
    wanted = st.lists(items(), min_size=1, max_size=6, unique=True)
    return st.builds(
        lambda key, items, end: f"SELECT {', '.join([*([key] if key else []), *items])} FROM s"
        f"{f' GROUP BY {key}' if key else ''}{end};",
        keys, wanted, every,
    )  # fmt: skip


def stream(seed: int, count: int) -> pa.RecordBatch:
    rng = np.random.default_rng(seed)
    arrays = [pa.array(np.sort(rng.integers(0, 12, count)))]
    for kind, values in COLUMNS.values():
        arrays.append(pa.array([values[i] for i in rng.integers(0, len(values), count)], kind))
    return pa.RecordBatch.from_arrays(arrays, ["ts", *COLUMNS])


def part(rows: pa.RecordBatch, after: int, upto: int) -> dict[str, Delta]:
    ts = rows.column("ts").to_numpy()
    mine = rows.filter(pa.array((ts > after) & (ts <= upto)))
    return {"s": Delta.insertions(mine.column("ts").to_numpy(), mine)}


@pytest.mark.usefixtures("sizes")
@settings(max_examples=80, deadline=None)
@given(
    query=queries(),
    seed=st.integers(0, 2**31),
    count=st.integers(0, 60),
    cuts=st.sets(st.integers(0, 14), max_size=5),
)
def test_it_answers_as_a_group_by_that_keeps_tuples(
    query: str, seed: int, count: int, cuts: set[int]
) -> None:
    plan, rows = compile_script(DECLARATION + query).queries[-1].plan, stream(seed, count)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("windrow.engine.build_group_by.needs_tuples", lambda _: True)
        usual = Pipeline(plan, changes=True)
    assert any(isinstance(o, GroupedAggregation) for o in usual.operators)
    quick, before = Pipeline(plan, changes=True), -1
    assert any(isinstance(o, UnboundedAggregation) for o in quick.operators)
    segments: dict[str, pa.RecordBatch] = {}
    for cut in [*sorted(cuts), 20]:
        inputs = part(rows, before, cut)
        found = quick.process(inputs, cut)
        assert changes(found) == changes(usual.process(inputs, cut))
        assert quick.take_overflows() == usual.take_overflows()
        saved = quick.save()
        for gone in saved.drop:
            segments.pop(gone, None)
        segments.update(saved.put)
        if cut % 2:
            quick = Pipeline(plan, changes=True)
            quick.load(segments, saved.meta)
        before = cut


def test_it_keeps_groups_and_values_that_a_filter_wants_and_no_tuples() -> None:
    query = (
        "SELECT b, COUNT(DISTINCT v) FILTER (WHERE x > 0), MAX(v), SUM(DISTINCT v) FILTER "
        "(WHERE x > 0), COUNT(DISTINCT v) FILTER (WHERE x > 1) FROM s GROUP BY b;"
    )
    pipeline = Pipeline(compile_script(DECLARATION + query).queries[-1].plan)
    rows, before = stream(7, 3_000), -1
    for cut in (4, 20):
        pipeline.process(part(rows, before, cut), cut)
        before = cut
    (group_by,) = (o for o in pipeline.operators if isinstance(o, UnboundedAggregation))
    columns = [rows.column(name).to_pylist() for name in ("b", "v", "x")]
    wanted = {
        (b, v)
        for b, v, x in zip(*columns, strict=True)
        if v is not None and x is not None and x > 0
    }
    (family,) = group_by.families
    assert len(family.seen) == len(wanted)
    assert group_by.size() == len(group_by.groups) + len(wanted)
