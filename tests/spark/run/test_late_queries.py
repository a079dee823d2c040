"""A query that is new to a checkpoint starts full, and runs with those that hold its windows."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import windrow
from tests.spark.scripts import compiled, net_changes, run_embedded, script_of, write_streams
from tests.support.bucket_fixtures import running_server, server, url
from tests.support.without_spark import run_without_spark
from windrow.cli.main import app
from windrow.core.errors import WindrowError
from windrow.core.time import BEGINNING
from windrow.engine.progress import Report
from windrow.object_store.object_path import path_of
from windrow.plan.catalog import Catalog
from windrow.plan.sharing.group_schedule import ScheduleOptions
from windrow.spark.checkpoint.pipeline_directory import (
    Joined,
    PipelineHome,
    pipeline_directories,
    read_pipeline,
)
from windrow.spark.checkpoint.saved_windows import missed_by
from windrow.spark.run import pipeline_joins
from windrow.spark.stage import level_task
from windrow.spark.stage.state_files import StateCommits
from windrow.spark.stage.worker_cache import WorkerCache

__all__ = ["running_server", "server", "url"]

HOLD = {
    "of_a": "SELECT k, v FROM a [RANGE 30]",
    "pairs": "SELECT a.k, b.v FROM a [RANGE 20], b [RANGE 40] WHERE a.k = b.k AND a.v < 5",
    "same": "SELECT x.v FROM a [RANGE 30 SLIDE 5] AS x, a [RANGE 30 SLIDE 5] AS y WHERE x.k = y.v",
    "last": "SELECT k, v FROM a [ROWS 20 SLIDE 6]",
}
LATE = {
    "groups": "SELECT k, COUNT(*) AS n, SUM(v) AS t FROM a [RANGE 25] GROUP BY k",
    "slides": "SELECT k, MAX(v) AS m FROM a [RANGE 20 SLIDE 10] GROUP BY k",
    "values": "SELECT DISTINCT v FROM a [RANGE 15] WHERE k < 7",
    "slid": "SELECT x.k FROM a [RANGE 25 SLIDE 5] AS x, a [RANGE 20 SLIDE 5] AS y WHERE x.k = y.v",
    "total": "SELECT COUNT(*) AS n FROM (SELECT DISTINCT k FROM a [RANGE 10])",
    "few": "SELECT DISTINCT v FROM a [ROWS 13 SLIDE 7]",
    "some": "SELECT k, SUM(v) AS t FROM a [ROWS 10 SLIDE 5] GROUP BY k",
}
FILES = 6


def files_apart(directory: Path, later: int) -> list[tuple[Path, Path]]:
    """Take the last files of each stream away; where they were, and are now."""
    aside = directory / "aside"
    moved = []
    for name in "ab":
        (aside / name).mkdir(parents=True)
        for path in sorted((directory / name).iterdir())[FILES - later :]:
            moved.append((path, aside / name / path.name))
            shutil.move(path, moved[-1][1])
    return moved


def bring_back(moved: list[tuple[Path, Path]]) -> None:
    for path, aside in moved:
        shutil.move(aside, path)


def check(late: Catalog, early: Catalog, checkpoint: Path) -> None:
    """The new queries begin with the answer of those that ran from the beginning, and go on so."""
    (home,) = map(read_pipeline, pipeline_directories(checkpoint))
    assert set(home.present) == {*HOLD, *LATE}
    for name in LATE:
        assert home.joined[name].complete_from == home.joined[name].begins > 0
    check_answers(late, early, {name: home.joined[name].begins for name in LATE})


def check_answers(late: Catalog, early: Catalog, beginnings: Mapping[str, int]) -> None:
    """Each begins at its instant with the answer of the early one, and goes on so."""
    for name, begins in beginnings.items():
        found, whole = net_changes(late, name), net_changes(early, name)
        assert min(found) >= begins
        there: Counter[str] = Counter()
        for bag in (bag for t, bag in whole.items() if t <= begins):
            there.update(bag)
        assert found.get(begins, Counter()) == Counter({row: n for row, n in there.items() if n})
        after = {t: bag for t, bag in found.items() if t > begins}
        assert after == {t: bag for t, bag in whole.items() if t > begins}


@pytest.mark.parametrize("later", [0, 3])
def test_a_new_query_begins_with_what_others_hold_and_goes_on_as_from_the_beginning(
    tmp_path, later, monkeypatch
):
    """Also if its first micro-batch is cut short, and while the script is started once more."""
    write_streams(tmp_path, files=FILES, rows=120)
    moved = files_apart(tmp_path, later)
    checkpoint = tmp_path / "checkpoint"
    late = compiled(tmp_path, {**HOLD, **LATE}, "first")
    early = compiled(tmp_path, {**HOLD, **LATE}, "whole")
    run_without_spark(compiled(tmp_path, HOLD, "first"), checkpoint)
    run_without_spark(early, tmp_path / "other")
    bring_back(moved)
    if later:
        with monkeypatch.context() as patch:
            patch.setattr(StateCommits, "publish", fail)
            with pytest.raises(WindrowError):
                run_without_spark(late, checkpoint)
    report = run_without_spark(late, checkpoint)
    run_without_spark(early, tmp_path / "other")
    check(late, early, checkpoint)
    (home,) = map(read_pipeline, pipeline_directories(checkpoint))
    said = {query.name: query.complete_from for query in report.queries}
    assert {name: said[name] for name in LATE} == {n: home.joined[n].begins for n in LATE}
    assert {said[name] for name in HOLD} == {None}


def test_a_start_that_dies_while_a_query_joins_leaves_it_with_its_micro_batch_or_as_it_was(
    tmp_path, monkeypatch
):
    write_streams(tmp_path, files=3, rows=80)
    checkpoint = tmp_path / "checkpoint"
    run_without_spark(compiled(tmp_path, HOLD, "first"), checkpoint)
    queries = {**HOLD, "groups": LATE["groups"]}
    late = compiled(tmp_path, queries, "first")
    for step in ("_wake", "_note_joined"):
        with monkeypatch.context() as patch:
            patch.setattr(pipeline_joins, step, fail)
            with pytest.raises(OSError, match="full"):
                run_without_spark(late, checkpoint)
    run_without_spark(late, checkpoint)
    early = compiled(tmp_path, queries, "whole")
    run_without_spark(early, tmp_path / "other")
    (home,) = map(read_pipeline, pipeline_directories(checkpoint))
    check_answers(late, early, {"groups": home.joined["groups"].begins})


def fail(*_: object) -> None:
    raise OSError("the disk is full")


def test_what_a_new_query_begins_with_is_in_the_store_of_the_checkpoint(
    tmp_path, url, monkeypatch, tmp_path_factory
):
    """Each run is on another machine; one dies in the first micro-batch of the new queries."""
    write_streams(tmp_path, files=FILES, rows=60)
    moved = files_apart(tmp_path, 3)
    checkpoint = path_of(f"{url}/checkpoint")
    late = compiled(tmp_path, {**HOLD, **LATE}, "first")
    early = compiled(tmp_path, {**HOLD, **LATE}, "whole")

    def run_elsewhere(queries: Catalog) -> Report:
        monkeypatch.setenv("WINDROW_CACHE_DIR", str(tmp_path_factory.mktemp("machine")))
        monkeypatch.setattr(level_task, "CACHE", WorkerCache())
        return run_without_spark(queries, checkpoint)

    run_elsewhere(compiled(tmp_path, HOLD, "first"))
    run_without_spark(early, tmp_path / "other")
    bring_back(moved)
    with monkeypatch.context() as patch:
        patch.setattr(StateCommits, "publish", fail)
        with pytest.raises(WindrowError):
            run_elsewhere(late)
    assert list(checkpoint.glob("*/fills/*.arrow"))
    said = {query.name: query.complete_from for query in run_elsewhere(late).queries}
    run_without_spark(early, tmp_path / "other")
    assert {said[name] for name in HOLD} == {None}
    check_answers(late, early, {name: said[name] for name in LATE})


def test_a_checkpoint_from_before_rows_were_numbered_is_read_and_gives_no_rows(tmp_path):
    how = Joined(3, closed=9, since={"a": BEGINNING}, files={"edge": ["file"]}, rows={"edge": 4})
    home = PipelineHome(tmp_path, "run", ("few",)).write(joined={"few": how})
    assert missed_by(read_pipeline(tmp_path), "few") == {"a": BEGINNING}
    path = tmp_path / "pipeline.json"
    known = json.loads(path.read_text())
    del known["joined"]["few"]["rows"]
    path.write_text(json.dumps(known))
    assert missed_by(read_pipeline(tmp_path), "few") == {"a": 9}
    assert read_pipeline(tmp_path).joined == {"few": replace(how, rows=None)} != home.joined


def test_rows_that_come_while_a_query_joins_are_late_for_nobody(tmp_path):
    """A micro-batch for the newcomer alone does not let one stream run ahead of another."""
    queries = {
        "of_a": "SELECT k, v FROM a [RANGE 30]",
        "pairs": "SELECT a.v, b.v FROM a [RANGE 9], b [RANGE 9] WHERE a.k = b.k",
    }
    more = {"groups": "SELECT k, COUNT(*) AS n FROM a [RANGE 25] GROUP BY k"}

    def write(number: int) -> None:
        for name in "ab":
            (tmp_path / name).mkdir(exist_ok=True)
            ts = list(range(10 * number, 10 * number + 10))
            rows = {"ts": ts, "k": pa.array([t % 3 for t in ts], pa.int32()), "v": ts}
            pq.write_table(pa.table(rows), tmp_path / name / f"{number}.parquet")

    checkpoint = tmp_path / "checkpoint"
    for number in (0, 1):
        write(number)
    run_without_spark(compiled(tmp_path, queries, "first"), checkpoint)
    for number in (2, 3):
        write(number)
    late = compiled(tmp_path, queries | more, "first")
    run_without_spark(late, checkpoint)
    assert len(pipeline_directories(checkpoint)) == 1
    whole = compiled(tmp_path, queries | more, "whole")
    run_embedded(whole)
    for name in queries:
        assert net_changes(late, name) == net_changes(whole, name)


def test_what_others_do_not_hold_is_read_from_the_files(tmp_path):
    write_streams(tmp_path, files=3, rows=80)
    checkpoint = tmp_path / "checkpoint"
    run_without_spark(compiled(tmp_path, HOLD, "first"), checkpoint)
    more = {
        "longer": "SELECT k, COUNT(*) AS n FROM a [RANGE 35] GROUP BY k",
        "came": "SELECT ISTREAM(k) FROM a [RANGE 5]",
    }
    late = compiled(tmp_path, {**HOLD, **more}, "first")
    run_without_spark(late, checkpoint)
    early = compiled(tmp_path, {**HOLD, **more}, "whole")
    run_without_spark(early, tmp_path / "other")
    assert [set(read_pipeline(p).present) for p in pipeline_directories(checkpoint)] == [
        set(HOLD), set(more),
    ]  # fmt: skip
    for name in more:
        assert net_changes(late, name) == net_changes(early, name)


def late_lines(plan: str) -> list[str]:
    return [line for line in plan.splitlines() if line.startswith("late:")]


@pytest.mark.spark
def test_a_second_execute_joins_the_running_pipeline_and_answers_as_embedded(spark, tmp_path):
    streams = """
        CREATE STREAM s (ts BIGINT, k INT, v BIGINT);
        CREATE QUERY held AS SELECT k, v FROM s [RANGE 10];
    """
    more = """
        CREATE QUERY sums AS SELECT k, SUM(v) AS t FROM s [RANGE 8] GROUP BY k;
        CREATE QUERY longer AS SELECT COUNT(*) AS n FROM s [RANGE 30];
    """
    found = []
    for options in ({}, {"spark": spark, "checkpoint": tmp_path}):
        with windrow.connect(**options) as db:
            db.execute(streams)
            db.push("s", {"ts": [1, 4, 9], "k": [1, 2, 1], "v": [10, 20, 40]})
            db.advance(to=9)
            late = late_lines(db.explain(more))
            sums, longer = db.execute(more)
            said = [h.changes().to_pylist() for h in (sums, longer)]
            db.push("s", {"ts": [10, 13], "k": [3, 1], "v": [5, 6]})
            db.advance(to=13)
            said += [h.changes().to_pylist() for h in (sums, longer, db.queries["held"])]
            rows = [sorted(map(str, changes)) for changes in said]
            found.append((rows, late, sums.complete_from, longer.complete_from))
    assert found[0] == found[1]
    assert found[0][1:] == (
        [
            "late: filled with s [RANGE 10 SECONDS] from held; complete from instant 9",
            "late: filled with s [RANGE 10 SECONDS] from held; complete from instant 29",
        ],
        9,
        29,
    )
    (home,) = map(read_pipeline, pipeline_directories(tmp_path))
    assert home.members == ("held", "sums", "longer")


def test_explain_of_a_script_with_a_checkpoint_says_what_new_queries_start_on(tmp_path):
    write_streams(tmp_path, files=FILES, rows=120)
    moved = files_apart(tmp_path, 3)
    query = "SELECT k, {}(v) AS t FROM a [RANGE {} SLIDE {}] GROUP BY k"
    first = {"one": query.format("SUM", 40, 5), "two": query.format("MAX", 20, 10)}
    more = {"three": query.format("SUM", 20, 5), "four": query.format("SUM", 80, 5)}
    checkpoint, script = tmp_path / "checkpoint", tmp_path / "script.cql"
    run_without_spark(compiled(tmp_path, first, "out"), checkpoint)
    script.write_text(script_of(tmp_path, {**first, **more}, "out"))
    said = CliRunner().invoke(app, ["explain", str(script), "--checkpoint", str(checkpoint)])
    bring_back(moved)
    report = run_without_spark(compiled(tmp_path, {**first, **more}, "out"), checkpoint)
    complete = {query.name: query.complete_from for query in report.queries}
    assert complete["three"] is None
    plans = said.stdout.split("\n\n")
    assert "shared with three, four" in plans[0]
    assert "starts on" not in plans[0]
    assert "it starts on synopsis 1; complete at once (SS1)" in plans[2]
    assert f"it extends synopsis 1; complete from {complete['four']} on (SS1)" in plans[3]
    other = {**first, "two": query.format("MAX", 30, 10)}
    script.write_text(script_of(tmp_path, other, "out"))
    changed = CliRunner().invoke(app, ["explain", str(script), "--checkpoint", str(checkpoint)])
    assert changed.exit_code == 0
    assert "the checkpoint of query two does not belong to this script" in changed.stderr
    assert "it is one job with 1 other query" in changed.stdout


@pytest.mark.parametrize("policy", ["conservative", "late-pending"])
def test_a_group_with_a_schedule_is_joined_when_the_script_starts_again(tmp_path, policy):
    write_streams(tmp_path, files=FILES, rows=120)
    moved = files_apart(tmp_path, 3)
    query = "SELECT k, {}(v) AS t FROM a [RANGE {} SLIDE {}] GROUP BY k"
    first = {"one": query.format("SUM", 40, 5), "two": query.format("MAX", 20, 10)}
    more = {"three": query.format("SUM", 20, 5), "four": query.format("MAX", 20, 20)}
    late = compiled(tmp_path, {**first, **more}, "first")
    early = compiled(tmp_path, {**first, **more}, "whole")
    schedule, checkpoint = ScheduleOptions.of(policy, 1000), tmp_path / "checkpoint"
    run_without_spark(compiled(tmp_path, first, "first"), checkpoint, 1, schedule)
    run_without_spark(early, tmp_path / "other", 1, schedule)
    bring_back(moved)
    report = run_without_spark(late, checkpoint)  # which keeps its schedule
    run_without_spark(early, tmp_path / "other")
    (home,) = map(read_pipeline, pipeline_directories(checkpoint))
    assert len(home.present) == 1, "it is one job"
    assert {query.name: query.complete_from for query in report.queries} == dict.fromkeys(
        [*first, *more]
    )
    assert all(query.lateness is not None for query in report.queries)
    for name, text in {**first, **more}.items():
        found, whole = net_changes(late, name), net_changes(early, name)
        begins = 0 if name in first else min(found)
        slide = int(text.split("SLIDE ")[1].split("]")[0])
        assert begins % slide == 0
        upto: Counter[str] = Counter()
        for bag in (bag for t, bag in whole.items() if t <= begins):
            upto.update(bag)
        assert found.get(begins, Counter()) == Counter({row: n for row, n in upto.items() if n})
        after = {t: bag for t, bag in found.items() if t > begins}
        assert after == {t: bag for t, bag in whole.items() if t > begins}


@pytest.mark.spark
@pytest.mark.parametrize("options", [{}, {"max_delay": 60}])
def test_a_second_execute_joins_a_running_group_and_drop_leaves_what_others_read(
    spark, tmp_path, options
):
    query = "SELECT k, {} AS t FROM s [RANGE {} SLIDE {}] GROUP BY k"
    first = f"""
        CREATE STREAM s (ts BIGINT, k INT, v BIGINT) SLACK 5;
        CREATE QUERY one AS {query.format("SUM(v)", 20, 5)};
        CREATE QUERY two AS {query.format("MAX(v)", 10, 5)};
    """
    more = f"""
        CREATE QUERY three AS {query.format("SUM(v)", 10, 10)};
        CREATE QUERY four AS {query.format("MIN(v)", 15, 5)};
    """
    found = []
    for place in ({}, {"spark": spark, "checkpoint": tmp_path}):
        with windrow.connect(**place, **options) as db:
            handles = [*db.execute(first)]
            for start in range(1, 50, 7):
                ts = list(range(start, start + 7))
                db.push("s", {"ts": ts, "k": [t % 3 for t in ts], "v": [t * t % 11 for t in ts]})
                if start == 8:
                    late = late_lines(db.explain(more))
                    handles += db.execute(more)
                if start == 22:
                    gone = [handles.pop(1).changes().to_pylist()]
                    db.execute("DROP QUERY two")
                if start == 29:
                    after = f"CREATE QUERY five AS {query.format('COUNT(*)', 10, 5)}"
                    late += late_lines(db.explain(after))
                    handles += db.execute(after)
                    (said,) = db.execute("EXPLAIN five").plans
                    assert "kept beside synopsis 1" in said
                    assert "it starts on synopsis 4; complete at once (SS1)" in said
            db.advance(to=49)
            whole = [handle.complete_from or 0 for handle in handles]
            said = [*gone, *(handle.changes().to_pylist() for handle in handles)]
            found.append(([0, *whole], said, late))
    (early, theirs, _), (complete, ours, words) = found
    assert early == [0, 0, 0, 25, 0]
    assert complete == [0, 0, 0, 30, 0], "rows wait that were not summarised for the fourth"
    assert [line.rpartition("; ")[2] for line in words] == [
        "complete at once", "complete from instant 30", "complete at once",
    ]  # fmt: skip
    for first, *both in zip(complete, theirs, ours, strict=True):
        rows = [sorted(str(c) for c in changes if c["instant"] > first) for changes in both]
        assert rows[0] == rows[1] != []
    assert min(change["instant"] for change in ours[2]) == 10, "rows that waited count"
    (home,) = map(read_pipeline, pipeline_directories(tmp_path))
    assert len(home.members) == 1


@pytest.mark.spark
def test_the_name_of_a_late_query_that_could_not_start_may_be_taken_again(spark, tmp_path):
    with windrow.connect(spark=spark, checkpoint=tmp_path) as db:
        db.execute("""
            CREATE STREAM s (ts BIGINT, k STRING);
            CREATE QUERY held AS SELECT k FROM s [RANGE 9];
        """)
        db.push("s", {"ts": [1, 2], "k": ["7", "x"]})
        db.advance(to=2)
        with pytest.raises(WindrowError, match=r"CAST\(k AS INT\): expected a value .*; found 'x'"):
            db.execute("SELECT CAST(k AS INT) AS v FROM s [RANGE 5]")
        [late] = db.execute("SELECT TRY_CAST(k AS INT) AS v FROM s [RANGE 5]")
        assert late.name == "query1"
        assert sorted(map(str, late.answer().to_pydict()["v"])) == ["7", "None"]


@pytest.mark.spark
def test_a_pipeline_that_has_ended_with_an_error_is_not_joined(spark):
    with windrow.connect(spark=spark) as db:
        db.execute("""
            CREATE STREAM s (ts BIGINT, v BIGINT);
            CREATE QUERY bad AS SELECT CAST(v * 200000000 AS INT) AS big FROM s [RANGE 5];
        """)
        db.push("s", {"ts": [1], "v": [99]})
        with pytest.raises(WindrowError, match="bad"):
            db.queries["bad"].answer()
        good = "CREATE QUERY good AS SELECT v FROM s [RANGE 5]"
        assert late_lines(db.explain(good)) == ["late: begins empty; complete from instant 6"]
        [good] = db.execute(good)
        db.push("s", {"ts": [3], "v": [7]})
        db.advance(to=3)
        assert good.answer().to_pydict() == {"v": [7]}
        assert good.complete_from == 6, "it has missed the row of 1"
