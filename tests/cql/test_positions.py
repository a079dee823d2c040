"""Every part of the tree knows where it stands."""

from __future__ import annotations

from windrow.core.errors import Span
from windrow.cql import parse
from windrow.cql.positions import span_of
from windrow.cql.statement_tree import CreateQuery
from windrow.cql.syntax_tree import Select

TEXT = """CREATE STREAM s (ts BIGINT, a INT);
SELECT a, upper(name) AS u, a + 10
FROM s [RANGE 5 SECONDS] AS x,
     t
WHERE x.a = NULL AND (b OR true)"""


def cut(span: Span) -> str:
    line = TEXT.splitlines()[span.line - 1]
    return line[span.column - 1 : span.column - 1 + span.length]


def the_select() -> Select:
    statement = parse(TEXT).statements[1]
    assert isinstance(statement, CreateQuery)
    assert isinstance(statement.query, Select)
    return statement.query


def test_items_tables_and_windows_have_spans() -> None:
    select = the_select()
    assert [cut(i.span) for i in select.items] == ["a", "upper(name) AS u", "a + 10"]
    assert [cut(t.span) for t in select.tables] == ["s [RANGE 5 SECONDS] AS x", "t"]
    window = select.tables[0].window
    assert window is not None
    assert cut(window.span) == "[RANGE 5 SECONDS]"
    assert select.items[1].alias is not None
    assert cut(select.items[1].alias.span) == "u"


def test_columns_literals_and_calls_can_be_found_in_the_text() -> None:
    select = the_select()
    assert cut(span_of(select.items[1].expression, TEXT)) == "upper(name)"
    assert cut(span_of(select.items[2].expression.expression, TEXT)) == "10"
    where = select.where
    assert where is not None
    assert cut(span_of(where, TEXT)) == "x.a = NULL AND (b OR true)"
    assert cut(span_of(where.this.expression, TEXT)) == "NULL"
    assert cut(span_of(where.expression.this.expression, TEXT)) == "true"


def test_a_statement_s_span_begins_at_its_first_token() -> None:
    first, second = parse(TEXT).statements
    assert (first.span.line, second.span.line) == (1, 2)
    assert cut(first.span) == "CREATE STREAM s (ts BIGINT, a INT)"
