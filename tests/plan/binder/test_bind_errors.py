"""Each mistake is underlined, explained, and met with what to do."""

from __future__ import annotations

import pytest

from tests.plan.scripts import DECLARATIONS, LINES
from windrow.core.errors import BindError, ScriptError
from windrow.plan.program import compile_script

CASES = [
    # names
    ("SELECT kk FROM s", "kk", "there is no column kk; did you mean k?"),
    ("SELECT s.nmae FROM s", "s.nmae", "there is no column nmae in s; did you mean name?"),
    ("SELECT q.k FROM s", "q.k", "no table here is called q"),
    ("SELECT q.* FROM s", "q.*", "no table here is called q"),
    ("SELECT k FROM pickd", "pickd", "called pickd; did you mean picked?"),
    ("SELECT k FROM s, t", "k", "the column k is ambiguous; write s.k or t.k"),
    ("SELECT a FROM s AS x, t AS x", "t AS x", "two tables here are called x"),
    ("SELECT uper(name) FROM s", "uper(name)", "no function uper; did you mean upper?"),
    ("SELECT sume(a) FROM s", "sume(a)", "did you mean sum?"),
    ("SELECT k FROM s [PARTITION BY kk ROWS 3]", "kk", "did you mean k?"),
    ("SELECT k FROM s [ROWS 3 SLIDE 0]", "[ROWS 3 SLIDE 0]", "a positive number of rows"),
    ("SELECT k FROM s [PARTITION BY k ROWS 3 SLIDE 2]", "[PARTITION BY k ROWS 3 SLIDE 2]",
     "leave SLIDE out"),
    ("SELECT k FROM s [PARTITION BY k, s.kk ROWS 3]", "s.kk", "no column kk in s; did you mean k?"),
    ("SELECT k FROM s [PARTITION BY q.k ROWS 3] AS x", "q.k", "no table here is called q"),
    ("SELECT * FROM (SELECT x.k FROM s AS x) [PARTITION BY x.k ROWS 1]", "x.k", "is called x"),
    # how joins find partners
    ("SELECT k FROM s [NOW] WHERE k > 1 OPTION (NESTED LOOPS)", "OPTION (NESTED LOOPS)",
     "expected such a join in FROM and WHERE; found none"),
    ("SELECT s.k FROM s [NOW], t [NOW] WHERE s.k < t.k OPTION (HASH JOIN 4)",
     "OPTION (HASH JOIN 4)", "by equal values"),
    # answers in bounded space
    ("SELECT APPROXIMATE SUM(a) FROM s [RANGE 9 SLIDE 3]", "APPROXIMATE SUM(a)",
     "SUM is exact in a few numbers for each sub-window"),
    ("SELECT APPROXIMATE COUNT(*) FROM s [RANGE 9 SLIDE 3]", "APPROXIMATE COUNT(*)",
     "leave APPROXIMATE out"),
    ("SELECT APPROXIMATE AVG(DISTINCT a) FROM s [RANGE 9 SLIDE 3]",
     "APPROXIMATE AVG(DISTINCT a)", "AVG of DISTINCT values has no sketch"),
    ("SELECT APPROXIMATE upper(name) FROM s [RANGE 9 SLIDE 3]", "APPROXIMATE upper(name)",
     "expected MEDIAN(x), QUANTILE(x, p) or COUNT(DISTINCT x) after APPROXIMATE"),
    ("SELECT APPROXIMATE MEDIAN(a) FROM s [RANGE 9]", "APPROXIMATE MEDIAN(a)",
     "only a window with SLIDE has sub-windows"),
    ("SELECT APPROXIMATE MEDIAN(a) FROM s", "APPROXIMATE MEDIAN(a)", "a window without SLIDE"),
    (("SELECT APPROXIMATE MEDIAN(s.a) FROM s [RANGE 9 SLIDE 3], t [RANGE 9 SLIDE 3] "
     "WHERE s.k = t.k"), "APPROXIMATE MEDIAN(s.a)", "in the order in which they came"),
    (("SELECT FREQUENT 5 s.k, COUNT(*) FROM s [RANGE 9 SLIDE 3], t [RANGE 4 SLIDE 3] "
     "WHERE s.k = t.k GROUP BY s.k"), "FREQUENT 5", "found WEAK input"),
    (("SELECT FREQUENT 5 s.k, COUNT(*) FROM s [ROWS 9 SLIDE 3], t [ROWS 4 SLIDE 3] "
     "WHERE s.k = t.k GROUP BY s.k"), "FREQUENT 5", "found STRICT input"),
    ("SELECT FREQUENT 5 k, COUNT(*) FROM s [ROWS 9] GROUP BY k", "FREQUENT 5",
     "add SLIDE to the window, or leave out FREQUENT"),
    ("SELECT FREQUENT 0 k, COUNT(*) FROM s [ROWS 9 SLIDE 3] GROUP BY k", "FREQUENT 0",
     "at least one group in a list"),
    ("SELECT FREQUENT 5 k FROM s [ROWS 9 SLIDE 3]", "FREQUENT 5", "found no GROUP BY"),
    ("SELECT FREQUENT 5 k FROM s [ROWS 9 SLIDE 3] GROUP BY k", "FREQUENT 5", "found no COUNT(*)"),
    ("SELECT FREQUENT 5 k, SUM(a) FROM s [ROWS 9 SLIDE 3] GROUP BY k", "SUM(a)",
     "COUNT(*) and no other aggregate"),
    ("SELECT FREQUENT 5 k, COUNT(*) FROM s [ROWS 9 SLIDE 3] GROUP BY k HAVING COUNT(*) < 3",
     "SELECT FREQUENT 5", "all that is certain is that a count exceeds a number"),
    # a time of its own for a view
    ("CREATE VIEW v AS SELECT ts - 1 AS w FROM s TIMESTAMP BY w", "w",
     "w is before the time at which tuples come"),
    ("CREATE VIEW v AS SELECT k, name FROM s TIMESTAMP BY name", "name",
     "expected a column of type BIGINT"),
    ("CREATE VIEW v AS SELECT a FROM s [RANGE 5] TIMESTAMP BY a", "a",
     "expected a view whose results stay; found one that is WEAKEST"),
    # what an earlier tuple had
    ("SELECT LAG(a) OVER (ORDER BY ts) AS b FROM s [RANGE 5]", "LAG(a) OVER",
     "expected a stream without a window in FROM; found tuples that are withdrawn (WEAKEST)"),
    ("SELECT LAG(a) OVER (ORDER BY a) AS b FROM s", "a", "the time of the stream, ascending"),
    ("SELECT LAG(a, 0) OVER (ORDER BY ts) AS b FROM s", "LAG(a, 0)", "n being at least 1"),
    ("SELECT LAG(a) OVER (PARTITION BY k) AS b, LAG(a) OVER () AS c FROM s", "LAG(a) OVER ()",
     "the same PARTITION BY in each LAG"),
    # the first of each group
    ("SELECT k, ROW_NUMBER() OVER (PARTITION BY k ORDER BY a) AS n FROM s [NOW]", "ROW_NUMBER()",
     "expected a number that it does not exceed; found none"),
    ("SELECT k FROM s [NOW] QUALIFY ROW_NUMBER() OVER (ORDER BY a) <= 0", "ROW_NUMBER()",
     "expected at least one row"),
    ("SELECT DISTINCT k FROM s [NOW] QUALIFY ROW_NUMBER() OVER (ORDER BY k) <= 2",
     "ROW_NUMBER()", "no DISTINCT, ORDER BY or LIMIT beside ROW_NUMBER()"),
    # bounds of windows
    ("SELECT window_end() FROM s [RANGE 9]", "window_end()",
     "expected windows with RANGE and SLIDE, all the same and none INTERNAL, in FROM; found s"),
    ("SELECT window_end() FROM s [RANGE 9 SLIDE 3], t [RANGE 6 SLIDE 3] WHERE s.k = t.k",
     "window_end()", "expected the same window for all tables; found 2 windows"),
    ("SELECT k FROM s [RANGE 9 SLIDE 3] WHERE window_start() > 3", "window_start()",
     "WHERE chooses tuples, before there are bounds"),
    ("SELECT MAX(window_end()) FROM s [RANGE 9 SLIDE 3]", "SELECT MAX(window_end())",
     "neither in an aggregate"),
    (("SELECT window_end() FROM s [RANGE 9 SLIDE 3] WHERE NOT EXISTS (SELECT * FROM t [NOW])"),
     "window_end()", "a sub-query in WHERE can change an answer while its window rests"),
    ("SELECT k, window_end() FROM s [SESSION 9]", "window_end()",
     "expected GROUP BY over one SESSION window, without WHERE"),
    ("SELECT name, window_end() FROM s [PARTITION BY k SESSION 9] GROUP BY name", "SELECT name",
     "expected GROUP BY what SESSION is partitioned by: k; found another GROUP BY"),
    ("SELECT k FROM s [SESSION 0 SECONDS]", "0 SECONDS", "expected a positive SESSION"),
    ("SELECT k FROM TUMBLE(s, a, 9 SECONDS)", "a", "expected ts, which holds the time of s"),
    # what must not come for a time
    ("SELECT k FROM s [RANGE 9] WHERE NOT EXISTS (SELECT * FROM t) WITHIN 3 SECONDS AFTER",
     "3 SECONDS", "expected a stream without a window in FROM; found tuples that are withdrawn"),
    ("SELECT k FROM s WHERE NOT EXISTS (SELECT * FROM t [ROWS 2]) WITHIN 3 SECONDS AFTER",
     "3 SECONDS", "expected a stream without a window in the sub-query"),
    (("SELECT k FROM s WHERE NOT EXISTS (SELECT * FROM t) WITHIN 3 SECONDS AFTER "
     "AND k NOT IN (SELECT k FROM t) WITHIN 4 SECONDS AFTER"), "4 SECONDS",
     "all conditions with WITHIN look equally far"),
    # texts in double quotes, which are names
    ('SELECT k FROM s WHERE name = "zz"', '"zz"',
     "for a column, there is ts, k, a, b, x, name; for a text, write single quotes: 'zz'"),
    ('SELECT "nmae" FROM s', '"nmae"', "for a column, did you mean name?; for a text, write"),
    ("""SELECT k FROM s WHERE name LIKE "a'b%" """, """"a'b%\"""", "write single quotes: 'a''b%'"),
    ('SELECT k, a FROM s [NOW] ORDER BY "aa" LIMIT 1', '"aa"', "did you mean a?"),
    ('SELECT k, COUNT(*) FROM s GROUP BY "kk"', '"kk"', "did you mean k?"),
    ('SELECT k, COUNT(*) AS n FROM s GROUP BY k HAVING "nn" > 1', '"nn"', "write single quotes"),
    ('SELECT SUM("aa") FROM s', '"aa"', "did you mean a?"),
    ('SELECT k FROM s WHERE name IN (\'x\', "y")', '"y"', "single quotes: 'y'"),
    ('SELECT CASE WHEN k > 1 THEN "many" ELSE name END FROM s', '"many"', "quotes: 'many'"),
    ('SELECT src FROM f WHERE ts > "2024-05-01"', '"2024-05-01"', "quotes: '2024-05-01'"),
    ('SELECT date_trunc("hour", ts) FROM f', '"hour"', "single quotes: 'hour'"),
    ('SELECT s.k FROM s JOIN t ON s.k = "t"', '"t"', "single quotes: 't'"),
    ('SELECT k FROM s WHERE k NOT IN (SELECT k FROM t WHERE "z" = name)', '"z"', "quotes: 'z'"),
    ("CREATE STREAM S (ts BIGINT)", "S", "S is declared already on line 2"),
    ("CREATE QUERY picked AS SELECT k FROM s", "picked", "picked is a view already"),
    ("CREATE STREAM q (ts BIGINT, TS INT)", "TS INT", "the column TS is declared twice"),
    ("CREATE VIEW v (a, A) AS SELECT k, a FROM s", "A", "declared twice"),
    ("EXPLAIN piked", "piked", "did you mean picked?"),
    # time
    ("CREATE STREAM q (a BIGINT)", "q", "write TIMESTAMP BY and the column"),
    ("CREATE STREAM q (a TIMESTAMP, b TIMESTAMP)", "q", "2 TIMESTAMP columns"),
    ("CREATE STREAM q (a BIGINT) TIMESTAMP BY b", "b", "there is no column b"),
    ("CREATE STREAM q (a STRING) TIMESTAMP BY a", "a", "found a STRING"),
    ("SELECT s.k FROM s, f", "f", "share one kind of clock"),
    ("SELECT k FROM s UNION ALL SELECT bytes FROM f", "SELECT k FROM s UNION", "one kind of clock"),
    ("SELECT n FROM (SELECT k AS n, a AS n FROM s) AS q", "n", "q has 2 columns called n; give"),
    # constants that order and group nothing
    ("SELECT k, a FROM s [NOW] ORDER BY 3 LIMIT 1", "3", "from 1 to 2 in ORDER BY"),
    ("SELECT k, a FROM s [NOW] ORDER BY 0 LIMIT 1", "0", "from 1 to 2 in ORDER BY"),
    ("SELECT k, a FROM s [NOW] ORDER BY 'a' LIMIT 1", "'a'", "found a constant"),
    ("SELECT k, COUNT(*) FROM s [NOW] GROUP BY 3", "3", "from 1 to 2 in GROUP BY"),
    ("SELECT k, COUNT(*) FROM s [NOW] GROUP BY 2", "2", "item 2 of the select list is an aggre"),
    ("SELECT COUNT(*) FROM s [NOW] GROUP BY 'k'", "'k'", "found a constant"),
    # types
    ("SELECT a + name FROM s", "a + name", "+ does not take these types"),
    ("SELECT k FROM s WHERE name > 3", "name > 3", "found STRING and INT"),
    ("SELECT k FROM s WHERE a", "a", "expected a condition in WHERE"),
    ("SELECT k FROM s WHERE a AND b > 1", "a", "expected a condition in WHERE"),
    ("SELECT SUM(name) FROM s", "SUM(name)", "SUM does not take this type"),
    ("SELECT upper(name, name) FROM s", "upper(name, name)", "wrong number of arguments"),
    ("SELECT substring(name) FROM s", "substring(name)", "found 1 argument"),
    ("SELECT QUANTILE(a, 1.5) FROM s", "QUANTILE(a, 1.5)", "found the fraction 1.5"),
    ("SELECT QUANTILE(a, b) FROM s", "QUANTILE(a, b)", "found no constant"),
    ("SELECT CAST(ts AS BOOLEAN) FROM f", "CAST(ts AS BOOLEAN)", "cannot be cast to BOOLEAN"),
    ("SELECT CAST(name AS MONEY) FROM s", "CAST(name AS MONEY)", "found MONEY"),
    ("SELECT src FROM f WHERE ts > 'soon'", "'soon'", "a TIMESTAMP such as"),
    ("SELECT CASE WHEN a > 1 THEN 'x' ELSE 2 END FROM s", "CASE", "values of one type in CASE"),
    ("SELECT 99999999999999999999 FROM s", "99999999999999999999", "at most 64 bits"),
    ("SELECT k FROM s UNION ALL SELECT name FROM s", "SELECT name", "expected INT; found STRING"),
    ("SELECT k FROM s UNION ALL SELECT k, a FROM s", "SELECT k, a", "the same number of columns"),
    ("CREATE VIEW v (a STRING) AS SELECT k FROM s", "a STRING", "expected INT"),
    ("CREATE VIEW v (a, b) AS SELECT k FROM s", "a", "expected 1; found 2"),
    ("SELECT CAST(src AS DECIMAL) FROM f", "CAST", "DECIMAL(digits, digits behind the point)"),
    ("SELECT CAST(src AS DECIMAL(39, 2)) FROM f", "CAST", "of at most 38 digits"),
    ("SELECT (SELECT a FROM s QUALIFY ROW_NUMBER() OVER (PARTITION BY k ORDER BY a) = 1) FROM s",
     "(SELECT a", "at most one row"),
    ("SELECT (SELECT a FROM s [NOW] QUALIFY RANK() OVER (ORDER BY a) <= 1) FROM s [NOW]",
     "(SELECT a", "at most one row"),
    ("SELECT LEAD(k) OVER (ORDER BY ts) FROM s", "LEAD", "the later tuple of the two has both"),
    ("SELECT RANK() OVER (ORDER BY k) AS r FROM s [NOW]", "RANK", "RANK() OVER (...) <= 3"),
    ("SELECT a FROM (VALUES (1)) AS v (a) [RANGE 3]", "[RANGE 3]", "whose rows have no time"),
    ("RSTREAM(SELECT k FROM s [NOW] UNION ALL VALUES (1))", "RSTREAM", "repeat rows of VALUES"),
    ("CREATE VIEW v (t) AS VALUES (1) TIMESTAMP BY t", "t", "found VALUES only"),
    ("SELECT k FROM s, (VALUES (1), (1, 2)) AS v", "VALUES", "the rows of VALUES differ in length"),
    ("SELECT k FROM s, (VALUES (1), ('a')) AS v", "VALUES", "INT and STRING"),
    ("SELECT k FROM s, (VALUES (1)) AS v (a, b)", "a", "lists the wrong number of columns"),
    ("SELECT k FROM s WHERE (k, a) IN (SELECT k FROM s [NOW])", "(k, a)", "expected 2 columns"),
    ("SELECT k FROM s WHERE (k, a) IN ((1, 2), (3))", "(k, a)", "rows of 2 values after IN"),
    ("SELECT k FROM s [NOW] NATURAL JOIN (SELECT a AS z FROM s [NOW])", "(SELECT", "of the same"),
    ("SELECT COLLECT_LIST(src) FROM f [NOW]", "COLLECT_LIST(", "write ARRAY_AGG(x)"),
    ("SELECT src[1] FROM f", "src", "of a JSON text write x -> 0"),
    ("SELECT UNNEST(src) FROM f", "src", "an ARRAY in UNNEST"),
    ("SELECT UNNEST([1]), COUNT(*) FROM f", "UNNEST(", "FROM s [RANGE ...], UNNEST"),
    ("SELECT u FROM UNNEST([1]) AS u", "UNNEST([1]) AS u", "stands alone in FROM"),
    ("SELECT u FROM f, UNNEST([1])[NOW] AS u", "[NOW]", "no time of their own"),
    ("SELECT 1 FROM f LEFT JOIN UNNEST([1]) AS u ON u = 1", "UNNEST(", "ON TRUE"),
    ("SELECT 1 FROM f, UNNEST([1]) AS t(u, v)", "u", "wrong number of columns"),
    ("SELECT FIRST_VALUE(src) FROM f [NOW]", "FIRST_VALUE(", "write FIRST(x)"),
    ("SELECT FIRST(k) FROM r", "FIRST(k)", "say what orders them: MIN_BY(x, y)"),
    ("SELECT STRING_AGG(c) FROM (SELECT src AS c FROM f [NOW])", "STRING_AGG(", "ORDER BY y"),
    ("SELECT STRING_AGG(src, src) FROM f [NOW]", "STRING_AGG(", "a separator in quotes"),
    ("SELECT STRING_AGG(day) FROM f [NOW]", "STRING_AGG(", "write CAST(... AS STRING)"),
    ("SELECT STRING_AGG(DISTINCT src, ',' ORDER BY day) FROM f [NOW]", "STRING_AGG(", "own order"),
    ("SELECT FIRST(src ORDER BY day) FROM f [NOW]", "FIRST(", "write MIN_BY(x, y) or MAX_BY"),
    ("SELECT MIN_BY(src) FROM f [NOW]", "MIN_BY(", "a value and what orders it; found 1 argument"),
    ("SELECT APPROX_DISTINCT(src) FROM f [NOW]", "APPROX_DISTINCT(", "add SLIDE to the window"),
    ("SELECT date_diff('dy', ts, ts) FROM f", "'dy'", "a unit in quotes"),
    ("SELECT ts + INTERVAL 1 MONTH FROM f", "INTERVAL 1", "a month has no fixed length"),
    ("SELECT NOW() FROM f", "NOW()", "use the time column of the stream"),
    ("SELECT src FROM f WHERE ts > CURRENT_TIMESTAMP", "CURRENT_TIMESTAMP", "not on when it is"),
    ("SELECT random() FROM f", "random()", "the same rows must give the same answer"),
    ("SELECT regexp_matches(src, '(a') FROM f", "'(a'", "missing )"),
    ("SELECT regexp_matches(src, 'a(?=b)') FROM f", "'a(?=b)'", "looking around"),
    ("SELECT regexp_matches(src, '(a)\\1') FROM f", "'(a)\\1'", "a reference to a group"),
    ("SELECT regexp_matches(src, src) FROM f", "src", "a regular expression in quotes"),
    ("SELECT regexp_matches(src, 'a', 'x') FROM f", "'x'", "options in quotes: i, s, m"),
    ("SELECT regexp_extract(src, '(a)', 2) FROM f", "2", "a group from 0 to 1"),
    ("SELECT regexp_extract(src, '(a)', -1) FROM f", "1", "a group from 0"),
    ("SELECT regexp_replace(src, 'a', src) FROM f", "src", "a replacement in quotes"),
    ("SELECT src FROM f WHERE src SIMILAR TO 'a%'", "src SIM", "write regexp_matches("),
    ("SELECT json_extract_string(src, '$.*') FROM f", "'$.*'", "a path to one value"),
    ("SELECT src ->> '$.a[*]' FROM f", "src", "a path to one value"),
    ("SELECT date_trunc('dy', ts) FROM f", "'dy'", "a unit in quotes"),
    # windows
    ("SELECT k FROM r [NOW]", "[NOW]", "r is a relation, and only a stream takes a window"),
    ("SELECT k FROM counted [RANGE 5]", "[RANGE 5]", "its update pattern is STRICT"),
    ("SELECT n FROM (SELECT COUNT(*) AS n FROM s [NOW]) [ROWS 2]", "[ROWS 2]", "so it takes no"),
    ("SELECT k FROM counted [RANGE 5]", "[RANGE 5]", "make the window that it aggregates INTERNAL"),
    ("SELECT k FROM (SELECT k FROM s [RANGE 5]) [ROWS 2]", "[ROWS 2]", "is WEAKEST"),
    ("SELECT k FROM s [RANGE 1500 MS]", "1500 MS", "a whole number of ticks for RANGE"),
    ("SELECT k FROM s [RANGE 2.5]", "2.5", "a whole number of ticks"),
    ("SELECT k FROM s [ROWS 99999999999999999999]", "[ROWS", "write UNBOUNDED to keep all"),
    ("SELECT k FROM s [RANGE 0 SECONDS]", "0 SECONDS", "a positive RANGE"),
    ("SELECT k FROM s [RANGE -5 SECONDS]", "-5 SECONDS", "a positive RANGE"),
    ("SELECT k FROM s [RANGE 5 SLIDE 0]", "0", "a positive SLIDE"),
    ("SELECT k FROM s [ROWS 0]", "[ROWS 0]", "at least one row"),
    ("SELECT k FROM s EVERY 0 SECONDS", "0 SECONDS", "a positive EVERY"),
    ("CREATE STREAM q (ts BIGINT) SLACK -1", "-1", "a non-negative SLACK"),
    ("CREATE STREAM q (ts BIGINT) AHEAD -1", "-1", "a non-negative AHEAD"),
    ("CREATE STREAM q (ts BIGINT) AHEAD 1 MS", "1 MS", "a whole number of ticks for AHEAD"),
    ("CREATE STREAM q (ts BIGINT) IDLE AFTER 30", "30", "write for example IDLE AFTER 30 SECONDS"),
    ("CREATE STREAM q (ts BIGINT) IDLE AFTER 0 SECONDS", "0 SECONDS", "a positive IDLE AFTER"),
    ("CREATE RELATION q (a INT) AHEAD 3", "3", "a unit of time for AHEAD"),
    ("SELECT k FROM s [RANGE 99999999999999 WEEKS]", "99999999999999 WEEKS", "UNBOUNDED"),
    # clauses
    ("SELECT 1", "SELECT 1", "expected FROM"),
    ("SELECT k FROM s WHERE SUM(a) > 3", "SUM(a)", "is not allowed in WHERE; use HAVING"),
    ("SELECT MAX(SUM(a)) FROM s", "SUM(a)", "the argument of MAX"),
    ("SELECT k, SUM(a) FROM s", "k", "the column k is neither grouped nor aggregated"),
    ("SELECT * FROM t GROUP BY k", "*", "the column ts is neither grouped nor aggregated"),
    ("SELECT k FROM s GROUP BY k HAVING a > 1", "a", "the column a is neither"),
    ("SELECT k FROM s HAVING k > 1", "k > 1", "use WHERE to filter tuples"),
    ("SELECT SUM(*) FROM s", "SUM(*)", "only COUNT takes *"),
    ("SELECT QUANTILE(a, 2) FROM s", "QUANTILE(a, 2)", "a fraction from 0 to 1"),
    ("SELECT QUANTILE(0.5) FROM s", "QUANTILE(0.5)", "write QUANTILE(x, 0.9)"),
    ("SELECT strftime(ts, '%Q') FROM f", "'%Q'", "write %% for a percent sign"),
    ("SELECT strftime(ts, src) FROM f", "src", "a format in quotes"),
    ("SELECT STRING_AGG(src ORDER BY ts NULLS FIRST) FROM f", "STRING_AGG", "found NULLS FIRST"),
    ("SELECT s.* REPLACE (a + 1 AS a) FROM s", "s.*", "name the columns that are wanted"),
    ("SELECT * EXCLUDE (k, bb) FROM s", "bb", "there is no column bb to leave out"),
    ("SELECT a ^ 2 FROM s", "a ^ 2", "power(x, 2)"),
    ("SELECT LAG(a, 1, 0) OVER (ORDER BY ts) FROM s", "LAG(a", "COALESCE(LAG(x, n)"),
    ("SELECT STRING_AGG(src ORDER BY ts, src) FROM f", "STRING_AGG", "that has all of them"),
    ("SELECT VAR_POP(a) FROM s", "VAR_POP(a)", "VAR(x) * (COUNT(x) - 1) / COUNT(x)"),
    ("SELECT SOUNDEX(k) FROM s", "SOUNDEX(k)", "SHOW FUNCTIONS lists those that there are"),
    ("SELECT COUNT(*) FROM s GROUP BY TUMBLE(ts, INTERVAL '1' MINUTE)",
     "TUMBLE(ts, INTERVAL '1' MINUTE)", "a window stands in FROM: s [RANGE 1 MINUTE SLIDE 1"),
    ("SELECT window_end() FROM s [ROWS 4 SLIDE 2]", "window_end()",
     "a window of rows has no bounds in time"),
    ("SELECT window_end() FROM s [RANGE 4]", "window_end()", "found s without SLIDE"),
    ("SELECT k FROM s WHERE EXISTS (SELECT t.k FROM s t WHERE t.k = s.k GROUP BY t.k HAVING TRUE)",
     "s.k", "a sub-query of EXISTS with GROUP BY, HAVING or an aggregate cannot read columns of"),
    ("SELECT k FROM s WHERE NOT EXISTS (SELECT t.k FROM s t WHERE t.k = s.k LIMIT 1)", "s.k",
     "EXISTS with LIMIT cannot read columns of the query around it; found s.k"),
    ("SELECT k FROM s WHERE EXISTS (SELECT * FROM (SELECT t.k FROM s t WHERE t.k = s.k) u)", "s.k",
     "a sub-query in FROM cannot read columns of the query around it; found s.k; compare them in"),
    ("SELECT k FROM s WHERE EXISTS (SELECT t.k FROM s t WHERE t.k = s.k GROUP BY t.k)", "s.k",
     "leave it out: one row is enough"),
    ("SELECT k FROM s WHERE EXISTS (SELECT k FROM s t WHERE t.k = s.k UNION SELECT k FROM picked)",
     "s.k", "with UNION, EXCEPT or INTERSECT"),
    ("SELECT k FROM s [NOW] WHERE k IN (SELECT MAX(t.k) FROM s [NOW] AS t WHERE t.k = s.k)",
     "s.k", "a sub-query of IN with GROUP BY, HAVING or an aggregate"),
    ("SELECT k #>> '{a,b}' FROM s", "k #>> '{a,b}'", "#>> is not allowed in the select list"),
    ("SELECT k #> '{a,b}' FROM s", "k #> '{a,b}'", "write a path after -> or ->>"),
    ("VALUES (1, 2), (3)", "VALUES (1, 2), (3)",
     "expected 2 values in each row, as in the first; found 1 value in row 2"),
    ("SELECT MODE(k) FROM s", "MODE(k)", "GROUP BY x ORDER BY n DESC LIMIT 1"),
    ("SELECT TIMESTAMPADD(MINUTE, 5, ts) FROM s", "TIMESTAMPADD", "write t + INTERVAL 5 MINUTES"),
    ("SELECT json_valid(k) FROM s", "json_valid(k)", "json_extract(x, '$') IS NOT NULL"),
    ("SELECT EXTRACT(MILLISECOND FROM ts) FROM s", "EXTRACT(MILLISECOND",
     "write date_diff('millisecond', date_trunc('second', t), t)"),
    ("CREATE VIEW s AS SELECT 1 FROM s", "s", "s is a stream already, declared on line"),
    ("CREATE FUNCTION count_if (a INT) RETURNS INT AS 'm:f'", "count_if",
     "there is a function count_if already"),
    ("SELECT TUMBLE_START(ts) FROM s", "TUMBLE_START(ts)", "window_start()"),
    ("SELECT COUNT_IF(a, a) FROM s", "COUNT_IF(a, a)", "one condition: COUNT_IF(x > 5)"),
    ("SELECT COUNT_IF(a) FROM s", "a", "expected a condition"),
    ("SELECT k FROM s GROUP BY CUBE (k)", "k", "with UNION ALL between them"),
    ("SELECT k || a FROM s", "k || a", "cast what is no string: CAST(... AS STRING)"),
    ("SELECT concat(name, a) FROM s", "concat(", "CONCAT does not take"),
    ("SELECT a RLIKE 'x' FROM s", "a RLIKE", "RLIKE does not take"),
    ("SELECT name RLIKE 'x', a REGEXP 'x' FROM s", "a REGEXP", "REGEXP does not take"),
    ("SELECT a RLIKE 'x' FROM s", "a RLIKE", "CAST(... AS STRING)"),
    ("SELECT json_extract(a, '$.a') FROM s", "json_extract(", "CAST(... AS STRING)"),
    ("SELECT get_json_object(a, '$.a') FROM s", "get_json", "GET_JSON_OBJECT does not take"),
    ("SELECT a -> 'x' FROM s", "a", "-> does not take"),
    ("SELECT a IN ('x') FROM s", "a IN", "cast one side, as in CAST(... AS INT)"),
    ("SELECT CAST(a AS DECIMAL(5, 7)) FROM s", "CAST", "cannot have 7 of them behind the point"),
    ("SELECT CAST(a AS DECIMAL(40, 2)) FROM s", "CAST", "40 digits are too many"),
    ("SELECT SUM(a) OVER (PARTITION BY k) FROM s", "SUM(a) OVER", "OVER is not allowed in"),
    ("SELECT k FROM s ORDER BY a", "a", "expected LIMIT with ORDER BY"),
    ("SELECT TOP 3 k FROM s", "TOP 3", "write ORDER BY"),
    ("SELECT DISTINCT k FROM s ORDER BY a LIMIT 2", "a", "with DISTINCT"),
    ("SELECT (SELECT k FROM t) FROM s", "(SELECT k FROM t", "must have at most one row"),
    ("SELECT (SELECT MAX(k), 1 FROM t) FROM s", "(SELECT MAX", "one column in a scalar sub-query"),
    ("SELECT (SELECT k FROM t WHERE t.k = s.k) FROM s", "(SELECT k", "an aggregate, since it"),
    ("SELECT (SELECT MAX(c) FROM t WHERE t.k > s.k) FROM s", "(SELECT MAX", "by = only"),
    ("SELECT (SELECT MAX(c) FROM t WHERE t.k = s.k HAVING COUNT(*) > 1) FROM s", "(SELECT MAX",
     "HAVING or DISTINCT"),
    ("SELECT COUNT(*), (SELECT MAX(c) FROM t WHERE t.k = s.k) FROM s", "(SELECT MAX", "group in a"),
    ("SELECT window_start(), (SELECT MAX(c) FROM t) FROM s [RANGE 4 SLIDE 2]", "SELECT window",
     "no sub-query beside"),
    ("SELECT EXISTS (SELECT k FROM t) FROM s", "EXISTS", "are conditions of WHERE"),
    ("SELECT (SELECT MAX(c) FROM t) FROM s [NOW INTERNAL]", "SELECT", "INTERNAL"),
    ("SELECT COUNT(*) FROM s GROUP BY (SELECT MAX(c) FROM t)", "(SELECT", "not allowed here"),
    ("SELECT k FROM s WHERE k NOT IN (SELECT k, c FROM t)", "k NOT IN", "one column"),
    ("SELECT k FROM s WHERE k IN (SELECT * FROM t)", "k IN", "one column in the sub-query of IN"),
    ("SELECT k FROM s WHERE name IN (SELECT k FROM t)", "name IN", "comparable types"),
    ("SELECT k FROM s WHERE EXISTS (SELECT * FROM t WHERE t.z = k)", "t.z", "no column z in t"),
    ("SELECT k FROM s WHERE CASE WHEN EXISTS (SELECT * FROM t) THEN TRUE END", "EXISTS",
     "an operand of AND, OR or NOT"),
    ("SELECT k FROM s [NOW INTERNAL] WHERE EXISTS (SELECT k FROM t)", "EXISTS", "INTERNAL"),
    # joins
    ("SELECT s.k FROM s LEFT JOIN t", "t", "expected ON or USING after LEFT JOIN"),
    ("SELECT s.k FROM s JOIN t USING (z)", "z", "no column z on the left of this JOIN"),
    ("SELECT s.k FROM s JOIN t USING (a)", "a", "no column a on the right of this JOIN"),
    ("SELECT s.k FROM s, t LEFT JOIN t AS u ON u.k = s.k", "u.k = s.k", "ON speaks of s.k"),
    ("SELECT s.k FROM s JOIN s AS q ON s.k = q.k JOIN t USING (k)", "k", "ambiguous on the left"),
    ("SELECT k FROM s JOIN t USING (k), t AS u", "k", "the column k is ambiguous"),
    ("SELECT s.k FROM s [NOW INTERNAL] LEFT JOIN t ON s.k = t.k", "t", "INTERNAL"),
    ("SELECT s.k FROM s [NOW] LEFT JOIN n ON s.k = n.k", "n", "found an NRR; declare it"),
    ("SELECT s.k FROM s LEFT JOIN t ON s.k IN (SELECT k FROM t)", "s.k IN", "IN"),
    ("WSTREAM(SELECT s.k FROM s [NOW] LEFT JOIN t [NOW] ON s.k = t.k)[ROWS 2]", "WSTREAM", "3.3.3"),
    # names of WITH
    ("WITH x AS (SELECT k FROM s), X AS (SELECT k FROM t) SELECT k FROM x", "X", "defines X twice"),
    ("WITH x (a, b) AS (SELECT k FROM s) SELECT a FROM x", "a", "lists the wrong number"),
    ("WITH x AS (SELECT k FROM y), y AS (SELECT k FROM s) SELECT k FROM x", "y", "no stream, rel"),
    ("WITH wide AS (SELECT k FROM s) SELECT k FROM wile", "wile", "did you mean wide?"),
    ("SELECT UPPER(name) FILTER (WHERE k > 1) FROM s", "UPPER", "an aggregate before FILTER"),
    ("SELECT SUM(a) FILTER (WHERE k) FROM s", "k", "expected"),
    ("SELECT k FROM s WHERE a > 1 OR a = (SELECT k FROM t)", "(SELECT", "at most one row"),
    ("SELECT k FROM s WHERE a > 1 OR NOT EXISTS (SELECT * FROM t WHERE t.z = k)", "t.z", "no col"),
    ("SELECT k FROM s [NOW INTERNAL] WHERE k > 1 OR k NOT IN (SELECT k FROM t)", "k > 1", "INTER"),
    # patterns and numbers
    ("SELECT k FROM s WHERE name LIKE 'a!' ESCAPE '!'", "'a!'", "write !! for the character"),
    ("SELECT k FROM s WHERE name LIKE 'a' ESCAPE '!!'", "'!!'", "one character in quotes"),
    ("SELECT k FROM s WHERE name NOT LIKE 'a' ESCAPE ''", "''", "one character in quotes"),
    ("SELECT k FROM s WHERE k LIKE 'a' ESCAPE '!'", "k LIKE 'a' ESC", "not take these types"),
    ("SELECT 9223372036854775808 FROM s", "9223372036854775808", "at most 64 bits"),
    ("SELECT -9223372036854775809 FROM s", "92233", "found -9223372036854775809"),
    ("SELECT -(-9223372036854775808) FROM s", "", "at most 64 bits"),
    # streams
    ("Rstream(SELECT src FROM f [RANGE 5 MIN])", "Rstream(", "EVERY 1 SECOND after the query"),
    ("SELECT WSTREAM(k) FROM s", "WSTREAM(k)", "a window after WSTREAM"),
    ("SELECT ISTREAM(k)[ROWS 2] FROM s", "[ROWS 2]", "ISTREAM takes no window"),
    ("SELECT WSTREAM-RESTORE(k) FROM s [RANGE 5 SLIDE 5]", "WSTREAM-", "(Golab 2006, 3.4)"),
    ("SELECT WSTREAM(DISTINCT k)[ROWS 2] FROM s [RANGE 5]", "WSTREAM(", "fit DISTINCT: results"),
    ("WSTREAM(SELECT k FROM s [RANGE 5] EXCEPT ALL SELECT k FROM t)[ROWS 2]", "WSTREAM(", "3.3.3"),
    ("WSTREAM(SELECT s.k FROM s [NOW], (SELECT DISTINCT k FROM t [NOW]) AS u)[ROWS 2]", "WSTREAM(",
     "does not fit DISTINCT"),
    ("SELECT ISTREAM-RESTORE(k) FROM s [RANGE 5]", "ISTREAM-RESTORE(k)", "is periodic"),
    ("RSTREAM-RESTORE(SELECT k FROM s [RANGE 5])", "RSTREAM-RESTORE(", "write SLIDE"),
    ("SELECT RSTREAM-RESTORE(s.k) FROM s [RANGE 9 SLIDE 3], t [RANGE 9 SLIDE 2]", "RSTREAM-",
     "expected the same SLIDE in all windows of the query; found 2 SECONDS and 3 SECONDS"),
    ("ISTREAM-RESTORE(SELECT k FROM s [RANGE 9 SLIDE 3]) EVERY 4", "ISTREAM-", "one period"),
    ("SELECT DISTINCT k FROM s [RANGE 5 INTERNAL]", "SELECT DISTINCT", "remove INTERNAL, or"),
    ("SELECT s.k FROM s [NOW INTERNAL], (SELECT DISTINCT k FROM t [NOW]) AS u", "SELECT s.k",
     "INTERNAL does not fit DISTINCT"),
    ("SELECT DISTINCT s.k FROM s [NOW INTERNAL], t [RANGE 5]", "SELECT DISTINCT", "3.3.2"),
    ("SELECT s.k FROM s [NOW INTERNAL], t [RANGE 5] WHERE s.k NOT IN (SELECT k FROM t)", "s.k NOT",
     "a sub-query in WHERE cannot work over INTERNAL windows"),
    ("SELECT DISTINCT COUNT(*) FROM s [RANGE 5], t [NOW INTERNAL]", "SELECT DISTINCT",
     "put its windows into a sub-query"),
    # relations that are not retroactive
    ("SELECT k FROM n", "n", "the NRR n is read alone"),
    ("SELECT k FROM (SELECT k FROM n WHERE w > 1)", "n", "3.3.1"),
    ("SELECT COUNT(*) FROM n", "n", "found an aggregate"),
    ("SELECT DISTINCT k FROM n", "n", "found DISTINCT"),
    ("SELECT k FROM s UNION ALL SELECT k FROM n", "n", "an input of UNION"),
    ("SELECT k FROM s WHERE k NOT IN (SELECT k FROM n)", "n", "found NOT IN"),
    ("SELECT x.k FROM n AS x, n AS y WHERE x.k = y.k", "n", "another NRR"),
    ("SELECT s.k FROM s [ROWS 5], n WHERE s.k = n.k", "n", "cannot process negative tuples"),
    ("SELECT counted.k FROM counted, n WHERE counted.k = n.k", "n", "3.5.3"),
    ("SELECT s.k FROM s [RANGE 5], r, n WHERE s.k = r.k AND s.k = n.k", "n", "found STRICT input"),
    ("CREATE RELATION q (k INT, PRIMARY KEY (kk))", "kk", "did you mean k?"),
    ("CREATE NRR q (k INT, PRIMARY KEY (k, K))", "K", "the key names K twice"),
    ("SELECT k FROM s [NOW INTERNAL] WHERE NOT EXISTS (SELECT k FROM t)", "EXISTS", "INTERNAL"),
    # files, archives
    ("CREATE STREAM q (ts BIGINT) FROM 'd/'", "FROM 'd/'", "write FORMAT csv"),
    ("CREATE STREAM q (ts BIGINT) FROM 'd' FORMAT parkuet", "parkuet", "did you mean parquet?"),
    ("CREATE ARCHIVE m ON s KEY kk WINDOW 1 DAY USING WATA(4)", "kk", "did you mean k?"),
    ("CREATE ARCHIVE m ON s KEY k WINDOW 1 DAY USING WATTA(4)", "WATTA", "did you mean WATA?"),
    ("CREATE ARCHIVE m ON r KEY k WINDOW 1 DAY USING WATA(4)", "r", "at any time"),
]  # fmt: skip


