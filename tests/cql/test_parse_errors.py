"""What is not CQL is told where and why, in our words."""

from __future__ import annotations

import pytest

from windrow.core.errors import ParseError
from windrow.cql import parse

CASES = [
    ("CREATE STREAM s (at TIMESTAMP(9))", "9", "at most 6 digits"),
    ("CREATE STREAM s (at TIMESTAMP WITH TIME ZONE)", "WITH", "with an offset is read as UTC"),
    ("CREATE STREAM s (at TIMESTAMPTZ)", "TIMESTAMPTZ", "with an offset is read as UTC"),
    ("CREATE STREAM s (a INT, WATERMARK FOR at AS at)", "WATERMARK", "SLACK 5 SECONDS"),
    ("CREATE STREAM s (a INT) WITH (connector = 'kafka')", "WITH", "pushed from Python"),
    ("EXPLAIN ANALYZE SELECT a FROM s", "ANALYZE", "EXPLAIN COST"),
    ("SELECT a FROM s WHERE a > 1E", "1E", "expected a number"),
    ("SELECT a FROM s [RANGE 1e+ SECONDS]", "1e", "expected a number"),
    ("SELECT a FROM s ORDER BY a WITH FILL LIMIT 1", "a", "WITH FILL"),
    ("SELECT 1_000 FROM s", "1_000", "without a mark between them"),
    ("SELECT a FROM s WHERE a > 0xFF", "0xFF", "in base ten"),
    ("SELECT 2nd FROM s", "2nd", "before a name leave a blank"),
    ("SELECT a FROM s WEHRE a = 1", "WEHRE", "did you mean WHERE?"),
    ("SELECT a FRM s", "FRM", "did you mean FROM?"),
    ("SELCT a FROM s", "SELCT", "did you mean SELECT?"),
    ("SELECT a FROM s [RANG 5]", "RANG", "did you mean RANGE?"),
    ("SELECT a FROM s [RANGE 5 SECNDS]", "SECNDS", "did you mean SECONDS?"),
    ("SELECT a FROM s [RANGE]", "]", "a number and a unit"),
    ("SELECT a FROM s []", "]", "RANGE, ROWS, SESSION, PARTITION BY, NOW or UNBOUNDED"),
    ("SELECT a FROM s [SESION 5 SECONDS]", "SESION", "did you mean SESSION?"),
    ("SELECT a FROM SESSION(s PARTITION BY a, ts, 5)", "5", "a column, or DESCRIPTOR(column)"),
    ("SELECT a FROM s [ROWS 2.5]", "2.5", "whole number"),
    ("SELECT a FROM s [PARTITION BY a]", "]", "ROWS"),
    (
        "SELECT a FROM s WHERE NOT EXISTS (SELECT * FROM t) WITHIN 3 SECONDS AFTR",
        "AFTR",
        "did you mean AFTER?",
    ),
    (
        "SELECT a FROM s WHERE NOT EXISTS (SELECT * FROM t) WITHIN AFTER",
        "AFTER",
        "a number and a unit for WITHIN",
    ),
    ("SELECT a FROM s QUALIFY a > 3", "a > 3", "ROW_NUMBER() OVER (...) <= a number in QUALIFY"),
    ("SELECT a FROM s WHERE a !~ 'x'", "!", "write x NOT RLIKE '...'"),
    ("CREATE STREAM u AS SELECT a FROM s", "AS", "write CREATE VIEW u AS SELECT"),
    ("LIST STREAMS", "LIST", "write SHOW STREAMS"),
    ("SELECT a FROM s ORDER BY a FETCH FIRST 3 ROWS WITH TIES", "WITH", "write RANK() OVER"),
    ("SELECT a FROM s ORDER BY a FETCH FIRST 9 PERCENT ROWS ONLY", "PERCENT", "write LIMIT"),
    ("SELECT a FROM s ORDER BY a FETCH 3", "3", "FIRST after FETCH"),
    ("SELECT a FROM s ORDER BY a LIMIT 3 FETCH NEXT ROW ONLY", "FETCH", "write LIMIT"),
    ("SELECT a FROM TABLE(CUMULATE(TABLE s, DESCRIPTOR(ts), 1, 5))", "CUMULATE", "two windows"),
    ("SELECT a FROM TABLE(FOO(TABLE s))", "FOO", "there is no function FOO in FROM: only TUMBLE"),
    ("SELECT a FROM foo(s)", "foo", "there is no function foo in FROM"),
    ("SELECT a FROM s JOIN generate_series(1, 2) ON TRUE", "generate_series", "(VALUES (1), (2)"),
    ("SELECT a FROM read_csv('c.csv')", "read_csv", "CREATE STREAM s"),
    ("SELECT a FROM 'c.csv'", "'c.csv'", "CREATE STREAM s"),
    ("SELECT a FROM s, LATERAL (SELECT 1)", "LATERAL", "UNNEST(s.a) AS t(x)"),
    ("SELECT a FROM s, LATERAL UNNEST(s.a)", "LATERAL", "UNNEST(s.a) AS t(x)"),
    ("SELECT a FROM s (RANGE 5 SECONDS)", "(", "s [RANGE 5 SECONDS]"),
    ("SELECT a FROM TUMBLE(DATA => s, SIZE => 5)", ")", ", and TIMECOL => ..., the column"),
    ("SELECT a FROM TUMBLE(DATA => s, SLIDE => 5)", "SLIDE", "TIMECOL or SIZE and =>"),
    ("SELECT a FROM HOP(DATA => s, DATA => s)", "DATA", "TIMECOL or SLIDE or SIZE and =>"),
    ("SELECT a FROM HOP(DATA => s, 5)", "5", "TIMECOL or SLIDE or SIZE and => before its value"),
    ("SELECT a FROM TUMBLE(s, ts)", ")", ", and the length of the window"),
    ("SELECT a FROM TUMBLE(s [NOW], ts, 5)", "TUMBLE", "one window"),
    ("SELECT a FROM HOP(s, ts, INTERVAL '5' SECNDS, 3)", "SECNDS", "did you mean SECOND"),
    ("SELECT a FROM s [NOW] [NOW]", "[", "one window"),
    ("SELECT a FROM s [RANGE 5", "5", "the end of the statement"),
    ("SELECT a FORM s", "FORM", "did you mean FROM?"),
    ("SELECT a FROM s INTO 'x' FORM csv", "FORM", "did you mean FORMAT?"),
    ("CREATE STREAM s (a INT) FORM 'x.csv'", "FORM", "did you mean FROM?"),
    ("CREATE STREAM s (a INT) FROM 'x' FORM csv", "FORM", "did you mean FORMAT?"),
    ("CREATE STREAM s (a INT) FROM 'x' FROMAT csv", "FROMAT", "did you mean FORMAT?"),
    ("CREATE RELATION r (a INT) FORM 'x.csv'", "FORM", "did you mean FROM?"),
    ("SELECT a FROM s RANGE 5 SECONDS", "RANGE", "s [RANGE 5 SECONDS]"),
    ("SELECT a FROM s ROWS 5 WHERE a > 1", "ROWS", "in brackets"),
    ("SELECT a FROM s NOW", "NOW", "in brackets"),
    ("SELECT a FROM s, t unbounded WHERE a > 1", "unbounded", "in brackets"),
    ("SELECT a FROM s AS x RANGE 5 SECONDS", "RANGE", "in brackets"),
    ("SELECT a FROM s PARTITION BY a ROWS 2", "PARTITION BY", "in brackets"),
    ("SELECT a FROM s (RANGE 5 SECONDS)", "(", "in brackets"),
    ("SELECT a, FROM s", "FROM", "a column or an expression"),
    ("SELECT a + FROM s", "FROM", "an operand"),
    ("SELECT COUNT(*) FROM s GROUP BY HAVING COUNT(*) > 1", "HAVING", "a column or an expression"),
    ("SELECT a, COUNT(*) FROM s GROUP BY a, HAVING a > 1", "HAVING", "a column or an expression"),
    ("SELECT (a FROM s", "FROM", "expected )"),
    ("SELECT a FROM s, ", ",", "the name of a stream"),
    ("SELECT a FROM SELECT b FROM s", "SELECT", "parentheses"),
    ("CREATE STREM s (a INT)", "STREM", "did you mean STREAM?"),
    ("CREATE STREAM s (a ITN)", "ITN", "did you mean INT?"),
    ("CREATE STREAM s (a)", "a", "a type for a"),
    ("CREATE VIEW v SELECT a FROM s", "SELECT", "expected AS"),
    ("CREATE QUERY q INTO 'x' AS SELECT a FROM s", "INTO", "expected AS"),
    ("CREATE ARCHIVE m ON s KEY k USING WATA(4)", "USING", "expected WINDOW"),
    ("SELECT a FROM s [RANGE 1 MONTH]", "MONTH", "MINUTE, HOUR, DAY, WEEK"),
    ("SELECT a FROM s WHERE a = ?", "?", "found the parameter ?; from Python, pass it"),
    ("SELECT a FROM s WHERE a = :b", ":b", 'execute(text, {"b": ...})'),
    ("SELECT a FROM s WHERE a ~ 'b'", "~", "write RLIKE for a regular expression"),
    ("CREATE VIEW v AS SELECT a FROM s CREATE QUERY q AS v", "CREATE", "a semicolon before"),
    ("CREATE STREAM s (ts INT) SELECT a FROM s", "SELECT", "a semicolon before"),
    ("SELECT a FROM s SHOW STREAMS", "SHOW", "a semicolon before the next statement"),
    ("SHOW", "SHOW", "expected STREAMS, RELATIONS, VIEWS, QUERIES"),
    ("SHOW TABLES", "TABLES", "what SQL calls tables are STREAMS, RELATIONS and VIEWS"),
    ("CREATE TABLE s (a INT)", "TABLE", "a STREAM or a RELATION instead of a TABLE"),
    ("CREATE OR REPLACE VIEW IF NOT EXISTS v AS s", "CREATE", "OR REPLACE or IF NOT EXISTS"),
    ("DROP VIEW v CASCADE", "CASCADE", "drop what depends on it first"),
    ("CREATE STREAM s (a INT NOT NULL)", "NOT", "any value may be NULL"),
    ("SELECT a FROM s [RANGE INTERVAL '5' SECOND]", "INTERVAL", "write RANGE 5 SECONDS"),
    ("SET x = 1", "SET", "CQL has declarations and queries only"),
    ("SELECT a FROM s [NOW] EVERY", "EVERY", "a number and a unit for EVERY"),
    ("SELECT a FROM s [NOW] EVERY minute", "minute", "a number and a unit for EVERY"),
    ("SELECT a FROM s WHERE", "WHERE", "an operand; found the end of the statement"),
    ("SELECT a FROM s WHERE (a > 1", "1", "expected ); found the end of the statement"),
    ("SELECT CASE WHEN a > 1 THEN 1 FROM s", "FROM", "expected END after CASE; found 'FROM'"),
    ("SELECT TOP 3 PERCENT a FROM s", "TOP 3", "TOP with PERCENT, WITH TIES or BY is not part"),
    ("SELECT TOP 3 WITH TIES a FROM s", "TOP 3", "TOP with PERCENT, WITH TIES or BY is not part"),
    ("SELECT a FROM s LIMIT 3 BY b", "LIMIT 3", "LIMIT with PERCENT, WITH TIES or BY is not part"),
    ("SELECT a FROM s JOIN t JOIN u ON t.a = u.a ON s.a = t.a", "a", "each ON directly after"),
    ("SELECT a FROM s QUALIFY NTILE() OVER (ORDER BY a) <= 2", "NTILE", "QUALIFY ROW_NUMBER()"),
    ("SELECT a FROM s LEFT SEMI JOIN t ON s.a = t.a", "t ON", "LEFT SEMI JOIN is not part of CQL"),
    ("WITH RECURSIVE x AS (SELECT a FROM s) SELECT a FROM x", "RECURSIVE", "its own answer"),
    ("SELECT a FROM s EMIT CHANGES", "EMIT", "leave out EMIT"),
    ("SELECT a, COUNT(*) FROM s GROUP BY a EMIT FINAL", "EMIT", "leave out EMIT"),
    ("SELECT a FROM s JOIN r FOR SYSTEM_TIME AS OF s.ts AS r ON s.a = r.a", "FOR", "CREATE NRR"),
    ("SELECT s.a FROM s JOIN t WITHIN 1 HOUR ON s.a = t.a", "WITHIN", "s [RANGE 1 HOUR] JOIN"),
    ("SELECT a FROM s MATCH_RECOGNIZE (PATTERN (A B))", "MATCH_RECOGNIZE", "compare with LAG"),
    ("SELECT a FROM s PIVOT (SUM(a) FOR k IN (1))", "PIVOT", "an aggregate for each value"),
    ("FROM s SELECT a", "FROM", "write SELECT and its columns before FROM"),
    ("# a note", "#", "a comment begins with --"),
    ("INSERT INTO x SELECT a FROM s", "INSERT", "CREATE QUERY name AS SELECT ... INTO"),
    ("CREATE MATERIALIZED VIEW v AS SELECT a FROM s", "MATERIALIZED", "write CREATE VIEW"),
    ("CREATE TABLE v AS SELECT a FROM s", "TABLE", "write CREATE VIEW"),
    ("CREATE TABLE v (a INT)", "TABLE", "are a STREAM"),
    ("CREATE STREAM z (ts BIGINT, a INT KEY)", "KEY", "of a relation write PRIMARY KEY"),
    ("CREATE STREAM z (ts BIGINT, a BLOB)", "BLOB", "there are no bytes"),
    ("CREATE STREAM z (ts BIGINT, a UUID)", "UUID", "write STRING"),
    ("SELECT a FROM s [ROWS 5 PRECEDING]", "PRECEDING", "leave out PRECEDING"),
    ("SELECT a FROM s [RANGE 5 PRECEDING]", "PRECEDING", "leave out PRECEDING"),
    ("SELECT a FROM s [RANGE 5 MINUTES PRECEDING]", "PRECEDING", "leave out PRECEDING"),
    ("SELECT a FROM s [RANGE 2 MONTHS]", "MONTHS", "write 30 DAYS"),
    ("SELECT a FROM s WINDOW TUMBLING (SIZE 5 SECONDS)", "WINDOW", "in brackets after the name"),
    ("SELECT a FROM s, (VALUES (1), 2) AS v (a)", "2", "( and the values of a row"),
    ("WITH x AS SELECT a FROM s", "SELECT", "( and a query after AS"),
    ("WITH x (a AS (SELECT a FROM s) SELECT a FROM x", "AS", ") after the names"),
    ("SELECT a FROM s WHERE a = b OPTION (LOOPS)", "LOOPS", "expected HASH JOIN and a number"),
    ("SELECT a FROM s WHERE a = b OPTION (HASH JOIN)", ")", "the number of buckets"),
    ("SELECT a FROM s WHERE a = b OPTION (HASH JOIN 0)", "0", "expected at least one bucket"),
    ("SELECT a FROM s LIMIT b", "LIMIT b", "a whole number after LIMIT"),
    ("SELECT a FROM s ORDER BY a NULLS FIRST LIMIT 1", "a", "order by COALESCE"),
    ("CREATE STREAM s (ts INT PRIMARY KEY)", "ts INT PRIMARY KEY", "may bring equal tuples"),
    ("CREATE NRR n (a INT PRIMARY KEY, b INT PRIMARY KEY)", "b INT", "PRIMARY KEY (a, b) after"),
    ("CREATE NRR n (a INT PRIMARY KEY, PRIMARY KEY (a))", "PRIMARY KEY (a)", "has one PRIMARY"),
    ("SELECT SUM(WSTREAM(a)) FROM s", "WSTREAM(a)", "the same window"),
    ("SELECT SUM(WSTREAM(a)[NOW]) FROM s GROUP BY k", "WSTREAM(a)[NOW]", "no GROUP BY"),
    ("SELECT 'a FROM s", "'", "quote"),
    ("SELECT a FROM s /* b", "/", "comment"),
    ("CREATE STREAM d (ts INT, x DECIMAL(5, 7))", "DECIMAL(5, 7)", "write DECIMAL(12, 7)"),
    ("CREATE STREAM d (ts INT, x DECIMAL(40, 2))", "DECIMAL(40, 2)", "write DECIMAL(38, 2)"),
    ("TRUNCATE s", "TRUNCATE", "CREATE, DROP, SHOW, DESCRIBE, EXPLAIN or a query"),
]


@pytest.mark.parametrize(("text", "underlined", "words"), CASES)
def test_the_offending_text_is_underlined_and_explained(
    text: str, underlined: str, words: str
) -> None:
    script = "SELECT x FROM y;\n" + text
    with pytest.raises(ParseError) as caught:
        parse(script)
    error = caught.value
    assert error.span is not None
    assert error.span.line == 2
    start = error.span.column - 1
    assert text[start : start + error.span.length].startswith(underlined)
    assert words in str(error)
    drawing = error.excerpt().splitlines()
    assert drawing[0] == f"  2 | {text}"
    assert drawing[1].index("^") == len("  2 | ") + start


@pytest.mark.parametrize("text", ["(" * 5000 + "a", "SELECT " + "(" * 3000 + "1" + ")" * 3000])
def test_absurd_nesting_is_an_error_of_ours(text: str) -> None:
    with pytest.raises(ParseError):
        parse(text)
