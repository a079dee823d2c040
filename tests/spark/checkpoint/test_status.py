"""What the files of a checkpoint say of its run: streams, queries, errors; running and stopped."""

from __future__ import annotations

import json
import os
import time
import urllib.request
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.spark.scripts import compiled, run_on_spark, write_streams
from tests.support.checkpoints import NOON, SECOND, HandMade
from windrow.cli.metrics import serve_metrics
from windrow.core.errors import DataError, StateError
from windrow.engine.progress import Lateness
from windrow.result_files.commits import Commit, Compacted, Totals
from windrow.spark.checkpoint import checkpoint_status as status
from windrow.spark.checkpoint.checkpoint_status import checkpoint_status
from windrow.spark.checkpoint.pipeline_directory import VERSION
from windrow.spark.checkpoint.query_status import state_sizes, totals_in
from windrow.spark.checkpoint.run_record import (
    RECORD,
    End,
    Mishap,
    QueryRecord,
    RunRecord,
    StreamRecord,
    read_run_record,
)
from windrow.spark.source.file_log import Entry
from windrow.spark.stage.state_files import StateCommits, Version


def now() -> int:
    return NOON


@pytest.fixture
def made(tmp_path):
    return HandMade(tmp_path)


def pipeline_of(made, wall=now):
    (pipeline,) = checkpoint_status(made.path, wall).pipelines
    return pipeline


def query(made, name):
    return next(q for q in pipeline_of(made).queries if q.name == name)


def stream(made, name="flows"):
    return next(s for s in pipeline_of(made).streams if s.name == name)


def test_a_running_pipeline_says_how_far_it_is_and_how_fast(made):
    found = pipeline_of(made)
    assert (found.condition, found.batch, found.batch_at) == ("running", 2, NOON)
    assert (found.batch_seconds, found.mean_batch_seconds) == (0.2, 0.3)
    busy, pairs = found.queries
    assert (busy.rows_in, busy.rows_out, busy.late, busy.rejected) == (300, 30, 3, 6)
    assert (busy.watermark, busy.lag_seconds) == (NOON - 81 * SECOND, 81.0)
    assert (busy.rows_in_per_second, busy.rows_out_per_second) == (10.0, 1.0)
    assert pairs.state_bytes == 2 * busy.state_bytes > 1000
    assert [q.standing for q in found.queries] == ["up to date"] * 2
    flows, hosts = found.streams
    assert (flows.time, flows.lag_seconds, hosts.lag_seconds) == (NOON - 80 * SECOND, 80.0, 85.0)
    assert (flows.files, flows.size, flows.files_waiting) == (3, 3000, 0)
    assert (flows.files_per_second, flows.bytes_per_second) == (0.1, 100_000.0)


def test_rates_end_when_nothing_comes_and_when_nobody_runs(made):
    later = pipeline_of(made, lambda: NOON + 61 * SECOND)
    assert [q.rows_in_per_second for q in later.queries] == [0.0, 0.0]
    made.write(end=End.STOPPED)
    stopped = pipeline_of(made)
    assert stopped.condition == "stopped"
    assert {q.rows_in_per_second for q in stopped.queries} == {None}
    assert {s.bytes_per_second for s in stopped.streams} == {None}


