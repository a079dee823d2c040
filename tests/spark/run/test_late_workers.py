"""A process of Spark's that is late to start, or dies, is not the query's fault: it goes on."""

from __future__ import annotations

import re
import time
from threading import Event, Semaphore, Thread
from types import SimpleNamespace

import pytest

from windrow.core.errors import DataError, InputError, StateError, WindrowError
from windrow.core.time import Clock
from windrow.plan.jobs import Job
from windrow.result_files.commits import Commit
from windrow.spark.checkpoint.pipeline_directory import PipelineHome
from windrow.spark.run import restarts, spark_pipeline, spark_run
from windrow.spark.run.failures import (
    EXECUTOR,
    SOURCE,
    WORKER,
    SparkError,
    death_in,
    translate_failure,
)
from windrow.spark.run.restarts import Restarts
from windrow.spark.run.spark_job import Feed
from windrow.spark.run.spark_pipeline import Pipeline
from windrow.spark.run.spark_run import SparkRun
from windrow.spark.run.spark_runtime import OnSpark
from windrow.spark.source.file_log import LogMovedError

LATE = RuntimeError("org.apache.spark.SparkException: Python worker failed to connect back.")
DIED = RuntimeError("org.apache.spark.SparkException: Python worker exited unexpectedly (crashed).")
BROKEN = RuntimeError("windrow.core.errors.DataError: BIGINT overflow")


class FakePipeline(Pipeline):
    """Ends in each of ``ends``, one after the other: at once, later, or well (None)."""

    def __init__(self, tmp_path, *ends: BaseException | None, at_once: bool = False) -> None:
        results = SimpleNamespace(
            directory=tmp_path, begin=lambda _: None, for_console=lambda *_: []
        )
        job = Job("q", None, Clock.INTEGER, {})  # type: ignore[arg-type]
        declared = SimpleNamespace(name="q")
        found = SimpleNamespace(
            name="q", job=job, declaration=declared, results=results, streams={}
        )
        context = SimpleNamespace(master="local[2]")
        home = PipelineHome(tmp_path, "run", ("q",))
        self.said: list[str] = []
        super().__init__(
            SimpleNamespace(sparkContext=context), home, {0: found}, Feed(), self.said.append
        )  # type: ignore[arg-type]
        self.ends, self.at_once, self.starts = list(ends), at_once, 0
        self.published = {0: 1_000}

    def _prepare(self) -> None:
        pass

    def _damage(self) -> None:
        return None

    def _start(self) -> SimpleNamespace:
        self.starts += 1
        end = self.ends.pop(0)
        if end is not None and self.at_once:
            raise end
        return SimpleNamespace(active=False, failure=end, starting=False)


def watched(query: FakePipeline, monkeypatch, published=lambda: 0) -> list[str]:
    def commits(_directory, after):
        return [commit(n) for n in range(after + 1, published())]

    monkeypatch.setattr(spark_run, "new_commits", commits)
    runtime = OnSpark(lambda: None, None, "upa", Feed(once=True))  # type: ignore[arg-type, return-value]
    runtime.pipelines.append(query)
    runtime.runs.append(SparkRun(query, 0))
    while runtime.work(once=True) is not None:
        pass
    runtime.publish()
    return query.said


def commit(number: int) -> Commit:
    return Commit(number, "run", (), None, 0, 0, 0, 0)


@pytest.mark.parametrize("at_once", [True, False])
@pytest.mark.parametrize("why", [LATE, DIED])
def test_a_query_with_a_late_or_dead_worker_is_started_again(tmp_path, monkeypatch, at_once, why):
    query = FakePipeline(tmp_path, why, why, None, at_once=at_once)
    said = watched(query, monkeypatch)
    assert query.starts == 3
    assert len(said) == 2
    assert all(words.startswith("q: a Python worker") for words in said)


def test_workers_that_are_late_for_minutes_are_reported(tmp_path, monkeypatch):
    now = iter(range(0, 10_000, 20))  # each start takes twenty seconds or more
    monkeypatch.setattr(
        spark_pipeline, "Restarts", lambda name: Restarts(name, lambda: float(next(now)))
    )
    query = FakePipeline(tmp_path, *[LATE] * 100)
    with pytest.raises(
        SparkError, match=r"query q: Python workers did not start within.*without success"
    ):
        watched(query, monkeypatch)
    assert query.starts > 5, "for longer than fifty seconds"


def test_a_worker_that_dies_again_and_again_is_reported(tmp_path, monkeypatch):
    query = FakePipeline(tmp_path, *[DIED] * 50)
    with pytest.raises(SparkError, match=r"query q: a Python worker has died; .*restarted 5 times"):
        watched(query, monkeypatch)
    assert query.starts == restarts.MOST_DEATHS + 1


