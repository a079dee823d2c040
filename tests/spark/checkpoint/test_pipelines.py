"""Jobs of a script in one streaming query: they come, go, fail and come back, each by itself."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import count
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import windrow
from tests.spark.scripts import (
    compiled,
    net_changes,
    run_embedded,
    run_on_spark,
    run_two_files,
    write_streams,
)
from tests.support.without_spark import run_without_spark
from windrow.core.errors import DataError, StateError
from windrow.core.time import Clock
from windrow.result_files.commits import commits
from windrow.spark.checkpoint.pipeline_directory import (
    PIPELINE,
    new_pipeline,
    pipeline_directories,
    read_pipeline,
)
from windrow.spark.checkpoint.pipeline_members import Starting, pipelines_for
from windrow.spark.checkpoint.repair import planned_repair
from windrow.spark.checkpoint.survey import survey
from windrow.spark.run.failures import SparkError
from windrow.spark.source.file_log import Entry, FileLog
from windrow.spark.stage.state_files import StateCommits, Version

GROUPS = "SELECT k, COUNT(*) AS n FROM a [RANGE 20] GROUP BY k"
PAIRS = "SELECT a.v, COUNT(*) AS n FROM a [RANGE 20], b [RANGE 10] WHERE a.k = b.k GROUP BY a.v"
TOTAL = "SELECT COUNT(*) AS n, SUM(v) AS s FROM b [RANGE 30]"
VALUES = "SELECT DISTINCT v FROM a [RANGE 15]"
BROKEN = "SELECT CAST(k * 200000000 * v AS INT) AS big FROM a [RANGE 5] WHERE ts > 300"


def starting(*names: str, clock: Clock = Clock.INTEGER) -> list[Starting]:
    return [Starting(name, clock, ["s"]) for name in names]


def numbers(found) -> list[tuple[str, dict[str, int]]]:
    return sorted((home.directory.name, jobs) for home, jobs in found)


def pretend(directory: Path, batch: int, *jobs: int) -> None:
    """A micro-batch that is over, in which some jobs took part."""
    home = read_pipeline(directory)
    for part in (home.offsets, home.spark / "commits"):
        part.mkdir(parents=True, exist_ok=True)
    (home.offsets / str(batch)).write_text('v1\n{"conf": {}}\n{"s": 0}')
    (home.spark / "commits" / str(batch)).write_text("v1\n{}")
    commits = StateCommits(home.state)
    commits.publish(batch, commits.before(batch).after(batch, {}, jobs))


def test_jobs_that_start_together_on_one_clock_are_one_pipeline(tmp_path):
    jobs = [*starting("q", "r"), *starting("t", clock=Clock.TIMESTAMP)]
    found = [("pipeline-1", {"q": 0, "r": 1}), ("pipeline-2", {"t": 0})]
    assert numbers(pipelines_for(tmp_path, jobs)) == found
    assert numbers(pipelines_for(tmp_path, jobs)) == found, "as it was"
    later = pipelines_for(tmp_path, [*jobs, *starting("new")])
    assert numbers(later) == [*found, ("pipeline-3", {"new": 0})]


def test_a_job_that_stayed_behind_goes_on_alone_and_one_that_missed_nothing_comes_back(tmp_path):
    both, alone = starting("q", "r"), starting("r")
    pipelines_for(tmp_path, both)
    pretend(tmp_path / "pipeline-1", 0, 0, 1)
    assert numbers(pipelines_for(tmp_path, alone)) == [("pipeline-1", {"r": 1})]
    assert read_pipeline(tmp_path / "pipeline-1").left == {"q"}
    assert numbers(pipelines_for(tmp_path, both)) == [("pipeline-1", {"q": 0, "r": 1})]
    pipelines_for(tmp_path, alone)
    pretend(tmp_path / "pipeline-1", 1, 1)
    found = [("pipeline-1", {"r": 1}), ("pipeline-2", {"q": 0})]
    assert numbers(pipelines_for(tmp_path, both)) == found
    assert numbers(pipelines_for(tmp_path, both)) == found
    home = read_pipeline(tmp_path / "pipeline-2")
    assert (home.last_batch, home.version) == (0, Version({}, {0: (0, 1)}))
    assert read_pipeline(tmp_path / "pipeline-1").members == (None, "r")


def test_a_job_that_stayed_behind_repeats_the_next_micro_batch_of_its_streams_under_its_number(
    tmp_path,
):
    pipelines_for(tmp_path, starting("q", "r"))
    pretend(tmp_path / "pipeline-1", 0, 0, 1)
    pipelines_for(tmp_path, starting("r"))
    for batch in (1, 2, 3, 4):
        pretend(tmp_path / "pipeline-1", batch, 1)
    log = FileLog(read_pipeline(tmp_path / "pipeline-1").log("s"))
    log.append([Entry(f"/{batch}", batch=batch) for batch in (0, 3, 4)])
    pipelines_for(tmp_path, starting("q", "r"))
    home = read_pipeline(tmp_path / "pipeline-2")
    assert (home.last_batch, home.last_begun, home.batch_of("q")) == (2, 3, 0)
    assert [entry.batch for entry in FileLog(home.log("s")).entries] == [0, 3]
    assert [json.loads((home.offsets / n).read_text().splitlines()[2]) for n in ("2", "3")] == [
        {"s": 1},
        {"s": 2},
    ]


@pytest.mark.parametrize(("published", "entries", "begun"), [(0, [0], 0), (4, [0, 3, 4], 3)])
def test_a_job_that_stayed_behind_repeats_what_it_has_published_and_nothing_else(
    tmp_path, published, entries, begun
):
    pipelines_for(tmp_path, starting("q", "r"))
    pretend(tmp_path / "pipeline-1", 0, 0, 1)
    pipelines_for(tmp_path, starting("r"))
    for batch in (1, 2, 3, 4):
        pretend(tmp_path / "pipeline-1", batch, 1)
    log = FileLog(read_pipeline(tmp_path / "pipeline-1").log("s"))
    log.append([Entry(f"/{batch}", batch=batch) for batch in (0, 3, 4)])
    pipelines_for(tmp_path, [replace(job, published=published) for job in starting("q", "r")])
    home = read_pipeline(tmp_path / "pipeline-2")
    assert (home.last_begun, home.batch_of("q")) == (begun, 0)
    assert [entry.batch for entry in FileLog(home.log("s")).entries] == entries


def write_both(directory: Path, number: int) -> None:
    """A file of each stream, after those before."""
    ts = list(range(20 * number, 20 * number + 20))
    for name in "ab":
        (directory / name).mkdir(exist_ok=True)
        rows = {"ts": ts, "k": pa.array([t % 3 for t in ts], pa.int32()), "v": ts}
        pq.write_table(pa.table(rows), directory / name / f"{number}.parquet")


def test_a_query_that_comes_back_has_all_rows_of_streams_of_which_others_read_one(tmp_path):
    queries = {"pairs": PAIRS, "values": VALUES}
    for number, running in enumerate((queries, {"values": VALUES}, queries)):
        write_both(tmp_path, number)
        run_without_spark(compiled(tmp_path, running, "found"), tmp_path / "checkpoint")
    assert_all_as_embedded(tmp_path, queries)


def test_so_has_one_that_comes_back_to_a_checkpoint_that_was_set_back(tmp_path):
    queries = {"pairs": PAIRS, "values": VALUES}
    for number, running in enumerate((queries, queries, {"values": VALUES}, queries)):
        if number == 3:
            (home,) = map(read_pipeline, pipeline_directories(tmp_path / "checkpoint"))
            (home.state / "commits" / "2.json").write_text("{")
            repair = planned_repair(home.directory)
            assert repair is not None
            repair.carry_out()
        write_both(tmp_path, number)
        run_without_spark(compiled(tmp_path, running, "found"), tmp_path / "checkpoint")
    assert_all_as_embedded(tmp_path, queries)


def test_a_run_that_dies_while_it_admits_files_leaves_no_row_late(tmp_path, monkeypatch):
    queries, append = {"pairs": PAIRS}, FileLog.append
    for last in count():
        here, steps, died = tmp_path / str(last), count(), False
        here.mkdir()

        def dying(log: FileLog, entries, last=last, steps=steps) -> None:
            if next(steps) == last:
                raise RuntimeError
            append(log, entries)

        write_both(here, 0)
        run_without_spark(compiled(here, queries, "found"), here / "checkpoint")
        write_both(here, 1)
        with monkeypatch.context() as patch:
            patch.setattr(FileLog, "append", dying)
            try:
                run_without_spark(compiled(here, queries, "found"), here / "checkpoint")
            except SparkError:
                died = True
        run_without_spark(compiled(here, queries, "found"), here / "checkpoint")
        assert_all_as_embedded(here, queries)
        if not died:
            break
    assert last > 3


def test_a_worker_does_not_take_the_operators_of_other_queries_that_ran_before(tmp_path):
    """One query goes, and one joins the group: there are as many as before."""
    total = "SELECT k, {} AS t FROM a [RANGE {} SLIDE 5] WHERE v > {} GROUP BY k"
    before = {"sums": total.format("SUM(v)", 10, -1), "largest": total.format("MAX(v)", 30, -1)}
    later = {"largest": before["largest"], "counts": total.format("COUNT(*)", 10, 12)}
    for number, queries in enumerate(({**before, "values": VALUES}, later)):
        write_both(tmp_path, number)
        run_without_spark(compiled(tmp_path, queries, "found"), tmp_path / "checkpoint")
    assert_all_as_embedded(tmp_path, {"largest": before["largest"]})


def assert_all_as_embedded(directory: Path, queries: dict[str, str]) -> None:
    found, whole = (compiled(directory, queries, out) for out in ("found", "whole"))
    run_embedded(whole)
    for name in queries:
        assert net_changes(found, name) == net_changes(whole, name) != {}


def test_a_job_that_missed_a_micro_batch_in_which_nobody_published_does_not_rejoin(tmp_path):
    """Its stream had something, it had failed, and the others had nothing to do."""
    pipelines_for(tmp_path, starting("q", "r"))
    pretend(tmp_path / "pipeline-1", 0, 0, 1)
    read_pipeline(tmp_path / "pipeline-1").without(["q"])
    pretend(tmp_path / "pipeline-1", 1)
    found = pipelines_for(tmp_path, starting("q", "r"))
    assert numbers(found) == [("pipeline-1", {"r": 1}), ("pipeline-2", {"q": 0})]


def test_what_is_left_of_a_start_that_was_cut_short_is_not_used(tmp_path):
    pipelines_for(tmp_path, starting("q", "r"))
    pretend(tmp_path / "pipeline-1", 0, 0, 1)
    pipelines_for(tmp_path, starting("r"))
    pretend(tmp_path / "pipeline-1", 1, 1)
    old = read_pipeline(tmp_path / "pipeline-1")
    found = numbers(pipelines_for(tmp_path, starting("q", "r")))
    old.write()  # as if it had died before it was struck from the old one
    assert numbers(pipelines_for(tmp_path, starting("q", "r"))) == found
    (tmp_path / "pipeline-9").mkdir()  # as if it had died before it was written down
    assert numbers(pipelines_for(tmp_path, starting("x"))) == [("pipeline-10", {"x": 0})]


def test_pipelines_that_run_stay_as_they_are(tmp_path):
    pipelines_for(tmp_path, starting("q", "r"))
    pipelines_for(tmp_path, starting("q"))
    running = [tmp_path / "pipeline-1"]
    found = pipelines_for(tmp_path, starting("r"), running)
    assert numbers(found) == [("pipeline-2", {"r": 0})]


def test_a_pipeline_of_another_version_is_refused(tmp_path):
    home = new_pipeline(tmp_path, ["q"])
    path = home.directory / PIPELINE
    path.write_text(path.read_text().replace('"version": ', '"version": 9'))
    with pytest.raises(StateError, match="another version of Windrow"):
        read_pipeline(home.directory)


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
class TestOnSpark:
    """As a user sees it."""

    def test_queries_come_and_go_and_come_back_and_none_loses_a_row(self, tmp_path):
        write_streams(tmp_path, files=4, rows=120)
        checkpoint = tmp_path / "checkpoint"
        first = {"groups": GROUPS, "pairs": PAIRS}
        run_two_files(compiled(tmp_path, first, "found"), checkpoint)
        second = {"pairs": PAIRS, "total": TOTAL}
        run_on_spark(compiled(tmp_path, second, "found"), checkpoint)
        assert read_pipeline(checkpoint / "pipeline-1").left == {"groups"}
        every = {**first, **second, "seen": VALUES}
        found = compiled(tmp_path, every, "found")
        run_on_spark(found, checkpoint)
        members = [read_pipeline(d).members for d in pipeline_directories(checkpoint)]
        assert members == [(None, "pairs"), ("total",), ("groups",), ("seen",)]
        expected = compiled(tmp_path, every, "expected")
        run_embedded(expected)
        for name in every:
            assert net_changes(found, name) == net_changes(expected, name) != {}
        for directory in pipeline_directories(checkpoint):
            assert survey(directory).problems == ()

    def test_a_query_comes_back_after_micro_batches_without_its_stream(self, tmp_path, spark):
        streams = "".join(f"CREATE STREAM {s} (ts BIGINT, v BIGINT);" for s in "ab")
        x = "CREATE QUERY x AS SELECT SUM(v) AS n FROM a [RANGE 9];"
        y = "CREATE QUERY y AS SELECT SUM(v) AS n FROM b [RANGE 9];"
        found = []
        for options in ({}, {"spark": spark, "checkpoint": tmp_path / "checkpoint"}):
            lives = ([x + y, "ab"], [y, "bbab"], [x + y, "a"])
            if not options:  # embedded, nothing has to come back
                lives = ([x + y, "abbbaba"],)
            at = 0
            for queries, pushed in lives:
                with windrow.connect(**options) as db:
                    handles = db.execute(streams + queries)
                    for stream in pushed:
                        db.push(stream, {"ts": [at * 5, at * 5 + 1], "v": [at, 1]})
                        at += 1
                        last = [q.answer().to_pylist() for q in handles]
            found.append(last)
        assert found[0] == found[1]

    def test_a_query_whose_stream_pauses_takes_part_when_it_goes_on(self, tmp_path, spark):
        found = []
        for options in ({}, {"spark": spark, "checkpoint": tmp_path / "checkpoint"}):
            with windrow.connect(**options) as db:
                text = "".join(f"CREATE STREAM {s} (ts BIGINT, v BIGINT);" for s in "ab")
                text += "CREATE QUERY x AS SELECT SUM(v) AS n FROM a [RANGE 9];"
                text += "CREATE QUERY y AS SELECT SUM(v) AS n FROM b [RANGE 9];"
                x, y = db.execute(text)
                said = []
                for number, stream in enumerate("abaab"):
                    db.push(stream, {"ts": [number * 5, number * 5 + 1], "v": [number, 1]})
                    said += [q.answer().to_pylist() for q in (x, y)]
                said += [q.changes(drain=True).to_pylist() for q in (x, y)]
                found.append(said)
        assert found[0] == found[1]
        assert all(found[1][-2:])
        assert len(commits(tmp_path / "checkpoint" / "y" / "results")) < 5

    @pytest.mark.parametrize("shuffled", [False, True])
    def test_a_query_that_fails_is_reported_and_does_not_stop_the_others(
        self, tmp_path, request, shuffled
    ):
        if shuffled:
            request.getfixturevalue("shuffled")
        write_streams(tmp_path, files=4, rows=500)
        queries = {"groups": GROUPS, "broken": BROKEN, "total": TOTAL}
        found, said = compiled(tmp_path, queries, "found"), list[str]()
        for _ in range(2):  # a second run finds the same
            with pytest.raises(DataError, match="query broken"):
                run_on_spark(found, tmp_path / "checkpoint", on_restart=said.append)
        assert len(said) == 1
        assert said[0].startswith("query broken: ")
        assert said[0].endswith("; the other queries go on")
        del queries["broken"]
        expected = compiled(tmp_path, queries, "expected")
        run_embedded(expected)
        for name in queries:
            assert net_changes(found, name) == net_changes(expected, name) != {}
