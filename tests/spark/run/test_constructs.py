"""Every kind of query on Spark itself: files in, files out, the embedded runner's changes."""

from __future__ import annotations

import json
import random
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


WRITTEN = {
    "groups": "SELECT l, COUNT(*) AS n, ARRAY_AGG(v ORDER BY k DESC) AS vs, "
    "ARRAY_AGG(DISTINCT p.u) AS us FROM c [RANGE 6 SECONDS] GROUP BY l",
    "pairs": "SELECT x.p, y.l, x.p.w[1] AS w FROM c [RANGE 5 SECONDS] AS x, c [ROWS 7] AS y "
    "WHERE x.p = y.p",
    "unnested": "SELECT u, o, k, COUNT(*) AS n FROM c [RANGE 5 SECONDS], "
    "UNNEST(l) WITH ORDINALITY AS t(u, o) GROUP BY u, o, k",
    "unnested_rows": "SELECT k, w FROM c [ROWS 6] LEFT JOIN UNNEST(p.w) AS w ON TRUE",
    "values_beside": "SELECT k, v, name FROM c [RANGE 4 SECONDS] "
    "JOIN (VALUES (0, 'none'), (1, 'one'), (3, 'three')) AS t (n, name) ON k = n",
    "values_alone": "VALUES (1, 'a'), (2, NULL)",
    "values_united": "SELECT k, v FROM c [RANGE 4 SECONDS] UNION VALUES (1, 1), (1, 1), (7, NULL)",
    "values_without": "SELECT n, COUNT(*) AS often FROM (VALUES (0), (1), (3), (3)) AS t (n) "
    "LEFT JOIN c [RANGE 2 SECONDS] ON k = n GROUP BY n",
    "values_left": "VALUES (0), (1), (2), (3) EXCEPT SELECT k FROM c [RANGE 2 SECONDS]",
    "rows_in": "SELECT k, v FROM c [RANGE 4 SECONDS] WHERE (k, v) IN ((0, 1), (1, 2), (2, 3)) "
    "OR (k, v) IN (SELECT v, k FROM c [ROWS 5])",
    "every_below": "SELECT n, COUNT(*) AS often FROM "
    "(SELECT k, COUNT(*) AS n FROM c [RANGE 6 SECONDS] GROUP BY k EVERY 3 SECONDS) AS q GROUP BY n",
    "hash_option": "SELECT x.k, y.v FROM c [RANGE 3 SECONDS] AS x, c [RANGE 5 SECONDS] AS y "
    "WHERE x.k = y.k AND x.v < y.v OPTION (HASH JOIN 2)",
    "nested_option": "SELECT x.k, y.v FROM c [RANGE 3 SECONDS] AS x, c [ROWS 4] AS y "
    "WHERE x.k = y.k OPTION (NESTED LOOPS)",
}
"""What people write first: nested values, VALUES, rows after IN, EVERY inside, options of joins."""


def test_what_people_write_first_is_the_same_on_spark(spark, tmp_path):
    rng = random.Random(5)
    for file in range(FILES):
        lines = []
        for i in range(30):
            p = {"u": rng.choice("ab"), "w": [rng.randrange(2)] * rng.randrange(3)}
            row = {"ts": (30 * file + i) // 3, "k": rng.randrange(4), "v": rng.randrange(4)}
            row["l"] = [rng.choice("xy"), None][: rng.randrange(3)]
            row["p"] = rng.choice((p, None))
            lines.append(json.dumps(row))
        (tmp_path / "c").mkdir(exist_ok=True)
        (tmp_path / "c" / f"{file}.jsonl").write_text("\n".join([*lines, ""]))

    def catalog(out: str) -> Catalog:
        columns = "ts BIGINT, k INT, v BIGINT, l STRING[], p STRUCT<u STRING, w ARRAY<BIGINT>>"
        text = f"CREATE STREAM c ({columns}) FROM '{tmp_path / 'c'}' FORMAT json;\n"
        text += "".join(
            f"CREATE QUERY {name} AS {query} INTO '{tmp_path / out / name}' FORMAT json;\n"
            for name, query in WRITTEN.items()
        )
        return compile_script(text).catalog

    expected, found = catalog("expected"), catalog("found")
    run_embedded(expected)
    run_on_spark(found, tmp_path / "checkpoint")
    for name in WRITTEN:
        assert net_changes(found, name) == net_changes(expected, name) != {}, name