def test_a_query_that_publishes_in_between_is_started_again_for_ever(tmp_path, monkeypatch):
    query = FakePipeline(tmp_path, *[DIED, LATE] * 20, None)
    said = watched(query, monkeypatch, published=lambda: query.starts)
    assert query.starts == 41
    assert len(said) == 40


def test_any_other_failure_is_reported_at_once(tmp_path, monkeypatch):
    query = FakePipeline(tmp_path, BROKEN, None)
    with pytest.raises(DataError, match="BIGINT overflow"):
        watched(query, monkeypatch)
    assert query.starts == 1


@pytest.mark.parametrize("failure", [ConnectionRefusedError(111, "Connection refused"), DIED])
def test_if_the_virtual_machine_died_that_is_what_is_said(tmp_path, monkeypatch, failure):
    died = StateError("the virtual machine has died")
    monkeypatch.setattr(spark_pipeline, "death_of_machine", lambda _: died)
    query = FakePipeline(tmp_path, failure, None)
    with pytest.raises(StateError, match="virtual machine has died"):
        watched(query, monkeypatch)
    assert query.starts == 1


class Driver:
    """One that ends when it is told to, in an error or well."""

    def __init__(self) -> None:
        self.active, self.starting, self.is_this_thread = True, False, False
        self.failure: BaseException | None = None
        self.asked, self.ended, self.worked_off = Semaphore(0), Event(), False

    def end(self, failure: BaseException | None) -> None:
        self.active, self.failure = False, failure
        self.ended.set()

    def catch_up(self) -> None:
        self.asked.release()
        if not self.worked_off:
            assert self.ended.wait(20)
        if self.failure is not None:
            raise self.failure

    def stop(self) -> None:
        self.end(None)


class AskedPipeline(FakePipeline):
    """One that several threads ask; what it is driven by when it starts again works all off."""

    def __init__(self, tmp_path) -> None:
        super().__init__(tmp_path)
        self.drivers: list[Driver] = []

    def _start(self) -> Driver:  # type: ignore[override]
        time.sleep(0.05)  # others have come by then
        self.drivers.append(Driver())
        self.drivers[-1].worked_off = len(self.drivers) > 1
        return self.drivers[-1]

    def ask(self, threads: int) -> list[Thread]:
        """Threads that wait, when all of them do."""
        found = [Thread(target=self.catch_up) for _ in range(threads)]
        for thread in found:
            thread.start()
        while not self.drivers:
            time.sleep(0.001)
        for _ in found:
            assert self.drivers[0].asked.acquire(timeout=20)
        return found


def joined(threads: list[Thread]) -> bool:
    for thread in threads:
        thread.join(20)
    return not any(thread.is_alive() for thread in threads)


def test_those_who_ask_first_together_start_it_once_and_a_death_starts_it_again_once(tmp_path):
    query = AskedPipeline(tmp_path)
    waiting = query.ask(3)
    assert len(query.drivers) == 1
    query.drivers[0].end(DIED)
    assert joined(waiting)
    assert len(query.drivers) == 2
    assert sum(query.restarts.counts.values()) == len(query.said) == 1


def test_who_waits_while_it_is_started_again_waits_for_what_goes_on(tmp_path):
    query = AskedPipeline(tmp_path)
    waiting = query.ask(2)
    query._outgrown = True
    query.go_on()
    assert joined(waiting)
    assert len(query.drivers) == 2
    assert query.drivers[1].asked.acquire(timeout=20), "and asked it"
    assert query.said == []


def test_who_waits_when_it_is_ended_is_let_go(tmp_path):
    query = AskedPipeline(tmp_path)
    waiting = query.ask(2)
    query.finish()
    assert joined(waiting)
    assert len(query.drivers) == 1


def test_who_asks_of_what_somebody_else_has_stopped_is_let_go(tmp_path):
    query = AskedPipeline(tmp_path)
    waiting = query.ask(2)
    query.drivers[0].end(None)
    assert joined(waiting)
    assert len(query.drivers) == 1
    query.finish()
    query.catch_up()
    assert len(query.drivers) == 1, "what has ended is not begun again"


def test_a_function_that_is_called_in_a_micro_batch_cannot_ask_for_answers(tmp_path):
    query = AskedPipeline(tmp_path)
    query.start().is_this_thread = True  # type: ignore[misc]
    with pytest.raises(InputError, match="a function of foreach_batch"):
        query.catch_up()


