"""Queries that together use every operator, and random input for them."""

from __future__ import annotations

from functools import cache, lru_cache
from typing import Any

import numpy as np
import pyarrow as pa

from windrow.columns.delta import Delta
from windrow.core.schema import Type
from windrow.core.time import FOREVER
from windrow.engine.pipeline import Pipeline
from windrow.plan.catalog import Catalog
from windrow.plan.expressions import Column
from windrow.plan.jobs import arrange
from windrow.plan.nodes import MultiJoin, Node
from windrow.plan.program import compile_script

STREAMS = """
CREATE STREAM s (ts BIGINT, k INT, a BIGINT, x DOUBLE, n STRING);
CREATE STREAM r (ts BIGINT, k INT, b BIGINT, m STRING);
CREATE RELATION rel (k INT, w INT);
CREATE NRR nrr (k INT, w INT);
CREATE VIEW counts AS SELECT k, COUNT(*) AS c FROM s [RANGE 5 SECONDS] GROUP BY k;
CREATE VIEW pairs AS ISTREAM(
  SELECT s.k, a, b FROM s [RANGE 6 SECONDS], r [RANGE 4 SECONDS] WHERE s.k = r.k);
CREATE VIEW last AS SELECT k, b FROM r [ROWS 7];
CREATE FUNCTION escaped (t STRING) RETURNS STRING AS 'html:escape';
CREATE FUNCTION doubled (t STRING, u STRING, v STRING) RETURNS STRING
  AS 'pyarrow.compute:binary_join_element_wise' VECTORISED;
"""

