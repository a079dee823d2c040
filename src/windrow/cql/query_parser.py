"""What is around SELECT blocks: WITH, set operations, relation-to-stream forms, VALUES, EVERY.

A query is terms joined by set operations. A term is a block, a query in parentheses or in a
relation-to-stream form, VALUES, or the name of a view. The parser of a statement reads the blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from sqlglot import expressions as exp
from sqlglot.tokenizer_core import Token, TokenType

from windrow.cql.positions import mark
from windrow.cql.stream_forms import STREAM_KINDS, form_at
from windrow.cql.syntax_tree import Name
from windrow.cql.table_parser import parse_table
from windrow.cql.token_cursor import TokenCursor
from windrow.cql.window_parser import parse_duration, parse_window

STARTS = ("SELECT", "CREATE", "EXPLAIN", "WITH", *STREAM_KINDS)
SET_OPERATIONS: dict[TokenType, type[exp.SetOperation]] = {
    TokenType.UNION: exp.Union, TokenType.EXCEPT: exp.Except, TokenType.INTERSECT: exp.Intersect,
}  # fmt: skip
LOOSE, TIGHT = (TokenType.UNION, TokenType.EXCEPT), (TokenType.INTERSECT,)
STREAM, EVERY = "windrow_stream", "windrow_every"
WITH, BARE = "windrow_with", "windrow_bare"
"""Keys under which SQLGlot's nodes carry the parts that SQL does not have."""
Block = Callable[[], exp.Expr]
"""Reads the SELECT block at which the parser stands."""


def parse_query(parser: TokenCursor, block: Block) -> exp.Expr:
    """WITH and its definitions, terms joined by set operations, then EVERY."""
    first = parser.current
    definitions = _definitions(parser, block)
    this, last = _set_operations(parser, block, LOOSE)
    if this is not last and isinstance(last, exp.Select):
        this = _modified_as_a_whole(this, last)
        mark(this, first, parser.previous)
    if parser.take("EVERY"):
        period = parse_duration(parser, "EVERY")
        this.meta.setdefault(EVERY, []).append(period)
        mark(this, first, parser.previous)
    if definitions:
        this.meta[WITH] = definitions
        mark(this, first, parser.previous)
    return this


def _set_operations(
    parser: TokenCursor, block: Block, operators: Collection[TokenType]
) -> tuple[exp.Expr, exp.Expr]:
    """Terms from left to right, and the last of them; INTERSECT binds more tightly."""
    first = parser.current

    def term() -> tuple[exp.Expr, exp.Expr]:
        if operators is not TIGHT:
            return _set_operations(parser, block, TIGHT)
        found = _query_term(parser, block)
        return found, found

    this, last = term()
    while any(map(parser.take_type, operators)):
        kind = SET_OPERATIONS[parser.previous.token_type]
        bags = parser.take_type(TokenType.ALL)
        if not bags:
            parser.take_type(TokenType.DISTINCT)
        right, last = term()
        streams = _as_in_stream(this) and _as_in_stream(right)
        this = kind(this=this, expression=right, distinct=not bags and not streams)
        this.meta[BARE] = streams
        mark(this, first, parser.previous)
    return this, last


def _definitions(
    parser: TokenCursor, block: Block
) -> list[tuple[Name, tuple[Name, ...], exp.Expr]]:
    """What WITH names: a name, its columns if they are renamed, and a query for each."""
    found: list[tuple[Name, tuple[Name, ...], exp.Expr]] = []
    more = parser.take_type(TokenType.WITH)
    if more and parser.at("RECURSIVE") and parser.following.token_type is not TokenType.ALIAS:
        parser.fail("a name after WITH", remedy="a query cannot read its own answer")
    while more:
        name = parser.name("a name after WITH")
        columns: tuple[Name, ...] = ()
        if parser.take_type(TokenType.L_PAREN):
            columns = parser.names("the name of a column")
            parser.expect_type(TokenType.R_PAREN, ") after the names of columns")
        parser.expect("AS")
        parser.expect_type(TokenType.L_PAREN, "( and a query after AS")
        found.append((name, columns, parse_query(parser, block)))
        parser.expect_type(TokenType.R_PAREN, f") at the end of {name.text}")
        more = parser.take_type(TokenType.COMMA)
    return found


