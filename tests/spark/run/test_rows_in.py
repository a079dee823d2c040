"""*Rows in* is one number, whoever runs the script."""

from __future__ import annotations

import pytest

from tests.spark.scripts import run_embedded, run_on_spark
from windrow.plan.program import compile_script

pytestmark = pytest.mark.spark

SCRIPT = """
    CREATE STREAM s (ts BIGINT, k INT) FROM '{0}/s' FORMAT csv TIMESTAMP BY ts SLACK 2;
    CREATE RELATION r (k INT, name STRING) FROM '{0}/r' FORMAT csv;
    CREATE RELATION fixed (k INT) FROM '{0}/fixed.csv';
    CREATE QUERY kept AS SELECT k FROM s [RANGE 5] WHERE k > 1;
    CREATE QUERY twice AS SELECT a.k FROM s [RANGE 5] AS a, s [RANGE 2] AS b WHERE a.k = b.k;
    CREATE QUERY named AS SELECT s.k, name FROM s [RANGE 5], r WHERE s.k = r.k;
    CREATE QUERY other AS SELECT s.k FROM s [RANGE 5], fixed WHERE s.k = fixed.k;
    CREATE QUERY held AS SELECT name FROM r WHERE k = 7;
"""


def test_the_rows_of_a_query_are_counted_alike(spark, tmp_path):
    for name in ("s", "r"):
        (tmp_path / name).mkdir()
    (tmp_path / "s" / "1.csv").write_text("ts,k\n1,1\n2,2\n9,3\n3,4\nx,5\n")
    (tmp_path / "s" / "2.csv").write_text("ts,k\n10,1\n11,2\n4,2\n12,9\n")
    updates = ["1,+,1,a", "1,-,1,a", "1,+,1,b", "3,-,8,z", "4,+,2,c", "4,-,2,c", "6,?,2,c"]
    (tmp_path / "r" / "1.csv").write_text("\n".join(["instant,change,k,name", *updates]) + "\n")
    (tmp_path / "fixed.csv").write_text("k\n1\n2\nx\n2\n")
    catalog = compile_script(SCRIPT.format(tmp_path)).catalog
    ours = run_on_spark(catalog, tmp_path / "checkpoint").queries
    theirs = run_embedded(catalog).queries
    counts = {q.name: (q.rows_in, q.quarantined, q.late) for q in ours}
    assert counts == {q.name: (q.rows_in, q.quarantined, q.late) for q in theirs}
    assert counts["kept"] == counts["twice"] == (6, 3, 2)
    assert counts["named"] == (6 + 5, 3 + 2, 2)
    assert counts["other"] == (6 + 3, 3 + 1, 2)
    assert counts["held"] == (5, 2, 0)
