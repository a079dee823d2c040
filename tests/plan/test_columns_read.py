"""Which columns of its streams a plan looks at."""

from __future__ import annotations

import pytest

from windrow.plan.physical.columns_read import columns_read
from windrow.plan.program import compile_script

STREAMS = """
CREATE STREAM s (ts BIGINT, a BIGINT, b STRING, c STRING) TIMESTAMP BY ts;
CREATE STREAM r (ts BIGINT, a BIGINT, d STRING) TIMESTAMP BY ts;
"""


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("SELECT a FROM s", {"s": {1}}),
        ("SELECT a FROM s WHERE b = 'x'", {"s": {1, 2}}),
        ("SELECT * FROM s", {"s": {0, 1, 2, 3}}),
        ("SELECT COUNT(*) FROM s [RANGE 5] GROUP BY c", {"s": {3}}),
        ("SELECT s.b FROM s [RANGE 5], r [RANGE 5] WHERE s.a = r.a", {"s": {1, 2}, "r": {1}}),
        ("SELECT x.b, y.c FROM s [RANGE 5] AS x, s [RANGE 9] AS y WHERE x.a = y.a",
         {"s": {1, 2, 3}}),
    ],
)  # fmt: skip
def test_a_plan_looks_at_what_its_lowest_projections_use(query, expected):
    plans = [q.plan for q in compile_script(f"{STREAMS} {query};").queries]
    assert columns_read(plans) == expected


def test_of_several_plans_all_columns_count():
    script = f"{STREAMS} CREATE QUERY q AS SELECT a FROM s; CREATE QUERY p AS SELECT c FROM s;"
    assert columns_read(q.plan for q in compile_script(script).queries) == {"s": {1, 3}}
