"""Scripts that look innocent: one for each corner of the language that has two readings.

Streams, in the columns of ``scripts``: s (k, a, n, x) and t (k, b, m); the relation r (k, w).
"""

from __future__ import annotations

from tests.oracle.scripts import Script, View

FILTERED = View("filtered", "SELECT k, a FROM s WHERE a > -3",
                (("k", "INT"), ("a", "BIGINT")), stream=True)  # fmt: skip
COUNTED = View("counted", "SELECT k, COUNT(*) AS c FROM filtered [RANGE 6] GROUP BY k",
               (("k", "INT"), ("c", "BIGINT")))  # fmt: skip
BUSY = View("busy", "SELECT c, COUNT(*) AS d FROM counted WHERE c > 1 OR k IS NULL GROUP BY c",
            (("c", "BIGINT"), ("d", "BIGINT")))  # fmt: skip
CAME = View("came", "ISTREAM(SELECT k, COUNT(*) AS c FROM s [RANGE 4] GROUP BY k)",
            (("k", "INT"), ("c", "BIGINT")), stream=True)  # fmt: skip
WENT = View("went", "DSTREAM(SELECT DISTINCT k FROM s [ROWS 3])",
            (("k", "INT"),), stream=True)  # fmt: skip
REPEATED = View("repeated", "RSTREAM(SELECT k FROM t [RANGE 2])",
                (("k", "INT"),), stream=True)  # fmt: skip
BOTH = View("both_", "SELECT k FROM filtered UNION ALL SELECT k FROM t",
            (("k", "INT"),), stream=True)  # fmt: skip
LARGEST = View("largest", "SELECT k, MAX(a) AS a FROM s [RANGE 5] GROUP BY k",
               (("k", "INT"), ("a", "BIGINT")))  # fmt: skip

