"""Every statement of the language parses into the tree that it should."""

from __future__ import annotations

import re
from decimal import Decimal

import pytest
from sqlglot import expressions as exp

from windrow.core.errors import ParseError
from windrow.core.schema import Type
from windrow.cql import parse
from windrow.cql.statement_tree import (
    CreateArchive,
    CreateQuery,
    CreateRelation,
    CreateStream,
    CreateSubscriptions,
    CreateView,
    Explain,
)
from windrow.cql.syntax_tree import (
    EveryOf,
    Name,
    NowClause,
    Query,
    RangeClause,
    RowsClause,
    Select,
    SetOperation,
    StreamOf,
    UnboundedClause,
    WindowClause,
    With,
)

PIPELINE = """
CREATE STREAM flows (ts TIMESTAMP, src STRING, dst STRING, proto STRING, bytes BIGINT)
  FROM 'data/flows/' FORMAT parquet TIMESTAMP BY ts SLACK 5 SECONDS;
CREATE RELATION hosts (ip STRING, owner STRING) FROM 'data/hosts.csv' FORMAT csv;      -- or NRR
CREATE VIEW web AS SELECT src, dst, bytes FROM flows WHERE proto = 'http';
CREATE QUERY pairs AS
  SELECT l.src, l.dst, r.dst FROM web [RANGE 1 MINUTE] AS l, flows [RANGE 1 MINUTE] AS r
  WHERE l.src = r.src INTO 'out/pairs' FORMAT parquet;
CREATE QUERY busy AS
  SELECT TOP 10 src, SUM(bytes) FROM flows [RANGE 10 MINUTES SLIDE 1 MINUTE] GROUP BY src;
CREATE ARCHIVE month ON flows KEY src WINDOW 30 DAYS USING WATA(4) PACKED;
CREATE SUBSCRIPTIONS alerts ON flows (bytes) FROM 'data/alerts.csv';
"""


def statement(text: str) -> object:
    (only,) = parse(text).statements
    return only


def query(text: str) -> Query:
    found = statement(text)
    assert isinstance(found, CreateQuery)
    return found.query


def select(text: str) -> Select:
    found = query(text)
    assert isinstance(found, Select)
    return found


def window(text: str) -> WindowClause | None:
    return select(f"SELECT a FROM s {text}").tables[0].window


def test_a_whole_pipeline_parses_statement_by_statement() -> None:
    kinds = [type(s) for s in parse(PIPELINE).statements]
    assert kinds == [
        CreateStream,
        CreateRelation,
        CreateView,
        CreateQuery,
        CreateQuery,
        CreateArchive,
        CreateSubscriptions,
    ]


def test_create_stream_keeps_columns_source_time_and_slack() -> None:
    stream = parse(PIPELINE).statements[0]
    assert isinstance(stream, CreateStream)
    assert [(c.name.text, c.type) for c in stream.columns][:2] == [
        ("ts", Type.TIMESTAMP),
        ("src", Type.STRING),
    ]
    assert stream.source is not None
    assert stream.source.path == "data/flows/"
    assert stream.timestamp is not None
    assert stream.timestamp.text == "ts"
    assert stream.slack is not None
    assert (stream.slack.amount, stream.slack.unit) == (Decimal(5), "SECOND")


def test_clauses_of_create_stream_come_in_any_order_but_once() -> None:
    stream = statement("create stream s (t int) slack 3 timestamp by t from 'x' format csv")
    assert isinstance(stream, CreateStream)
    assert stream.source is not None
    with pytest.raises(ParseError, match="each once"):
        parse("create stream s (t int) slack 3 seconds slack 4 seconds")
    with pytest.raises(ParseError, match="each once"):
        parse("create stream s (t int) ahead 3 seconds ahead unbounded")


@pytest.mark.parametrize(
    ("clause", "words"),
    [
        ("ahed 3", "did you mean AHEAD?"),
        ("ahead", "a number and a unit for AHEAD"),
        ("ahead never", "or UNBOUNDED"),
        ("idle 3 seconds", "expected AFTER"),
        ("idle after unbounded", "or NEVER"),
    ],
)
def test_limits_of_time_that_are_misspelt_are_explained(clause: str, words: str) -> None:
    with pytest.raises(ParseError, match=words.replace("?", r"\?")):
        parse(f"create stream s (t int) {clause}")


