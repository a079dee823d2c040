"""A query that leaves its group and comes back has missed nothing, or is refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.spark.scripts import compiled, net_changes, run_embedded
from tests.support.without_spark import run_without_spark
from windrow.core.errors import StateError, WindrowError
from windrow.spark.checkpoint.pipeline_directory import pipeline_directories, read_pipeline
from windrow.spark.stage.state_files import StateCommits

GROUPS = {
    "a selection": "SELECT k, COUNT(*) AS n FROM a [RANGE 9] WHERE v > {} GROUP BY k",
    "synopses": "SELECT k, SUM(v) AS t FROM a [RANGE {}0 SLIDE 10] GROUP BY k",
    "synopses of a join": "SELECT a.k, COUNT(*) AS n FROM a [RANGE {0}0 SLIDE 10], "
    "b [RANGE {0}0 SLIDE 10] WHERE a.k = b.k GROUP BY a.k",
}


@pytest.fixture(params=GROUPS)
def asked(request) -> dict[str, str]:
    return {f"q{n}": GROUPS[request.param].format(n) for n in (1, 2, 3)}


@pytest.fixture
def later(tmp_path) -> Callable[[], None]:
    """Files of both streams, with rows after those of the others, that come when it is called."""

    def write(number: int) -> None:
        for name in "ab":
            (tmp_path / name).mkdir(exist_ok=True)
            ts = list(range(20 * number, 20 * number + 20))
            rows = {"ts": ts, "k": pa.array([t % 3 for t in ts], pa.int32()), "v": ts}
            pq.write_table(pa.table(rows), tmp_path / name / f"{number}.parquet")

    for number in range(3):
        write(number)
    return lambda: write(3)


def test_a_query_that_was_away_while_its_group_went_on_is_refused(tmp_path, asked, later):
    checkpoint = tmp_path / "checkpoint"
    everyone = compiled(tmp_path, asked, "found")
    run_without_spark(everyone, checkpoint)
    later()
    others = compiled(tmp_path, {n: q for n, q in asked.items() if n != "q1"}, "found")
    run_without_spark(others, checkpoint)
    with pytest.raises(StateError, match="query q1 was not in the script while others") as refused:
        run_without_spark(everyone, checkpoint)
    assert "another name" in str(refused.value)
    run_without_spark(others, checkpoint)
    assert_as_embedded(tmp_path, asked, ("q2", "q3"))


def test_a_query_that_has_missed_nothing_comes_back(tmp_path, asked, later):
    checkpoint = tmp_path / "checkpoint"
    everyone = compiled(tmp_path, asked, "found")
    run_without_spark(everyone, checkpoint)
    others = compiled(tmp_path, {n: q for n, q in asked.items() if n != "q1"}, "found")
    run_without_spark(others, checkpoint)
    run_without_spark(everyone, checkpoint)
    later()
    run_without_spark(everyone, checkpoint)
    assert_as_embedded(tmp_path, asked, asked)


def test_a_micro_batch_that_others_published_without_it_counts(tmp_path, asked, later, monkeypatch):
    checkpoint = tmp_path / "checkpoint"
    everyone = compiled(tmp_path, asked, "found")
    run_without_spark(everyone, checkpoint)
    later()
    others = compiled(tmp_path, {n: q for n, q in asked.items() if n != "q1"}, "found")
    with monkeypatch.context() as patch:
        patch.setattr(StateCommits, "publish", fail)
        with pytest.raises(WindrowError):
            run_without_spark(others, checkpoint)
    with pytest.raises(StateError, match="query q1 was not in the script"):
        run_without_spark(everyone, checkpoint)


def test_a_micro_batch_that_was_cut_short_and_that_others_repeated_without_it_counts(
    tmp_path, asked, later
):
    checkpoint = tmp_path / "checkpoint"
    everyone = compiled(tmp_path, asked, "found")
    run_without_spark(everyone, checkpoint)
    (home,) = map(read_pipeline, pipeline_directories(checkpoint))
    (home.spark / "commits" / str(home.last_batch)).unlink()  # stopped before Spark wrote it
    others = compiled(tmp_path, {n: q for n, q in asked.items() if n != "q1"}, "found")
    run_without_spark(others, checkpoint)
    with pytest.raises(StateError, match="query q1 was not in the script"):
        run_without_spark(everyone, checkpoint)
    later()
    run_without_spark(others, checkpoint)
    assert_as_embedded(tmp_path, asked, ("q2", "q3"))


def fail(*_: object) -> None:
    raise OSError("the disk is full")


def assert_as_embedded(directory: Path, asked: dict[str, str], names) -> None:
    found, whole = (compiled(directory, asked, out) for out in ("found", "whole"))
    run_embedded(whole)
    for name in names:
        assert net_changes(found, name) == net_changes(whole, name) != {}