TRICKY: dict[str, Script] = {
    "views three deep, each of another kind": Script(
        "SELECT d, SUM(c) AS e FROM busy GROUP BY d", views=(FILTERED, COUNTED, BUSY)
    ),
    "a view joined with itself": Script(
        "SELECT x.k, x.c, y.c FROM counted AS x, counted AS y WHERE x.c < y.c",
        views=(FILTERED, COUNTED),
    ),
    "a view joined with the view that it reads": Script(
        "SELECT counted.k, counted.c, busy.d FROM counted, busy WHERE counted.c = busy.c",
        views=(FILTERED, COUNTED, BUSY),
    ),
    "a window over what came into a group": Script(
        "SELECT k, SUM(c) AS total, COUNT(*) AS changes FROM came [RANGE 3] GROUP BY k",
        views=(CAME,),
    ),
    "the last rows of what came into a group": Script(
        "SELECT k, c FROM came [ROWS 2]", views=(CAME,)
    ),
    "the last row by key of what left": Script(
        "SELECT k FROM went [PARTITION BY k ROWS 1]", views=(WENT,)
    ),
    "a window over what is said at every instant": Script(
        "SELECT k, COUNT(*) AS times FROM repeated [RANGE 5] GROUP BY k", views=(REPEATED,)
    ),
    "all that was ever said": Script(
        "SELECT COUNT(*) AS times FROM repeated",
        "SELECT COUNT(*) FROM repeated HAVING COUNT(*) > 0",
        views=(REPEATED,),
    ),
    "the last rows of a union of views": Script(
        "SELECT k FROM both_ [RANGE 3 SLIDE 2]", views=(FILTERED, BOTH)
    ),
    "a condition or a negation": Script(
        "SELECT k, a FROM s [RANGE 6] WHERE a > 2 OR NOT EXISTS "
        "(SELECT * FROM t [RANGE 4] WHERE t.k = s.k)"
    ),
    "negations under or, twice": Script(
        "SELECT k, a FROM s [RANGE 7] WHERE a < -2 OR k NOT IN (SELECT k FROM t [RANGE 3]) "
        "OR NOT EXISTS (SELECT * FROM t [ROWS 2] WHERE t.b < s.a)"
    ),
    "negations under or, and, not": Script(
        "SELECT s.k, a, b FROM s [RANGE 6], t [RANGE 5] WHERE s.k = t.k AND NOT (a > b AND "
        "EXISTS (SELECT * FROM s [RANGE 2] AS u WHERE u.a > s.a)) AND (b > 0 AND NOT EXISTS "
        "(SELECT * FROM t [ROWS 1] AS v WHERE v.k = s.k) OR a IS NULL OR a > 1)"
    ),
    "or within negation": Script(
        "SELECT k, a FROM s [RANGE 6] WHERE NOT EXISTS (SELECT * FROM t [RANGE 5] WHERE t.k = s.k "
        "AND (b > 1 OR NOT EXISTS (SELECT * FROM s [RANGE 3] AS u WHERE u.k = t.k)))"
    ),
    "a union with nulls": Script(
        "SELECT k, a FROM s [RANGE 4] UNION ALL SELECT k, NULL FROM t [RANGE 3] "
        "UNION ALL SELECT NULL, b FROM t [RANGE 2]"
    ),
    "negation within negation": Script(
        "SELECT k, a FROM s [RANGE 6] WHERE NOT EXISTS (SELECT * FROM t [RANGE 5] WHERE t.k = s.k "
        "AND NOT EXISTS (SELECT * FROM s [RANGE 3] AS u WHERE u.k = t.k AND u.a > t.b) "
        "AND t.b NOT IN (SELECT a FROM s [NOW] AS v WHERE a IS NOT NULL))"
    ),
    "groups by the numbers of items": Script(
        "SELECT a > 0 AS positive, k, COUNT(*) AS c FROM s [RANGE 5] GROUP BY 2, 1"
    ),
    "a union of views and windows": Script(
        "SELECT k, c FROM counted UNION ALL SELECT k, a FROM largest "
        "UNION ALL SELECT k, b FROM t [NOW]",
        views=(FILTERED, COUNTED, LARGEST),
    ),
    "rstream at every instant of an aggregate": Script(
        "RSTREAM(SELECT COUNT(*) AS c, SUM(a) AS total FROM s [RANGE 3])",
        "RSTREAM(SELECT COUNT(*), SUM(a) FROM s [RANGE 3] HAVING COUNT(*) > 0)",
    ),
    "rstream every three of a join": Script(
        "RSTREAM(SELECT s.k, a, b FROM s [RANGE 4], t [RANGE 4] WHERE s.k = t.k) EVERY 3"
    ),
    "rstream of a relation": Script("RSTREAM(SELECT w FROM r WHERE k = 1)"),
    "every four of what comes and goes in between": Script("SELECT k, a FROM s [RANGE 2] EVERY 4"),
    "every four of groups that never end": Script(
        "SELECT k, COUNT(*) AS c, MIN(a) AS least, MAX(x) AS last, COUNT(DISTINCT n) AS d, "
        "SUM(a) AS total FROM s GROUP BY k HAVING COUNT(*) > 1 EVERY 4"
    ),
    "every three of groups of groups of a join": Script(
        "SELECT c, COUNT(*) AS d FROM (SELECT s.k, COUNT(*) AS c FROM s, t WHERE s.k = t.k "
        "GROUP BY s.k) AS z GROUP BY c EVERY 3"
    ),
    "dstream of a difference": Script(
        "DSTREAM(SELECT k FROM s [RANGE 5] EXCEPT ALL SELECT k FROM t [RANGE 3])"
    ),
    "the extremes leave before the rest": Script(
        "SELECT k, MIN(a) AS least, MAX(a) AS most, MIN(n) AS first, MAX(x) AS last "
        "FROM s [RANGE 3] GROUP BY k"
    ),
    "the extremes of the last rows": Script(
        "SELECT MIN(a) AS least, MAX(n) AS most FROM s [ROWS 4]",
        "SELECT MIN(a), MAX(n) FROM s [ROWS 4] HAVING COUNT(*) > 0",
    ),
    "an aggregate of nothing but NULLs": Script(
        "SELECT SUM(a) AS total, AVG(a) AS mean, COUNT(a) AS c, COUNT(*) AS d "
        "FROM s [RANGE 3] WHERE a IS NULL",
        "SELECT SUM(a), AVG(a), COUNT(a), COUNT(*) FROM s [RANGE 3] WHERE a IS NULL "
        "HAVING COUNT(*) > 0",
    ),
    "an aggregate of an aggregate that is sometimes not there": Script(
        "SELECT COUNT(*) AS groups, MAX(c) AS most "
        "FROM (SELECT k, COUNT(*) AS c FROM s [RANGE 2] GROUP BY k HAVING COUNT(*) > 1) AS q",
        "SELECT COUNT(*), MAX(c) "
        "FROM (SELECT k, COUNT(*) AS c FROM s [RANGE 2] GROUP BY k HAVING COUNT(*) > 1) AS q "
        "HAVING COUNT(*) > 0",
    ),
    "having over what is not selected": Script(
        "SELECT k FROM s [RANGE 6] GROUP BY k HAVING MAX(a) - MIN(a) > 2 OR COUNT(a) = 0"
    ),
    "grouped by an expression with NULLs": Script(
        "SELECT a % 3 AS rest, n, COUNT(*) AS c FROM s [RANGE 7] GROUP BY rest, n",
        "SELECT a % 3 AS rest, n, COUNT(*) AS c FROM s [RANGE 7] GROUP BY a % 3, n",
    ),
    "the last rows by key, ties in order of arrival": Script(
        "SELECT k, a, n FROM s [PARTITION BY k ROWS 2]"
    ),
    "the last row of two keys, counted": Script(
        "SELECT n, COUNT(*) AS c, SUM(a) AS total FROM s [PARTITION BY n, k ROWS 1] GROUP BY n"
    ),
    "the last rows of a filter, not a filter of the last rows": Script(
        "SELECT k, a FROM filtered [ROWS 3]", views=(FILTERED,)
    ),
    "a filter of the last rows": Script("SELECT k, a FROM s [ROWS 3] WHERE a > -3"),
    "a slide that does not divide the range": Script(
        "SELECT k, COUNT(*) AS c FROM s [RANGE 5 SLIDE 3] GROUP BY k"
    ),
    "a slide longer than the range": Script("SELECT k, a FROM s [RANGE 2 SLIDE 5]"),
    "windows of different slides, joined": Script(
        "SELECT s.k, a, b FROM s [RANGE 6 SLIDE 4], t [RANGE 5 SLIDE 3] WHERE s.k = t.k"
    ),
    "NULL keys join nothing": Script(
        "SELECT s.a, t.b FROM s [RANGE 6], t [RANGE 6] WHERE s.k = t.k AND s.n = t.m"
    ),
    "NULL keys join if they are not distinct": Script(
        "SELECT s.k, s.a, t.b FROM s [RANGE 3], t [RANGE 3] WHERE s.k IS NOT DISTINCT FROM t.k"
    ),
    "not in what holds NULLs": Script(
        "SELECT k, a FROM s [RANGE 5] WHERE k NOT IN (SELECT k FROM t [RANGE 1])"
    ),
    "not in an expression of what holds none": Script(
        "SELECT k, a FROM s [RANGE 5] "
        "WHERE k + 1 NOT IN (SELECT b FROM t [RANGE 4] WHERE b IS NOT NULL)"
    ),
    "not in a view": Script(
        "SELECT k, a FROM s [RANGE 5] WHERE a NOT IN (SELECT c FROM counted)",
        views=(FILTERED, COUNTED),
    ),
    "not exists in a group": Script(
        "SELECT k, a FROM s [RANGE 5] AS o WHERE NOT EXISTS "
        "(SELECT * FROM (SELECT k, COUNT(*) AS c FROM t [RANGE 5] GROUP BY k) AS i "
        "WHERE i.k = o.k AND i.c > 1)"
    ),
    "two negations of one stream": Script(
        "SELECT k, a FROM s [RANGE 6] AS o "
        "WHERE NOT EXISTS (SELECT * FROM t [RANGE 3] AS i WHERE i.k = o.k) "
        "AND o.a NOT IN (SELECT b FROM t [RANGE 2] AS j WHERE b IS NOT NULL)"
    ),
    "the difference of aggregates": Script(
        "SELECT k, COUNT(*) AS c FROM s [RANGE 6] GROUP BY k "
        "EXCEPT ALL SELECT k, COUNT(*) AS c FROM t [RANGE 6] GROUP BY k"
    ),
    "a difference of a union": Script(
        "SELECT k FROM s [RANGE 4] UNION ALL SELECT k FROM t [RANGE 4] EXCEPT ALL SELECT k FROM r"
    ),
    "a union of a difference, in parentheses": Script(
        "SELECT k FROM s [RANGE 4] UNION ALL (SELECT k FROM t [RANGE 4] EXCEPT ALL SELECT k FROM r)"
    ),
    "a difference of a difference": Script(
        "SELECT k FROM s [ROWS 6] EXCEPT ALL (SELECT k FROM s [ROWS 4] "
        "EXCEPT ALL SELECT k FROM s [ROWS 2])"
    ),
    "the first three with ties": Script(
        "SELECT TOP 3 k, a FROM s [RANGE 5] ORDER BY k DESC",
        "SELECT k, a FROM s [RANGE 5] ORDER BY k DESC NULLS LAST, a NULLS LAST LIMIT 3",
    ),
    "the first two by what is not selected": Script(
        "SELECT n, k FROM s [RANGE 5] ORDER BY a, x DESC LIMIT 2",
        "SELECT n, k FROM s [RANGE 5] ORDER BY a NULLS LAST, x DESC NULLS LAST, n NULLS LAST, "
        "k NULLS LAST LIMIT 2",
    ),
    "the first two of a group": Script(
        "SELECT TOP 2 k, SUM(a) AS total FROM s [RANGE 8] GROUP BY k",
        "SELECT k, SUM(a) AS total FROM s [RANGE 8] GROUP BY k "
        "ORDER BY total DESC NULLS LAST, k NULLS LAST LIMIT 2",
    ),
    "the first of the distinct": Script(
        "SELECT DISTINCT k, n FROM s [RANGE 7] ORDER BY n DESC LIMIT 3",
        "SELECT DISTINCT k, n FROM s [RANGE 7] ORDER BY n DESC NULLS LAST, k NULLS LAST LIMIT 3",
    ),
    "a count of the first": Script(
        "SELECT k, COUNT(*) AS c "
        "FROM (SELECT k, a FROM s [RANGE 6] ORDER BY a DESC LIMIT 4) AS q GROUP BY k",
        "SELECT k, COUNT(*) AS c FROM (SELECT k, a FROM s [RANGE 6] "
        "ORDER BY a DESC NULLS LAST, k NULLS LAST LIMIT 4) AS q GROUP BY k",
    ),
    "a sub-query in a sub-query in a join": Script(
        "SELECT q.c, t.b FROM (SELECT c FROM (SELECT k, COUNT(*) AS c FROM s [RANGE 5] GROUP BY k) "
        "AS i WHERE c > 1) AS q, t [RANGE 3] WHERE q.c >= t.b"
    ),
    "distinct of a union": Script(
        "SELECT DISTINCT * FROM (SELECT k, a FROM s [RANGE 4] "
        "UNION ALL SELECT k, b FROM t [ROWS 3]) AS q"
    ),
    "a join with a relation that changes": Script(
        "SELECT s.k, a, w FROM s [RANGE 6], r WHERE s.k = r.k AND (w = 'p' OR a > 1)"
    ),
    "a relation counted beside a window": Script(
        "SELECT w, COUNT(*) AS c, SUM(a) AS total FROM s [RANGE 4], r WHERE s.k = r.k GROUP BY w"
    ),
    "arithmetic that truncates toward zero": Script(
        "SELECT a / 2 AS half, a % 3 AS rest, -a AS minus, a / k AS ratio, x / a AS part "
        "FROM s [RANGE 2]",
        "SELECT a // 2, a % 3, -a, a // k, x / NULLIF(a, 0) FROM s [RANGE 2]",
    ),
    "cases and patterns": Script(
        "SELECT CASE WHEN n LIKE 'a%' THEN 'A' WHEN n IS NULL THEN 'none' WHEN n = '' THEN NULL "
        "ELSE UPPER(n) END AS kind, CASE k WHEN 1 THEN a WHEN 2 THEN -a END AS signed "
        "FROM s [RANGE 2] WHERE n NOT LIKE '%b' OR n IS NULL"
    ),
    "casts there and back": Script(
        "SELECT CAST(a AS DOUBLE) AS d, CAST(CAST(k AS STRING) AS INT) AS i, "
        "CAST(x AS STRING) AS text, COALESCE(TRY_CAST(n AS INT), -1) AS none, "
        "CAST(a > 1 AS INT) AS bit FROM s [RANGE 2]",
    ),
    "conditions of three values": Script(
        "SELECT k, a FROM s [RANGE 3] "
        "WHERE NOT (a > 1 AND k <> 1) OR (a IN (1, 2, NULL) AND NOT k IN (2, 3)) "
        "OR a NOT BETWEEN -5 AND 5"
    ),
    "a join without a condition": Script("SELECT s.k, t.b FROM s [NOW], t [ROWS 2]"),
    "a stream joined with its own past": Script(
        "SELECT x.a, y.a FROM s [NOW] AS x, s [RANGE 4] AS y WHERE x.k = y.k AND y.a < x.a"
    ),
    "three windows of three kinds": Script(
        "SELECT x.a, t.b, y.n FROM s [RANGE 3] AS x, t [ROWS 4], s [PARTITION BY k ROWS 1] AS y "
        "WHERE x.k = t.k AND y.k = t.k"
    ),
    "quantiles as the window moves": Script(
        "SELECT k, MEDIAN(a) AS middle, COUNT(DISTINCT a) AS different, SUM(DISTINCT a) AS total "
        "FROM s [RANGE 6] GROUP BY k"
    ),
    "a constant for every group": Script(
        "SELECT 1 AS one, COUNT(*) + k AS c FROM s [ROWS 5] GROUP BY k"
    ),
}

