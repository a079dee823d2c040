"""Scheduled queries on Spark: late under load, right for the instants that they claim, and the same
executions when a micro-batch is repeated."""

from __future__ import annotations

import itertools
import json
from collections import Counter, defaultdict
from pathlib import Path

import pyarrow.dataset as ds
import pytest

from tests.spark.run.test_shared import script
from tests.spark.scripts import net_changes, run_on_spark, write_streams
from windrow.cli.status import to_json
from windrow.core.time import wall_clock
from windrow.plan.sharing.group_schedule import ScheduleOptions
from windrow.sharing.schedule import Pace
from windrow.spark.checkpoint.checkpoint_status import checkpoint_status
from windrow.spark.run.job_paces import JobPaces
from windrow.spark.stage.stage_task import Report
from windrow.spark.stage.state_files import StateCommits

SHAPES = [("SUM", 40, 10), ("MAX", 50, 20), ("COUNT", 30, 10), ("MIN", 20, 10)]
FUNCTIONS = {"SUM": sum, "MAX": max, "COUNT": len, "MIN": min}
QUERIES = {
    f"q{n}": (f"SELECT k, {f}(v) AS t FROM a [RANGE {w} SLIDE {s}] GROUP BY k", "parquet")
    for n, (f, w, s) in enumerate(SHAPES)
}


def late_batches(seconds: float):
    """A stopwatch by which every micro-batch takes so long."""
    readings = itertools.count()
    return lambda: (next(readings) + 1) // 2 * seconds


def replay(catalog, rows: list[tuple[int, int, int]]) -> list[list[int]]:
    """The instants of each query's changes, each checked against recomputation."""
    found = []
    for name, (function, window, _) in zip(QUERIES, SHAPES, strict=True):
        answer: Counter[str] = Counter()
        changes = net_changes(catalog, name)
        for instant in sorted(changes):
            answer.update(changes[instant])
            answer = Counter({row: n for row, n in answer.items() if n})
            groups = defaultdict(list)
            for ts, k, v in rows:
                if instant - window < ts <= instant:
                    groups[k].append(v)
            expected = Counter(repr((k, FUNCTIONS[function](own))) for k, own in groups.items())
            assert answer == expected, (name, instant)
        found.append(sorted(changes))
    return found


def rows_of(directory: Path) -> list[tuple[int, int, int]]:
    table = ds.dataset(directory / "a").to_table()
    return list(zip(*(table[c].to_pylist() for c in ("ts", "k", "v")), strict=True))


@pytest.mark.spark
@pytest.mark.slow
def test_a_repeated_micro_batch_has_the_same_executions(spark, tmp_path, monkeypatch) -> None:
    write_streams(tmp_path, files=8)
    catalog = script(tmp_path, "found", QUERIES)
    options = {"schedule": ScheduleOptions.of("late-pending", 5)}
    checkpoint = tmp_path / "checkpoint"
    commit, before = StateCommits.publish, JobPaces.before
    given: dict[int, list[dict[int, Pace]]] = defaultdict(list)

    def note(self, batch):
        given[batch].append(before(self, batch))
        return given[batch][-1]

    monkeypatch.setattr(JobPaces, "before", note)

    def fail(self, batch, version):
        if batch == 4:
            raise RuntimeError("the power has gone")
        commit(self, batch, version)

    with monkeypatch.context() as patch:
        patch.setattr(StateCommits, "publish", fail)
        with pytest.raises(Exception, match="the power has gone"):
            run_on_spark(catalog, checkpoint, stopwatch=late_batches(500), **options)
    [status] = checkpoint_status(checkpoint, wall_clock).pipelines[0].queries
    assert set(status.lateness) == set(QUERIES)
    report = run_on_spark(catalog, checkpoint, stopwatch=late_batches(0))
    instants = replay(catalog, rows_of(tmp_path))
    first, *again = given[4]
    assert again, "it was repeated"
    assert all(paces == first for paces in again)
    assert first != given[3][-1], "or the one before would do as well"
    assert all(query.lateness.late > 0 for query in report.queries)
    assert all(len(own) < 600 // slide for own, (_, _, slide) in zip(instants, SHAPES, strict=True))
    told = json.loads(to_json(checkpoint_status(checkpoint, wall_clock)))
    [query] = told["pipelines"][0]["queries"]
    assert query["lateness"]["q0"]["late"] > 0


@pytest.mark.spark
def test_without_load_scheduled_queries_answer_as_others(spark, tmp_path) -> None:
    write_streams(tmp_path, files=2)
    plain, scheduled = (script(tmp_path, out, QUERIES) for out in ("plain", "scheduled"))
    run_on_spark(plain, tmp_path / "one")
    options = ScheduleOptions.of("conservative", 1000)
    report = run_on_spark(scheduled, tmp_path / "two", schedule=options)
    assert [query.lateness.late for query in report.queries] == [0] * 4
    for name in QUERIES:
        assert net_changes(plain, name) == net_changes(scheduled, name)


def reported(now: int, work: float):
    return {3: [Report(now)]}, {3: {"work": work, "delays": {}}}


def test_a_pace_is_written_down_before_its_micro_batch_and_found_again(tmp_path) -> None:
    paces = JobPaces(tmp_path, {3: 1})
    assert paces.before(0) == {3: Pace()}
    paces.note(10, *reported(100, 5))
    paces.note(10, *reported(104, 5))
    assert paces.before(1) == {3: Pace(6, 2)}
    paces.note(500, *reported(108, 5))
    assert paces.before(1) == {3: Pace(6, 2)}
    again = JobPaces(tmp_path, {3: 1})
    assert again.before(1) == {3: Pace(6, 2)}
    assert again.before(2) == {3: Pace(6, 2)}  # nobody has measured since


def test_jobs_without_a_limit_have_no_log(tmp_path) -> None:
    paces = JobPaces(tmp_path / "paces", {})
    assert paces.before(7) == {}
    assert not (tmp_path / "paces").exists()