def test_archives_and_subscriptions_keep_their_parts() -> None:
    *_, archive, subscriptions = parse(PIPELINE).statements
    assert isinstance(archive, CreateArchive)
    assert (archive.scheme.text, archive.constituents) == ("WATA", 4)
    assert archive.technique is not None
    assert archive.technique.text == "PACKED"
    assert [k.text for k in archive.key] == ["src"]
    assert isinstance(subscriptions, CreateSubscriptions)
    assert [c.text for c in subscriptions.columns] == ["bytes"]
    again = statement("CREATE ARCHIVE a ON s KEY (k, l) WINDOW 7 DAYS USING REINDEX++(2)")
    assert isinstance(again, CreateArchive)
    assert again.scheme.text == "REINDEX++"
    assert [k.text for k in again.key] == ["k", "l"]


def test_an_nrr_is_a_relation_that_is_not_retroactive() -> None:
    found = statement("CREATE NRR n (k INT)")
    assert isinstance(found, CreateRelation)
    assert not found.retroactive


@pytest.mark.parametrize(
    ("written", "kind"),
    [
        ("INT", Type.INT), ("integer", Type.INT), ("SMALLINT", Type.INT), ("tinyint", Type.INT),
        ("BIGINT", Type.BIGINT), ("long", Type.BIGINT), ("FLOAT", Type.FLOAT),
        ("real", Type.FLOAT), ("DOUBLE", Type.DOUBLE), ("double precision", Type.DOUBLE),
        ("STRING", Type.STRING), ("VARCHAR(20)", Type.STRING), ("TIMESTAMP(3)", Type.TIMESTAMP),
        ("TIMESTAMP WITHOUT TIME ZONE", Type.TIMESTAMP), ("varchar", Type.STRING),
        ("TEXT", Type.STRING), ("char(8)", Type.STRING), ("byte", Type.STRING),
        ("TIMESTAMP", Type.TIMESTAMP), ("DATE", Type.DATE), ("boolean", Type.BOOLEAN),
    ],
)  # fmt: skip
def test_each_type_name_is_known(written: str, kind: Type) -> None:
    found = statement(f"CREATE STREAM s (c {written}, ts BIGINT)")
    assert isinstance(found, CreateStream)
    assert found.columns[0].type is kind


@pytest.mark.parametrize(
    ("unit", "known"),
    [
        ("us", "MICROSECOND"), ("ms", "MILLISECOND"), ("Milliseconds", "MILLISECOND"),
        ("sec", "SECOND"), ("SECONDS", "SECOND"), ("Second", "SECOND"), ("min", "MINUTE"),
        ("minutes", "MINUTE"), ("HOUR", "HOUR"), ("hours", "HOUR"), ("day", "DAY"),
        ("Days", "DAY"), ("week", "WEEK"), ("weeks", "WEEK"),
    ],
)  # fmt: skip
def test_units_are_known_in_any_case_plural_and_short(unit: str, known: str) -> None:
    found = window(f"[RANGE 5 {unit}]")
    assert isinstance(found, RangeClause)
    assert (found.length.amount, found.length.unit) == (Decimal(5), known)


def test_a_range_may_be_bare_ticks_slide_and_be_internal() -> None:
    bare = window("[range 5]")
    assert isinstance(bare, RangeClause)
    assert bare.length.unit is None
    full = window("[RANGE 10 MINUTES SLIDE 1 MINUTE INTERNAL]")
    assert isinstance(full, RangeClause)
    assert full.slide is not None
    assert (full.slide.unit, full.internal) == ("MINUTE", True)


@pytest.mark.parametrize("text", ["[UNBOUNDED]", "[Range Unbounded]", "[unbounded]"])
def test_unbounded_has_two_spellings(text: str) -> None:
    assert isinstance(window(text), UnboundedClause)


def test_now_and_rows_and_partitioned_rows() -> None:
    assert isinstance(window("[Now]"), NowClause)
    stepping = window("[ROWS 30 SLIDE 10 INTERNAL]")
    assert (stepping.count, stepping.slide, stepping.internal) == (30, 10, True)
    rows = window("[ROWS 3]")
    assert isinstance(rows, RowsClause)
    assert (rows.count, rows.partition_by) == (3, ())
    by = window("[Partition by a, b Rows 3 internal]")
    assert isinstance(by, RowsClause)
    assert [n.text for n in by.partition_by] == ["a", "b"]
    assert (by.count, by.internal) == (3, True)


