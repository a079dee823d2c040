"""The first rows of groups of a stream, and what is said of them, against recomputation."""

from __future__ import annotations

from collections import Counter
from functools import cmp_to_key
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.thresholds import reached
from windrow.columns.delta import Delta
from windrow.columns.types import arrow_schema
from windrow.engine.pipeline import Pipeline
from windrow.operators.top_k_growing import FirstOfGrowingGroups
from windrow.plan.program import compile_script

pytestmark = pytest.mark.usefixtures("sizes")

DECLARATION = "CREATE STREAM s (ts BIGINT, g STRING, i BIGINT, x DOUBLE, n STRING);"
LARGEST, LEAST, NAN = 2**63 - 1, -(2**63), float("nan")
rows_of_stream = st.lists(
    st.tuples(
        st.integers(0, 6),
        st.sampled_from(["a", "b", None]),
        st.sampled_from([LEAST, 0, 1, LARGEST, None]),
        st.sampled_from([0.0, 1.5, NAN, None]),
        st.sampled_from(["", "like this", "like this one", "like that", None]),
    ),
    max_size=25,
)
keys = st.lists(
    st.tuples(st.sampled_from(["i", "x", "n"]), st.booleans()),
    min_size=1, max_size=3, unique_by=lambda key: key[0],
)  # fmt: skip
PLACES = {"i": 2, "x": 3, "n": 4}
Row = tuple[Any, ...]


def ordered(one: Any, other: Any, down: bool) -> int:
    """The order of two values: NULL is last either way, NaN above all numbers."""
    if one is None or other is None:
        return (one is None) - (other is None)
    if isinstance(one, float):
        one, other = (one != one, one if one == one else 0), (other != other, other)
    return ((one > other) - (one < other)) * (-1 if down else 1)


def first_of(rows: list[Row], by: list[tuple[str, bool]], count: int) -> Counter[str]:
    """The relation by definition: rows that tie on the keys are told apart by all columns."""
    columns = [*((PLACES[name], down) for name, down in by), *((i, False) for i in range(5))]

    def compare(one: Row, other: Row) -> int:
        orders = (ordered(one[i], other[i], down) for i, down in columns)
        return next((order for order in orders if order), 0)

    found: Counter[str] = Counter()
    for group in ("a", "b", None):
        mine = sorted((row for row in rows if row[1] == group), key=cmp_to_key(compare))
        found.update(map(str, mine[:count]))
    return found


def pipeline_of(by: list[tuple[str, bool]], count: int) -> Pipeline:
    order = ", ".join(name + (" DESC" if down else "") for name, down in by)
    query = (
        f"SELECT * FROM s QUALIFY ROW_NUMBER() OVER (PARTITION BY g ORDER BY {order}) <= {count};"
    )
    return Pipeline(compile_script(DECLARATION + query).queries[0].plan, changes=True)


def arrivals(rows: list[Row], pipeline: Pipeline) -> dict[str, Delta]:
    schema = arrow_schema(pipeline.plan.schema)
    columns = list(zip(*rows, strict=True)) or [()] * 5
    arrays = [pa.array(c, f.type) for c, f in zip(columns, schema, strict=True)]
    ts = np.array(columns[0], np.int64)
    return {"s": Delta.insertions(ts, pa.RecordBatch.from_arrays(arrays, schema=schema))}


@given(
    rows=rows_of_stream, by=keys, count=st.integers(1, 3),
    cuts=st.sets(st.integers(0, 6)), saves=st.booleans(),
)  # fmt: skip
def test_at_every_instant_they_are_the_first_and_changes_are_net(
    rows: list[Row], by: list[tuple[str, bool]], count: int, cuts: set[int], saves: bool
) -> None:
    rows = sorted(rows, key=lambda row: row[0])
    pipeline = pipeline_of(by, count)
    said: list[tuple[int, int, str]] = []
    segments: dict[str, pa.RecordBatch] = {}
    before = -1
    for now in sorted(cuts | {6}):
        part = [row for row in rows if before < row[0] <= now]
        answer = pipeline.process(arrivals(part, pipeline), now)
        shown = [str(tuple(row.values())) for row in answer.rows.to_pylist()]
        said += zip(answer.ts.tolist(), answer.sign.tolist(), shown, strict=True)
        expected = first_of([row for row in rows if row[0] <= now], by, count)
        live = [str(tuple(row.values())) for row in pipeline.live_rows().to_pylist()]
        assert Counter(live) == expected
        assert pipeline.size() == expected.total()
        before = now
        saved = pipeline.save()
        for gone in saved.drop:
            segments.pop(gone, None)
        segments.update(saved.put)
        if saves:
            pipeline = pipeline_of(by, count)
            pipeline.load(segments, saved.meta)
    assert [(t, s) for t, s, _ in said] == sorted((t, s) for t, s, _ in said)
    held: Counter[str] = Counter()
    for now in range(7):
        after = first_of([row for row in rows if row[0] <= now], by, count)
        came = Counter(row for t, sign, row in said if t == now and sign > 0)
        went = Counter(row for t, sign, row in said if t == now and sign < 0)
        assert (came, went) == (after - held, held - after)
        held = after


def test_an_interval_is_ranked_only_if_keys_do_not_decide() -> None:
    for values, times in ((np.arange(900), 0), (np.arange(900) // 30, 1)):
        pipeline = pipeline_of([("i", True)], 3)
        mixed = np.random.default_rng(4).permutation(values).tolist()
        rows = [(t, "ab"[t % 2], v, 0.5, str(t)) for t, v in enumerate(mixed)]
        with reached((FirstOfGrowingGroups, "_rank")) as calls:
            for start in range(0, 900, 300):
                part = arrivals(rows[start : start + 300], pipeline)
                pipeline.process(part, start + 299)
        assert calls["FirstOfGrowingGroups._rank"] <= 3 * times
        assert bool(calls) == bool(times)
