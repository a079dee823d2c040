"""A worker that is late to start is a busy machine's fault: the query is started again."""

from __future__ import annotations

import threading
from types import SimpleNamespace

import pytest

from windrow.core.errors import WindrowError
from windrow.engine.commits import Commit
from windrow.spark import runner, running
from windrow.spark.query import Feed

LATE = RuntimeError("org.apache.spark.SparkException: Python worker failed to connect back.")
BROKEN = RuntimeError("windrow.core.errors.DataError: BIGINT overflow")


class FakeQuery:
    """Ends in each of ``ends``, one after the other: at once, later, or well (None)."""

    def __init__(self, tmp_path, *ends: BaseException | None, at_once: bool = False) -> None:
        self.ends, self.at_once, self.started = list(ends), at_once, 0
        self.declaration = SimpleNamespace(name="q", into=None, clock=None)
        self.results = tmp_path

    def prepare(self) -> None:
        pass

    settle = prepare

    def start(self, _feed: Feed) -> SimpleNamespace:
        self.started += 1
        end = self.ends.pop(0)
        if end is not None and self.at_once:
            raise end
        return SimpleNamespace(isActive=False, exception=lambda: end, status={"message": ""})


def watched(query: FakeQuery, monkeypatch) -> None:
    none: list[Commit] = []
    monkeypatch.setattr(running, "commits", lambda *_: none)
    started = running.Running(query, lambda _: None)  # type: ignore[arg-type]
    runner._watch([started], Feed(once=True), threading.Event())


@pytest.mark.parametrize("at_once", [True, False])
def test_a_query_with_a_late_worker_is_started_again(tmp_path, monkeypatch, at_once):
    query = FakeQuery(tmp_path, LATE, LATE, None, at_once=at_once)
    watched(query, monkeypatch)
    assert query.started == 3


def test_a_worker_that_is_always_late_is_reported(tmp_path, monkeypatch):
    query = FakeQuery(tmp_path, *[LATE] * running.STARTS)
    with pytest.raises(WindrowError, match="failed to connect back"):
        watched(query, monkeypatch)
    assert query.started == running.STARTS


def test_any_other_failure_is_reported_at_once(tmp_path, monkeypatch):
    query = FakeQuery(tmp_path, BROKEN, None)
    with pytest.raises(WindrowError, match="BIGINT overflow"):
        watched(query, monkeypatch)
    assert query.started == 1