def test_files_that_no_micro_batch_has_wait_and_so_do_those_of_one_that_has_begun(made):
    (begun,) = made.source("flows", "3.csv")
    made.log("flows", Entry(begun, size=1000, top=NOON, batch=3))
    made.source("flows", "4.csv", "5.csv", ".hidden")
    found = stream(made)
    assert (found.files, found.files_waiting) == (3, 3)
    assert found.time == NOON - 80 * SECOND, "what has begun is not done"
    assert query(made, "busy").standing == "up to date", "files of this very moment"
    waits = checkpoint_status(made.path, lambda: time.time_ns() // 1000 + 31 * SECOND)
    busy = waits.pipelines[0].queries[0]
    assert (busy.standing, busy.reason) == ("behind", "files of flows wait")


@pytest.mark.parametrize(
    ("form", "header", "empty", "others"),
    [
        ("csv", True, ["", "ts,k", "ts,k\n", "ts,k\n\n \n"], ["ts,k\n1", "ts,k\n1,a\n"]),
        ("csv", False, ["", "\n"], ["1", "1,a\n"]),
        ("json", False, ["", "\n\n"], ["{", '{"ts": 1}\n']),
        ("parquet", False, [], ["", "PAR1"]),
    ],
)
def test_text_without_a_row_does_not_wait(form, header, empty, others, made):
    """No micro-batch ever has it, and nobody would call the query late."""
    source = str(made.root / "flows")
    made.write(streams={"flows": StreamRecord("timestamp", source, form, header)})
    for number, text in enumerate([*empty, *others, "ts,k\n" * 5000]):
        Path(made.source("flows", f"x{number}.{form}")[0]).write_text(text)
    assert stream(made).files_waiting == len(others) + 1
    Path(made.source("flows", "packed.csv.gz")[0]).write_bytes(b"")
    assert stream(made).files_waiting == len(others) + 2


def test_a_stream_on_an_integer_clock_has_no_lag_and_one_without_files_nothing_that_waits(made):
    made.write(streams={"flows": StreamRecord("integer"), "hosts": StreamRecord("timestamp")})
    found = stream(made)
    assert (found.lag_seconds, found.files_waiting) == (None, 0)


def test_a_file_of_a_relation_counts_once_and_not_what_was_accepted_of_it_too(made):
    before = stream(made).files
    made.log("flows", Entry("c/00000000.parquet", size=7, origin="in.csv", batch=2))
    made.log("flows", Entry("c/00000001.parquet", size=7, origin="in.csv", batch=2))
    assert stream(made).files == before + 1


def test_a_path_may_look_like_an_entry(made):
    (odd,) = made.source("flows", 'a"top":99999999999999999999,"b\\c\u00fc.csv')
    made.log("flows", Entry(odd, size=1, top=NOON - 79 * SECOND, batch=2))
    found = stream(made)
    assert (found.time, found.files, found.files_waiting) == (NOON - 79 * SECOND, 4, 0)


@pytest.mark.parametrize(
    ("entries", "idle", "over"),
    [
        ([Entry(idle=True, batch=2)], True, False),
        ([Entry(idle=True, batch=2), Entry(advance=NOON, batch=2)], True, False),
        ([Entry(idle=True, batch=2), Entry("x", size=1, batch=2)], False, False),
        ([Entry(end=True, batch=2)], False, True),
        ([Entry(end=True, batch=2), Entry("x", size=1, batch=2)], False, False),
        ([Entry(end=True, batch=2), Entry(advance=NOON, batch=2)], False, False),
        ([Entry(idle=True, batch=3)], False, False),
    ],
)
def test_a_stream_is_idle_or_over_as_its_log_says(entries, idle, over, made):
    made.log("flows", *entries)
    found = stream(made)
    assert (found.idle, found.over) == (idle, over)


def test_a_query_is_held_back_by_a_stream_far_behind_another_unless_that_is_idle(made):
    path = made.source("flows", "far.csv")[0]
    made.log("flows", Entry(path, size=1, top=NOON - 20 * SECOND, batch=2))
    assert (query(made, "pairs").standing, query(made, "pairs").reason) == (
        "held back",
        "hosts is behind flows",
    )
    assert query(made, "busy").standing == "up to date", "it does not read hosts"
    made.log("hosts", Entry(idle=True, batch=2))
    assert query(made, "pairs").standing == "up to date"


def test_queries_whose_answers_are_late_say_by_how_much(made):
    late = {"q1": Lateness(NOON, 2.0, 9, 3, 1.0, 2.0), "q2": Lateness(NOON, 4.5, 9, 5, 2.0, 5.0)}
    on_time = {"q3": Lateness(NOON, 0.0, 9, 0, 0.0, 0.0)}
    made.write(lateness={"busy": late | on_time, "pairs": on_time})
    found = query(made, "busy")
    assert (found.standing, found.reason) == ("answers late", "q2 by 4.5 s, q1 by 2.0 s")
    assert found.lateness == late | on_time
    assert query(made, "pairs").standing == "up to date"


def test_queries_that_stayed_behind_say_since_when_and_why(made):
    made.home = made.home.without(["pairs"])
    assert query(made, "pairs").standing == "left behind"
    made.write(failures={"pairs": Mishap(NOON, "query pairs: no")}, error=Mishap(NOON, "no"))
    found = checkpoint_status(made.path, now)
    late = found.late_queries[0]
    assert (late.standing, late.reason, late.batch) == ("failed", "query pairs: no", 2)
    assert late.rows_in_per_second is None
    assert found.last_error == Mishap(NOON, "no")


def test_a_job_that_goes_on_in_another_pipeline_is_shown_there(made):
    made.home = made.home.without(["busy", "pairs"])
    (made.path / "pipeline-2").mkdir()
    (made.path / "pipeline-2" / "pipeline.json").write_text(
        json.dumps({"version": VERSION, "run": "x", "members": ["busy"], "left": []})
    )
    found = checkpoint_status(made.path, now)
    assert {p.name: [q.name for q in p.queries] for p in found.pipelines} == {
        "pipeline-1": ["pairs"],
        "pipeline-2": ["busy"],
    }


def test_results_in_an_object_store_are_counted_by_the_driver(made):
    there = replace(made.record.jobs["busy"], results="s3://bucket/busy")
    made.write(
        jobs={**made.record.jobs, "busy": there}, totals={"busy": Totals(2, 70, 7, now=NOON)}
    )
    found = query(made, "busy")
    assert (found.rows_in, found.rows_out, found.watermark) == (70, 7, NOON)
    assert found.results == "s3://bucket/busy"


class TestProcesses:
    """Who runs it."""

    def test_one_that_died_without_a_word_was_killed(self, made):
        gone = os.fork()
        if not gone:
            os._exit(0)
        os.waitpid(gone, 0)
        made.lock(pid=gone)
        made.write(pid=gone)
        assert pipeline_of(made).condition == "killed"

    def test_a_number_that_another_process_has_now_is_not_the_run(self, made, monkeypatch):
        assert pipeline_of(made).condition == "running"
        monkeypatch.setattr(status, "_start_of", lambda pid: time.time() + 60)
        assert pipeline_of(made).condition == "killed"

    def test_the_start_of_a_process_is_known(self):
        began = status._start_of(os.getpid())
        assert 0 <= time.time() - began < 86_400

    def test_one_elsewhere_is_known_by_what_it_writes(self, made):
        made.lock(host="elsewhere")
        made.write(host="elsewhere")
        assert pipeline_of(made).condition == "running", "as far as its files say"
        assert pipeline_of(made, lambda: NOON + 61 * SECOND).condition == "unknown"

    def test_a_pipeline_that_the_run_does_not_have_does_not_run(self, made):
        made.write(pid=1)
        assert pipeline_of(made).condition == "killed"


class TestDamage:
    """Whatever is missing, damaged or vanishes is not known; all else is."""

    @pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"format": 2}', '{"format": 1}'])
    def test_without_a_record_there_is_what_the_other_files_say(self, text, made):
        (made.home.directory / RECORD).write_text(text)
        found = pipeline_of(made)
        assert (found.condition, found.batch, found.batch_seconds) == ("unknown", 2, None)
        assert [(q.rows_in, q.clock) for q in found.queries] == [(300, None)] * 2
        assert found.streams[0].time == NOON - 80 * SECOND

    def test_a_record_is_read_as_it_was_written(self, made):
        made.write(error=Mishap(1, "ü"), failures={"busy": Mishap(2, "no")}, end=End.FAILED)
        assert read_run_record(made.home.directory) == made.record

    def test_commits_that_are_compacted_while_they_are_read_count_once(self, made, monkeypatch):
        directory, real = made.path / "busy" / "results", Commit.read
        removed = []

        def read(path: Path) -> Commit:
            if not removed:
                totals = Totals().plus([real(p) for p in sorted(directory.glob("_commit-*"))])
                Compacted("run of busy", 2, (), totals).publish(directory)
                removed.extend(directory.glob("_commit-*"))
                for old in removed:
                    old.unlink()
            return real(path)

        monkeypatch.setattr(Commit, "read", read)
        assert totals_in(directory, "run of busy").rows_in == 300
        assert removed

    def test_results_of_another_run_or_gone_are_not_counted(self, made):
        assert totals_in(made.path / "busy" / "results", "other").rows_in == 0
        assert totals_in(made.path / "nowhere", "other") == Totals()

    def test_state_that_is_replaced_while_it_is_read_is_read_anew(self, made, monkeypatch):
        state, real, replaced = made.home.state, StateCommits.read, []
        before = state_sizes(state)

        def read(self, number: int) -> Version:
            version = real(self, number)
            if not replaced:
                replaced.append(made.commit_state(batch=3))
                (state / "0.7" / version.files["0.7"]).unlink()
            return version

        monkeypatch.setattr(StateCommits, "read", read)
        assert state_sizes(state) == before == {0: replaced[0], 1: 2 * replaced[0]}

    def test_damaged_state_has_no_size(self, made):
        for file in (made.home.state / "0.7").iterdir():
            file.write_bytes(b"x" * 100)
        assert state_sizes(made.home.state) is None
        assert {q.state_bytes for q in pipeline_of(made).queries} == {None}

    def test_half_a_line_of_a_log_and_a_damaged_one_are_passed_over(self, made):
        log = made.home.log("flows")
        log.write_bytes(log.read_bytes() + b'{"path":"half')
        assert stream(made).files == 3
        log.write_bytes(b"damaged\n" + log.read_bytes())
        assert stream(made).time == NOON - 80 * SECOND

    def test_no_checkpoint_is_an_error_that_says_so(self, tmp_path):
        with pytest.raises(StateError, match="no such directory"):
            checkpoint_status(tmp_path / "none", now)
        with pytest.raises(StateError, match="no checkpoint of a query"):
            checkpoint_status(tmp_path, now)

    def test_one_of_another_version_is_refused(self, made):
        path = made.home.directory / "pipeline.json"
        path.write_text(path.read_text().replace('"version": ', '"version": 9'))
        with pytest.raises(StateError, match="another version"):
            checkpoint_status(made.path, now)
        path.unlink()
        with pytest.raises(StateError, match="another version of Windrow, or its first run"):
            checkpoint_status(made.path, now)


