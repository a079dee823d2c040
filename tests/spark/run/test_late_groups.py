"""Periodic aggregates that come to Spark when one over their window has run alone begin full."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import windrow
from tests.spark.run.test_late_queries import late_lines
from tests.spark.scripts import compiled, net_changes, write_streams
from tests.support.without_spark import run_without_spark
from windrow.core.errors import WindrowError
from windrow.plan.catalog import Catalog
from windrow.spark.checkpoint.pipeline_directory import (
    PipelineHome,
    pipeline_directories,
    read_pipeline,
)
from windrow.spark.checkpoint.query_groups import PREFIX, SEATS
from windrow.spark.stage.state_files import StateCommits

TEXT = "CASE WHEN v < 9 THEN 'few' WHEN v < 30 THEN 'more' ELSE 'many' END"
FROM = "FROM a [RANGE {} SLIDE {}]"
CASES = {
    "sums": (
        "k, SUM(v) AS t, COUNT(v) AS n, AVG(v) AS m",
        ["k, SUM(v) AS t, COUNT(*) AS n", "k, AVG(v) AS m"],
    ),
    "extremes": ("k, MIN(v) AS a, MAX(v) AS b", ["k, MAX(v) AS b", "k, MIN(v) AS a, MAX(v) AS b"]),
    "long": (
        f"k, MAX({TEXT}) AS b, COUNT(*) AS n",
        [
            f"k, MAX({TEXT}) AS b",
            "k, COUNT(*) AS n",
        ],
    ),
    "values": (
        "k, MEDIAN(v) AS m, COUNT(DISTINCT v) AS d",
        ["k, COUNT(DISTINCT v) AS d", "k, MEDIAN(v) AS m, COUNT(*) AS n"],
    ),
}
"""What is asked alone, and what two queries ask later that can start on what it keeps."""
FIRST, SECOND, THIRD = (40, 10), (20, 20), (30, 10)


def queries(case: str, upto: int) -> dict[str, str]:
    first, later = CASES[case]
    asked = zip((first, *later), (FIRST, SECOND, THIRD), strict=True)
    texts = [f"SELECT {what} {FROM.format(*window)} GROUP BY k" for what, window in asked]
    return {f"q{number}": text for number, text in enumerate(texts[:upto])}


def recompute(directory: Path, what: str, window: int, instant: int) -> Counter[str]:
    """An answer by its definition, over all rows; it is the one as of the last multiple."""
    db = duckdb.connect()
    db.register("a", pa.concat_tables(map(pq.read_table, sorted((directory / "a").iterdir()))))
    text = f"SELECT {what} FROM a WHERE ts > {instant - window} AND ts <= {instant} GROUP BY k"
    return Counter(repr(row) for row in db.execute(text).fetchall())


def check(directory: Path, case: str, found: Catalog, name: str, since: int) -> int:
    """Every answer after an instant is that of the definition; how many there were."""
    number = int(name[1:])
    what = (CASES[case][0], *CASES[case][1])[number]
    window, slide = (FIRST, SECOND, THIRD)[number]
    changes = net_changes(found, name)
    held: Counter[str] = Counter()
    count = 0
    for instant in range(0, max(changes) + 1, slide):
        held.update(changes.get(instant, Counter()))
        if instant > since:
            there = Counter({row: n for row, n in held.items() if n})
            assert there == recompute(directory, what, window, instant), (name, instant)
            count += 1
    assert not [instant for instant in changes if instant <= since]
    return count


def cut_short(catalog: Catalog, checkpoint: Path, after: int) -> None:
    """Run until the state of so many micro-batches is committed."""
    publish: Callable[..., None] = StateCommits.publish

    def publish_or_fail(self: StateCommits, batch: int, *rest: object) -> None:
        if batch >= after:
            raise OSError("the disk is full")
        publish(self, batch, *rest)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(StateCommits, "publish", publish_or_fail)
        with pytest.raises(WindrowError):
            run_without_spark(catalog, checkpoint)


@pytest.mark.usefixtures("shuffled")
@pytest.mark.parametrize("case", CASES)
def test_queries_beside_one_that_ran_alone_begin_full_and_answer_as_recomputed(tmp_path, case):
    """Rows wait when the second comes; it is cut short in its first micro-batch; then the third
    joins it, after another stop."""
    write_streams(tmp_path, files=7, rows=120)
    checkpoint = tmp_path / "checkpoint"
    cut_short(compiled(tmp_path, queries(case, 1), "out"), checkpoint, 3)
    second = compiled(tmp_path, queries(case, 2), "out")
    cut_short(second, checkpoint, 3)
    (home,) = map(read_pipeline, pipeline_directories(checkpoint))
    assert home.members == ("q0", f"{PREFIX}q1"), "it runs with the first"
    begins = home.joined[f"{PREFIX}q1"]
    assert begins.after == 2
    cut_short(second, checkpoint, 5)
    third = compiled(tmp_path, queries(case, 3), "out")
    report = run_without_spark(third, checkpoint)
    assert [query.complete_from for query in report.queries] == [None] * 3
    seats = json.loads((checkpoint / f"{PREFIX}q1" / SEATS).read_text())
    assert [name for name, _ in seats] == ["", "q1", "q2"], "the third has joined the second"
    assert check(tmp_path, case, third, "q0", -1) > 15
    assert check(tmp_path, case, third, "q1", begins.closed) > 4
    later = min(net_changes(third, "q2"))
    assert begins.closed < later
    assert check(tmp_path, case, third, "q2", later - 1) > 3


def test_a_group_that_was_cut_short_before_it_joined_is_none(tmp_path, monkeypatch):
    write_streams(tmp_path, files=5, rows=120)
    checkpoint = tmp_path / "checkpoint"
    cut_short(compiled(tmp_path, queries("sums", 1), "out"), checkpoint, 2)

    def fail(*_: object, **__: object) -> None:
        raise OSError("the disk is full")

    second = compiled(tmp_path, queries("sums", 2), "out")
    with monkeypatch.context() as patch:
        patch.setattr(PipelineHome, "write", fail)
        with pytest.raises(OSError, match="the disk is full"):
            run_without_spark(second, checkpoint)
    assert (checkpoint / f"{PREFIX}q1" / SEATS).exists()
    run_without_spark(second, checkpoint)
    (home,) = map(read_pipeline, pipeline_directories(checkpoint))
    assert home.members == ("q0", f"{PREFIX}q1")
    assert check(tmp_path, "sums", second, "q1", home.joined[f"{PREFIX}q1"].closed) > 3


def test_files_are_read_again_for_what_is_not_complete_at_once(tmp_path):
    write_streams(tmp_path, files=5, rows=120)
    checkpoint = tmp_path / "checkpoint"
    first = queries("sums", 1)
    cut_short(compiled(tmp_path, first, "out"), checkpoint, 2)
    longer = {"q1": f"SELECT k, SUM(v) AS t {FROM.format(80, 10)} GROUP BY k"}
    late = compiled(tmp_path, {**first, **longer}, "out")
    report = run_without_spark(late, checkpoint)
    members = [read_pipeline(path).members for path in pipeline_directories(checkpoint)]
    assert members == [("q0",), ("q1",)]
    assert report.queries[1].complete_from is None
    early = compiled(tmp_path, {**first, **longer}, "whole")
    run_without_spark(early, tmp_path / "other")
    assert net_changes(late, "q1") == net_changes(early, "q1")


@pytest.mark.spark
def test_a_second_execute_starts_on_what_a_query_alone_keeps_and_answers_as_embedded(
    spark, tmp_path
):
    query = "SELECT k, {} AS t FROM s [RANGE {} SLIDE {}] GROUP BY k"
    stream = "CREATE STREAM s (ts BIGINT, k INT, v BIGINT) SLACK 5;"
    first = f"CREATE QUERY one AS {query.format('SUM(v)', 20, 5)};"
    more = f"""
        CREATE QUERY two AS {query.format("SUM(v)", 10, 10)};
        CREATE QUERY three AS {query.format("SUM(v)", 30, 5)};
        CREATE QUERY four AS {query.format("MIN(v)", 15, 5)};
    """
    found = []
    for place in ({}, {"spark": spark, "checkpoint": tmp_path}):
        with windrow.connect(**place) as db:
            handles = [*db.execute(stream + first)]
            for start in range(1, 71, 7):
                ts = list(range(start, start + 7))
                db.push("s", {"ts": ts, "k": [t % 3 for t in ts], "v": [t * t % 11 for t in ts]})
                if start == 15:
                    late = late_lines(db.explain(more))
                    handles += db.execute(more)
            db.advance(to=70)
            whole = [handle.complete_from or 0 for handle in handles]
            said = [handle.changes().to_pylist() for handle in handles]
            found.append((whole, said, late))
    (early, theirs, said), (complete, ours, words) = found
    assert early[:3] == complete[:3] == [0, 0, 25]
    for first, *both in zip(complete, theirs, ours, strict=True):
        rows = [sorted(str(c) for c in changes if c["instant"] > first) for changes in both]
        assert rows[0] == rows[1] != []
    assert min(change["instant"] for change in ours[1]) == 20
    assert words[:2] == said[:2]
    assert words[0] == "late: it shares synopses with four; complete at once"
    (home,) = map(read_pipeline, pipeline_directories(tmp_path))
    assert home.members == ("one", f"{PREFIX}two")