def located(text: str, expected: type[ScriptError]) -> tuple[ScriptError, str]:
    with pytest.raises(expected) as caught:
        compile_script(DECLARATIONS + text)
    error = caught.value
    assert error.span is not None
    assert error.span.line == LINES + 1
    start = error.span.column - 1
    drawing = error.excerpt().splitlines()
    assert drawing[0].endswith(text)
    assert drawing[1].index("^") == len(drawing[0]) - len(text) + start
    return error, text[start : start + error.span.length]


@pytest.mark.parametrize(("text", "underlined", "words"), CASES)
def test_the_mistake_is_underlined_and_explained(text: str, underlined: str, words: str) -> None:
    error, marked = located(text, BindError)
    assert marked.startswith(underlined)
    assert words in str(error)


def test_reading_a_query_names_the_remedy() -> None:
    with pytest.raises(BindError, match="declare q with CREATE VIEW to read it"):
        compile_script(DECLARATIONS + "CREATE QUERY q AS SELECT k FROM s; SELECT k FROM q")


def test_absurd_nesting_is_an_error_of_ours() -> None:
    with pytest.raises(ScriptError):
        compile_script(DECLARATIONS + "SELECT k FROM s WHERE a = " + " + ".join(["a"] * 20_000))


@pytest.mark.parametrize(
    ("into", "says"),
    [
        ("in/", "read as rows of d, which are all files in 'in'; write them to"),
        ("./in/out", "read as rows of d"),
        ("days/2026", "read as rows of e, which are all files in"),
        ("./out/", "q writes its results into './out/' already"),
    ],
)
def test_results_do_not_go_where_they_would_be_read_or_removed(into: str, says: str) -> None:
    script = """
        CREATE STREAM d (ts BIGINT) FROM 'in' FORMAT csv;
        CREATE STREAM e (ts BIGINT) FROM 'days/*/b*.parquet' FORMAT parquet;
        CREATE VIEW v AS SELECT ts FROM d UNION ALL SELECT ts FROM e;
        CREATE STREAM other (ts BIGINT) FROM 'elsewhere' FORMAT csv;
        CREATE QUERY text AS SELECT ts FROM e INTO 'days/2025' FORMAT csv;
        CREATE QUERY above AS SELECT ts FROM e INTO 'days';
        CREATE QUERY q AS SELECT ts AS t FROM other INTO 'out';
        CREATE QUERY fine AS SELECT ts FROM other INTO 'in/other';
        CREATE QUERY shown AS SELECT ts FROM v INTO 'in' FORMAT console;
    """
    compile_script(script)
    with pytest.raises(BindError, match=says):
        compile_script(script + f"CREATE QUERY wrong AS SELECT ts FROM v INTO '{into}';")


def test_an_interval_beyond_64_bits_is_refused() -> None:
    with pytest.raises(BindError, match="INTERVAL of less than 64 bits of microseconds; found 9"):
        compile_script(DECLARATIONS + "SELECT ts + INTERVAL 999999999999 DAYS AS t FROM f;")
