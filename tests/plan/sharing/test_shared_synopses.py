"""Periodic aggregates that share synopses answer as each would alone."""

from __future__ import annotations

import json
import math
import re
from decimal import Decimal
from itertools import pairwise
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import windrow
from windrow.columns.delta import Delta
from windrow.columns.types import arrow_schema
from windrow.engine.pipeline import Pipeline
from windrow.operators.shared_group_by import SharedAggregation
from windrow.plan.nodes import StreamScan, walk
from windrow.plan.program import compile_script
from windrow.plan.sharing import saved_group
from windrow.plan.sharing.shared_synopses import MOST_PREDICATES, shared_synopses
from windrow.sharing.rules import SynopsisKind

STREAM = """CREATE STREAM s (
    ts BIGINT, k INT, w STRING, n BIGINT, x DOUBLE, d DECIMAL(30, 2), e DECIMAL(9, 2), b BOOLEAN
);"""
AGGREGATES = [
    "COUNT(*)",
    "COUNT(n)",
    "SUM(n)",
    "AVG(n)",
    "MIN(n)",
    "MAX(n)",
    "SUM(x)",
    "AVG(x)",
    "MAX(x)",
    "MIN(x)",
    "SUM(n + k)",
    "MAX(k)",
    "MEDIAN(n)",
    "QUANTILE(n, 0.9)",
    "MEDIAN(x)",
    "COUNT(DISTINCT n)",
    "COUNT(DISTINCT w)",
    "APPROXIMATE COUNT(DISTINCT n)",
    "APPROXIMATE COUNT(DISTINCT w)",
    "SUM(d)",
    "AVG(d)",
    "MAX(d)",
    "MIN(e)",
    "AVG(e)",
    "COUNT(DISTINCT d)",
    "MEDIAN(d)",
    "LAST(n)",
    "FIRST(x)",
    "MAX_BY(n, w)",
    "MIN_BY(d, x)",
    "MIN(n) FILTER (WHERE w <> 'a')",
    "VAR(n)",
    "STDDEV(n)",
    "VAR(x)",
    "STDDEV(x)",
    "VAR(k)",
    "VAR(d)",
]
TEXTS = [
    "MIN(w)",
    "MAX(w)",
    "MIN(DISTINCT w)",
    "FIRST(w)",
    "LAST(w)",
    "MIN_BY(w, n)",
    "MAX_BY(w, x)",
    "MAX(w || w)",
    "MAX(w) FILTER (WHERE n > 0)",
    "MAX_BY(w, b)",
]
OTHERS = ["MIN(b)", "MAX(b)", "FIRST(b)"]  # fmt: skip
PREDICATES = [
    "", "w = 'a'", "w = 'b'", "w = 'a' OR w = 'b'", "n > 1", "n <= 1", "n > 1 AND w = 'a'",
    "w = 'a' OR n > 1", "w <> 'a'", "k = 1 OR w LIKE 'b%'",
]  # fmt: skip
FINISHES = [
    "SELECT k, {0} AS a, {1} AS b FROM {2} GROUP BY k",
    "SELECT {0} AS a FROM {2} GROUP BY k",
    "SELECT {1} AS b, k + 1 AS j, {0} AS a FROM {2} GROUP BY k HAVING {0} > {3}",
    "SELECT k, {0} AS a FROM {2} GROUP BY k HAVING COUNT(*) > 1",
    "SELECT TOP 2 {0} AS a, k FROM {2} GROUP BY k ORDER BY a DESC",
    "SELECT k, {0} AS a FROM {2} GROUP BY k HAVING {0} IS NOT NULL ORDER BY {1} LIMIT 1",
]
MEMBERS = st.builds(
    lambda finish, one, other, window, slide, predicate: FINISHES[finish].format(
        one,
        other,
        f"s [RANGE {window} SECONDS SLIDE {slide} SECONDS]"
        + (f" WHERE {predicate}" if predicate else ""),
        "'a'" if one in TEXTS else "FALSE" if one in OTHERS else "1",
    ),
    st.integers(0, len(FINISHES) - 1),
    st.sampled_from([*AGGREGATES, *TEXTS, *OTHERS]),
    st.sampled_from([*AGGREGATES, *TEXTS, *OTHERS]),
    st.integers(1, 9),
    st.integers(1, 4),
    st.sampled_from(PREDICATES),
)
ROWS = st.lists(
    st.fixed_dictionaries({
        "ts": st.integers(0, 4),
        "k": st.sampled_from([None, 0, 1, 2]),
        "w": st.sampled_from([None, "a", "b", "c", "", "a\0", "a long text", "a long text, é"]),
        "n": st.sampled_from([None, -3, 0, 1, 2, 5, (1 << 63) - 1]),
        "x": st.sampled_from([None, 0.5, -0.1, 1e300, -1e300, 3e-9, math.nan, math.inf]),
        "d": st.sampled_from([None, Decimal("-1.50"), Decimal(0), Decimal("9" * 28), Decimal(7)]),
        "e": st.sampled_from([None, Decimal("-1.50"), Decimal(7)]),
        "b": st.sampled_from([None, True, False]),
    }),
    max_size=16,
)  # fmt: skip