@pytest.mark.parametrize(
    "table", ["S [Range 5 Seconds] as X", "S as X [Range 5 Seconds]", "S [Range 5 Seconds] X",
              "S X [Range 5 Seconds]"],
)  # fmt: skip
def test_window_and_alias_stand_in_either_order(table: str) -> None:
    (found,) = select(f"select a from {table}").tables
    assert isinstance(found.source, Name)
    assert (found.source.text, found.alias.text if found.alias else "") == ("S", "X")
    assert isinstance(found.window, RangeClause)


def test_a_sub_query_takes_a_window_and_a_name() -> None:
    (found,) = select("SELECT a FROM (SELECT a FROM s [NOW INTERNAL]) [ROWS 10] AS x").tables
    assert isinstance(found.source, Select)
    assert isinstance(found.window, RowsClause)
    assert found.alias is not None


def test_joins_by_comma_and_by_on_are_tables_with_conditions() -> None:
    found = select("SELECT 1 FROM a [NOW], b JOIN c [ROWS 2] ON b.k = c.k INNER JOIN d ON d.k = 1")
    assert [t.on is not None for t in found.tables] == [False, False, True, True]
    assert isinstance(found.tables[2].window, RowsClause)


@pytest.mark.parametrize("kind", ["Istream", "DSTREAM", "rstream", "Istream-Restore",
                                  "RSTREAM-RESTORE"])  # fmt: skip
def test_relation_to_stream_forms_enclose_a_query_or_a_select_list(kind: str) -> None:
    enclosing = query(f"{kind}(select a from s [Range 5 Seconds])")
    listed = query(f"SELECT {kind}(*) FROM s [RANGE 5]")
    bare = query(f"SELECT {kind} a, b FROM s")
    for found in (enclosing, listed, bare):
        assert isinstance(found, StreamOf)
        assert found.kind == kind.upper()
    assert isinstance(bare, StreamOf)
    assert isinstance(bare.query, Select)
    assert len(bare.query.items) == 2


def test_distinct_may_stand_inside_the_form() -> None:
    found = query("SELECT ISTREAM(DISTINCT a) FROM s")
    assert isinstance(found, StreamOf)
    assert isinstance(found.query, Select)
    assert found.query.distinct


def test_wstream_has_its_window_after_it() -> None:
    found = query("SELECT Wstream(*)[ROWS 10] FROM s [RANGE 1 MIN]")
    assert isinstance(found, StreamOf)
    assert isinstance(found.window, RowsClause)


def test_a_column_may_be_called_istream() -> None:
    for text in ("SELECT istream FROM s", "SELECT istream, a FROM s", "SELECT istream + 1 FROM s",
                 "SELECT a.istream FROM a", "SELECT istream * 2 FROM s"):  # fmt: skip
        assert isinstance(query(text), Select)


def test_names_and_selects_join_by_union_and_except_from_left_to_right() -> None:
    found = query("A union B except (select a from s) UNION ALL C")
    assert isinstance(found, SetOperation)
    operators = []
    while isinstance(found, SetOperation):
        operators.append(found.operator)
        found = found.left
    assert operators == ["UNION", "EXCEPT", "UNION"]
    assert isinstance(query("Istream(A union B)"), StreamOf)


@pytest.mark.parametrize(
    ("text", "distinct"),
    [
        ("A UNION B", False),
        ("(A) EXCEPT (B)", False),
        ("A UNION B UNION C", False),
        ("s [RANGE 5] INTERSECT t [NOW]", False),
        ("ISTREAM(A) UNION (DSTREAM(SELECT a FROM s [NOW]))", False),
        ("SELECT ISTREAM(a) FROM s [NOW] UNION SELECT ISTREAM(a) FROM t [NOW]", False),
        ("A UNION ALL SELECT a FROM s", False),
        ("A UNION SELECT a FROM s", True),
        ("SELECT a FROM s INTERSECT SELECT a FROM t", True),
        ("SELECT a FROM s UNION DISTINCT SELECT a FROM t", True),
        ("A UNION B EXCEPT SELECT a FROM s", True),
    ],
)
def test_set_operations_are_over_bags_between_names_and_over_sets_between_selects(
    text: str, distinct: bool
) -> None:
    found = query(text)
    assert isinstance(found, SetOperation)
    assert found.distinct is distinct


