"""A driver that fails at any point of a micro-batch leaves results that a later run makes whole.

The failures are errors here, within one Spark; ``python -m tests.faults`` kills processes. Eight
scenarios are quick; the other 42 of fifty are those of ``tests.faults.scenarios``.
"""

from __future__ import annotations

import errno
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from tests.faults.points import OURS, POINTS, fail_at
from tests.faults.scenarios import try_scenario
from tests.spark.scripts import compiled, net_changes, run_embedded, run_on_spark, write_streams
from windrow.core.errors import WindrowError
from windrow.core.time import wall_clock
from windrow.result_files import atomic_files
from windrow.spark.checkpoint.state import sweep
from windrow.spark.run import spark_pipeline
from windrow.spark.run.micro_batches import MicroBatches
from windrow.spark.stage.state_files import StateCommits

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark")]

QUERIES = {
    "groups": "SELECT k, COUNT(*) AS n FROM a [RANGE 20] GROUP BY k",
    "pairs": "SELECT a.v, COUNT(*) AS n FROM a [RANGE 20], b [RANGE 10] WHERE a.k = b.k "
    "GROUP BY a.v",
    "total": "SELECT COUNT(*) AS n, SUM(v) AS s FROM b [RANGE 30]",
}
FILES = 4
BUCKETS = 4
"""Two on each of two levels, of which every micro-batch writes a file of state."""


def broken() -> None:
    raise RuntimeError("broken by a test")


def full_disk(*_: object, **__: object) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


def failing_run(directory: Path, monkeypatch, point: str, count: int, **options) -> None:
    """A run that ends where it is broken."""
    found = compiled(directory, QUERIES, "found")
    with monkeypatch.context() as patch:
        fail_at(point, count, broken, patch.setattr)
        with pytest.raises(WindrowError, match="broken by a test"):
            run_on_spark(found, directory / "checkpoint", **options)


def assert_whole(directory: Path, **options) -> None:
    """Run to the end: everything is as if nothing had happened."""
    found, expected = (compiled(directory, QUERIES, out) for out in ("found", "expected"))
    run_on_spark(found, directory / "checkpoint", **options)
    run_embedded(expected)
    for name in QUERIES:
        assert net_changes(found, name) == net_changes(expected, name) != {}
    state = directory / "checkpoint" / "pipeline-1" / "state"
    sweep(state)
    versions = StateCommits(state).numbers()
    assert len(list(state.glob("*/*.state"))) == BUCKETS * len(versions), "and nothing is left over"


@pytest.mark.parametrize("listened", [(False, False), (False, True), (True, False)])
@pytest.mark.parametrize("point", POINTS)
def test_a_driver_that_fails_at_a_point_is_gone_on_with(tmp_path, monkeypatch, point, listened):
    """By a thread of ours or, if somebody listens, by a streaming query, whichever it was."""
    if point in OURS and listened[0]:
        pytest.skip("a streaming query has points of its own there")
    write_streams(tmp_path, files=FILES, rows=100)
    monkeypatch.setattr(spark_pipeline, "is_listened", lambda _: listened[0])
    failing_run(tmp_path, monkeypatch, point, 2 + POINTS.index(point) % 2)
    monkeypatch.setattr(spark_pipeline, "is_listened", lambda _: listened[1])
    assert_whole(tmp_path)


def test_an_attempt_that_does_not_count_leaves_no_trace(tmp_path, monkeypatch):
    """As that of a stage that Spark runs again, or that was slower than its twin."""
    write_streams(tmp_path, files=FILES, rows=100)
    once = MicroBatches.run

    def twice(self, *given):
        once(self, *given)
        return once(self, *given)

    monkeypatch.setattr(MicroBatches, "run", twice)
    assert_whole(tmp_path)


def test_a_disk_that_is_full_when_results_are_published_is_reported(tmp_path, monkeypatch):
    write_streams(tmp_path, files=FILES, rows=100)
    real, left = atomic_files.write, [9]

    def write(path: Path, fill: Callable[[Path], object], **options: bool) -> None:
        left[0] -= path.name.startswith((".batch-", "._commit-"))
        (full_disk if left[0] < 0 else real)(path, fill, **options)

    found = compiled(tmp_path, QUERIES, "found")
    with monkeypatch.context() as patch:
        patch.setattr(atomic_files, "write", write)
        with pytest.raises(WindrowError, match="No space left"):
            run_on_spark(found, tmp_path / "checkpoint")
    assert_whole(tmp_path)


def test_a_clock_that_jumps_between_runs_changes_nothing(tmp_path, monkeypatch):
    write_streams(tmp_path, files=FILES, rows=100)
    year = 365 * 86_400_000_000
    failing_run(tmp_path, monkeypatch, "published", 2, wall=partial(int, wall_clock() - year))
    failing_run(tmp_path, monkeypatch, "committed", 2, wall=partial(int, wall_clock() + year))
    assert_whole(tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("number", range(42))
def test_whatever_happens_one_after_the_other_the_outcome_is_that_of_an_undisturbed_run(
    tmp_path, monkeypatch, number
):
    verdict = try_scenario(number, tmp_path / "scenario", monkeypatch)
    assert not verdict.wrong, verdict
    assert verdict.lives >= 3