def _query_term(parser: TokenCursor, block: Block) -> exp.Expr:
    first = parser.current
    kind = take_stream_kind(parser)
    if kind and parser.take_type(TokenType.L_PAREN):
        this = parse_query(parser, block)
        parser.expect_type(TokenType.R_PAREN, f") at the end of {kind}(")
        window = parse_window(parser) if parser.at_type(TokenType.L_BRACKET) else None
        if STREAM in this.meta or EVERY in this.meta:
            this = exp.Subquery(this=this)  # so that each form stands on a node of its own
        this.meta[STREAM] = (kind, window, parser.span_from(first))
    elif kind:
        parser.fail("( after " + kind)
    elif parser.take_type(TokenType.L_PAREN):
        this = parse_query(parser, block)
        parser.expect_type(TokenType.R_PAREN, "), or UNION, EXCEPT or INTERSECT")
        if isinstance(this, exp.Select) or WITH in this.meta:
            this = exp.Subquery(this=this)  # ORDER BY, LIMIT and names inside stay inside
    elif parser.at_type(TokenType.SELECT):
        this = block()
    elif parser.at("VALUES") and parser.following.token_type is TokenType.L_PAREN:
        this = _value_rows(parser)
    elif parser.at_word() or parser.at_type(TokenType.IDENTIFIER):
        table = parse_table(parser, lambda: parse_query(parser, block))
        this = _select_star(table, first, parser.previous)
        this.meta[BARE] = True
    else:
        parser.fail("a query: SELECT, the name of a view, or ISTREAM(...)", near=STARTS)
    mark(this, first, parser.previous)
    return this


def take_stream_kind(parser: TokenCursor) -> str | None:
    """Go past ISTREAM or its kin if it begins a relation-to-stream form."""
    if parser.at_end:
        return None
    found = form_at(parser.tokens, parser.place, parser.ID_VAR_TOKENS)
    if found is None:
        return None
    kind, length = found
    for _ in range(length):
        parser.advance()
    return kind


def _value_rows(parser: TokenCursor) -> exp.Expr:
    """``VALUES (1, 'a'), (2, 'b')``."""
    parser.advance()
    rows: list[exp.Expr] = []
    while not rows or parser.take_type(TokenType.COMMA):
        parser.expect_type(TokenType.L_PAREN, "( and the values of a row")
        rows.append(exp.Tuple(expressions=parser.expressions_here()))
        parser.expect_type(TokenType.R_PAREN, ", or ) after the values of a row")
    return exp.Values(expressions=rows)


def _as_in_stream(query: exp.Expr) -> bool:
    """Whether it is a name or a stream: what the STREAM prototype combines, and as bags."""
    if isinstance(query, exp.Subquery):
        return STREAM in query.meta or _as_in_stream(query.this)
    return STREAM in query.meta or bool(query.meta.get(BARE))


def _select_star(table: exp.Expr, first: Token, last: Token) -> exp.Select:
    select = exp.Select(expressions=[exp.Star()], from_=exp.From(this=table))
    mark(select, first, last)
    return select


def _modified_as_a_whole(union: exp.Expr, last: exp.Select) -> exp.Expr:
    """ORDER BY and LIMIT after the last part of a UNION are meant for all of it."""
    limit = last.args.get("limit")
    moved = {"order": last.args.get("order")}
    if limit is not None and not limit.meta.get("top"):
        moved["limit"] = limit
    if not any(moved.values()):
        return union
    for key in moved:
        last.set(key, None)
    return exp.Select(
        expressions=[exp.Star()], from_=exp.From(this=exp.Subquery(this=union)), **moved
    )