def test_the_quarantine_is_counted_by_stream(made):
    pages = made.root / "bad" / "flows"
    pages.mkdir(parents=True)
    for name in ("a.jsonl", "b.jsonl", ".c.jsonl.1.tmp"):
        (pages / name).write_text("12345")
    (only,) = checkpoint_status(made.path, now).quarantine
    assert (only.stream, only.files, only.size) == ("flows", 2, 10)


def test_the_files_of_a_long_log_are_counted(tmp_path):
    made = HandMade(tmp_path)
    line = Entry("/far/away/" + "x" * 60 + ".csv", size=1000, top=NOON, batch=0).as_json()
    with made.home.log("hosts").open("a") as log:
        log.write("".join(line.replace("away", f"{n}") + "\n" for n in range(50_000)))
    hosts = stream(made, "hosts")
    assert (hosts.files, hosts.files_waiting) == (50_003, None)


class TestRecorder:
    """What the driver writes."""

    @pytest.fixture
    def recorder(self, tmp_path):
        pytest.importorskip("pyspark")
        from windrow.spark.run.status_writer import RunRecorder  # noqa: PLC0415

        self.wall = NOON
        recorder = RunRecorder(tmp_path, lambda: self.wall)
        recorder._names = {n: f"q{n}" for n in range(100)}
        recorder._past.append((NOON, recorder._totals.copy()))
        return recorder

    def batches(self, recorder, number, rows=10):
        from windrow.spark.stage.stage_task import Report  # noqa: PLC0415

        report = Report(NOON, {"rows_in": rows}, {"rows": 1})
        with recorder.micro_batch(number) as noted:
            noted.add({n: [report, report] for n in range(100)}, {})

    def test_rates_are_those_of_about_the_last_minute(self, recorder, tmp_path):
        for number in range(200):
            self.wall += SECOND
            self.batches(recorder, number, rows=1 if number < 100 else 10)
        record = read_run_record(tmp_path)
        assert (record.batch, record.batches, len(record.seconds)) == (199, 200, 20)
        span = (record.traffic.until - record.traffic.since) // SECOND
        assert 55 <= span <= 65
        assert record.traffic.rows_in["q7"] == 20 * span
        assert record.traffic.rows_out["q99"] == 2 * span

    def test_what_goes_to_an_object_store_is_added_up_over_runs(self, recorder, tmp_path):
        place = QueryRecord(("q1",), "integer", (), "s3://bucket/q1")
        recorder.record = replace(recorder.record, jobs={"q1": place})
        for number in range(3):
            self.batches(recorder, number)
        totals = read_run_record(tmp_path).totals
        assert totals == {"q1": Totals(3, 60, 6, now=NOON)}

    def test_nothing_that_goes_wrong_here_goes_wrong_for_the_pipeline(self, recorder, tmp_path):
        (tmp_path / RECORD).mkdir()
        self.batches(recorder, 0)
        recorder.note_failures({0: ValueError("no")})
        recorder.note_restart("again")
        recorder.fail(ValueError("no"))
        recorder.stop()
        assert (tmp_path / RECORD).is_dir()

    def test_a_micro_batch_that_fails_is_not_noted(self, recorder, tmp_path):
        with pytest.raises(ValueError, match="no"), recorder.micro_batch(0):
            raise ValueError("no")
        assert read_run_record(tmp_path) is None

    def test_an_error_is_the_end_and_stays_it(self, recorder, tmp_path):
        recorder.fail(ValueError("no"))
        recorder.stop()
        record = read_run_record(tmp_path)
        assert (record.end, record.error) == (End.FAILED, Mishap(NOON, "no"))
        assert isinstance(record, RunRecord)


