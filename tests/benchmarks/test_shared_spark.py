"""The benchmark of shared selections on Spark at a tiny size: both ways answer alike."""

from __future__ import annotations

import pytest

from benchmarks import shared_spark
from windrow.spark.run.session import spark_session

pytestmark = pytest.mark.slow


def test_both_ways_are_run_and_compared(tmp_path, capsys):
    spark_session("local[2]")
    sizes = shared_spark.Sizes(rows=500, files=1, compared=3, counts=(20,), rounds=1)
    results = shared_spark.measured(tmp_path, sizes)
    assert results["ratio"] > 0
    assert [line["queries"] for line in results["lines"]] == [3, 20]
    assert "all as one" in capsys.readouterr().out