def test_intersect_binds_more_tightly() -> None:
    found = query("A UNION B INTERSECT ALL C EXCEPT D INTERSECT E")
    assert isinstance(found, SetOperation)
    assert isinstance(found.left, SetOperation)
    assert isinstance(found.right, SetOperation)
    assert isinstance(found.left.right, SetOperation)
    operators = [found.operator, found.right.operator, found.left.operator,
                 found.left.right.operator]  # fmt: skip
    assert operators == ["EXCEPT", "INTERSECT", "UNION", "INTERSECT"]


def test_with_names_queries_for_the_query_after_it() -> None:
    found = query("WITH a AS (SELECT x FROM s), b (y) AS (WITH c AS (t) SELECT z FROM c) "
                  "SELECT x FROM a, b UNION ALL SELECT y FROM b ORDER BY x LIMIT 2")  # fmt: skip
    assert isinstance(found, With)
    assert [(d.name.text, [c.text for c in d.columns]) for d in found.definitions] == [
        ("a", []),
        ("b", ["y"]),
    ]
    assert isinstance(found.definitions[1].query, With)
    assert isinstance(found.query, Select)
    assert found.query.limit is not None


def test_with_stands_inside_a_stream_form_and_its_rhythm() -> None:
    for text in ("WITH a AS (s) ISTREAM(SELECT x FROM a) EVERY 5",
                 "ISTREAM(WITH a AS (s) SELECT x FROM a) EVERY 5"):  # fmt: skip
        found = query(text)
        assert isinstance(found, EveryOf)
        assert isinstance(found.query, StreamOf)
        assert isinstance(found.query.query, With)


def test_each_table_says_how_it_is_joined() -> None:
    found = select("SELECT 1 FROM a, b JOIN c ON b.x = c.x CROSS JOIN d LEFT OUTER JOIN e "
                   "USING (x, y) RIGHT JOIN f ON TRUE FULL OUTER JOIN g USING (x)")  # fmt: skip
    assert [t.join for t in found.tables] == [
        ",", ",", "INNER", "CROSS", "LEFT", "RIGHT", "FULL",
    ]  # fmt: skip
    assert [c.text for c in found.tables[4].using] == ["x", "y"]


def test_order_and_limit_after_a_union_are_meant_for_all_of_it() -> None:
    found = select("SELECT a FROM s UNION SELECT a FROM t ORDER BY a DESC LIMIT 3")
    assert found.limit is not None
    assert isinstance(found.tables[0].source, SetOperation)
    inside = query("SELECT a FROM s UNION (SELECT a FROM t ORDER BY a LIMIT 3)")
    assert isinstance(inside, SetOperation)
    assert isinstance(inside.right, Select)
    assert inside.right.limit is not None


def test_every_follows_a_query_also_right_after_a_table() -> None:
    for text in ("SELECT a FROM s EVERY 1 SECOND", "Rstream(select a from s) EVERY 1 SECOND",
                 "SELECT a FROM s WHERE a = b EVERY 1 SECOND INTO 'x' FORMAT csv"):  # fmt: skip
        found = query(text)
        assert isinstance(found, EveryOf)
        assert found.period.unit == "SECOND"


def test_top_and_limit_are_one_thing() -> None:
    assert select("SELECT a FROM s LIMIT 3").limit == select("SELECT TOP 3 a FROM s").limit
    top, limit = select("SELECT TOP 3 a FROM s"), select("SELECT a FROM s ORDER BY b LIMIT 3")
    assert top.limit == limit.limit
    assert not limit.order_by[0].descending


def test_explain_takes_a_query_a_statement_or_a_name() -> None:
    for text in ("EXPLAIN SELECT a FROM s", "explain create query q as select a from s"):
        found = statement(text)
        assert isinstance(found, Explain)
        assert isinstance(found.subject, CreateQuery)
    named = statement("EXPLAIN q")
    assert isinstance(named, Explain)
    assert isinstance(named.subject, Name)
    costs = statement("EXPLAIN COST SELECT a FROM s")
    assert isinstance(costs, Explain)
    assert costs.cost


def test_a_view_may_list_its_columns_with_or_without_types() -> None:
    found = statement("create view A (k int, v) as select k, a / 10 from S")
    assert isinstance(found, CreateView)
    assert [(c.name.text, c.type) for c in found.columns] == [("k", Type.INT), ("v", None)]