QUERIES = {
    "select": "SELECT k, a + 1, n FROM s [RANGE 6 SECONDS] WHERE a > 0",
    "texts": "SELECT k, regexp_replace(n, '[a-m]', '<\\0>', 'g'), n -> 'a', md5(n) "
    "FROM s [RANGE 6 SECONDS] WHERE n RLIKE '[a-z]'",
    "python": "SELECT escaped(n || '<'), COUNT(*), LAST(doubled(n, n, '+')) "
    "FROM s [RANGE 6 SECONDS] WHERE escaped(n) <> 'a' GROUP BY escaped(n || '<')",
    "decimals": "SELECT k, SUM(CAST(a AS DECIMAL(20, 1))), AVG(CAST(a AS DECIMAL(9, 2)) / 3), "
    "MIN(CAST(a AS DECIMAL(30, 2))), COUNT(DISTINCT TRY_CAST(x AS DECIMAL(30, 1))) "
    "FROM s [RANGE 6 SECONDS] GROUP BY k",
    "decimals_slide": "SELECT k, SUM(CAST(a AS DECIMAL(20, 1))), AVG(CAST(a AS DECIMAL(9, 2))), "
    "MAX(CAST(a AS DECIMAL(9, 2))), MIN(TRY_CAST(x AS DECIMAL(30, 1))) "
    "FROM s [RANGE 6 SECONDS SLIDE 2 SECONDS] GROUP BY k",
    "decimal_quantiles": "SELECT k, MEDIAN(CAST(a AS DECIMAL(20, 1))), "
    "QUANTILE(CAST(a AS DECIMAL(9, 2)), 0.9), VAR(CAST(a AS DECIMAL(30, 3))), "
    "STDDEV(DISTINCT TRY_CAST(x AS DECIMAL(9, 1))) FROM s [RANGE 6 SECONDS] GROUP BY k",
    "decimal_quantiles_slide": "SELECT k, MEDIAN(CAST(a AS DECIMAL(20, 1))), "
    "QUANTILE(CAST(a AS DECIMAL(9, 2)), 0.25), STDDEV(CAST(a AS DECIMAL(30, 3))), "
    "VAR(TRY_CAST(x AS DECIMAL(9, 1))) FROM s [RANGE 8 SECONDS SLIDE 2 SECONDS] GROUP BY k",
    "decimal_quantiles_strict": "SELECT k, MEDIAN(CAST(a AS DECIMAL(20, 1))), "
    "VAR(CAST(a AS DECIMAL(20, 1))) FROM s [ROWS 12] GROUP BY k",
    "decimal_keys": "SELECT s.k, CAST(a AS DECIMAL(30, 1)) FROM s [RANGE 6 SECONDS], "
    "r [RANGE 4 SECONDS] WHERE CAST(a AS DECIMAL(30, 1)) = CAST(b AS DECIMAL(12, 4))",
    "arrays": "SELECT ARRAY[k, a] AS l, {'n': n, 'x': x} AS t, COUNT(*) FROM s [RANGE 6 SECONDS] "
    "WHERE 1 = ANY(ARRAY[k, a]) OR k > 0 GROUP BY ARRAY[k, a], {'n': n, 'x': x}",
    "array_agg": "SELECT k, ARRAY_AGG(n), ARRAY_AGG(x ORDER BY a DESC), ARRAY_AGG(DISTINCT a) "
    "FROM s [RANGE 6 SECONDS] GROUP BY k",
    "array_agg_slide": "SELECT k, ARRAY_AGG(a ORDER BY n), ARRAY_AGG(x) FILTER (WHERE a > 0) "
    "FROM s [RANGE 7 SECONDS SLIDE 3 SECONDS] GROUP BY k",
    "array_agg_strict": "SELECT k, ARRAY_AGG(DISTINCT n) FROM s [ROWS 9] GROUP BY k",
    "array_keys": "SELECT ARRAY[s.n, m] AS names, b FROM s [ROWS 9], r [RANGE 4 SECONDS] "
    "WHERE ARRAY[s.k, 1] = ARRAY[r.k, 1]",
    "array_distinct": "SELECT DISTINCT [n, 'z'] FROM s [RANGE 5 SECONDS]",
    "struct_distinct": "SELECT DISTINCT {'k': k, 'a': [a]} FROM s [ROWS 6]",
    "unnest": "SELECT k, t.u, n FROM s [RANGE 6 SECONDS], UNNEST([a, k, NULL]) AS t(u) WHERE a > 0",
    "unnest_strict": "SELECT k, u, o FROM s [ROWS 7] "
    "CROSS JOIN UNNEST(CASE WHEN k > 1 THEN [n, 'z'] END) WITH ORDINALITY AS t(u, o)",
    "unnest_outer": "SELECT u, COUNT(*) FROM s [RANGE 6 SECONDS] "
    "LEFT JOIN UNNEST(CASE WHEN k > 1 THEN [a, k] END) AS t(u) ON TRUE GROUP BY u",
    "unnest_unbounded": "SELECT k, UNNEST([n, 'z']) FROM s",
    "unbounded": "SELECT k, a FROM s [UNBOUNDED] WHERE a > 0",
    "now": "SELECT k FROM s [NOW]",
    "slide": "SELECT k, n FROM s [RANGE 7 SECONDS SLIDE 3 SECONDS]",
    "every": "SELECT k, c FROM counts EVERY 4 SECONDS",
    "rows": "SELECT k, a, n FROM s [ROWS 5]",
    "rows_one": "SELECT k, a, n FROM s [ROWS 1]",
    "rows_slide": "SELECT k, a, n FROM s [ROWS 7 SLIDE 3]",
    "rows_slide_gaps": "SELECT k, a FROM s [ROWS 2 SLIDE 5]",
    "rows_slide_group": "SELECT k, COUNT(*), MAX(a) FROM s [ROWS 12 SLIDE 4] GROUP BY k",
    "partition": "SELECT k, a FROM s [PARTITION BY k ROWS 2]",
    "partition_strings": "SELECT n, a FROM s [PARTITION BY n, k ROWS 3]",
    "union": "(SELECT k, a FROM s [RANGE 3 SECONDS]) "
    "UNION ALL (SELECT k, b FROM r [RANGE 8 SECONDS])",
    "join": "SELECT s.k, a, b FROM s [RANGE 6 SECONDS], r [RANGE 4 SECONDS] WHERE s.k = r.k",
    "join_strings": "SELECT s.n, a, b FROM s [RANGE 6 SECONDS], r [RANGE 4 SECONDS] WHERE n = m",
    "join_internal": "SELECT s.k, a, b FROM s [RANGE 6 SECONDS INTERNAL], "
    "r [RANGE 4 SECONDS INTERNAL] WHERE s.k = r.k",
    "join_residual": "SELECT s.k, a, b FROM s [RANGE 6 SECONDS], r [RANGE 4 SECONDS] "
    "WHERE s.k = r.k AND a < b",
    "join_theta": "SELECT a, b FROM s [RANGE 3 SECONDS], r [RANGE 2 SECONDS] WHERE a > b",
    "join_strict": "SELECT s.k, a, b FROM s [ROWS 9], r [ROWS 6] WHERE s.k = r.k",
    "join_hash": "SELECT s.k, a, b FROM s [RANGE 6 SECONDS], r [RANGE 4 SECONDS] WHERE s.k = r.k "
    "AND a < b OPTION (HASH JOIN 2)",
    "join_nested_strict": "SELECT s.n, a, b FROM s [ROWS 9], r [PARTITION BY k ROWS 2] "
    "WHERE n = m OPTION (NESTED LOOPS)",
    "join_slide": "SELECT s.k, a, b FROM s [RANGE 8 SECONDS SLIDE 4 SECONDS], "
    "r [RANGE 6 SECONDS SLIDE 2 SECONDS] WHERE s.k = r.k",
    "join_mixed": "SELECT c, b FROM counts, last WHERE counts.k = last.k",
    "join_three": "SELECT x.a, y.b, z.a FROM s [RANGE 5 SECONDS] AS x, r [RANGE 4 SECONDS] AS y, "
    "s [RANGE 6 SECONDS] AS z WHERE x.k = y.k AND y.k = z.k",
    "join_lasting": "SELECT s.k, a, b FROM s [RANGE 9 SECONDS], r [RANGE 2 SECONDS INTERNAL] "
    "WHERE s.k = r.k",
    "join_lasting_strict": "SELECT s.k, a, b FROM s [PARTITION BY k ROWS 2], "
    "r [ROWS 3 INTERNAL] WHERE s.k = r.k AND a < b",
    "join_lasting_relation": "SELECT a, b, w FROM r [RANGE 2 SECONDS INTERNAL], "
    "s [RANGE 9 SECONDS], rel WHERE s.k = r.k AND rel.k = s.k",
    "join_lasting_theta": "SELECT a, b FROM s [ROWS 4], r [RANGE 2 SECONDS INTERNAL] WHERE a > b",
    "distinct": "SELECT DISTINCT k FROM s [RANGE 5 SECONDS]",
    "distinct_weak": "SELECT DISTINCT s.k FROM s [RANGE 6 SECONDS], r [RANGE 4 SECONDS] "
    "WHERE s.k = r.k",
    "distinct_unbounded": "SELECT DISTINCT k, n FROM s",
    "distinct_strict": "SELECT DISTINCT k FROM s [ROWS 6]",
    "group": "SELECT k, COUNT(*), COUNT(x), SUM(a), SUM(x), AVG(a), AVG(x), MIN(a), MAX(x), "
    "MIN(n), MAX(n), COUNT(DISTINCT n) FROM s [RANGE 6 SECONDS] GROUP BY k",
    "group_unbounded": "SELECT k, COUNT(*), SUM(x), MIN(a), MAX(n), COUNT(DISTINCT n) "
    "FROM s GROUP BY k",
    "group_unbounded_numbers": "SELECT k, COUNT(*), COUNT(x), COUNT(n) FILTER (WHERE a > 0), "
    "COUNT(*) FILTER (WHERE x < 1), MIN(a), MAX(x), MAX(a > 0), MIN(CAST(a AS DECIMAL(9, 2))), "
    "MAX(x) FILTER (WHERE a > 1), SUM(a), AVG(x), STDDEV(a) FROM s GROUP BY k",
    "group_unbounded_values": "SELECT k, COUNT(DISTINCT n), "
    "COUNT(DISTINCT n) FILTER (WHERE a > 0), SUM(DISTINCT a), "
    "SUM(DISTINCT a) FILTER (WHERE x < 1), COUNT(DISTINCT a), "
    "AVG(DISTINCT x) FILTER (WHERE a > 1), VAR(DISTINCT CAST(a AS DECIMAL(30, 2))) "
    "FROM s GROUP BY k, n EVERY 3 SECONDS",
    "group_unbounded_all": "SELECT COUNT(*), COUNT(DISTINCT x) FILTER (WHERE k = 1), MAX(x) FROM s",
    "group_strict": "SELECT k, COUNT(*), SUM(x), MIN(a), MAX(n), COUNT(DISTINCT n) "
    "FROM s [ROWS 12] GROUP BY k",
    "group_weak": "SELECT s.k, SUM(x), MAX(b) FROM s [RANGE 6 SECONDS], r [RANGE 4 SECONDS] "
    "WHERE s.k = r.k GROUP BY s.k",
    "group_lasting": "SELECT s.k, COUNT(*), SUM(b), MAX(b) FROM s [RANGE 9 SECONDS], "
    "r [RANGE 2 SECONDS INTERNAL] WHERE s.k = r.k GROUP BY s.k",
    "slide_group": "SELECT k, COUNT(*), COUNT(x), SUM(a), SUM(x), AVG(a), AVG(x), MIN(a), MAX(x), "
    "VAR(a), STDDEV(x) FROM s [RANGE 8 SECONDS SLIDE 2 SECONDS] GROUP BY k",
    "slide_group_texts": "SELECT k, MIN(n), MAX(n), FIRST(n), LAST(a), MIN_BY(n, x), MAX_BY(x, n), "
    "SUM(x), MAX(TRY_CAST(x AS DECIMAL(30, 1))) FROM s [RANGE 8 SECONDS SLIDE 3 SECONDS] "
    "GROUP BY k",
    "slide_group_texts_rows": "SELECT k, MIN(n), LAST(n), MAX_BY(n, x) FROM s [ROWS 11 SLIDE 4] "
    "GROUP BY k",
    "slide_group_values": "SELECT n, MIN(n), MAX(n), COUNT(DISTINCT n), SUM(DISTINCT a), "
    "MEDIAN(a), QUANTILE(x, 0.9), SUM(x) FROM s [RANGE 7 SECONDS SLIDE 3 SECONDS] "
    "WHERE k > 0 GROUP BY n",
    "slide_group_rows": "SELECT n, COUNT(*), SUM(x), MIN(a), MAX(n), MEDIAN(a), "
    "COUNT(DISTINCT k) FROM s [ROWS 11 SLIDE 4] WHERE a > 0 GROUP BY n",
    "slide_group_rows_derived": "SELECT k, COUNT(*), MAX(a) FROM pairs [ROWS 6 SLIDE 2] GROUP BY k",
    "approximate": "SELECT k, APPROXIMATE MEDIAN(a) AS m, APPROXIMATE QUANTILE(x, 0.9) AS q, "
    "APPROXIMATE COUNT(DISTINCT n) AS d, SUM(a) FROM s [RANGE 7 SECONDS SLIDE 3 SECONDS] "
    "GROUP BY k",
    "approximate_rows": "SELECT APPROXIMATE COUNT(DISTINCT a), APPROXIMATE MEDIAN(x) "
    "FROM s [ROWS 12 SLIDE 4] WHERE k > 0",
    "frequent": "SELECT FREQUENT 2 k, n, COUNT(*) AS c FROM s [RANGE 8 SECONDS SLIDE 2 SECONDS] "
    "GROUP BY k, n",
    "frequent_rows": "SELECT FREQUENT 2 n, COUNT(*) AS c FROM s [ROWS 14 SLIDE 5] WHERE k > 0 "
    "GROUP BY n HAVING c > 1",
    "slide_group_gaps": "SELECT SUM(x), MAX(a) FROM s [RANGE 2 SECONDS SLIDE 5 SECONDS]",
    "slide_group_internal": "SELECT k, SUM(a), MAX(n) FROM s [RANGE 6 SECONDS SLIDE 2 SECONDS "
    "INTERNAL] GROUP BY k",
    "group_all": "SELECT COUNT(*), SUM(x), MAX(a) FROM s [RANGE 3 SECONDS]",
    "quantiles": "SELECT k, MEDIAN(a), QUANTILE(x, 0.9), VAR(a), STDDEV(x) "
    "FROM s [RANGE 6 SECONDS] GROUP BY k",
    "quantiles_strict": "SELECT k, MEDIAN(a), VAR(a) FROM s [ROWS 12] GROUP BY k",
    "group_in_order": "SELECT k, FIRST(n), LAST(a), MIN_BY(x, n), MAX_BY(n, x), "
    "STRING_AGG(n, ',') FROM s [RANGE 6 SECONDS] GROUP BY k",
    "group_in_order_slide": "SELECT k, LAST(n), STRING_AGG(n, '-' ORDER BY a DESC), "
    "STRING_AGG(DISTINCT n, ' ') FROM s [RANGE 7 SECONDS SLIDE 3 SECONDS] GROUP BY k",
    "group_in_order_strict": "SELECT s.k, STRING_AGG(n, ','), FIRST(b) FROM s [ROWS 9], "
    "r [RANGE 4 SECONDS] WHERE s.k = r.k GROUP BY s.k",
    "group_in_order_unbounded": "SELECT k, STRING_AGG(n), LAST(x) FROM s GROUP BY k",
    "quantiles_unbounded": "SELECT k, QUANTILE(a, 0.25), STDDEV(a) FROM s GROUP BY k",
    "group_distinct": "SELECT k, SUM(DISTINCT a), AVG(DISTINCT x), COUNT(DISTINCT n), "
    "MEDIAN(DISTINCT a), VAR(DISTINCT a), SUM(a) FROM s [RANGE 6 SECONDS] GROUP BY k",
    "group_distinct_strict": "SELECT k, SUM(DISTINCT x), QUANTILE(DISTINCT a, 0.9), "
    "STDDEV(DISTINCT a) FROM s [ROWS 12] GROUP BY k",
    "group_distinct_unbounded": "SELECT k, SUM(DISTINCT x), AVG(DISTINCT a), "
    "MEDIAN(DISTINCT a), MAX(a) FROM s GROUP BY k",
    "except": "(SELECT k, a FROM s [RANGE 6 SECONDS]) "
    "EXCEPT ALL (SELECT k, b FROM r [RANGE 9 SECONDS])",
    "except_rows": "(SELECT k FROM s [ROWS 9]) EXCEPT ALL (SELECT k FROM r [RANGE 3 SECONDS])",
    "not_exists": "SELECT k, a FROM s [RANGE 8 SECONDS] "
    "WHERE NOT EXISTS (SELECT * FROM r [RANGE 4 SECONDS] WHERE r.k = s.k)",
    "not_exists_theta": "SELECT k, a FROM s [RANGE 8 SECONDS] "
    "WHERE NOT EXISTS (SELECT * FROM r [RANGE 5 SECONDS] WHERE r.k = s.k AND b > a)",
    "not_exists_theta_strict": "SELECT k, a, n FROM s [ROWS 9] "
    "WHERE NOT EXISTS (SELECT * FROM r [ROWS 4] WHERE b > a + 6 OR m > n)",
    "not_exists_theta_relation": "SELECT k, a FROM s [RANGE 8 SECONDS] "
    "WHERE NOT EXISTS (SELECT * FROM rel WHERE rel.k = s.k AND w > a)",
    "not_in_constant": "SELECT k, a FROM s [RANGE 8 SECONDS] "
    "WHERE 2 NOT IN (SELECT k FROM r [RANGE 2 SECONDS])",
    "not_in": "SELECT k, a FROM s [ROWS 8] "
    "WHERE k NOT IN (SELECT k FROM r [RANGE 4 SECONDS] WHERE k IS NOT NULL)",
    "flags": "SELECT a, EXISTS (SELECT * FROM r [RANGE 4 SECONDS] WHERE r.k = s.k) AS there, "
    "n IN (SELECT m FROM r [RANGE 3 SECONDS] WHERE r.k = s.k) AS same FROM s [RANGE 8 SECONDS]",
    "flags_strict": "SELECT n, k IN (SELECT k FROM r [ROWS 3]) AS same, "
    "EXISTS (SELECT * FROM r [ROWS 4] WHERE b > a + 6 OR m > n) AS more FROM s [ROWS 9]",
    "flags_or": "SELECT k, a FROM s [RANGE 8 SECONDS] WHERE n NOT IN (SELECT m FROM r "
    "[RANGE 2 SECONDS]) OR EXISTS (SELECT * FROM r [RANGE 5 SECONDS] WHERE r.k = s.k AND b > a)",
    "within_after": "SELECT k, a FROM s WHERE a > 0 AND NOT EXISTS "
    "(SELECT * FROM r WHERE r.k = s.k) WITHIN 3 SECONDS AFTER",
    "within_before": "SELECT k, n FROM s WHERE n NOT IN "
    "(SELECT m FROM r WHERE b > 0) WITHIN 2 SECONDS BEFORE",
    "hop_bounds": "SELECT k, window_start, window_end, COUNT(*) AS c, MAX(x) "
    "FROM HOP(s, ts, 2 SECONDS, 6 SECONDS) GROUP BY k, window_start, window_end",
    "tumble_bounds": "SELECT k, a, window_end() AS w FROM s [RANGE 4 SECONDS SLIDE 4 SECONDS] "
    "WHERE a > 0",
    "session": "SELECT k, a, n FROM s [SESSION 2 SECONDS]",
    "session_keys": "SELECT n, a FROM s [PARTITION BY n, k SESSION 4 SECONDS] WHERE a > 0",
    "session_bounds": "SELECT k, window_start(), window_end(), COUNT(*), SUM(x) "
    "FROM s [PARTITION BY k SESSION 3 SECONDS] GROUP BY k",
    "session_of_join": "SELECT * FROM pairs [PARTITION BY k SESSION 2 SECONDS]",
    "extremes": "SELECT k, MIN(a), MAX(x), MAX(n) FROM s [RANGE 9 SECONDS] GROUP BY k",
    "extreme": "SELECT MAX(a) FROM s [RANGE 12 SECONDS]",
    "having": "SELECT n, SUM(a) FROM s [RANGE 9 SECONDS] GROUP BY n HAVING COUNT(*) > 2",
    "group_of_groups": "SELECT c, COUNT(*) FROM counts GROUP BY c",
    "top": "SELECT TOP 3 k, c FROM counts ORDER BY c DESC",
    "top_strings": "SELECT n, a FROM s [RANGE 5 SECONDS] ORDER BY n DESC, a LIMIT 2",
    "top_lasting": "SELECT TOP 3 s.k, a, b FROM s [ROWS 5], r [RANGE 2 SECONDS INTERNAL] "
    "WHERE s.k = r.k ORDER BY b DESC",
    "look_back": "SELECT k, a - LAG(a) OVER (PARTITION BY k ORDER BY ts) AS d, "
    "LAG(n, 3) OVER (PARTITION BY k) AS e FROM s WHERE a > -5",
    "look_back_all": "SELECT COUNT(b) FROM (SELECT LAG(a + 1, 2) OVER () AS b FROM pairs) "
    "[RANGE 5 SECONDS] AS q",
    "top_of_groups": "SELECT k, a, n FROM s [RANGE 6 SECONDS] "
    "QUALIFY ROW_NUMBER() OVER (PARTITION BY k ORDER BY a DESC) <= 2",
    "top_of_groups_strict": "SELECT n, k, c FROM (SELECT n, k, COUNT(*) AS c, "
    "ROW_NUMBER() OVER (PARTITION BY n ORDER BY COUNT(*) DESC) AS place "
    "FROM s [ROWS 20] GROUP BY n, k) AS q WHERE place <= 1",
    "top_of_groups_numbered": "SELECT * FROM (SELECT k, a, "
    "ROW_NUMBER() OVER (PARTITION BY k ORDER BY a) AS place FROM s [RANGE 5 SECONDS]) AS q "
    "WHERE place < 4",
    "top_of_growing_groups": "SELECT k, a, n, x FROM s "
    "QUALIFY ROW_NUMBER() OVER (PARTITION BY k ORDER BY a DESC) <= 3",
    "top_of_growing_groups_by_strings": "SELECT n, k, a FROM s "
    "QUALIFY ROW_NUMBER() OVER (PARTITION BY k ORDER BY n, a DESC) <= 4",
    "top_ranks": "SELECT k, n, a FROM s [RANGE 6 SECONDS] "
    "QUALIFY RANK() OVER (PARTITION BY n ORDER BY k DESC) <= 2",
    "top_ranks_strict": "SELECT n, k FROM s [ROWS 12] "
    "QUALIFY DENSE_RANK() OVER (ORDER BY k, n) <= 3",
    "top_ranks_numbered": "SELECT * FROM (SELECT n, a, RANK() OVER (PARTITION BY n ORDER BY k) "
    "AS place FROM s [RANGE 5 SECONDS]) AS q WHERE place < 4",
    "wstream_rows": "SELECT WSTREAM(s.k, a, b)[ROWS 6] FROM s [RANGE 6 SECONDS], "
    "r [RANGE 4 SECONDS] WHERE s.k = r.k",
    "wstream_max": "WSTREAM(SELECT MAX(a) FROM s [RANGE 6 SECONDS])[ROWS 9]",
    "rstream_latest": "RSTREAM(SELECT k FROM s [PARTITION BY k ROWS 1])",
    "wstream_range": "SELECT WSTREAM(k, COUNT(*))[RANGE 4 SECONDS] "
    "FROM s [RANGE 6 SECONDS] GROUP BY k",
    "rows_of_join": "SELECT * FROM pairs [ROWS 4]",
    "relation": "SELECT * FROM rel WHERE w > 2",
    "join_relation": "SELECT s.k, a, w FROM s [RANGE 5 SECONDS], rel WHERE s.k = rel.k AND w > 1",
    "join_nrr": "SELECT s.k, a, w FROM s [RANGE 5 SECONDS], nrr WHERE s.k = nrr.k",
    "join_nrr_left": "SELECT s.k, a, w FROM nrr, s [NOW] WHERE s.k = nrr.k AND w <> a",
    "istream_restore": "SELECT ISTREAM-RESTORE(s.k, a, b) "
    "FROM s [RANGE 6 SECONDS SLIDE 4 SECONDS], r [RANGE 4 SECONDS SLIDE 4 SECONDS] WHERE s.k = r.k",
    "rstream_restore_having": "RSTREAM-RESTORE(SELECT k, MAX(a) FROM s [RANGE 6 SECONDS] "
    "GROUP BY k HAVING COUNT(*) <> 2) EVERY 5",
    "join_nrr_slide": "SELECT s.k, a, w FROM nrr, s [RANGE 6 SECONDS SLIDE 4 SECONDS] "
    "WHERE s.k = nrr.k AND w <> a",
    "rstream_restore": "SELECT RSTREAM-RESTORE(k, a) FROM s [RANGE 3 SECONDS SLIDE 5 SECONDS]",
    "istream": "ISTREAM(SELECT DISTINCT k FROM s [RANGE 4 SECONDS])",
    "dstream": "DSTREAM(SELECT k, COUNT(*) FROM s [RANGE 4 SECONDS] GROUP BY k)",
    "rstream": "RSTREAM(SELECT k, a FROM s [RANGE 3 SECONDS])",
}


