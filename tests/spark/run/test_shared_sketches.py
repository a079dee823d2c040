"""APPROXIMATE aggregates that share synopses on Spark have the bounds that they have alone."""

from __future__ import annotations

import pytest

from tests.spark.run.test_shared import script, started  # noqa: F401
from tests.spark.scripts import (
    net_changes,
    run_embedded,
    run_on_spark,
    run_two_files,
    write_streams,
)
from windrow.spark.checkpoint.checkpoint_query import query_checkpoint

pytestmark = pytest.mark.spark

QUERIES = {
    "middles": "SELECT v % 2 AS p, APPROXIMATE MEDIAN(v * ts) AS m, COUNT(*) AS c "
    "FROM a [RANGE 200 SLIDE 100] GROUP BY v % 2",
    "highs": "SELECT v % 2 AS p, APPROXIMATE QUANTILE(v * ts, 0.9) AS m, "
    "APPROXIMATE COUNT(DISTINCT v * ts) AS d FROM a [RANGE 100 SLIDE 100] GROUP BY v % 2",
    "sets": "SELECT v % 2 AS p, APPROXIMATE COUNT(DISTINCT v * ts) AS d "
    "FROM a [RANGE 120 SLIDE 40] GROUP BY v % 2",
    "few": "SELECT v % 2 AS p, APPROXIMATE COUNT(DISTINCT v) AS d "
    "FROM a [RANGE 120 SLIDE 40] WHERE k < 9 GROUP BY v % 2",
}
"""Some have more than 100 values in a group and sub-window."""


@pytest.mark.usefixtures("shuffled")
def test_estimates_and_bounds_are_those_alone_also_after_a_restart(spark, tmp_path, started):  # noqa: F811
    write_streams(tmp_path, files=4)
    queries = {name: (query, "parquet") for name, query in QUERIES.items()}
    found = script(tmp_path, "found", queries)
    run_two_files(found, tmp_path / "checkpoint")
    report = run_on_spark(found, tmp_path / "checkpoint")
    assert set(started) == {"middles and 3 more"}
    assert all(query.rows_out > 0 for query in report.queries)
    for name, query in queries.items():
        alone = script(tmp_path, f"alone-{name}", {name: query})
        run_embedded(alone)
        assert net_changes(found, name) == net_changes(alone, name), query
    answer = query_checkpoint(tmp_path / "checkpoint", "SELECT * FROM middles").to_pylist()
    assert any(row["m_low"] < row["m_high"] for row in answer)
