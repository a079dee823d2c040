"""A run over files answers and reports the same whether rows are left out while they are read."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest

from tests.support.runs import run_embedded
from windrow.core.thresholds import lowered_thresholds
from windrow.plan.physical import excerpts
from windrow.plan.program import compile_script

ROWS, FILE = 600, 200
QUERIES = {
    "join": """SELECT l.v, r.v FROM one [RANGE 40] AS l, two [RANGE 40] AS r
        WHERE l.k = r.k AND l.p = 'a' AND r.p = 'a'""",
    "group": "SELECT k, COUNT(*), SUM(v) FROM one [RANGE 40 SLIDE 10] WHERE p <> 'b' GROUP BY k",
    "rows": "SELECT v FROM one WHERE p = 'c' AND v > 100",
    "negation": """SELECT l.v FROM one [RANGE 20] AS l WHERE l.p = 'a'
        AND NOT EXISTS (SELECT * FROM two [RANGE 30] AS r WHERE r.k = l.k AND r.p = 'b')""",
}


@pytest.fixture(params=["csv", "parquet"])
def form(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    random = np.random.default_rng(3)
    for name in ("one", "two"):
        Path(name).mkdir()
        table = pa.table(
            {
                "ts": np.arange(ROWS) + random.integers(-8, 8, ROWS),
                "p": [None if i == 4 else "abcb"[i] for i in random.integers(0, 4, ROWS)],
                "k": [f"k{i}" for i in random.integers(0, 30, ROWS)],
                "v": np.arange(ROWS),
            }
        )
        for start in range(0, ROWS, FILE):
            write = pq.write_table if request.param == "parquet" else pa_csv.write_csv
            write(table.slice(start, FILE), f"{name}/{start:03}.{request.param}")
    return str(request.param)


def answered(query: str, form: str, out: str) -> tuple[list[str], dict[str, int], list[str]]:
    """The changes, what the report counts, and what was put aside."""
    streams = "".join(
        f"""CREATE STREAM {name} (ts BIGINT, p STRING, k STRING, v BIGINT) FROM '{name}'
        FORMAT {form} TIMESTAMP BY ts SLACK 5;"""
        for name in ("one", "two")
    )
    into = f"INTO '{out}' FORMAT parquet"
    catalog = compile_script(f"{streams} CREATE QUERY q AS {QUERIES[query]} {into};").catalog
    (report,) = run_embedded(catalog, Path(f"{out}-refused")).queries
    counts = {n: getattr(report, n) for n in ("rows_in", "rows_out", "quarantined", "late", "now")}
    changes = sorted(map(repr, pq.read_table(out).to_pylist()))
    pages = (p for p in Path(f"{out}-refused").rglob("*") if p.is_file())
    return changes, counts, sorted(line for page in pages for line in page.read_text().split("\n"))


@pytest.mark.parametrize("least", [False, True])
@pytest.mark.parametrize("query", QUERIES)
def test_changes_counts_and_quarantine_are_the_same(query, least, form, monkeypatch):
    with lowered_thresholds() if least else nullcontext():
        chosen = answered(query, form, "chosen")
        monkeypatch.setattr(excerpts, "rows_read", lambda _: {})
        whole = answered(query, form, "whole")
    assert chosen == whole
    changes, counts, refused = whole
    assert len(changes) > 10
    assert counts["late"] > 10
    assert len(refused) > 10
