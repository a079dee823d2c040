"""The thread that begins micro-batches, over a reader and notes that are told what to say."""

from __future__ import annotations

import threading
import time
from types import SimpleNamespace

import pytest

from windrow.spark.checkpoint.batch_logs import BatchNotes
from windrow.spark.run import batch_thread
from windrow.spark.run.batch_driver import is_listened
from windrow.spark.run.batch_thread import BatchThread
from windrow.spark.stage.state_files import RETAINED

PATIENCE = 20.0
"""Seconds after which something will not happen any more."""


class Reader:
    """As much of a ``LogReader`` as the thread asks for; ``there`` is how far a stream has come."""

    def __init__(self, there: int = 0) -> None:
        self.there, self.looked, self.looks = there, 0.0, 0
        self.ready = False

    def initialOffset(self) -> dict[str, int]:  # noqa: N802 - Spark's name
        return {"s": 0}

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        self.ready = True

    def find(self, batch, start, seconds=0.0, sleep=time.sleep):
        self.looks += 1
        until = time.monotonic() + seconds
        while {"s": self.there} == start and time.monotonic() < until and not sleep(0.001):
            pass
        return {"s": min(self.there, start["s"] + 2)}


class Context:
    """A SparkContext whose jobs can be cancelled."""

    def __init__(self) -> None:
        self.cancelled = threading.Event()
        self.descriptions: list[str] = []

    def setJobGroup(self, *_: object, **__: object) -> None:  # noqa: N802
        pass

    def setJobDescription(self, words: str) -> None:  # noqa: N802
        self.descriptions.append(words)

    def cancelJobGroup(self, _: str) -> None:  # noqa: N802
        self.cancelled.set()


@pytest.fixture(autouse=True)
def plain_threads(monkeypatch):
    monkeypatch.setattr(batch_thread, "InheritableThread", threading.Thread)


def begun(tmp_path, reader, take, *, once=False, context=None) -> BatchThread:
    return BatchThread(
        context or Context(), "windrow: q", reader, BatchNotes(tmp_path, RETAINED), take, once=once
    )  # type: ignore[arg-type]


def busy(tmp_path) -> BatchThread:
    """One in the middle of a micro-batch, which fails when it is cancelled."""
    context, begins = Context(), threading.Event()

    def work(_: int) -> None:
        begins.set()
        assert context.cancelled.wait(PATIENCE)
        raise RuntimeError("cancelled")

    running = begun(tmp_path, Reader(1), work, context=context)
    assert begins.wait(PATIENCE)
    return running


def test_all_that_is_there_is_taken_once_and_the_end_is_the_end(tmp_path):
    taken: list[int] = []
    context = Context()
    running = begun(tmp_path, Reader(5), taken.append, once=True, context=context)
    running.wait()
    assert taken == [0, 1, 2]
    assert context.descriptions == [f"windrow: q, batch = {n}" for n in range(3)]
    assert (running.active, running.starting, running.failure) == (False, False, None)
    assert len(running.durations) == 3
    again = begun(tmp_path, Reader(5), taken.append, once=True)
    again.wait()
    assert taken == [0, 1, 2]


def test_who_waits_hears_when_all_that_was_there_before_is_worked_off(tmp_path):
    taken: list[int] = []
    reader = Reader()
    running = begun(tmp_path, reader, taken.append)
    for there in (1, 2, 7, 7, 8):
        reader.there = there
        running.catch_up()
        assert BatchNotes(tmp_path, RETAINED).open({"s": 0})[1:] == ({"s": there}, True)
    running.stop()
    assert not running.active
    assert taken == list(range(len(taken)))
    running.catch_up()  # it has ended, and nobody waits for ever


def test_what_comes_while_nobody_waits_is_taken(tmp_path):
    taken = threading.Event()
    reader = Reader()
    running = begun(tmp_path, reader, lambda _: taken.set())
    reader.there = 1
    assert taken.wait(PATIENCE)
    running.stop()


def test_a_failure_is_whoever_waits_told_and_the_micro_batch_is_repeated(tmp_path):
    def fail(batch: int) -> None:
        if batch == 1:
            raise ValueError("broken by a test")

    running = begun(tmp_path, Reader(5), fail)
    for wait in (running.catch_up, running.wait):
        with pytest.raises(ValueError, match="broken"):
            wait()
    assert str(running.failure) == "broken by a test"
    assert not running.active
    taken: list[int] = []
    begun(tmp_path, Reader(5), taken.append, once=True).wait()
    assert taken == [1, 2]


def test_a_stop_cancels_what_is_being_done(tmp_path):
    running = busy(tmp_path)
    running.stop()
    assert not running.active
    assert BatchNotes(tmp_path, RETAINED).open({"s": 0}) == (0, {"s": 1}, False)


def test_a_stop_of_what_is_gone_already_ends(tmp_path):
    class Stopped(Context):
        def cancelJobGroup(self, _: str) -> None:  # noqa: N802
            raise AttributeError("'NoneType' object has no attribute 'sc'")

    running = begun(tmp_path, Reader(), lambda _: None, context=Stopped())
    running.stop()
    assert not running.active


def test_who_waits_while_it_is_stopped_hears_no_error(tmp_path):
    running = busy(tmp_path)
    waiting = threading.Thread(target=running.catch_up)
    waiting.start()
    running.stop()
    waiting.join(PATIENCE)
    assert not waiting.is_alive()
    assert running.failure is None


def test_it_has_started_when_it_repeats_a_micro_batch(tmp_path):
    notes = BatchNotes(tmp_path, RETAINED)
    notes.open({"s": 0})
    notes.begin(0, {"s": 1})
    seen, looked = [], threading.Event()

    def work(_: int) -> None:
        assert looked.wait(PATIENCE)
        seen.append((running.starting, running.is_this_thread))

    running = begun(tmp_path, Reader(1), work, once=True)
    looked.set()
    running.wait()
    assert seen == [(False, True)]
    assert not running.is_this_thread


def test_what_cannot_be_noted_is_a_failure(tmp_path, monkeypatch):
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(BatchNotes, "begin", full)
    running = begun(tmp_path, Reader(1), lambda _: None)
    with pytest.raises(OSError, match="No space left"):
        running.catch_up()


def test_a_stop_does_not_wait_for_a_look(tmp_path, monkeypatch):
    monkeypatch.setattr(batch_thread, "WATCHING", PATIENCE)
    reader = Reader()
    running = begun(tmp_path, reader, lambda _: None)
    while not reader.looks:
        time.sleep(0.001)
    began = time.monotonic()
    running.stop()
    assert time.monotonic() - began < PATIENCE / 2


@pytest.mark.parametrize(
    ("settings", "heard"),
    [
        ({}, False),
        ({"spark.sql.streaming.metricsEnabled": "false"}, False),
        ({"spark.sql.streaming.metricsEnabled": "true"}, True),
        ({"spark.sql.streaming.streamingQueryListeners": "org.example.Listener"}, True),
    ],
)
def test_streaming_queries_are_for_those_who_hear_of_them(settings, heard):
    assert is_listened(SimpleNamespace(conf=settings)) is heard  # type: ignore[arg-type]
