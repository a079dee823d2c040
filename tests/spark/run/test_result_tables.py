"""Queries of a pipeline INTO one table: the embedded answer of each, also after a failure."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

import windrow
from tests.faults.points import fail_at
from tests.spark.scripts import compiled, net_changes, run_embedded, run_on_spark, write_streams
from windrow.core.errors import StateError, WindrowError
from windrow.core.time import wall_clock
from windrow.plan.catalog import Catalog
from windrow.plan.program import compile_script
from windrow.result_files.commits import commits
from windrow.result_files.compaction import compact
from windrow.spark.checkpoint.checkpoint_status import checkpoint_status

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark")]

QUERIES = {
    "groups": "SELECT k, COUNT(*) AS n FROM a [RANGE 20] GROUP BY k",
    "pairs": "SELECT a.k, COUNT(*) AS n FROM a [RANGE 20], b [RANGE 10] WHERE a.k = b.k "
    "GROUP BY a.k",
    "low": "SELECT k, SUM(v) AS n FROM b [RANGE 30] WHERE v < 10 GROUP BY k",
    "mid": "SELECT k, SUM(v) AS n FROM b [RANGE 30] WHERE v BETWEEN 5 AND 30 GROUP BY k",
    "high": "SELECT k, SUM(v) AS n FROM b [RANGE 30] WHERE v > 25 GROUP BY k",
}
"""The last three share their selection."""


def in_table(directory: Path, names: tuple[str, ...] = tuple(QUERIES)) -> Catalog:
    text = "".join(
        f"CREATE STREAM {s} (ts BIGINT, k INT, v BIGINT) FROM '{directory / s}' FORMAT parquet "
        "TIMESTAMP BY ts SLACK 4;\n"
        for s in "ab"
    )
    for name in names:
        text += f"CREATE QUERY {name} AS {QUERIES[name]} INTO '{directory / 'table'}';\n"
    return compile_script(text).catalog


def net_in_table(directory: Path) -> dict[str, dict[int, Counter[str]]]:
    """Of each query, per instant, the net change of its bag."""
    found: dict[str, dict[int, Counter[str]]] = {}
    for row in windrow.results(directory / "table").changes().to_pylist():
        instant, change, query, *values = row.values()
        bag = found.setdefault(query, {}).setdefault(instant, Counter())
        bag[repr(tuple(values))] += 1 if change == "+" else -1
    bags = {q: {t: Counter({v: n for v, n in b.items() if n}) for t, b in at.items()}
            for q, at in found.items()}  # fmt: skip
    return {query: {t: bag for t, bag in at.items() if bag} for query, at in bags.items()}


@pytest.fixture
def expected(tmp_path) -> dict[str, dict[int, Counter[str]]]:
    write_streams(tmp_path, files=4, rows=100)
    alone = compiled(tmp_path, QUERIES, "alone")
    run_embedded(alone)
    return {name: net_changes(alone, name) for name in QUERIES}


@pytest.mark.parametrize("point", ["reports", "between", "published"])
def test_a_table_has_of_each_query_what_it_has_alone_wherever_a_run_was_cut_short(
    tmp_path, expected, monkeypatch, point
):
    def broken() -> None:
        raise RuntimeError("broken by a test")

    catalog = in_table(tmp_path)
    with monkeypatch.context() as patch:
        fail_at(point, 2, broken, patch.setattr)
        with pytest.raises(WindrowError, match="broken by a test"):
            run_on_spark(catalog, tmp_path / "checkpoint")
    report = run_on_spark(catalog, tmp_path / "checkpoint")
    assert net_in_table(tmp_path) == expected
    found = commits(tmp_path / "table")
    assert [commit.batch for commit in found] == list(range(len(found)))
    assert max(len(commit.files) for commit in found) == 1, "one file for all queries and tasks"
    rows = windrow.results(tmp_path / "table").answer().to_pylist()
    for outcome in report.queries:
        mine = [(r["k"], r["n"]) for r in rows if r["query"] == outcome.name]
        assert sorted(mine) == sorted((r["k"], r["n"]) for r in outcome.answer.to_pylist())
    compact(tmp_path / "table")
    assert net_in_table(tmp_path) == expected
    run_on_spark(catalog, tmp_path / "checkpoint")
    assert net_in_table(tmp_path) == expected, "a run that has nothing new adds nothing"


def test_queries_may_leave_a_table_and_those_that_come_are_refused(tmp_path, expected):
    run_on_spark(in_table(tmp_path, ("groups", "pairs")), tmp_path / "checkpoint")
    run_on_spark(in_table(tmp_path, ("pairs",)), tmp_path / "checkpoint")
    assert net_in_table(tmp_path) == {name: expected[name] for name in ("groups", "pairs")}
    (pipeline,) = checkpoint_status(tmp_path / "checkpoint", wall_clock).pipelines
    table = windrow.results(tmp_path / "table")
    assert {q.name: q.rows_out for q in pipeline.queries} == dict.fromkeys(
        ("groups", "pairs"), table.changes().num_rows
    ), "counts are those of the table"
    with pytest.raises(StateError, match="low cannot write into the table of pairs"):
        run_on_spark(in_table(tmp_path, ("pairs", "low")), tmp_path / "checkpoint")
    (tmp_path / "table" / "_commit-00000000.json").unlink()
    with pytest.raises(StateError, match=r"results of the checkpoint .* are gone"):
        run_on_spark(in_table(tmp_path, ("pairs",)), tmp_path / "checkpoint")
