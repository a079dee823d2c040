"""Which plans send a negative tuple for the end of every tuple."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from windrow.columns.delta import Delta
from windrow.columns.types import arrow_schema
from windrow.engine.pipeline import Pipeline
from windrow.plan.nodes import StreamScan, walk
from windrow.plan.physical.announced_ends import announces_ends, holds_answer, sends_net_changes
from windrow.plan.program import compile_script

STREAM = "CREATE STREAM s (ts BIGINT, k BIGINT, v BIGINT) TIMESTAMP BY ts;"
NUMBER = "ROW_NUMBER() OVER (PARTITION BY k ORDER BY v)"
FIRST = f"QUALIFY {NUMBER}"


@pytest.mark.parametrize(
    ("query", "announced"),
    [
        ("SELECT k, SUM(v) AS t FROM s [RANGE 5] GROUP BY k", True),
        ("SELECT k, SUM(v) AS t FROM s [RANGE 5] GROUP BY k HAVING SUM(v) > 3", True),
        ("SELECT SUM(v) + 1 AS t FROM s [RANGE 5]", True),
        ("SELECT TOP 2 k, v FROM s [RANGE 5] ORDER BY v", True),
        ("SELECT k FROM s [RANGE 5]", False),
        ("SELECT DISTINCT k FROM s [RANGE 5]", False),
        ("SELECT a.v FROM s [RANGE 5] AS a, s [RANGE 5] AS b WHERE a.k = b.k", False),
        (("SELECT g.t FROM (SELECT k, SUM(v) AS t FROM s [RANGE 5] GROUP BY k) AS g, "
         "s [RANGE 5] AS b WHERE g.k = b.k"), False),
    ],
)  # fmt: skip
def test_groups_and_ranks_announce_and_windows_do_not(query: str, announced: bool) -> None:
    (compiled,) = compile_script(f"{STREAM} CREATE QUERY q AS {query};").queries
    assert announces_ends(compiled.plan) is announced


@pytest.mark.parametrize(
    ("query", "net"),
    [
        ("SELECT k, SUM(v) AS t FROM s [RANGE 5] GROUP BY k", True),
        ("SELECT SUM(v) AS t, k FROM s [RANGE 5] GROUP BY k HAVING SUM(v) > 3", True),
        ("SELECT k, SUM(v) AS t FROM s [RANGE 6 SLIDE 2] GROUP BY k", True),
        ("SELECT SUM(v) AS t FROM s [RANGE 5] GROUP BY k", False),
        ("SELECT k, SUM(v) / 2 AS t FROM s [RANGE 5] GROUP BY k", False),
        ("SELECT k, SUM(v) AS t FROM s [RANGE 5] GROUP BY k HAVING COUNT(*) > 3", False),
        ("SELECT TOP 2 k, v FROM s [RANGE 5] ORDER BY v", False),
        ("SELECT k FROM s [RANGE 5]", False),
        (f"SELECT k, v FROM s {FIRST} <= 2", True),
        (f"SELECT k, v FROM s [RANGE 5] {FIRST} <= 2", False),
        (f"SELECT k FROM s {FIRST} <= 2", False),
        (f"SELECT * FROM (SELECT k, v, {NUMBER} AS n FROM s) AS q WHERE n <= 2", False),
    ],
)
def test_groups_send_net_changes_if_all_their_columns_are_kept(query: str, net: bool) -> None:
    (compiled,) = compile_script(f"{STREAM} CREATE QUERY q AS {query};").queries
    assert sends_net_changes(compiled.plan) is net


@pytest.mark.parametrize(
    ("query", "holds"),
    [
        (f"SELECT k, v FROM s {FIRST} <= 2", True),
        (f"SELECT k, v FROM s [RANGE 5] {FIRST} <= 2", False),
        ("SELECT * FROM s [PARTITION BY k ROWS 3]", True),
        ("SELECT * FROM s [PARTITION BY k ROWS 3] WHERE v > 0", False),
        ("SELECT * FROM s [ROWS 3]", False),
    ],
)
def test_what_an_operator_holds_nobody_else_keeps(query: str, holds: bool) -> None:
    (compiled,) = compile_script(f"{STREAM} CREATE QUERY q AS {query};").queries
    assert holds_answer(compiled.plan) is holds
    pipeline = Pipeline(compiled.plan, changes=True)
    (scan,) = (node for node in walk(pipeline.plan) if isinstance(node, StreamScan))
    kind = arrow_schema(scan.schema)
    rows = pa.RecordBatch.from_arrays([pa.array([7, 7, 7, 7])] * len(kind), schema=kind)
    now = np.array([7, 7, 8, 9])
    pipeline.process({"s": Delta.insertions(now, rows)}, 9)
    *_, changes = pipeline.operators
    live = pipeline.live_rows().num_rows
    assert live == pipeline.size() if holds else changes.size() == live > 0