@pytest.fixture
def sizes_but_one_group(sizes: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Thresholds as usual and at their least, but no queries are left to an index."""
    monkeypatch.setattr(MOST_PREDICATES, "value", MOST_PREDICATES.usual)


def in_time(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Each row's ``ts`` becomes the distance from the one before."""
    now, out = 0, []
    for row in rows:
        now += row["ts"]
        out.append({**row, "ts": now})
    return out


def run(script: str, parts: list[list[dict[str, Any]]], end: int = 90) -> list[Any]:
    db = windrow.connect()
    queries = db.execute(STREAM + script)
    for part in parts:
        db.push("s", part)
    db.advance(to=end)
    return queries


def bag(table: pa.Table) -> list[str]:
    return sorted(map(repr, table.to_pylist()))


def script_of(texts: list[str]) -> str:
    return "".join(f"CREATE QUERY q{i} AS {text};" for i, text in enumerate(texts))


@pytest.mark.usefixtures("sizes_but_one_group")
@settings(max_examples=20)
@given(
    texts=st.lists(MEMBERS, min_size=2, max_size=5),
    rows=ROWS.map(in_time),
    cuts=st.sets(st.integers(0, 15)),
)
def test_each_query_has_the_changes_that_it_has_alone(texts, rows, cuts):
    ends = sorted({*(c for c in cuts if c < len(rows)), 0, len(rows)})
    shared = run(script_of(texts), [rows[start:end] for start, end in pairwise(ends)])
    assert len({id(query._run) for query in shared}) == 1
    for query, text in zip(shared, texts, strict=True):
        (alone,) = run(f"{text};", [rows])
        assert not alone._run.job.is_shared
        assert query.changes().schema.equals(alone.changes().schema)
        assert bag(query.changes()) == bag(alone.changes()), text
        assert bag(query.answer()) == bag(alone.answer())
        assert (query.rows_in, query.rows_out) == (alone.rows_in, alone.rows_out)


def pipeline_of(texts: list[str]) -> Pipeline:
    (group,) = shared_synopses(compile_script(STREAM + script_of(texts)).queries)
    return Pipeline(group.root, changes=True)


def delta_of(rows: list[dict[str, Any]], plan: Any) -> Delta:
    (scan,) = (node for node in walk(plan) if isinstance(node, StreamScan))
    schema = arrow_schema(scan.schema)
    batch = pa.RecordBatch.from_pylist(rows, schema=schema)
    return Delta.insertions(batch.column(0).to_numpy(), batch)


@pytest.mark.usefixtures("sizes_but_one_group")
@settings(max_examples=12)
@given(
    texts=st.lists(MEMBERS, min_size=2, max_size=5),
    rows=ROWS.map(in_time),
    saves=st.sets(st.integers(0, 60), max_size=4),
)
def test_a_pipeline_that_is_saved_and_loaded_goes_on_as_if_it_were_not(texts, rows, saves):
    whole, now, segments = pipeline_of(texts), pipeline_of(texts), {}
    found: list[list[str]] = [[], []]
    before = -1
    for instant in sorted({*saves, 20, 80}):
        part = [row for row in rows if before < row["ts"] <= instant]
        before = instant
        for number, pipeline in enumerate((whole, now)):
            delta = pipeline.process({"s": delta_of(part, pipeline.plan)}, instant)
            found[number] += sorted(map(repr, delta.to_batch().to_pylist()))
        saved = now.save()
        segments = {n: b for n, b in {**segments, **saved.put}.items() if n not in saved.drop}
        now = pipeline_of(texts)
        now.load(segments, saved.meta)
    assert found[0] == found[1]
    assert _cells(whole) == _cells(now)


def _cells(pipeline: Pipeline) -> list[int]:
    (operator,) = (o for o in pipeline.operators if isinstance(o, SharedAggregation))
    return [len(store) for store in operator.stores]


def test_the_synopses_that_the_rules_chose_are_those_that_are_read():
    """Two values a probe for sums; of maxima about log b, or one scan for many windows."""
    windows = [8, 16, 24, 32]
    texts = [
        f"SELECT k, SUM(n) AS a, MAX(n) AS b FROM s [RANGE {t} SECONDS SLIDE 1 SECOND] GROUP BY k"
        for t in windows
    ]
    (group,) = shared_synopses(compile_script(STREAM + script_of(texts)).queries)
    kinds = {c.function: c.kind for store in group.plan.synopses for c in store.contents}
    assert kinds == {"SUM": SynopsisKind.RUNNING, "MAX": SynopsisKind.INTERVAL}
    (more,) = shared_synopses(compile_script(STREAM + script_of(texts * 3)).queries)
    assert {c.kind for c in more.plan.synopses[0].contents if c.function == "MAX"} == {
        SynopsisKind.BASIC
    }
    rows = [{"ts": t, "k": 1, "w": "a", "n": t % 7, "x": 0.0} for t in range(1, 61)]
    steps = []
    for chosen in (group, more):
        pipeline = Pipeline(chosen.plan)
        (operator,) = (o for o in pipeline.operators if isinstance(o, SharedAggregation))
        pipeline.process({"s": delta_of(rows[:40], chosen.plan)}, 40)
        (store,) = operator.stores
        before = [work.combined for work in store.work]
        pipeline.process({"s": delta_of(rows[40:], chosen.plan)}, 60)
        steps.append([work.combined - b for work, b in zip(store.work, before, strict=True)])
    executions = 20 * len(windows) * 2  # old and new
    assert steps[0][0] == steps[1][0] == 2 * executions
    assert steps[0][1] < executions * 2 * math.log2(32)
    assert steps[1][1] == 21 * max(windows)  # a scan passes shorter windows, and serves old and new


def test_a_scan_of_counters_serves_all_windows_and_aggregates_that_end_with_it():
    texts = [
        f"SELECT k, {a} AS a FROM s [RANGE {t} SECONDS SLIDE 1 SECOND] GROUP BY k"
        for t in (4, 8, 16)
        for a in ("MEDIAN(n)", "QUANTILE(n, 0.9)", "COUNT(DISTINCT n)")
    ]
    (group,) = shared_synopses(compile_script(STREAM + script_of(texts)).queries)
    ((content,),) = (store.contents for store in group.plan.synopses)
    assert (content.function, content.kind) == ("COUNTERS", SynopsisKind.BASIC)
    pipeline = Pipeline(group.plan)
    (operator,) = (o for o in pipeline.operators if isinstance(o, SharedAggregation))
    rows = [{"ts": t, "k": 1, "w": "a", "n": t % 7, "x": 0.0} for t in range(1, 61)]
    pipeline.process({"s": delta_of(rows[:40], group.plan)}, 40)
    (work,) = operator.stores[0].scans.values()
    before = work.combined
    pipeline.process({"s": delta_of(rows[40:], group.plan)}, 60)
    assert work.combined - before == 21 * 16  # old and new of 20 instants, the longest window each


def test_predicates_that_others_make_up_keep_nothing_of_their_own():
    texts = [
        f"SELECT k, SUM(n) AS a FROM s [RANGE 10 SECONDS SLIDE 5 SECONDS] WHERE {p} GROUP BY k"
        for p in ("w = 'a'", "w = 'b'", "w = 'a' OR w = 'b'")
    ]
    (group,) = shared_synopses(compile_script(STREAM + script_of(texts)).queries)
    assert len(group.plan.synopses) == 2
    third = group.plan.members[2]
    assert third is not None
    assert third.aggregates[0].added == (0, 1)


def test_explain_says_what_is_shared_with_whom_and_why():
    texts = [
        f"SELECT k, SUM(n) AS a FROM s [RANGE 10 SECONDS SLIDE 5 SECONDS] WHERE {p} GROUP BY k"
        for p in ("w = 'a'", "w = 'b'", "w = 'a' OR w = 'b'")
    ]
    alone = "SELECT k, STRING_AGG(w) AS a FROM s [RANGE 9 SECONDS SLIDE 3 SECONDS] GROUP BY k"
    text = windrow.connect().explain(STREAM + script_of([*texts, alone]))
    running = "running synopsis of sums of n by k"
    plans = [plan.splitlines()[1:5] for plan in text.split("\n\n")]
    assert plans[0] == [
        "it is one job with 2 other queries, over shared synopses:",
        f"  synopsis 1: {running} over s where w = 'a' (s = 5 SECONDS, b = 2); shared with q2",
        "  sums of n from synopsis 1; complete at once (SS1)",
        "  when they are due together it runs with q2 (CS6)",
    ]
    assert "sums of n from synopsis 1 + synopsis 2; complete at once (SS1, SS4)" in text
    assert plans[3][0] == "it shares no synopsis: STRING_AGG needs all values"


def test_explain_says_that_quantiles_and_distinct_values_share_counters():
    texts = [
        f"SELECT k, {a} AS a FROM s [RANGE {t} SECONDS SLIDE 3 SECONDS] GROUP BY k"
        for a, t in (("MEDIAN(n)", 9), ("COUNT(DISTINCT n)", 6))
    ]
    text = windrow.connect().explain(STREAM + script_of(texts))
    counters = "basic interval synopsis of counters of n by k over s (s = 3 SECONDS, b = 3)"
    assert text.splitlines()[2:5] == [
        f"  synopsis 1: {counters}; shared with q1",
        "  counters of n from synopsis 1; complete at once (SS1)",
        "  when they are due together it runs with q1 (CS2)",
    ]


LEFT_ALONE = {
    "lists of texts": "SELECT k, STRING_AGG(w) AS a FROM s [RANGE 9 SECONDS SLIDE 3 SECONDS] "
    "GROUP BY k",
    "a stream": "ISTREAM(SELECT k, SUM(n) AS a FROM s [RANGE 9 SECONDS SLIDE 3 SECONDS] "
    "GROUP BY k)",
    "no period": "SELECT k, SUM(n) AS a FROM s [RANGE 9 SECONDS] GROUP BY k",
    "what can fail": "SELECT k, SUM(CAST(w AS INT)) AS a "
    "FROM s [RANGE 9 SECONDS SLIDE 3 SECONDS] GROUP BY k",
}


@pytest.mark.parametrize("name", LEFT_ALONE)
def test_what_cannot_be_a_member_runs_alone(name):
    script = f"CREATE QUERY a AS {LEFT_ALONE[name]}; CREATE QUERY b AS {LEFT_ALONE[name]};"
    assert shared_synopses(compile_script(STREAM + script).queries) == ()


@pytest.mark.usefixtures("sizes_but_one_group")
@settings(max_examples=12)
@given(
    texts=st.lists(MEMBERS, min_size=2, max_size=3),
    late=st.lists(MEMBERS, min_size=1, max_size=3),
    rows=ROWS.map(in_time),
    when=st.integers(0, 15),
)
def test_a_query_that_comes_later_has_complete_answers_from_when_it_says(texts, late, rows, when):
    db = windrow.connect()
    db.execute(STREAM + script_of(texts))
    db.push("s", rows[:when])
    began = rows[:when][-1]["ts"] if rows[:when] else -1
    db.advance(to=began + 1)
    names = [f"late{i}" for i in range(len(late))]
    script = "".join(f"CREATE QUERY {n} AS {t};" for n, t in zip(names, late, strict=True))
    queries = db.execute(script)
    joined = bool(rows[:when])
    ranked = [any(re.search("TOP|LIMIT", text) for text in group) for group in (texts, late)]
    if joined and (ranked[0] or not ranked[1]):
        assert len({id(query._run) for query in db.queries.values()}) == 1
    rest = [row for row in rows[when:] if row["ts"] > began + 1]
    for row in rest:
        db.push("s", [row])
    for end in range(began + 2, 60, 7):
        if rest and end < rest[-1]["ts"]:
            continue
        db.advance(to=end)
        for query, text in zip(queries, late, strict=True):
            complete = query.complete_from
            if not joined or (complete is not None and end < complete):
                continue
            slide = int(text.split("SLIDE ")[1].split()[0])
            if end // slide * slide <= began + 1:
                continue  # it has not been due yet
            (whole,) = run(f"{text};", [[*rows[:when], *rest]], end)
            assert bag(query.answer()) == bag(whole.answer()), text
            net: dict[str, int] = {}
            for change in query.changes().to_pylist():
                sign = {"+": 1, "-": -1}[change.pop("change")]
                assert change.pop("instant") > began + 1
                net[repr(change)] = net.get(repr(change), 0) + sign
            held = sorted(row for row, n in net.items() for _ in range(n))
            assert held == bag(query.answer())


def test_a_group_is_what_it_was_when_it_comes_out_of_a_checkpoint():
    texts = [
        "SELECT k, SUM(n) AS a, MAX(x) AS b, QUANTILE(x, 0.9) AS c, LAST(w) AS d, MAX(d) AS e "
        f"FROM s [RANGE {t} SECONDS SLIDE 5 SECONDS] WHERE {p} GROUP BY k HAVING SUM(n) > 1.5"
        f" ORDER BY c DESC LIMIT {t}"
        for t, p in ((10, "w = 'a'"), (15, "w = 'b'"), (10, "w = 'a' OR w = 'b'"), (10, "n > 0.5"))
    ]
    (group,) = shared_synopses(compile_script(STREAM + script_of(texts)).queries)
    saved = json.loads(json.dumps(saved_group.to_json(group.plan, group.sharing, group.places)))
    back = saved_group.from_json(saved, group.plan.input)
    assert back == group.plan
    assert saved_group.sharing_of(saved, group.names) == group.sharing
    sharing = saved_group.sharing_of(saved, {"q2"})
    left = saved_group.without_others(back, [2], sharing, group.places)
    assert [member is not None for member in left.members] == [False, False, True, False]
    read = {n for a in group.plan.members[2].aggregates for n in (*a.added, *a.subtracted)}
    assert [store.keep for store in left.synopses] == [
        15 if n in read else 0 for n in range(len(left.synopses))
    ]
    assert left.schema == group.plan.schema
    assert [member.query.name for member in sharing.members] == ["q2"]
    assert {n for synopsis in sharing.synopses for n in [group.places[synopsis.number]]} == read


OVER = "FROM s [RANGE 9 SECONDS SLIDE 3 SECONDS]"
WHY_ALONE = {
    f"SELECT k, STRING_AGG(w) AS a {OVER} GROUP BY k": "STRING_AGG needs all values",
    f"SELECT k, SUM(DISTINCT n) AS a {OVER} GROUP BY k": "SUM(DISTINCT ...) needs the different "
    "values",
    "SELECT k, SUM(n) AS a FROM s [ROWS 9 SLIDE 3] GROUP BY k": "its window counts rows, and "
    "shared synopses are of sub-windows of time",
    "SELECT k, SUM(n) AS a FROM s [ROWS 9] GROUP BY k EVERY 3 SECONDS": "its window counts rows, "
    "and shared synopses are of sub-windows of time",
    f"SELECT FREQUENT 2 k, COUNT(*) AS a {OVER} GROUP BY k": "FREQUENT keeps lists of some groups, "
    "and its answer is about all of them",
    f"SELECT k {OVER} GROUP BY k": "it has groups and no aggregates",
    "SELECT s.k, SUM(s.n) AS a FROM s [RANGE 9 SECONDS SLIDE 3 SECONDS], s [NOW] AS o "
    "WHERE s.k = o.k GROUP BY s.k": "it is over a join, and no other query has the same "
    "one of another length",
    f"SELECT w, SUM(n) AS a {OVER} GROUP BY w": "no other query over s is by w",
    f"SELECT SUM(n) AS a {OVER}": "no other query over s is without keys",
    "SELECT k, SUM(n) AS a FROM r [RANGE 9 SECONDS SLIDE 3 SECONDS] GROUP BY k": "no other query "
    "over r can share synopses",
    f"ISTREAM(SELECT k, SUM(n) AS a {OVER} GROUP BY k)": "only HAVING, TOP and a choice of columns "
    "can be above its groups",
    f"SELECT k, SUM(CAST(w AS INT)) AS a {OVER} GROUP BY k": "a CAST or a Python function that "
    "fails would stop the others",
}


@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize("text", WHY_ALONE)
def test_explain_says_why_a_query_runs_alone_that_looks_as_if_it_could_share(text, grouped):
    others = [f"SELECT k, MAX(n) AS a {OVER} GROUP BY k"] * (2 if grouped else 1)
    script = STREAM + STREAM.replace("STREAM s", "STREAM r") + script_of([*others, text])
    said = windrow.connect().explain(script).split("\n\n")[-1].splitlines()[1]
    assert said == f"it shares no synopsis: {WHY_ALONE[text]}"


def test_explain_gives_no_reason_where_nobody_could_share():
    alone = f"SELECT k, STRING_AGG(w) AS a {OVER} GROUP BY k"
    for others in ([], ["SELECT k FROM s [RANGE 9 SECONDS]"]):
        assert "it shares" not in windrow.connect().explain(STREAM + script_of([*others, alone]))
