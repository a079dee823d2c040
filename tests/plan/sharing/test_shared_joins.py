"""Aggregates over one join of windows of several lengths: one join, and the answers of each."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import windrow
from windrow.columns.delta import Delta
from windrow.columns.types import arrow_schema
from windrow.engine.pipeline import Pipeline
from windrow.operators.join import WindowJoin
from windrow.operators.join_group_by import JoinLengthsAggregation
from windrow.plan.nodes import StreamScan, walk
from windrow.plan.program import compile_script
from windrow.plan.sharing.shared_joins import shared_joins

STREAMS = """
    CREATE STREAM a (ts BIGINT, k INT, v BIGINT);
    CREATE STREAM b (ts BIGINT, k INT, w INT);
"""
SHAPES = [
    ("a.k AS k, COUNT(*) AS n, SUM(v + w) AS t, AVG(w) AS m", "a.k = b.k", "GROUP BY a.k"),
    ("COUNT(v) AS n, MIN(w) AS low, MAX(v) AS most", "a.k = b.k AND v < w", ""),
    (
        "a.k AS k, w, SUM(v) AS t", "a.k = b.k AND a.v > 1",
        "GROUP BY a.k, w HAVING COUNT(*) > 1",
    ),
    ("w, COUNT(*) AS n", "a.v >= b.w", "GROUP BY w"),
]  # fmt: skip
END = 100


def query(shape: tuple[str, str, str], length: int, s: int) -> str:
    what, where, groups = shape
    window = f"[RANGE {length} SLIDE {s}]"
    return f"SELECT {what} FROM a {window}, b {window} WHERE {where} {groups}"


@st.composite
def rows(draw: st.DrawFn, value: str) -> list[dict[str, Any]]:
    ts = sorted(draw(st.lists(st.integers(1, 70), max_size=25)))
    values = st.one_of(st.none(), st.integers(-3, 6))
    return [{"ts": t, "k": draw(st.integers(0, 2)), value: draw(values)} for t in ts]


def changes(texts: list[str], cuts: list[int], **of: list[dict[str, Any]]) -> list[Any]:
    """The changes of queries, with rows pushed in pieces up to the cuts."""
    with windrow.connect() as db:
        script = "".join(f"CREATE QUERY q{n} AS {text};" for n, text in enumerate(texts))
        handles = db.execute(STREAMS + script)
        for low, high in zip([0, *cuts], [*cuts, END], strict=True):
            for name, its in of.items():
                db.push(name, [row for row in its if low < row["ts"] <= high])
            db.advance(to=high)
        assert len(db._runs) == 1
        return [h.changes().to_pylist() for h in handles]


def answers(found: list[dict[str, Any]], instants: range) -> list[Counter[Any]]:
    held: Counter[Any] = Counter()
    by_instant: list[Counter[Any]] = []
    left = list(found)
    for instant in instants:
        while left and left[0]["instant"] <= instant:
            change = left.pop(0)
            values = tuple(v for n, v in change.items() if n not in ("instant", "change"))
            held[values] += 1 if change["change"] == "+" else -1
        by_instant.append(+held)
    return by_instant


def recompute(shape: tuple[str, str, str], length: int, instant: int, **of: Any) -> Counter[Any]:
    """The answer by its definition."""
    what, where, groups = shape
    db = duckdb.connect()
    for name, value in (("a", "v"), ("b", "w")):
        kinds = {
            "ts": pa.int64(),
            "k": pa.int32(),
            value: pa.int64() if value == "v" else pa.int32(),
        }
        table = pa.Table.from_pylist(of[name], pa.schema(list(kinds.items())))
        live = [instant - length < t.as_py() <= instant for t in table["ts"]]
        db.register(name, table.filter(pa.array(live, pa.bool_())))
    some = f"SELECT COUNT(*) FROM a, b WHERE {where}"
    if not groups and db.execute(some).fetchone() == (0,):
        return Counter()  # one group, absent while it is empty
    return Counter(db.execute(f"SELECT {what} FROM a, b WHERE {where} {groups}").fetchall())


@pytest.mark.usefixtures("sizes")
@settings(max_examples=30, deadline=None)
@given(
    a=rows("v"), b=rows("w"), shape=st.sampled_from(SHAPES), s=st.sampled_from([1, 5, 10]),
    lengths=st.lists(st.integers(1, 6), min_size=2, max_size=4),
    cuts=st.lists(st.integers(1, END - 1), max_size=4, unique=True).map(sorted),
)  # fmt: skip
def test_every_length_has_the_answer_of_its_own_join_however_the_input_is_cut(
    a, b, shape, s, lengths, cuts
):
    texts = [query(shape, n * s, s) for n in lengths]
    together = changes(texts, cuts, a=a, b=b)
    instants = range(0, END, s)
    for n, text, found in zip(lengths, texts, together, strict=True):
        (alone,) = changes([text], [], a=a, b=b)
        assert sorted(map(str, found)) == sorted(map(str, alone)), text
        if s > 1:
            expected = [recompute(shape, n * s, instant, a=a, b=b) for instant in instants]
            assert answers(found, instants) == expected, text


def plan_and_rows(lengths: list[int]) -> tuple[Any, dict[str, Delta]]:
    script = "".join(f"CREATE QUERY q{n} AS {query(SHAPES[0], n, 10)};" for n in lengths)
    (join,) = shared_joins(compile_script(STREAMS + script).queries)
    leaves = {n.name: n for n in walk(join.plan) if isinstance(n, StreamScan)}
    given_rows = {}
    for name, value in (("a", "v"), ("b", "w")):
        its = [
            {"ts": i // 2, "k": i % 3 + i // 40, value: i * i % 9 or None} for i in range(2, 190)
        ]
        batch = pa.RecordBatch.from_pylist(its, arrow_schema(leaves[name].schema))
        given_rows[name] = Delta.insertions(batch.column(0).to_numpy(), batch)
    return join, given_rows


@pytest.mark.usefixtures("sizes")
def test_a_stop_at_any_instant_changes_nothing():
    join, its = plan_and_rows([20, 40, 80])
    whole, held, stored, told = Pipeline(join.plan), Pipeline(join.plan), {}, []
    for now in range(9, 200, 13):
        parts = {name: delta.split(now)[0].split(now - 13)[1] for name, delta in its.items()}
        told.append(whole.process(parts, now))
        again = held.process(parts, now)
        assert again.to_batch() == told[-1].to_batch()
        saved = held.save()
        stored = {n: b for n, b in {**stored, **saved.put}.items() if n not in saved.drop}
        held = Pipeline(join.plan)
        held.load(stored, json.loads(json.dumps(saved.meta)))
    assert sum(map(len, told)) > 100


def test_one_join_is_done_and_what_is_kept_of_it_is_bounded_by_sub_windows_and_groups():
    join, its = plan_and_rows([20, 40, 80])
    pipeline = Pipeline(join.plan)
    assert sum(isinstance(o, WindowJoin) for o in pipeline.operators) == 1
    (shared,) = (o for o in pipeline.operators if isinstance(o, JoinLengthsAggregation))
    pipeline.process(its, 95)
    sizes = [synopsis.size() for synopsis in shared._synopses.values()]
    assert sizes == [8, 8, 8], "eight sub-windows for each of COUNT(*), SUM(v + w) and SUM(w)"
    pipeline.process({}, 300)
    assert len(shared._told[2].codes) == 0


def test_a_query_that_goes_leaves_the_others_what_they_had():
    texts = [query(SHAPES[0], n, 10) for n in (20, 40, 60)]
    rows_of = {
        "a": [{"ts": t, "k": t % 3, "v": t % 7} for t in range(1, 90)],
        "b": [{"ts": t, "k": t % 4, "w": t % 5} for t in range(1, 90)],
    }
    whole = changes(texts, [], **rows_of)
    for gone in range(3):
        with windrow.connect() as db:
            script = "".join(f"CREATE QUERY q{n} AS {text};" for n, text in enumerate(texts))
            handles = db.execute(STREAMS + script)
            for name, its in rows_of.items():
                db.push(name, [row for row in its if row["ts"] <= 45])
            db.advance(to=45)
            db.execute(f"DROP QUERY q{gone}")
            for name, its in rows_of.items():
                db.push(name, [row for row in its if row["ts"] > 45])
            db.advance(to=END)
            for number, handle in enumerate(handles):
                if number != gone:
                    assert handle.changes().to_pylist() == whole[number]


def test_windows_of_wall_clock_times_are_shared_too():
    stream = "CREATE STREAM {} (at TIMESTAMP, k INT);"
    text = (
        "CREATE QUERY q{0} AS SELECT a.k, COUNT(*) AS n FROM a [RANGE {0} SECONDS SLIDE 10 SECONDS]"
    )
    text += ", b [RANGE {0} SECONDS SLIDE 10 SECONDS] WHERE a.k = b.k GROUP BY a.k;"
    times = {"at": [f"2026-03-01 09:00:{t:02d}" for t in range(0, 60, 3)], "k": [0, 1] * 10}
    found = []
    for lengths in ((20, 40), (20,), (40,)):
        with windrow.connect() as db:
            script = stream.format("a") + stream.format("b")
            handles = db.execute(script + "".join(map(text.format, lengths)))
            db.push("a", times)
            db.push("b", times)
            db.advance(to="2026-03-01 09:03:00")
            found.append([h.changes().to_pylist() for h in handles])
    assert found[0] == [*found[1], *found[2]]
    assert len(found[0][0]) > 10


def test_explain_says_which_join_is_shared_and_by_which_rules():
    with windrow.connect() as db:
        db.execute(STREAMS + "".join(
            f"CREATE QUERY q{n} AS {query(SHAPES[0], n, 10)};" for n in (20, 40)
        ))  # fmt: skip
        lines = db.explain("q20").splitlines()
    assert lines[1:4] == [
        "it is one job with 1 other query, over one join:",
        "  results by expiry, basic-interval-join synopsis (s = 10 SECONDS, b = 4) (SS3)",
        "  windows of all lengths in one scan (CS5)",
    ]


@pytest.mark.parametrize(
    "other",
    [
        query(SHAPES[0], 40, 5),
        query(SHAPES[1], 40, 10),
        query(SHAPES[0], 40, 10).replace("b [RANGE 40", "b [RANGE 30"),
        query(SHAPES[0], 45, 10),
        query(SHAPES[0], 40, 10).replace("SUM(v + w)", "SUM(CAST(v AS INT) + w)"),
        query(SHAPES[0], 40, 10).replace("SUM(v + w)", "MEDIAN(v)"),
    ],
)
def test_what_differs_in_more_than_the_length_of_both_windows_runs_alone(other):
    script = f"CREATE QUERY q AS {query(SHAPES[0], 20, 10)}; CREATE QUERY r AS {other};"
    assert shared_joins(compile_script(STREAMS + script).queries) == ()
