"""Periodic aggregates that share synopses on Spark: one job, each query's own results."""

from __future__ import annotations

import threading
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import windrow
from tests.spark.run.test_shared import bag, same_reports, script, started  # noqa: F401
from tests.spark.scripts import net_changes, run_embedded, run_on_spark, write_streams
from windrow.core.errors import StateError
from windrow.spark.checkpoint.query_groups import PREFIX, SEATS, SYNOPSES

pytestmark = pytest.mark.spark

SHAPES = [
    "SELECT k, SUM(v) AS t FROM a [RANGE 40 SLIDE 20] WHERE v < 10 GROUP BY k",
    "SELECT AVG(v) AS m, k FROM a [RANGE 60 SLIDE 10] WHERE v >= 10 GROUP BY k HAVING COUNT(*) > 2",
    "SELECT k, SUM(v) AS t, MAX(v) AS most FROM a [RANGE 40 SLIDE 20] GROUP BY k",
    "SELECT k, COUNT(*) AS n FROM a [RANGE 30 SLIDE 30] WHERE v < 10 OR k = 1 GROUP BY k",
    "SELECT MIN(v) AS least FROM a [RANGE 20 SLIDE 10] GROUP BY k",
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


def _stopped_after_two(catalog, checkpoint: Path) -> None:
    stop = threading.Event()

    def on_progress(progress):
        if progress.batches >= 2:
            stop.set()

    run_on_spark(catalog, checkpoint, on_progress=on_progress, stop=stop)


@pytest.mark.slow
@pytest.mark.usefixtures("shuffled")
def test_a_group_goes_on_when_queries_go_and_come_but_not_when_one_is_changed(
    spark,
    tmp_path,
    started,  # noqa: F811
):
    write_streams(tmp_path, files=5)
    whole = script(tmp_path, "found", periodic())
    _stopped_after_two(whole, tmp_path / "checkpoint")
    queries = periodic()
    del queries["q0"], queries["q1"]  # the third is the sum of what these were kept for
    queries["q8"] = (SHAPES[1], "parquet")
    changed = {**queries, "q2": (SHAPES[0], "parquet")}
    with pytest.raises(StateError, match="query q2 does not belong to this script"):
        run_on_spark(script(tmp_path, "found", changed), tmp_path / "checkpoint")
    started.clear()
    found, expected = (script(tmp_path, out, queries) for out in ("found", "expected"))
    report = run_on_spark(found, tmp_path / "checkpoint")
    assert set(started) == {"q2 and 4 more", "q8"}
    reference = run_embedded(expected)
    for ours, theirs in zip(report.queries, reference.queries, strict=True):
        assert bag(ours.answer) == bag(theirs.answer), ours.name
        assert net_changes(found, ours.name) == net_changes(expected, theirs.name), ours.name
    assert (tmp_path / "checkpoint" / f"{PREFIX}q0" / SEATS).exists()
    assert (tmp_path / "checkpoint" / f"{PREFIX}q0" / SYNOPSES).exists()


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
            found.append((explained, first, [bag(q.answer()) for q in queries], changes))
    assert found[0] == found[1]
    assert "it is one job with 6 other queries, over shared synopses" in found[1][0]
    assert all(found[1][1])
