"""The archive's benchmark on Spark at a tiny size: its sums agree, and it has its ratios."""

from __future__ import annotations

import pytest

from benchmarks import archive_spark
from windrow.spark.run.session import spark_session

pytestmark = pytest.mark.slow


def test_both_formats_are_built_advanced_and_add_up(capsys):
    sizes = archive_spark.Sizes(rows=5_000, window=2, more=1, n=2, rounds=1)
    results = archive_spark.measured(spark_session("local[2]"), sizes)
    assert set(results["scan_ratio"]) == {"plain", "parquet", "parquet, load", "arrow"}
    assert all(built["rows"] == 10_000 for built in results["built"].values())
    assert "times plain" in capsys.readouterr().out