@cache
def plan_of(name: str) -> Node:
    """The optimised plan of a sample query."""
    if name in JOINS:
        return multi_join(*JOINS[name])
    if name in SHARED:
        (job,) = arrange(compile_script(STREAMS + SHARED[name]).queries)
        return job.plan
    return compile_script(QUERIES[name] + ";", declarations()).queries[-1].plan


@cache
def declarations() -> Catalog:
    """What all sample queries are over: compiled once, which takes longer than most of them."""
    return compile_script(STREAMS).catalog


JOINS: dict[str, tuple[Any, ...]] = {
    "multi_join": (
        ("s [RANGE 5 SECONDS]", "r [RANGE 4 SECONDS]", "s [RANGE 9 SECONDS]"),
        (2, 0, 1),
    ),
    "multi_join_strict": (("s [ROWS 9]", "r [RANGE 6 SECONDS]", "r [ROWS 6]"), (1, 2, 0)),
    "multi_join_four": (
        ("s [RANGE 3 SECONDS]", "r [RANGE 4 SECONDS]", "s [ROWS 5]", "r [NOW]"),
        (3, 1, 0, 2),
    ),
    "multi_join_hash": (("s [RANGE 9 SECONDS]", "r [NOW]", "s [RANGE 4 SECONDS]"), (0, 2, 1), 3),
    "multi_join_slide": (
        (
            "s [RANGE 6 SECONDS SLIDE 3 SECONDS]",
            "r [RANGE 9 SECONDS SLIDE 3 SECONDS]",
            "s [RANGE 12 SECONDS SLIDE 6 SECONDS]",
        ),
        (2, 0, 1),
    ),
    "multi_join_nested": (("s [ROWS 5]", "r [RANGE 3 SECONDS]", "r [ROWS 4]"), (1, 0, 2), 1),
}
SHARED = {
    "shared_groups": """
CREATE QUERY positive AS SELECT k, COUNT(*) AS c, SUM(x) AS t, MAX(a) AS m
  FROM s [RANGE 8 SECONDS SLIDE 4 SECONDS] WHERE a > 0 GROUP BY k;
CREATE QUERY many AS SELECT k, COUNT(*) AS c, SUM(x) AS t, MAX(a) AS m
  FROM s [RANGE 12 SECONDS SLIDE 4 SECONDS] GROUP BY k HAVING COUNT(*) > 2;
""",
    "join_lengths": """
CREATE QUERY short AS SELECT s.k, COUNT(*) AS c, SUM(b) AS t, AVG(a) AS v, MAX(a) AS m
  FROM s [RANGE 4 SECONDS SLIDE 4 SECONDS], r [RANGE 4 SECONDS SLIDE 4 SECONDS]
  WHERE s.k = r.k GROUP BY s.k;
CREATE QUERY long AS SELECT s.k, COUNT(*) AS c, SUM(b) AS t, AVG(a) AS v, MAX(a) AS m
  FROM s [RANGE 12 SECONDS SLIDE 4 SECONDS], r [RANGE 12 SECONDS SLIDE 4 SECONDS]
  WHERE s.k = r.k GROUP BY s.k;
""",
    "shared_top": """
CREATE QUERY first AS SELECT TOP 2 k, COUNT(*) AS c
  FROM s [RANGE 8 SECONDS SLIDE 4 SECONDS] WHERE a > 0 GROUP BY k;
CREATE QUERY largest AS SELECT k FROM s [RANGE 12 SECONDS SLIDE 4 SECONDS] GROUP BY k
  ORDER BY SUM(a) DESC LIMIT 1;
CREATE QUERY many AS SELECT k, COUNT(*) AS c FROM s [RANGE 12 SECONDS SLIDE 4 SECONDS] GROUP BY k;
""",
    "shared_counters": """
CREATE QUERY positive AS SELECT k, MEDIAN(x) AS m, COUNT(DISTINCT a) AS d
  FROM s [RANGE 8 SECONDS SLIDE 4 SECONDS] WHERE a > 0 GROUP BY k;
CREATE QUERY many AS SELECT k, COUNT(*) AS c, QUANTILE(x, 0.9) AS q
  FROM s [RANGE 12 SECONDS SLIDE 4 SECONDS] GROUP BY k;
""",
    "shared_texts": """
CREATE QUERY positive AS SELECT k, MIN(n) AS least, LAST(x) AS last, SUM(x) AS t
  FROM s [RANGE 8 SECONDS SLIDE 4 SECONDS] WHERE a > 0 GROUP BY k;
CREATE QUERY many AS SELECT k, MAX_BY(n, x) AS most, MIN(n) AS least, MAX(a) AS m
  FROM s [RANGE 12 SECONDS SLIDE 4 SECONDS] GROUP BY k;
""",
}
"""Queries that are one job, over shared synopses."""
QUERIES.update(dict.fromkeys((*JOINS, *SHARED), ""))


