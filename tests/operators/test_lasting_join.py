"""Results that outlive their internal tuples, and what is remembered to withdraw them."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import windrow
from tests.operators.samples import plan_of, random_input, run
from windrow.columns.delta import Delta
from windrow.engine.pipeline import Pipeline
from windrow.operators import lasting_join
from windrow.operators.lasting_join import LastingPairs
from windrow.plan.program import compile_script

STREAMS = "CREATE STREAM s (ts BIGINT, k INT); CREATE STREAM r (ts BIGINT, k INT, b INT);"


@pytest.mark.parametrize(
    "name", ["join_lasting_strict", "join_lasting_relation", "join_lasting_theta"]
)
def test_going_through_the_past_often_changes_nothing(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    inputs, plan, cuts = random_input(12), plan_of(name), [*range(0, 400, 7), 400]
    usual = run(Pipeline(plan, changes=True), inputs, cuts)
    monkeypatch.setattr(lasting_join.CROWDED, "value", 1)
    assert run(Pipeline(plan, changes=True), inputs, cuts) == usual != []


def test_the_past_holds_what_is_in_a_result_and_no_more() -> None:
    """One left tuple stays for ever; of the right ones only those of its key are in results."""
    query = "SELECT s.k, b FROM s [PARTITION BY k ROWS 1], r [RANGE 2 INTERNAL] WHERE s.k = r.k;"
    pipeline = Pipeline(compile_script(STREAMS + query).queries[0].plan, changes=True)
    first = pa.RecordBatch.from_pydict({"ts": [0], "k": pa.array([1], pa.int32())})
    s = Delta.insertions(np.array([0]), first)
    for now in range(100, 20_000, 100):
        ts = np.arange(now - 99, now + 1)
        rows = {"ts": ts, "k": (ts % 50).astype(np.int32), "b": ts.astype(np.int32)}
        batch = pa.RecordBatch.from_arrays([pa.array(c) for c in rows.values()], list(rows))
        if now > 100:
            s = s.take(np.empty(0, np.int64))
        pipeline.process({"s": s, "r": Delta.insertions(ts, batch)}, now)
    (join,) = (o for o in pipeline.operators if isinstance(o, LastingPairs))
    assert pipeline.live_rows().num_rows == 398
    assert len(join.past.buffer) == 398


def changes(
    query: str, steps: list[tuple[str, dict[str, list[object]]]]
) -> list[tuple[object, ...]]:
    with windrow.connect() as db:
        db.execute(STREAMS + "CREATE RELATION rel (k INT, w INT);")
        (found,) = db.execute(query)
        for name, rows in steps:
            db.push(name, rows)
        db.advance(to=40)
        return [tuple(row.values()) for row in found.changes().to_pylist()]


@pytest.mark.usefixtures("sizes")
def test_a_result_ends_with_its_external_tuples_and_not_with_the_internal_one() -> None:
    # s   1 in [2, 12)      r   b=7 in [4, 6)
    query = "SELECT b FROM s [RANGE 10], r [RANGE 2 INTERNAL] WHERE s.k = r.k;"
    steps = [("s", {"ts": [2, 30], "k": [1, 9]}), ("r", {"ts": [4, 30], "k": [1, 8], "b": [7, 7]})]
    assert changes(query, steps) == [(4, "+", 7), (12, "-", 7)]


@pytest.mark.usefixtures("sizes")
def test_a_row_that_leaves_a_relation_takes_results_of_tuples_long_gone_with_it() -> None:
    # rel 5 in [0, 9)       s   1 in [2, 12)      r   b=7 in [4, 6)
    query = (
        "SELECT w, b FROM s [RANGE 10], rel, r [RANGE 2 INTERNAL] WHERE s.k = r.k AND rel.k = s.k;"
    )
    steps = [
        ("s", {"ts": [2, 30], "k": [1, 9]}),
        ("r", {"ts": [4, 30], "k": [1, 8], "b": [7, 7]}),
        ("rel", {"instant": [0, 9], "change": ["+", "-"], "k": [1, 1], "w": [5, 5]}),
    ]
    assert changes(query, steps) == [(4, "+", 5, 7), (9, "-", 5, 7)]


@pytest.mark.usefixtures("sizes")
def test_of_equal_rows_of_a_relation_the_one_that_came_first_leaves_first() -> None:
    # The row of 0 meets r at 4; its twin of 7 does not. At 9 one of them leaves.
    query = (
        "SELECT w, b FROM s [RANGE 20], rel, r [RANGE 2 INTERNAL] WHERE s.k = r.k AND rel.k = s.k;"
    )
    steps = [
        ("s", {"ts": [2, 30], "k": [1, 9]}),
        ("r", {"ts": [4, 10, 30], "k": [1, 1, 8], "b": [7, 8, 7]}),
        (
            "rel",
            {"instant": [0, 7, 9], "change": ["+", "+", "-"], "k": [1, 1, 1], "w": [5, 5, 5]},
        ),
    ]
    assert changes(query, steps) == [
        (4, "+", 5, 7), (9, "-", 5, 7), (10, "+", 5, 8), (22, "-", 5, 8),
    ]  # fmt: skip


@pytest.mark.usefixtures("sizes")
@pytest.mark.parametrize("pauses", [(), (25,), (13, 19, 20, 27)], ids=str)
def test_an_internal_tuple_that_was_pushed_out_is_in_a_result_once(pauses: tuple[int, ...]) -> None:
    # r   3 from 9 on; 1 in [13, 20), then another 1
    # s   1 in [17, 29), 1 from 18 on: the first of them takes its two results with it.
    query = (
        "SELECT COUNT(*) AS n FROM s [ROWS 2] AS x, r [PARTITION BY k ROWS 1 INTERNAL] AS y "
        "WHERE x.k = y.k;"
    )
    with windrow.connect() as db:
        db.execute(STREAMS)
        (found,) = db.execute(query)
        rows = [("r", 9, 3), ("r", 13, 1), ("s", 17, 1), ("s", 18, 1), ("r", 20, 1), ("s", 29, 2)]
        for name, ts, k in rows:
            for pause in [p for p in pauses if p < ts]:
                db.advance(to=pause)
            db.push(name, {"ts": [ts], "k": [k], **({"b": [0]} if name == "r" else {})})
        db.advance(to=40)
        changes = [tuple(row.values()) for row in found.changes().to_pylist()]
    assert changes == [
        (17, "+", 1), (18, "-", 1), (18, "+", 2), (20, "-", 2), (20, "+", 4), (29, "-", 4),
        (29, "+", 2),
    ]  # fmt: skip
