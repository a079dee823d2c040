"""Columns in parentheses, with their types and keys."""

from __future__ import annotations

from typing import NoReturn

from sqlglot.tokenizer_core import TokenType

from windrow.core.errors import ParseError, Span
from windrow.cql.statement_tree import ColumnDefinition
from windrow.cql.syntax_tree import Name
from windrow.cql.token_cursor import TokenCursor
from windrow.cql.type_parser import parse_type

CONSTRAINTS = ("NOT", "NULL", "UNIQUE", "CHECK", "REFERENCES", "DEFAULT", "CONSTRAINT", "GENERATED")


def parse_typed_columns(parser: TokenCursor) -> tuple[ColumnDefinition, ...]:
    """Columns of a stream, which has no key: equal tuples are two tuples."""
    columns = _with_types(parser, parse_columns(parser))
    for column in columns:
        if column.key:
            _refuse_key(parser, column.span, "a stream may bring equal tuples; remove it")
    return columns


def parse_keyed_columns(
    parser: TokenCursor,
) -> tuple[tuple[ColumnDefinition, ...], tuple[Name, ...]]:
    """Columns of a relation and its PRIMARY KEY, said after one column or after all of them."""
    parser.expect_type(TokenType.L_PAREN, "( and the columns")
    columns = [_column(parser)]
    listed: tuple[Name, ...] = ()
    while parser.take_type(TokenType.COMMA):
        place = parser.current
        if not parser.take_type(TokenType.PRIMARY_KEY):
            columns.append(_column(parser))
            continue
        parser.expect_type(TokenType.L_PAREN, "( and the columns of the key")
        listed = parser.names("a column of the key")
        parser.expect_type(TokenType.R_PAREN, ") after the columns of the key")
        if any(c.key for c in columns):
            _refuse_key(parser, parser.span_from(place), "a relation has one PRIMARY KEY")
        break
    _expect_end(parser)
    keys = [c for c in columns if c.key]
    if len(keys) > 1:
        names = ", ".join(c.name.text for c in keys)
        _refuse_key(parser, keys[1].span, f"write PRIMARY KEY ({names}) after the columns")
    return _with_types(parser, tuple(columns)), listed or tuple(c.name for c in keys)


def _refuse_key(parser: TokenCursor, span: Span, remedy: str) -> NoReturn:
    raise ParseError(
        span=span, source=parser.sql, expected="one PRIMARY KEY, of a relation",
        found="this one", remedy=remedy,
    )  # fmt: skip


def _with_types(
    parser: TokenCursor, columns: tuple[ColumnDefinition, ...]
) -> tuple[ColumnDefinition, ...]:
    for column in columns:
        if column.type is None:
            raise ParseError(
                span=column.span, source=parser.sql, expected=f"a type for {column.name.text}",
                found="none", remedy=f"write for example {column.name.text} BIGINT",
            )  # fmt: skip
    return columns


def parse_columns(parser: TokenCursor) -> tuple[ColumnDefinition, ...]:
    parser.expect_type(TokenType.L_PAREN, "( and the columns")
    columns = [_column(parser)]
    while parser.take_type(TokenType.COMMA):
        columns.append(_column(parser))
    _expect_end(parser)
    return tuple(columns)


def _expect_end(parser: TokenCursor) -> None:
    """The parenthesis after the columns."""
    if parser.at(*CONSTRAINTS):
        parser.fail(", or ) after the columns",
                    remedy="columns have no constraints: any value may be NULL")  # fmt: skip
    parser.expect_type(TokenType.R_PAREN, ", or ) after the columns")


def _column(parser: TokenCursor) -> ColumnDefinition:
    first = parser.current
    if parser.at("WATERMARK") and parser.following.text.upper() == "FOR":
        late = "say after the columns how late rows may come: SLACK 5 SECONDS"
        parser.fail("a column's name", remedy=late)
    name = parser.name("a column's name")
    kind = parse_type(parser) if parser.at_word() else None
    key = parser.take_type(TokenType.PRIMARY_KEY)
    return ColumnDefinition(name, kind, parser.span_from(first), key)