def multi_join(windows: tuple[str, ...], order: tuple[int, ...], buckets: int = 0) -> Node:
    """An n-way join on ``k`` of the given windows."""
    branches = []
    for window in windows:
        column = "a" if window.startswith("s") else "b"
        compiled = compile_script(f"{STREAMS} SELECT k, {column} FROM {window};")
        branches.append(compiled.queries[-1].plan)
    keys = tuple((Column(0, "k", Type.INT),) for _ in branches)
    return MultiJoin(tuple(branches), keys, order, buckets=buckets)


@lru_cache
def random_input(seed: int, rows: int = 160) -> dict[str, Delta]:
    """Tuples of both streams: ties, gaps longer than the windows, NULLs, duplicates."""
    rng = np.random.default_rng(seed)

    def stamps() -> np.ndarray:
        steps = rng.choice([0, 0, 1, 1, 2, 12], rows, p=[0.3, 0.2, 0.25, 0.15, 0.08, 0.02])
        return np.cumsum(steps).astype(np.int64)

    def some(values: list[object], kind: pa.DataType) -> pa.Array:
        return pa.array([values[i] for i in rng.integers(0, len(values), rows)], kind)

    keys: list[object] = [None, 1, 1, 2, 3, 4]
    words: list[object] = [None, "", "a", "ab", "abc", "é", "zz"]
    floats: list[object] = [None, 0.0, -0.0, 1e16, -1e16, 0.1, 2.5, float("nan"), 1e-300]
    numbers: list[object] = [*range(-3, 9), None]
    inputs: dict[str, Delta] = {}
    ts = stamps()
    batch = pa.RecordBatch.from_arrays(
        [
            pa.array(ts), some(keys, pa.int32()), some(numbers, pa.int64()),
            some(floats, pa.float64()), some(words, pa.string()),
        ],
        ["ts", "k", "a", "x", "n"],
    )  # fmt: skip
    inputs["s"] = Delta.insertions(ts, batch)
    ts = stamps()
    batch = pa.RecordBatch.from_arrays(
        [pa.array(ts), some(keys, pa.int32()), some(numbers, pa.int64()), some(words, pa.string())],
        ["ts", "k", "b", "m"],
    )
    inputs["r"] = Delta.insertions(ts, batch)
    inputs["rel"], inputs["nrr"] = updates(rng, rows), updates(rng, rows)
    return inputs


