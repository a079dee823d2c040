"""APPROXIMATE aggregates that share sub-windows: each query has the bounds that it has alone."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest

import windrow
from tests.plan.sharing.test_shared_synopses import bag, delta_of, script_of
from windrow.engine.pipeline import Pipeline
from windrow.operators.shared_group_by import SharedAggregation
from windrow.plan.physical.sliding_state import kept_for_many
from windrow.plan.program import compile_script
from windrow.plan.sharing.shared_synopses import shared_synopses
from windrow.sharing.rules import SynopsisKind

STREAM = "CREATE STREAM s (ts BIGINT, k INT, w STRING, n BIGINT, x DOUBLE);"
FROM, DISTINCT = "FROM s [RANGE {} SLIDE {}]", "APPROXIMATE COUNT(DISTINCT n) AS d"
HAVING = "WHERE n < 2000 GROUP BY k HAVING m_low > -1"
TEXTS = [
    f"SELECT k, APPROXIMATE MEDIAN(x) AS m, COUNT(*) AS c {FROM.format(12, 3)} GROUP BY k",
    f"SELECT k, APPROXIMATE QUANTILE(x, 0.9) AS m, {DISTINCT} {FROM.format(6, 3)} GROUP BY k",
    f"SELECT k, APPROXIMATE MEDIAN(n) AS o, {DISTINCT} {FROM.format(9, 3)} GROUP BY k",
    f"SELECT k, APPROXIMATE QUANTILE(x, 0.01) AS m {FROM.format(12, 6)} GROUP BY k",
    f"SELECT k, APPROXIMATE MEDIAN(x) AS m, MEDIAN(x) AS e {FROM.format(9, 3)} {HAVING}",
    f"SELECT k, {DISTINCT} {FROM.format(10, 2)} WHERE n < 2000 GROUP BY k",
    f"SELECT k, {DISTINCT}, SUM(x) AS t {FROM.format(10, 2)} WHERE n >= 2000 GROUP BY k",
    f"SELECT k, {DISTINCT} {FROM.format(8, 4)} WHERE n < 2000 OR n >= 2000 GROUP BY k",
    f"SELECT TOP 1 k, APPROX_DISTINCT(w) AS d {FROM.format(15, 3)} GROUP BY k ORDER BY d DESC",
]
"""Some of one sub-window, some of others, and one whose predicate the two before it make up."""


def rows(instants: int, each: int) -> pa.Table:
    """Far more than 100 different values in a group and sub-window; NULLs too."""
    rng = np.random.default_rng(5)
    count = instants * each
    absent = rng.random(count) < 0.05
    return pa.table({
        "ts": np.repeat(np.arange(1, instants + 1), each),
        "k": pa.array(rng.integers(0, 3, count).astype(np.int32), mask=rng.random(count) < 0.1),
        "w": pa.array([str(v) for v in rng.integers(0, 900, count)], mask=absent),
        "n": pa.array(rng.integers(0, 4_000, count), mask=absent),
        "x": pa.array(rng.normal(size=count), mask=absent),
    })  # fmt: skip


def run(script: str, table: pa.Table, cuts: list[int], end: int) -> list[windrow.Handle]:
    db = windrow.connect()
    queries = db.execute(STREAM + script)
    for start, stop in pairwise(cuts):
        db.push("s", table.slice(start, stop - start))
    db.advance(to=end)
    return queries


@pytest.mark.parametrize("cut", [97, 800, 100_000])
def test_estimates_and_bounds_are_those_of_the_query_alone(cut):
    table = rows(24, 300)
    cuts = [*range(0, table.num_rows, cut), table.num_rows]
    shared = run(script_of(TEXTS), table, cuts, 50)
    assert len({id(query._run) for query in shared}) == 1
    for query, text in zip(shared, TEXTS, strict=True):
        (alone,) = run(f"{text};", table, [0, table.num_rows], 50)
        assert not alone._run.job.is_shared
        assert query.changes().schema.equals(alone.changes().schema)
        assert alone.changes().num_rows > 5
        assert bag(query.changes()) == bag(alone.changes()), text


def test_the_exact_answer_is_between_the_bounds_of_ranks_that_are_not_exact():
    table = rows(24, 300)
    text = (
        "SELECT k, MEDIAN(x) AS e, APPROXIMATE MEDIAN(x) AS m FROM s [RANGE {} SLIDE 4] GROUP BY k"
    )
    for query in run(
        script_of([text.format(t) for t in (8, 12, 20)]), table, [0, 4_000, 7_200], 24
    ):
        answer = query.answer().to_pylist()
        assert len(answer) == 4
        assert all(row["m_low"] <= row["e"] <= row["m_high"] for row in answer)
        assert any(row["m_low"] < row["m_high"] for row in answer)


def test_a_group_with_sketches_that_is_saved_and_loaded_goes_on_as_if_it_were_not():
    table = rows(30, 200)
    (group,) = shared_synopses(compile_script(STREAM + script_of(TEXTS)).queries)

    def make() -> Pipeline:
        return Pipeline(group.root, changes=True)

    whole, now, segments = make(), make(), {}
    found: list[list[str]] = [[], []]
    for start, stop in pairwise([0, 4, 5, 13, 20, 30, 60]):
        part = table.slice(start * 200, (stop - start) * 200).to_pylist()
        for number, pipeline in enumerate((whole, now)):
            delta = pipeline.process({"s": delta_of(part, pipeline.plan)}, stop)
            found[number] += sorted(map(repr, delta.to_batch().to_pylist()))
        saved = now.save()
        segments = {n: b for n, b in {**segments, **saved.put}.items() if n not in saved.drop}
        now = make()
        now.load(segments, saved.meta)
    assert found[0] == found[1]
    assert len(found[0]) > 100


def test_one_scan_of_sketches_serves_all_windows_and_the_rows_that_go_are_remembered():
    texts = [
        f"SELECT k, APPROXIMATE COUNT(DISTINCT n) AS d FROM s [RANGE {t} SLIDE 1] GROUP BY k"
        for t in (4, 8, 16)
    ]
    (group,) = shared_synopses(compile_script(STREAM + script_of(texts)).queries)
    ((content,),) = (store.contents for store in group.plan.synopses)
    assert (content.function, content.kind) == ("SKETCHES", SynopsisKind.BASIC)
    pipeline = Pipeline(group.plan)
    (operator,) = (o for o in pipeline.operators if isinstance(o, SharedAggregation))
    fed = [{"ts": t, "k": 1, "w": "a", "n": t % 7, "x": 0.0} for t in range(1, 61)]
    pipeline.process({"s": delta_of(fed[:40], group.plan)}, 40)
    (work,) = operator.stores[0].scans.values()
    before = work.combined
    for now in range(41, 61):
        pipeline.process({"s": delta_of(fed[now - 1 : now], group.plan)}, now)
    assert work.combined - before == 20 * 16  # the longest window of 20 instants


def test_ranks_are_shared_by_queries_of_one_slide_and_sketches_by_all():
    """What ranks are kept of a sub-window depends on where it ends; a sketch of distinct values
    does not."""
    texts = [
        f"SELECT k, APPROXIMATE {a} AS a FROM s [RANGE {t} SLIDE {s}] GROUP BY k"
        for a, t, s in (
            ("MEDIAN(x)", 12, 4), ("MEDIAN(x)", 20, 4), ("MEDIAN(x)", 12, 2),
            ("COUNT(DISTINCT n)", 12, 4), ("COUNT(DISTINCT n)", 12, 2),
        )
    ]  # fmt: skip
    (group,) = shared_synopses(compile_script(STREAM + script_of(texts)).queries)
    read = [
        {group.plan.synopses[n].s for a in member.aggregates for n in a.added}
        for member in group.plan.members
        if member is not None
    ]
    assert read == [{4}, {4}, {2}, {2}, {2}]
    kept = [(c.function, s.s) for s in group.plan.synopses for c in s.contents]
    assert sorted(kept) == [("RANKS", 2), ("RANKS", 4), ("SKETCHES", 2)]


def test_ranks_of_sub_windows_that_nobody_shares_are_left_alone():
    text = "SELECT k, APPROXIMATE MEDIAN(x) AS a FROM s [RANGE 10 SLIDE 4] GROUP BY k"
    assert shared_synopses(compile_script(STREAM + script_of([text, text])).queries) == ()
    shown = windrow.connect().explain(STREAM + script_of([*TEXTS[:2], text]))
    assert "it shares no synopsis: its ranks are of sub-windows that others do not have" in shown


def test_explain_says_which_sketches_are_shared_and_how_wrong_they_are():
    texts = [
        f"SELECT k, APPROXIMATE {a} AS a FROM s [RANGE {t} SLIDE 3] GROUP BY k"
        for a, t in (("MEDIAN(n)", 9), ("MEDIAN(n)", 6), ("COUNT(DISTINCT n)", 6))
    ]
    text = windrow.connect().explain(STREAM + script_of(texts))
    ranks = "basic interval synopsis of sketches of quantiles of n by k over s"
    assert f"synopsis 1: {ranks} (s = 3 SECONDS, b = 3); shared with q1" in text
    (group,) = shared_synopses(compile_script(STREAM + script_of(texts)).queries)
    assert [str(kept) for kept in kept_for_many(group.plan)] == [
        "4 sub-windows of summaries by predicate and group",
        "4 sub-windows of 100 ranks by predicate and group (wrong by at most 1 % of the ranks)",
        "4 sub-windows of CPC sketches by predicate and group (within 3 % in 95 of 100 cases)",
    ]