def scrape(url):
    with urllib.request.urlopen(url, timeout=10) as answer:
        lines = answer.read().decode().splitlines()
    samples = (line.rpartition(" ") for line in lines if line.startswith("windrow_"))
    return {name: float(value) for name, _, value in samples}


def test_the_death_of_the_virtual_machine_is_the_last_error(tmp_path, monkeypatch):
    from windrow.spark.run import spark_runtime  # noqa: PLC0415 - starts Java

    on_spark = spark_runtime.OnSpark(lambda: None, tmp_path / "state", "upa", spark_runtime.Feed())
    failures = []
    on_spark.pipelines = [SimpleNamespace(recorder=SimpleNamespace(fail=failures.append))]
    died = StateError("the virtual machine has died")
    monkeypatch.setattr(spark_runtime, "death_of_machine", lambda _: died)
    monkeypatch.setattr(spark_runtime.StartsInTurn, "look", lambda *_: 1 / 0)
    with pytest.raises(StateError, match="has died"):
        on_spark.work(once=True)
    assert failures == [died]

    def dead() -> None:
        raise spark_runtime.MachineError("nobody has asked it for anything")

    monkeypatch.setattr(spark_runtime, "check_machine", dead)
    monkeypatch.setattr(spark_runtime.StartsInTurn, "look", lambda *_: True)
    with pytest.raises(StateError, match="has died"):
        on_spark.work(once=True)
    assert failures == [died, died]
    on_spark.close()