def updates(rng: np.random.Generator, rows: int) -> Delta:
    """Rows of a relation that come and go; each deletion meets a row that came earlier."""
    held: list[tuple[int, int]] = []
    found: list[tuple[int, int, int, int]] = []
    now = 0
    for _ in range(rows):
        now += int(rng.choice([0, 1, 2]))
        old = [row for row in held if all(f[:1] + f[2:] != (now, *row) for f in found)]
        if old and rng.random() < 0.4:
            row = old[int(rng.integers(len(old)))]
            held.remove(row)
            found.append((now, -1, *row))
        else:
            row = (int(rng.integers(0, 5)), int(rng.integers(0, 6)))
            if (now, -1, *row) not in found:
                held.append(row)
                found.append((now, 1, *row))
    ts, sign, k, w = (np.array(c) for c in zip(*found, strict=True))
    batch = pa.RecordBatch.from_arrays(
        [pa.array(k, pa.int32()), pa.array(w, pa.int32())], ["k", "w"]
    )
    return Delta(ts, np.full(len(ts), FOREVER), sign.astype(np.int8), batch)


def between(inputs: dict[str, Delta], after: int, until: int) -> dict[str, Delta]:
    """The tuples of the interval ``(after, until]``."""
    cuts = {n: np.searchsorted(d.ts, [after, until], side="right") for n, d in inputs.items()}
    return {name: d.slice(*map(int, cuts[name])) for name, d in inputs.items()}


def changes(delta: Delta) -> list[tuple[int, int, str]]:
    """What a Delta says, in an order that does not depend on how rows of an instant stand."""
    rows = [repr(tuple(row.values())) for row in delta.rows.to_pylist()]
    return sorted(zip(delta.ts.tolist(), delta.sign.tolist(), rows, strict=True))


def run(
    pipeline: Pipeline, inputs: dict[str, Delta], cuts: list[int]
) -> list[tuple[int, int, str]]:
    """All changes, with time cut at ``cuts``."""
    found, before = [], -1
    for cut in cuts:
        found += changes(pipeline.process(between(inputs, before, cut), cut))
        before = cut
    return sorted(found)
