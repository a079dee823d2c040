"""A table of several queries as a run sees it."""

from __future__ import annotations

import pyarrow as pa

from tests.support.without_spark import run_without_spark
from windrow.plan.program import compile_script
from windrow.spark.checkpoint.query_directory import runs_of
from windrow.spark.run.result_table import ResultTable


def test_the_changes_of_earlier_runs_are_not_counted_whenever_somebody_asks(tmp_path):
    (tmp_path / "s.csv").write_text("ts,k\n1,a\n2,b\n")
    catalog = compile_script(f"""
        CREATE STREAM s (ts BIGINT, k STRING) FROM '{tmp_path / "s.csv"}' FORMAT csv;
        CREATE QUERY short AS SELECT k FROM s [RANGE 1] INTO '{tmp_path / "table"}';
        CREATE QUERY long AS SELECT k FROM s [RANGE 9] INTO '{tmp_path / "table"}';
    """).catalog
    run_without_spark(catalog, tmp_path / "state")
    table = ResultTable(catalog.queries, "another", runs_of(tmp_path / "state"))
    assert table.rows_out("long") == 0, "before it has begun"
    table.begin()
    assert (table.rows_out("short"), table.rows_out("long"), table.total("long")) == (0, 0, 2)
    with (tmp_path / "s.csv").open("a") as file:
        file.write("5,c\n")
    run_without_spark(catalog, tmp_path / "state")
    table.begin()
    assert (table.rows_out("long"), table.total("long")) == (1, 3)
    assert isinstance(table.answer_of("long"), pa.Table)
