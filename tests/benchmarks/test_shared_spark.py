"""The benchmarks of what is shared on Spark at a tiny size: both ways answer alike."""

from __future__ import annotations

import pytest

from benchmarks import shared_aggregates, shared_spark
from windrow.spark.run.session import spark_session

pytestmark = pytest.mark.slow


def test_both_ways_are_run_and_compared(tmp_path, capsys):
    spark_session("local[2]")
    sizes = shared_spark.Sizes(rows=500, files=1, compared=3, counts=(20,), rounds=1)
    results = shared_spark.measured(tmp_path, sizes)
    assert results["ratio"] > 0
    assert [line["queries"] for line in results["lines"]] == [3, 20]
    assert "all as one" in capsys.readouterr().out


def test_aggregates_are_run_both_ways_and_compared(tmp_path, capsys):
    spark_session("local[2]")
    sizes = shared_aggregates.Sizes(rows=500, files=1, compared=4, counts=(1,), rounds=1)
    results = shared_aggregates.measured(tmp_path, sizes)
    assert results["ratio"] > 0
    assert list(results["one_job"]) == [1, 4]
    assert "a job each" in capsys.readouterr().out