@pytest.mark.parametrize(
    ("failure", "kind", "words"),
    [
        (OSError(28, "No space left on device", "/x/1"), StateError, "/x/1.*No space left on dev"),
        (OSError(28, "No space left on device"), StateError, "query q.*No space left on device"),
        (MemoryError(), SparkError, "the driver ran out of memory"),
        (KeyError("s"), SparkError, "found KeyError: 's'"),
        (AssertionError(), SparkError, "found AssertionError"),
    ],
)
def test_errors_of_the_driver_itself_say_what_they_are(failure, kind, words):
    found = translate_failure("q", failure)
    assert isinstance(found, kind)
    assert re.search(words, str(found))


def test_a_log_that_somebody_else_has_written_to_is_read_again():
    moved = LogMovedError("another process has written to the file log")
    assert Restarts("q").may_restart(moved)
    assert death_in(moved) is not None


def test_a_defect_at_the_start_stays_one(tmp_path, monkeypatch):
    query = FakePipeline(tmp_path, TypeError("no such thing"), at_once=True)
    with pytest.raises(TypeError, match="no such thing"):
        watched(query, monkeypatch)


def captured(description: str, stack: str = "", cause: BaseException | None = None) -> Exception:
    """As PySpark has errors of the virtual machine."""
    failure = Exception(description)
    failure._desc, failure._stackTrace, failure._cause = description, stack, cause  # type: ignore[attr-defined]
    return failure


NO_CAUSE = "[STREAM_FAILED] Query [id = 1] terminated with exception:  (no cause message)"
IN_SOURCE = """java.io.EOFException
	at java.base/java.io.DataInputStream.readInt(DataInputStream.java:397)
	at org.apache.spark.sql.execution.python.streaming.PythonStreamingSourceRunner.latestOffset(P.scala:152)"""  # noqa: E501
IN_SINK = """java.net.SocketException: Connection reset
	at org.apache.spark.sql.execution.python.PythonPlannerRunner.runInPython(P.scala:221)"""

STOPPING = """java.io.IOException: Stream closed
	at org.apache.spark.api.python.PythonWorkerFactory.stopWorker(PythonWorkerFactory.scala:523)"""


@pytest.mark.parametrize(
    ("failure", "what"),
    [
        (DIED, WORKER),
        (captured(NO_CAUSE, "", captured("java.io.EOFException", IN_SOURCE)), SOURCE),
        (captured("Connection reset", IN_SINK), WORKER),
        (captured("Stream closed", STOPPING), WORKER),
        (RuntimeError("ExecutorLostFailure (executor 1 exited): exited with code 137"), EXECUTOR),
    ],
)
def test_what_died_is_told_from_where_it_was_missed(failure, what):
    found = death_in(failure)
    assert found is not None
    assert found.what == what
    assert not found.late
    assert found.code == (137 if what == EXECUTOR else None)


def test_an_error_without_a_message_is_reported_with_its_class():
    failure = captured(NO_CAUSE, "", captured("java.io.EOFException", IN_SOURCE))
    assert "java.io.EOFException" in str(translate_failure("q", failure))


@pytest.mark.parametrize(
    ("text", "who"),
    [
        (
            "Job aborted: java.lang.OutOfMemoryError: Java heap space\n\tat x",
            "Java virtual machine",
        ),
        ("Traceback (most recent call last):\nMemoryError", "a Python worker"),
        ("Traceback\npyarrow.lib.ArrowMemoryError: malloc of size 9 failed", "a Python worker"),
    ],
)
def test_want_of_memory_is_reported_as_that_and_not_tried_again(text, who):
    failure = RuntimeError(text)
    error = translate_failure("q", failure)
    assert isinstance(error, WindrowError)
    assert f"{who}" in str(error)
    assert "ran out of memory" in str(error)
    assert not Restarts("q").may_restart(failure)


class Stopped:
    """A query of a connection, which may fail to catch up before it is stopped."""

    def __init__(self, failure: Exception | None) -> None:
        self.failure, self.ended = failure, False

    def finish(self) -> None:
        if self.failure is not None:
            raise self.failure

    def close(self) -> None:
        self.ended = True


def test_a_query_that_fails_to_stop_leaves_no_other_running_and_no_lock(tmp_path):
    runtime = OnSpark(lambda: None, tmp_path / "state", "upa", Feed(live=True))  # type: ignore[arg-type, return-value]
    queries = [Stopped(None), Stopped(ValueError("a listener failed")), Stopped(None)]
    runtime.runs += queries  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="a listener failed"):
        runtime.close()
    assert all(query.ended for query in queries)
    OnSpark(lambda: None, tmp_path / "state", "upa", Feed(live=True)).close()  # type: ignore[arg-type, return-value]
