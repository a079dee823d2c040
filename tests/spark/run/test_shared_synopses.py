"""Periodic aggregates that share synopses on Spark: one job, each query's own results."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import windrow
from tests.faults.points import POINTS, fail_at
from tests.spark.run.test_fault_points import broken
from tests.spark.run.test_shared import bag, same_reports, script, started  # noqa: F401
from tests.spark.scripts import (
    net_changes,
    run_embedded,
    run_on_spark,
    run_two_files,
    write_streams,
)
from windrow.core.errors import InputError, StateError, WindrowError
from windrow.engine.progress import Report
from windrow.plan.catalog import Catalog
from windrow.spark.checkpoint.checkpoint_query import query_checkpoint
from windrow.spark.checkpoint.query_groups import PREFIX, SEATS, SYNOPSES

pytestmark = pytest.mark.spark

SHAPES = [
    "SELECT k, SUM(v) AS t FROM a [RANGE 40 SLIDE 20] WHERE v < 10 GROUP BY k",
    "SELECT AVG(v) AS m, k FROM a [RANGE 60 SLIDE 10] WHERE v >= 10 GROUP BY k HAVING COUNT(*) > 2",
    "SELECT k, SUM(v) AS t, LAST(v) AS last, STDDEV(v) AS d FROM a [RANGE 40 SLIDE 20] GROUP BY k",
    "SELECT k, COUNT(*) AS n FROM a [RANGE 30 SLIDE 30] WHERE v < 10 OR k = 1 GROUP BY k",
    "SELECT MIN(v) AS low, MAX(v) AS most, MAX_BY(k, v) AS j FROM a [RANGE 20 SLIDE 10] GROUP BY k",
    "SELECT k, MEDIAN(v) AS m, COUNT(DISTINCT v) AS d FROM a [RANGE 40 SLIDE 10] GROUP BY k",
    "SELECT TOP 2 k, SUM(v) AS t FROM a [RANGE 40 SLIDE 20] GROUP BY k ORDER BY t DESC",
]


def periodic(formats: str = "parquet") -> dict[str, tuple[str, str]]:
    return {f"q{i}": (shape, formats) for i, shape in enumerate(SHAPES)}


def test_queries_answer_as_embedded_alone_and_in_one_job(spark, tmp_path, started):  # noqa: F811
    write_streams(tmp_path, files=3)
    queries = periodic() | {"q7": (SHAPES[0], "csv"), "q8": (SHAPES[2], ""), "q9": (SHAPES[1], "")}
    expected, found = (script(tmp_path, out, queries) for out in ("expected", "found"))
    reference = run_embedded(expected)
    report = run_on_spark(found, tmp_path / "checkpoint")
    assert set(started) == {"q0 and 9 more"}
    same_reports(report, reference)
    for name, (query, format_) in queries.items():
        if format_:
            alone = script(tmp_path, f"alone-{name}", {name: (query, format_)})
            run_embedded(alone)
            assert net_changes(found, name) == net_changes(alone, name), query
    assert all(q.rows_out > 0 for q in report.queries)


@pytest.mark.slow
@pytest.mark.usefixtures("shuffled")
def test_a_group_goes_on_when_queries_go_and_come_but_not_when_one_is_changed(
    spark,
    tmp_path,
    started,  # noqa: F811
):
    write_streams(tmp_path, files=5)
    whole = script(tmp_path, "found", periodic())
    run_two_files(whole, tmp_path / "checkpoint")
    queries = periodic()
    del queries["q0"], queries["q1"]  # the third is the sum of what these were kept for
    queries["q8"] = (SHAPES[1], "parquet")
    changed = {**queries, "q2": (SHAPES[0], "parquet")}
    with pytest.raises(StateError, match="query q2 does not belong to this script"):
        run_on_spark(script(tmp_path, "found", changed), tmp_path / "checkpoint")
    started.clear()
    found, expected = (script(tmp_path, out, queries) for out in ("found", "expected"))
    report = run_on_spark(found, tmp_path / "checkpoint")
    assert set(started) == {"q2 and 5 more"}
    reference = run_embedded(expected)
    for ours, theirs in zip(report.queries, reference.queries, strict=True):
        assert bag(ours.answer) == bag(theirs.answer), ours.name
        if ours.name != "q8":  # which has joined
            assert net_changes(found, ours.name) == net_changes(expected, theirs.name), ours.name
    whole = script(tmp_path, "found", periodic())
    with pytest.raises(StateError, match="query q0 was not in the script while others of its"):
        run_on_spark(whole, tmp_path / "checkpoint")
    assert (tmp_path / "checkpoint" / f"{PREFIX}q0" / SEATS).exists()
    assert (tmp_path / "checkpoint" / f"{PREFIX}q0" / SYNOPSES).exists()


LATE = {
    "at_once": "SELECT k, SUM(v) AS t FROM a [RANGE 20 SLIDE 20] WHERE v < 10 GROUP BY k",
    "longer": "SELECT k, SUM(v) AS t, COUNT(*) AS n FROM a [RANGE 100 SLIDE 20] WHERE v < 10 "
    "GROUP BY k",
    "other": "SELECT k, MAX(v) AS most, AVG(v) AS m, FIRST(v) AS f FROM a "
    "[RANGE 40 SLIDE 20] WHERE k > 3 GROUP BY k",
    "middle": "SELECT k, QUANTILE(v, 0.25) AS q FROM a [RANGE 60 SLIDE 20] GROUP BY k",
    "first": "SELECT TOP 3 k, SUM(v) AS t FROM a [RANGE 40 SLIDE 20] WHERE v < 10 GROUP BY k "
    "ORDER BY t",
}
"""Queries that start on what there is, extend it, and fill their own."""


def answers(changes: dict[int, Counter[str]], instants: range) -> dict[int, Counter[str]]:
    """The answer at each instant."""
    held: Counter[str] = Counter()
    found, waiting = {}, sorted(changes)
    for instant in instants:
        while waiting and waiting[0] <= instant:
            held.update(changes[waiting.pop(0)])
        found[instant] = Counter({row: n for row, n in held.items() if n})
    return found


def late_script(directory: Path, out: str, formats: str) -> Catalog:
    late = {name: (query, formats) for name, query in LATE.items()}
    return script(directory, out, periodic() | late)


def check_joined(found: Catalog, expected: Catalog, report: Report) -> dict[str, int | None]:
    """Everybody has the right answers from when they are said to be complete."""
    complete = {query.name: query.complete_from for query in report.queries}
    for name in (query.name for query in found.queries):
        theirs = net_changes(expected, name)
        ours = net_changes(found, name)
        if name not in LATE:
            assert (ours, complete[name]) == (theirs, None), name
            continue
        since = max(complete[name] or 0, min(ours))
        instants = range(since, max(theirs) + 1)
        assert answers(ours, instants) == answers(theirs, instants), name
    return {name: complete[name] for name in LATE}


@pytest.mark.usefixtures("shuffled")
def test_queries_that_are_new_to_a_checkpoint_join_the_group(spark, tmp_path, started):  # noqa: F811
    write_streams(tmp_path, files=5)
    run_two_files(script(tmp_path, "found", periodic()), tmp_path / "checkpoint")
    started.clear()
    found, expected = (late_script(tmp_path, out, "parquet") for out in ("found", "expected"))
    report = run_on_spark(found, tmp_path / "checkpoint")
    assert set(started) == {"q0 and 11 more"}
    run_embedded(expected)
    complete = check_joined(found, expected, report)
    assert complete["at_once"] is None
    assert complete["first"] is None
    assert complete["longer"] is not None
    assert complete["other"] is not None
    sql = "SELECT SUM(t) AS t, MAX(sub_window_upto) AS upto FROM {}_summaries GROUP BY k"
    kept = query_checkpoint(tmp_path / "checkpoint", sql.format("at_once")).to_pylist()
    last = report.queries[0].now // 20 * 20
    expected_totals = Counter(row["t"] for row in kept if row["upto"] <= last)
    answer = query_checkpoint(tmp_path / "checkpoint", "SELECT * FROM at_once").to_pylist()
    assert expected_totals <= Counter(row["t"] for row in answer)
    with pytest.raises(InputError, match="a window of tuples that a running query holds"):
        query_checkpoint(tmp_path / "checkpoint", "SELECT * FROM a [RANGE 20]")
    once = "SELECT k, SUM(v) AS t FROM a [RANGE 40 SLIDE 40] WHERE v < 10 GROUP BY k"
    asked = script(tmp_path, "asked", {"once": (once, "parquet")})
    run_embedded(asked)
    last = report.queries[0].now
    table = query_checkpoint(tmp_path / "checkpoint", once)
    rows = Counter(repr(tuple(row.values())) for row in table.to_pylist())
    assert rows == answers(net_changes(asked, "once"), range(last + 1))[last] != Counter()
    instants = json.loads(table.schema.metadata[b"windrow.instants"])
    assert instants == {"a [range 40 slide 40]": last // 40 * 40}


@pytest.mark.slow
@pytest.mark.parametrize("point", POINTS)
def test_queries_join_and_go_on_whatever_was_cut_short(spark, tmp_path, monkeypatch, point):
    write_streams(tmp_path, files=5, rows=150)
    early = script(tmp_path, "found", periodic())
    found, expected = (late_script(tmp_path, out, "parquet") for out in ("found", "expected"))
    for catalog, count in ((early, 3), (found, 2)):
        with monkeypatch.context() as patch:
            fail_at(point, count, broken, patch.setattr)
            with pytest.raises(WindrowError, match="broken by a test"):
                run_on_spark(catalog, tmp_path / "checkpoint")
    report = run_on_spark(found, tmp_path / "checkpoint")
    run_embedded(expected)
    check_joined(found, expected, report)


@pytest.mark.slow
def test_queries_of_a_connection_share_and_say_so_as_embedded(spark):
    rng = np.random.default_rng(1)
    table = pa.table({"ts": np.arange(200) // 4, "k": rng.integers(0, 3, 200).astype(np.int32),
                      "v": rng.integers(0, 50, 200)})  # fmt: skip
    text = "CREATE STREAM a (ts BIGINT, k INT, v BIGINT) TIMESTAMP BY ts;"
    text += "".join(f"CREATE QUERY q{i} AS {shape};" for i, shape in enumerate(SHAPES))
    found = []
    for session in (None, spark):
        with windrow.connect(spark=session) as db:
            queries = db.execute(text)
            explained = db.explain("EXPLAIN q1;")
            db.push("a", table.slice(0, 120))
            db.advance(to=25)
            first = [bag(q.answer()) for q in queries]
            db.push("a", table.slice(120))
            db.advance(to=60)
            changes = [bag(q.changes()) for q in queries]
            kept = [bag(db.query(f"SELECT * FROM q{i}_summaries")) for i in range(len(queries))]
            found.append((explained, first, [bag(q.answer()) for q in queries], changes, kept))
    assert found[0] == found[1]
    assert "it is one job with 6 other queries, over shared synopses" in found[1][0]
    assert all(found[1][1])
    assert all(found[1][4])
