"""Table references: what stands after FROM and JOIN, each with its window and its name."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from sqlglot import expressions as exp
from sqlglot.tokenizer_core import TokenType

from windrow.cql.other_tables import DECLARED, instead_of_table
from windrow.cql.positions import mark
from windrow.cql.token_cursor import TokenCursor
from windrow.cql.window_parser import (
    IN_BRACKETS,
    IN_SLIDES,
    KSQL_WINDOWS,
    TABLE_FUNCTIONS,
    WINDOWS,
    at_table_function,
    parse_function_window,
    parse_window,
)

WINDOW, BOUNDED = "windrow_window", "windrow_bounded"
"""Keys under which a table carries its window, and that its rows have the bounds of theirs."""
UNNEST = "UNNEST"
CLAUSES = ("FORMAT", "LIMIT", "OFFSET", "SAMPLE")
"""Words that SQLGlot would take for the name of a table."""
BEFORE_TABLES = ("FROM", "JOIN", ",")


def parse_table(parser: TokenCursor, query: Callable[[], exp.Expr]) -> exp.Expr:
    """The table at which the parser stands; ``query`` reads what is in parentheses."""
    first = parser.current
    this: exp.Expr
    if parser.at(UNNEST) and parser.following.token_type is TokenType.L_PAREN:
        this = _unnest(parser)
    elif at_table_function(parser):
        this = _table_function(parser, query)
    elif parser.take_type(TokenType.L_PAREN):
        this = exp.Subquery(this=query())
        parser.expect_type(TokenType.R_PAREN, ") at the end of the sub-query")
    else:
        if parser.at_type(TokenType.SELECT) or parser.at_type(TokenType.WITH):
            parser.fail("a table", remedy="put the sub-query into parentheses")
        _refuse_other_tables(parser)
        parser.name("the name of a stream, relation or view")
        this = exp.Table(this=_identifier(parser))
        if parser.at_type(TokenType.DOT):
            parser.fail(
                "a name without a dot", remedy="names have no schema or catalog before them"
            )
    window = this.meta.get(WINDOW)
    if window is None and parser.at_type(TokenType.L_BRACKET):
        window = parse_window(parser)
    if alias := _alias(parser):
        named = isinstance(this, exp.Subquery | exp.Unnest)
        columns = _column_names(parser) if named else []
        this.set("alias", exp.TableAlias(this=alias, columns=columns))
        if window is None and parser.at_type(TokenType.L_BRACKET):
            window = parse_window(parser)
    if parser.at_type(TokenType.L_BRACKET):
        parser.fail("one window", remedy="remove one of the two windows")
    if window is not None:
        this.meta[WINDOW] = window
    mark(this, first, parser.previous)
    return this


def _refuse_other_tables(parser: TokenCursor) -> None:
    """Say what there is instead of the tables that other systems have in FROM."""
    wanted = "the name of a stream, relation or view"
    if parser.at_string():
        parser.fail(wanted, remedy=DECLARED)
    if not parser.previous or parser.previous.text.upper() not in BEFORE_TABLES:
        return
    lateral = parser.at("LATERAL") and parser.following.text.upper() == UNNEST
    window = parser.token_at(2).text.upper() in WINDOWS
    called = parser.following.token_type is TokenType.L_PAREN and not window
    if lateral or (called and parser.at_word()):
        parser.fail(wanted, remedy=instead_of_table(parser.current.text))


def _unnest(parser: TokenCursor) -> exp.Expr:
    """``UNNEST(array) [WITH ORDINALITY]``."""
    parser.advance()
    parser.expect_type(TokenType.L_PAREN, f"( after {UNNEST}")
    array = parser.expression_here()
    if parser.at_type(TokenType.COMMA):
        parser.fail(
            f") after the array of {UNNEST}", remedy=f"write one {UNNEST}(...) for each array"
        )
    parser.expect_type(TokenType.R_PAREN, f") after the array of {UNNEST}")
    return exp.Unnest(expressions=[array], offset=parser.take("WITH", "ORDINALITY"))


def _column_names(parser: TokenCursor) -> list[exp.Identifier]:
    """``(a, b)`` after the name of a sub-query: what its columns are called."""
    found: list[exp.Identifier] = []
    if not parser.take_type(TokenType.L_PAREN):
        return found
    while not found or parser.take_type(TokenType.COMMA):
        parser.name("the name of a column")
        found.append(_identifier(parser))
    parser.expect_type(TokenType.R_PAREN, ") after the names of columns")
    return found


def _table_function(parser: TokenCursor, query: Callable[[], exp.Expr]) -> exp.Expr:
    """``TUMBLE(s, ts, INTERVAL 5 MINUTES)``, or as SQL:2016 writes it in ``TABLE(...)``."""
    wrapped = parser.take("TABLE")
    if wrapped:
        parser.expect_type(TokenType.L_PAREN, "( after TABLE")
    first = parser.current
    if not parser.at(*TABLE_FUNCTIONS):
        parser.fail("TUMBLE, HOP or SESSION in TABLE(", near=TABLE_FUNCTIONS,
                    remedy=instead_of_table(first.text))  # fmt: skip
    parser.advance()
    parser.expect_type(TokenType.L_PAREN, f"( after {first.text}")

    def table() -> exp.Expr:
        parser.take("TABLE")
        found = parse_table(parser, query)
        if WINDOW in found.meta:
            parser.fail("one window", token=first, remedy="remove one of the two windows")
        return found

    this, time, window = parse_function_window(parser, first, table)
    this.meta[BOUNDED], this.meta[WINDOW] = time, window
    if wrapped:
        parser.expect_type(TokenType.R_PAREN, ") at the end of TABLE(")
    return this


EMITTED = "changes are what is emitted; leave out EMIT, or write EVERY 1 MINUTE for a rhythm"


def _alias(parser: TokenCursor) -> exp.Identifier | None:
    if parser.take_type(TokenType.ALIAS):
        parser.name("a name after AS")
        return _identifier(parser)
    if parser.at("WINDOW") and parser.following.text.upper() in KSQL_WINDOWS:
        parser.fail("a window in brackets", remedy=IN_SLIDES)
    if parser.at("EMIT") and parser.following.text.upper() in ("CHANGES", "FINAL"):
        parser.fail("the end of the statement", remedy=EMITTED)
    if parser.at("FETCH") and parser.following.text.upper() in ("FIRST", "NEXT"):
        return None
    rhythm = parser.at("EVERY") and not parser.at_type(TokenType.IDENTIFIER)
    named: Collection[Any] = parser.TABLE_ALIAS_TOKENS
    kinds = (*named, TokenType.IDENTIFIER)
    implicit = not parser.at_end and parser.current.token_type in kinds
    retimed = parser.at("TIMESTAMP") and parser.following.text.upper() == "BY"
    if rhythm or retimed or parser.at(*CLAUSES) or not implicit:
        return None
    if parser.at(*WINDOWS) and not parser.at_type(TokenType.IDENTIFIER):
        parser.fail("a window in brackets, or AS before a name", remedy=IN_BRACKETS)
    parser.advance()
    return _identifier(parser)


def _identifier(parser: TokenCursor) -> exp.Identifier:
    """The name that was read last."""
    token = parser.previous
    return exp.Identifier(this=token.text).update_positions(token)