RELATIONAL: dict[str, Script] = {
    "what has no partner on either side": Script(
        "SELECT x.k, a, b FROM s [RANGE 5] AS x FULL JOIN t [ROWS 3] AS y ON x.k = y.k AND b = a"
    ),
    "ON keeps what WHERE would not": Script(
        "SELECT s.k, a, m FROM s [RANGE 4] LEFT JOIN t [RANGE 6] ON s.k = t.k AND a > 0 AND b > 0"
    ),
    "WHERE leaves out what ON kept": Script(
        "SELECT s.k, a, m FROM s [RANGE 4] LEFT JOIN t [RANGE 6] ON s.k = t.k WHERE b > 0 OR a > 0"
    ),
    "outer joins one after another": Script(
        "SELECT s.k, a, b, w FROM s [RANGE 5] LEFT JOIN t [NOW] ON s.k = t.k "
        "RIGHT JOIN r ON r.k = s.k"
    ),
    "a comma beside an outer join": Script(
        "SELECT s.k, t.k, w FROM s [NOW], t [RANGE 3] RIGHT JOIN r ON r.k = t.k WHERE s.k < r.k"
    ),
    "an inner join of an outer one": Script(
        "SELECT x.k, x.a, t.b, y.a FROM s [RANGE 4] AS x LEFT JOIN t [RANGE 2] ON x.k = t.k "
        "JOIN s [NOW] AS y ON y.k = x.k AND COALESCE(t.b, 0) <= x.a"
    ),
    "one column of three": Script(
        "SELECT k, a, b, w FROM s [RANGE 4] JOIN t [RANGE 4] USING (k) LEFT JOIN r USING (k)"
    ),
    "a column that either side may have": Script(
        "SELECT k, COUNT(*) AS c FROM s [RANGE 3] FULL JOIN r USING (k) GROUP BY k"
    ),
    "both under OR": Script(
        "SELECT k, a FROM s [RANGE 5] WHERE a IN (SELECT b FROM t [RANGE 3]) "
        "OR k IN (SELECT k FROM r WHERE w = 'p') OR n IS NULL"
    ),
    "IN that looks at the outer tuple": Script(
        "SELECT k, a FROM s [RANGE 5] WHERE a IN (SELECT b - 1 FROM t [ROWS 6] WHERE t.k = s.k) "
        "OR a NOT IN (SELECT b FROM t [RANGE 4] WHERE t.k = s.k)"
    ),
    "what exists in what exists": Script(
        "SELECT k FROM s [RANGE 5] WHERE EXISTS (SELECT * FROM t [RANGE 5] JOIN r USING (k) "
        "WHERE t.k = s.k AND EXISTS (SELECT * FROM s [NOW] AS z WHERE z.k = t.k))"
    ),
    "whether there is a partner": Script(
        "SELECT k, a, EXISTS (SELECT * FROM t [RANGE 3] WHERE t.k = s.k) AS e, "
        "NOT EXISTS (SELECT * FROM t [RANGE 4] WHERE t.b > s.a) AS f FROM s [RANGE 5]"
    ),
    "whether it is among them, and when that is not known": Script(
        "SELECT k, a IN (SELECT b FROM t [RANGE 3]) AS e, a NOT IN (SELECT b FROM t [RANGE 5] "
        "WHERE t.k = s.k) AS f, (k, a) IN (SELECT k, b FROM t [ROWS 3]) AS g FROM s [RANGE 4]"
    ),
    "a case of what exists": Script(
        "SELECT k, CASE WHEN EXISTS (SELECT * FROM t [RANGE 3] WHERE t.k = s.k) THEN a "
        "WHEN k IN (SELECT k FROM r) THEN 100 ELSE (SELECT MAX(b) FROM t [RANGE 4]) END AS c "
        "FROM s [RANGE 5] WHERE COALESCE(a IN (SELECT b FROM t [RANGE 4]), TRUE)"
    ),
    "groups that exist elsewhere": Script(
        "SELECT k, COUNT(*) AS c, EXISTS (SELECT * FROM t [NOW]) AS e, "
        "k IN (SELECT k FROM r WHERE w = 'p') AS p FROM s [RANGE 5] GROUP BY k "
        "HAVING EXISTS (SELECT * FROM t [RANGE 3] WHERE t.k = s.k) OR COUNT(*) > 2"
    ),
    "how many exist elsewhere, and how many do not": Script(
        "SELECT CASE WHEN a IN (SELECT b FROM t [RANGE 4]) THEN 'some' ELSE 'none' END AS e, "
        "k IN (SELECT k FROM r) AS f, COUNT(*) AS c FROM s [RANGE 5] GROUP BY 1, f"
    ),
    "how many of a group exist elsewhere": Script(
        "SELECT k, COUNT(*) FILTER (WHERE a IN (SELECT b FROM t [RANGE 4])) AS c, "
        "MAX(CASE WHEN EXISTS (SELECT * FROM t [RANGE 3] WHERE t.b < s.a) THEN a END) AS m, "
        "SUM((SELECT COUNT(*) FROM t [NOW] WHERE t.k = s.a)) AS n FROM s [RANGE 5] GROUP BY k",
        "SELECT k, COUNT(*) FILTER (WHERE e) AS c, MAX(CASE WHEN f THEN a END) AS m, "
        "CAST(SUM(d) AS BIGINT) AS n FROM (SELECT k, a, a IN (SELECT b FROM t [RANGE 4]) AS e, "
        "EXISTS (SELECT * FROM t [RANGE 3] WHERE t.b < s.a) AS f, "
        "(SELECT COUNT(*) FROM t [NOW] WHERE t.k = s.a) AS d FROM s [RANGE 5]) AS q GROUP BY k",
    ),
    "a name of WITH that hides a stream": Script(
        "WITH s AS (SELECT k, COUNT(*) AS c FROM s [RANGE 4] GROUP BY k) "
        "SELECT x.k, y.c FROM s AS x JOIN s AS y ON x.c = y.c AND x.k <> y.k",
        "WITH z AS (SELECT k, COUNT(*) AS c FROM s [RANGE 4] GROUP BY k) "
        "SELECT x.k, y.c FROM z AS x JOIN z AS y ON x.c = y.c AND x.k <> y.k",
    ),
    "sets and bags in a row": Script(
        "SELECT k FROM s [RANGE 3] UNION ALL SELECT k FROM t [RANGE 3] INTERSECT "
        "SELECT k FROM r UNION SELECT k FROM t [NOW] EXCEPT SELECT k FROM s [NOW]"
    ),
    "some of a group": Script(
        "SELECT k, SUM(a) FILTER (WHERE a > 0) AS up, COUNT(*) FILTER (WHERE n = 'a') AS c, "
        "COUNT(DISTINCT a) FILTER (WHERE x > 0) AS d FROM s [RANGE 6] GROUP BY k "
        "HAVING COUNT(*) FILTER (WHERE a IS NOT NULL) > 1",
        "SELECT k, CAST(SUM(a) FILTER (WHERE a > 0) AS BIGINT) AS up, "
        "COUNT(*) FILTER (WHERE n = 'a') AS c, COUNT(DISTINCT a) FILTER (WHERE x > 0) AS d "
        "FROM s [RANGE 6] GROUP BY k HAVING COUNT(*) FILTER (WHERE a IS NOT NULL) > 1",
    ),
    "more than the mean": Script(
        "SELECT k, a FROM s [RANGE 4] WHERE a > (SELECT AVG(a) FROM s [RANGE 7])"
    ),
    "a count of nothing": Script(
        "SELECT k, (SELECT COUNT(*) FROM t [NOW] WHERE t.k = s.k) AS c, "
        "(SELECT MAX(b) FROM t [NOW]) AS most FROM s [RANGE 3]"
    ),
    "a value under OR": Script(
        "SELECT k, a FROM s [RANGE 4] WHERE a = (SELECT MAX(b) FROM t [RANGE 3] WHERE t.k = s.k) "
        "OR k IN (SELECT k FROM r) OR (SELECT COUNT(*) FROM t [NOW]) = 0"
    ),
    "a value that all groups share": Script(
        "SELECT k, COUNT(*) AS c FROM s [RANGE 5] GROUP BY k "
        "HAVING COUNT(*) > (SELECT COUNT(*) FROM t [RANGE 2])"
    ),
    "the last row as a value": Script(
        "SELECT k, a - (SELECT b FROM t [ROWS 1]) AS less FROM s [ROWS 4]"
    ),
    "places that tuples share": Script(
        "SELECT k, a, place FROM (SELECT k, a, RANK() OVER (PARTITION BY k ORDER BY a DESC) AS "
        "place FROM s [RANGE 5]) AS q WHERE place <= 3",
        "SELECT k, a, place FROM (SELECT k, a, RANK() OVER (PARTITION BY k ORDER BY a DESC NULLS "
        "LAST) AS place FROM s [RANGE 5]) AS q WHERE place <= 3",
    ),
    "places that follow each other": Script(
        "SELECT k, n, place FROM (SELECT k, n, DENSE_RANK() OVER (ORDER BY k, n) AS place "
        "FROM s [ROWS 6]) AS q WHERE place < 4",
        "SELECT k, n, place FROM (SELECT k, n, DENSE_RANK() OVER (ORDER BY k NULLS LAST, n NULLS "
        "LAST) AS place FROM s [ROWS 6]) AS q WHERE place < 4",
    ),
    "all that are first": Script(
        "SELECT k, a FROM s [RANGE 6] QUALIFY RANK() OVER (ORDER BY k) = 1",
        "SELECT k, a FROM s [RANGE 6] QUALIFY RANK() OVER (ORDER BY k NULLS LAST) = 1",
    ),
    "an order by a value": Script(
        "SELECT k, a FROM s [RANGE 4] ORDER BY a * (SELECT COUNT(*) FROM t [RANGE 3]), a, k "
        "DESC LIMIT 2",
        "SELECT k, a FROM s [RANGE 4] ORDER BY a * (SELECT COUNT(*) FROM t [RANGE 3]) NULLS LAST, "
        "a NULLS LAST, k DESC NULLS LAST LIMIT 2",
    ),
}  # fmt: skip
