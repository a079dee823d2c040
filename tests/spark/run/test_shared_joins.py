"""Queries over one join of windows of several lengths are one job on Spark too."""

from __future__ import annotations

import pytest

from tests.spark.scripts import compiled, net_changes, run_embedded, run_on_spark, write_streams
from tests.support.without_spark import run_without_spark
from windrow.core.errors import StateError, WindrowError
from windrow.spark.checkpoint.pipeline_directory import pipeline_directories, read_pipeline
from windrow.spark.checkpoint.query_groups import PREFIX
from windrow.spark.stage.state_files import StateCommits

JOIN = (
    "SELECT {2} AS k, COUNT(*) AS n, SUM(b.v) AS t, MAX(a.v) AS m FROM a [RANGE {0} SLIDE {1}], "
    "b [RANGE {0} SLIDE {1}] WHERE a.k = b.k AND a.v < 40 GROUP BY {2}"
)


def queries(*lengths: int, key: str = "a.k") -> dict[str, str]:
    return {f"q{n}": JOIN.format(n, 10, key) for n in lengths}


def fail(*_: object) -> None:
    raise OSError("the disk is full")


def check(directory, found, names) -> None:
    for name, text in names.items():
        alone = compiled(directory, {name: text}, f"alone-{name}")
        run_embedded(alone)
        expected = net_changes(alone, name)
        assert net_changes(found, name) == expected
        assert len(expected) > 5


@pytest.mark.usefixtures("shuffled")
@pytest.mark.parametrize("key", ["a.k", "b.v"])
def test_all_lengths_answer_as_embedded_alone_also_after_a_stop(tmp_path, monkeypatch, key):
    write_streams(tmp_path, files=4, rows=80)
    checkpoint, asked = tmp_path / "checkpoint", queries(10, 30, 60, key=key)
    found = compiled(tmp_path, asked, "found")
    publish = StateCommits.publish
    with monkeypatch.context() as patch:
        patch.setattr(
            StateCommits, "publish", lambda s, n, v: fail() if n == 2 else publish(s, n, v)
        )
        with pytest.raises(WindrowError):
            run_without_spark(found, checkpoint)
    run_without_spark(found, checkpoint)
    (home,) = map(read_pipeline, pipeline_directories(checkpoint))
    assert home.members == (f"{PREFIX}q10",)
    check(tmp_path, found, asked)


def test_a_query_that_goes_leaves_its_seat_and_a_changed_one_is_refused(tmp_path, monkeypatch):
    write_streams(tmp_path, files=4, rows=80)
    checkpoint = tmp_path / "checkpoint"
    publish = StateCommits.publish
    with monkeypatch.context() as patch:
        patch.setattr(
            StateCommits, "publish", lambda s, n, v: fail() if n == 2 else publish(s, n, v)
        )
        with pytest.raises(WindrowError):
            run_without_spark(compiled(tmp_path, queries(10, 30, 60), "found"), checkpoint)
    changed = {**queries(10, 30), "q30": queries(40)["q40"]}
    with pytest.raises(StateError, match="query q30 does not belong to this script"):
        run_without_spark(compiled(tmp_path, changed, "found"), checkpoint)
    left = queries(10, 30)  # without that of the longest windows
    found = compiled(tmp_path, left, "found")
    run_without_spark(found, checkpoint)
    check(tmp_path, found, left)


@pytest.mark.spark
@pytest.mark.usefixtures("shuffled")
def test_the_same_on_spark(spark, tmp_path):
    write_streams(tmp_path, files=3, rows=80)
    asked = queries(20, 40)
    found = compiled(tmp_path, asked, "found")
    run_on_spark(found, tmp_path / "checkpoint")
    check(tmp_path, found, asked)