def test_negated_sub_queries_stay_in_where() -> None:
    found = select(
        "SELECT a FROM s WHERE NOT EXISTS (SELECT * FROM t [ROWS 2] WHERE t.a = s.a) "
        "AND b NOT IN (SELECT b FROM u)"
    )
    assert found.where is not None
    assert len(list(found.where.find_all(exp.Not))) == 2


def test_comments_and_empty_statements_are_nothing() -> None:
    script = parse("-- one\n;; /* two\nlines */ SELECT a /* b */ FROM s -- end\n;")
    assert len(script.statements) == 1
    assert parse("").statements == parse(" ;\n-- x").statements == ()


@pytest.mark.parametrize(
    "word", ["range", "rows", "source", "key", "value", "date", "time", "format", "end", "now",
             "slide", "stream", "view", "query", "type", "name", "count", "first", "last", "top",
             "left", "day", "hour", "window", "slack", "internal", "every", "partition"],
)  # fmt: skip
def test_columns_may_be_named_like_keywords(word: str) -> None:
    stream = statement(f"CREATE STREAM s (ts BIGINT, {word} INT)")
    assert isinstance(stream, CreateStream)
    assert stream.columns[1].name.text == word
    item = select(f"SELECT s.{word} FROM s WHERE s.{word} > 1").items[0]
    assert isinstance(item.expression, exp.Column)
    assert item.expression.name == word


def test_the_text_of_each_query_is_kept() -> None:
    first, second = parse("CREATE QUERY q AS\n SELECT a FROM s ;  SELECT b FROM t").statements
    assert isinstance(first, CreateQuery)
    assert isinstance(second, CreateQuery)
    assert first.text == "CREATE QUERY q AS\n SELECT a FROM s"
    assert second.text == "SELECT b FROM t"


def test_a_primary_key_stands_after_a_column_or_after_all() -> None:
    one = statement("CREATE RELATION r (ip STRING PRIMARY KEY, owner STRING)")
    two = statement("CREATE NRR r (a INT, b INT, primary key (a, b)) FROM 'x.csv'")
    assert isinstance(one, CreateRelation)
    assert isinstance(two, CreateRelation)
    assert [n.text for n in one.primary_key] == ["ip"]
    assert [n.text for n in two.primary_key] == ["a", "b"]


def test_wstream_inside_an_aggregate_becomes_a_sub_query() -> None:
    outer = select("SELECT SUM(Wstream(SUM(a))[ROWS 10]) FROM Stream1 [RANGE 6 sec SLIDE 6 sec]")
    inner = outer.tables[0].source
    assert isinstance(inner, StreamOf)
    assert (inner.kind, inner.window) == ("WSTREAM", RowsClause(10, (), None, False, inner.span))
    assert isinstance(inner.query, Select)
    assert inner.query.items[0].expression.sql() == "SUM(a)"
    assert outer.items[0].expression.sql() == "SUM(result1)"


def test_nulls_last_is_what_order_by_means() -> None:
    plain = select("SELECT a FROM s ORDER BY a DESC LIMIT 1")
    assert select("SELECT a FROM s ORDER BY a DESC NULLS LAST LIMIT 1") == plain


@pytest.mark.parametrize(
    ("named", "plain"),
    [
        (
            "TUMBLE(DATA => TABLE s, TIMECOL => DESCRIPTOR(ts), SIZE => INTERVAL '10' MINUTES)",
            "TUMBLE(s, ts, 10 MINUTES)",
        ),
        ("HOP(DATA => TABLE s, TIMECOL => ts, SLIDE => 5, SIZE => 10)", "HOP(s, ts, 5, 10)"),
        ("HOP(SIZE => 10, TIMECOL => ts, DATA => s AS x, SLIDE => 5)", "HOP(s AS x, ts, 5, 10)"),
        (
            "SESSION(DATA => TABLE s PARTITION BY a, b, TIMECOL => DESCRIPTOR(ts), GAP => 5)",
            "SESSION(s PARTITION BY a, b, DESCRIPTOR(ts), 5)",
        ),
        ("SESSION(DATA => s PARTITION BY a, GAP => 5, TIMECOL => ts)",
         "SESSION(s PARTITION BY a, DESCRIPTOR(ts), 5)"),
    ],
)  # fmt: skip
def test_table_functions_take_arguments_by_name(named: str, plain: str) -> None:
    def shape(function: str) -> str:
        found = select(f"SELECT a FROM TABLE({function})").tables[0]
        return re.sub(r"Span\([^)]*\)", "", repr(found))

    assert shape(named) == shape(plain)