@pytest.mark.spark
@pytest.mark.parametrize("listened", [False, True])
def test_a_run_on_spark_is_seen_while_it_goes_on_and_after_with_the_query_that_failed(
    tmp_path, spark, monkeypatch, listened
):
    from windrow.spark.run import spark_pipeline  # noqa: PLC0415 - starts Java
    from windrow.spark.run.spark_pipeline import Pipeline  # noqa: PLC0415

    monkeypatch.setattr(spark_pipeline, "is_listened", lambda _: listened)

    write_streams(tmp_path, files=4, rows=120)
    checkpoint = tmp_path / "checkpoint"
    catalog = compiled(
        tmp_path,
        {
            "groups": "SELECT k, COUNT(*) AS n FROM a [RANGE 20] GROUP BY k",
            "broken": "SELECT CAST(k * 200000000 * v AS INT) AS big FROM a [RANGE 5] WHERE ts > 60",
        },
        "out",
    )
    seen, said, queries, start = [], [], [], Pipeline._start
    monkeypatch.setattr(Pipeline, "_start", lambda self: queries.append(start(self)) or queries[-1])

    def look(progress):
        metrics.show(progress)
        if progress.batch is not None and progress.query == "broken":
            status = checkpoint_status(checkpoint, now)
            seen.append((progress.batch, status, scrape(said[0].removeprefix("metrics at "))))

    with serve_metrics(0, said.append) as metrics:
        metrics.follow(checkpoint)
        with pytest.raises(DataError, match="broken"):
            run_on_spark(catalog, checkpoint, quarantine=tmp_path / "bad", on_progress=look)
    batch, during, scraped = seen[-1]
    assert 1 <= scraped['windrow_pipeline_batch{pipeline="pipeline-1"}'] + 1 <= 5
    assert 120 <= scraped['windrow_rows_in_total{query="groups"}'] <= 480
    assert scraped['windrow_state_bytes{pipeline="pipeline-1",query="groups"}'] > 0
    assert scraped['windrow_stream_files_total{pipeline="pipeline-1",stream="a"}'] >= 1
    assert (during.process.pid, during.process.alive) == (os.getpid(), True)
    assert during.pipelines[0].condition == "running"
    assert during.pipelines[0].batch is not None
    after = checkpoint_status(checkpoint, now)
    (found,) = after.pipelines
    assert (found.condition, found.batch >= max(3, batch)) == ("stopped", True)
    groups, broken = found.queries
    assert (groups.standing, groups.rows_in, groups.clock) == ("up to date", 480, "integer")
    assert groups.rows_out == totals_in(tmp_path / "out" / "groups", None).rows_out > 0
    assert groups.state_bytes > 0
    assert (broken.standing, broken.batch < 3) == ("failed", True)
    assert broken.reason.startswith("query broken")
    assert after.last_error.text == broken.reason
    (a,) = found.streams
    assert (a.files, a.files_waiting, a.over, a.lag_seconds) == (4, 0, True, None)
    assert len(queries[0].durations) == found.batch + 1
    if listened:
        told = [p for p in queries[0].query.recentProgress if p["durationMs"]]
        named = {"triggerExecution", "latestOffset", "walCommit", "commitOffsets", "addBatch"}
        assert any(named <= p["durationMs"].keys() for p in told), "as docs/operations.md says"
        assert {(p["numInputRows"], len(p["stateOperators"])) for p in told} == {(0, 0)}

    with pytest.raises(DataError, match="broken"):  # again, in a pipeline of its own by now
        run_on_spark(catalog, checkpoint, quarantine=tmp_path / "bad")
    first, second = checkpoint_status(checkpoint, now).pipelines
    assert [q.standing for q in (*first.queries, *second.queries)] == ["up to date", "failed"]
    assert (second.condition, second.queries[0].reason) == ("failed", second.last_error.text)
