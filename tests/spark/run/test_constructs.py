"""Every kind of query on Spark itself: files in, files out, the embedded runner's changes."""

from __future__ import annotations

import re
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.operators.samples import QUERIES, STREAMS, random_input
from tests.spark.scripts import net_changes, run_embedded, run_on_spark
from windrow.plan.catalog import Catalog
from windrow.plan.program import compile_script

pytestmark = pytest.mark.spark

FILES = 2
TOGETHER = 6
"""Queries that run side by side."""
FIRST = ["join_relation", "join_nrr", "approximate", "approximate_rows", "frequent"]
OTHERS = [q for q, text in QUERIES.items() if q not in FIRST and text]


def write_inputs(directory: Path) -> None:
    """The samples' random input, cut into files; updates of relations that break rules included."""
    for name, delta in random_input(seed=8, rows=240).items():
        table = pa.Table.from_batches([delta.rows])
        if name in ("rel", "nrr"):
            change = pa.array(["+" if sign > 0 else "-" for sign in delta.sign])
            table = table.add_column(0, "change", change).add_column(0, "instant", [delta.ts])
        (directory / name).mkdir(parents=True)
        size = -(-len(table) // FILES)
        for i in range(FILES):
            pq.write_table(table.slice(i * size, size), directory / name / f"{i}.parquet")


def catalog_of(directory: Path, queries: list[str], out: str) -> Catalog:
    text = re.sub(
        r"(CREATE (?:STREAM|RELATION|NRR) (\w+) \([^)]*\));",
        lambda m: f"{m[1]} FROM '{directory / m[2]}' FORMAT parquet;",
        STREAMS,
    )
    text += "".join(
        f"CREATE QUERY q_{q} AS {QUERIES[q]} INTO '{directory / out / q}' FORMAT parquet;\n"
        for q in queries
    )
    return compile_script(text).catalog


def compare(directory: Path, queries: list[str]) -> None:
    write_inputs(directory)
    expected, found = (catalog_of(directory, queries, out) for out in ("expected", "found"))
    reference = run_embedded(expected)
    report = run_on_spark(found, directory / "checkpoint")
    for one, two in zip(reference.queries, report.queries, strict=True):
        assert net_changes(found, two.name) == net_changes(expected, one.name) != {}
        assert (two.name, two.quarantined, two.now) == (one.name, one.quarantined, one.now)


def test_relations_are_judged_and_joined_and_sketches_kept_as_embedded(spark, tmp_path):
    compare(tmp_path, FIRST)


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("first", range(0, len(OTHERS), TOGETHER))
def test_all_other_kinds_of_queries_answer_as_embedded(spark, tmp_path, first):
    compare(tmp_path, OTHERS[first : first + TOGETHER])
