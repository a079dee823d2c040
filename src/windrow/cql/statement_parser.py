"""Statements: what a script consists of, around the queries in it."""

from __future__ import annotations

from dataclasses import replace

from sqlglot.tokenizer_core import Token, TokenType

from windrow.cql.column_parser import (
    parse_columns,
    parse_keyed_columns,
    parse_type,
    parse_typed_columns,
)
from windrow.cql.dialect import CqlParser
from windrow.cql.lower import lower
from windrow.cql.other_statements import (
    fail_at_rest,
    refuse_next_statement,
    refuse_other_kinds,
    refuse_other_statements,
)
from windrow.cql.statement_tree import (
    Create,
    CreateArchive,
    CreateFunction,
    CreateQuery,
    CreateRelation,
    CreateStream,
    CreateSubscriptions,
    CreateView,
    Describe,
    Drop,
    Existing,
    Explain,
    FileClause,
    Show,
    Statement,
)
from windrow.cql.syntax_tree import Duration, Name, Unlimited
from windrow.cql.window_parser import parse_duration, parse_limit

KINDS = ("STREAM", "RELATION", "NRR", "VIEW", "QUERY", "ARCHIVE", "SUBSCRIPTIONS", "FUNCTION")
LISTS = ("STREAMS", "RELATIONS", "VIEWS", "QUERIES", "ARCHIVES", "SUBSCRIPTIONS", "FUNCTIONS")


OF_CONNECTORS = (
    "a stream is FROM 'path' FORMAT csv, json or parquet; other sources are pushed from Python, or "
    "passed as a streaming DataFrame of Spark"
)


def parse_statement(parser: CqlParser) -> Statement:
    """The statement at which the parser stands; it must reach to the last token."""
    refuse_other_statements(parser)
    if parser.at("CREATE"):
        statement: Statement = _create(parser)
    elif parser.at("EXPLAIN"):
        statement = _explain(parser)
    elif parser.at("DROP"):
        statement = _drop(parser)
    elif parser.at("SHOW"):
        statement = _show(parser)
    elif parser.at("DESCRIBE", "DESC") and not parser.at_type(TokenType.IDENTIFIER):
        first = parser.advance()
        if parser.at("SELECT", "WITH", "VALUES"):
            parser.fail(
                "the name of a declaration",
                remedy="give the query a name: CREATE VIEW v AS SELECT ...; DESCRIBE v",
            )
        statement = Describe(parser.name("the name of a declaration"), parser.span_from(first))
    elif parser.at("LIST") and parser.following.text.upper() in LISTS:
        parser.fail("SHOW", remedy=f"write SHOW {parser.following.text.upper()}")
    else:
        statement = _query(parser, None)
    if not parser.at_end:
        fail_at_rest(parser)
    return statement


def _create(parser: CqlParser) -> Create:
    first = parser.advance()
    existing = Existing.REPLACE if parser.take("OR", "REPLACE") else Existing.REFUSE
    kind = _kind(parser)
    if parser.take("IF", "NOT", "EXISTS"):
        if existing is Existing.REPLACE:
            parser.fail(
                "OR REPLACE or IF NOT EXISTS", token=first,
                remedy="remove one: the first replaces what there is, the other keeps it",
            )  # fmt: skip
        existing = Existing.KEEP
    declared = _declaration(parser, first, kind)
    return replace(declared, existing=existing, text=parser.text_from(first))


def _kind(parser: CqlParser) -> str:
    """The word that says what is created or dropped."""
    refuse_other_kinds(parser)
    if not parser.at(*KINDS):
        parser.fail(", ".join(KINDS[:-1]) + f" or {KINDS[-1]}", near=KINDS)
    return parser.advance().text.upper()


def _drop(parser: CqlParser) -> Drop:
    first = parser.advance()
    kind = _kind(parser)
    if_exists = parser.take("IF", "EXISTS")
    name = parser.name(f"a name after {kind}")
    if parser.at("CASCADE"):
        parser.fail("the end of the statement", remedy="drop what depends on it first, by name")
    parser.take("RESTRICT")
    return Drop(kind, name, if_exists, parser.span_from(first))


def _show(parser: CqlParser) -> Show:
    first = parser.advance()
    if not parser.at(*LISTS):
        tables = parser.at("TABLES")
        parser.fail(
            ", ".join(LISTS[:-1]) + f" or {LISTS[-1]}", near=LISTS,
            remedy="what SQL calls tables are STREAMS, RELATIONS and VIEWS here" if tables else "",
        )  # fmt: skip
    shown = parser.advance().text.upper()
    if not parser.at_end and parser.at("LIKE", "FROM", "WHERE"):
        parser.fail("the end of the statement", remedy=f"SHOW {shown} lists all of them")
    return Show(shown, parser.span_from(first))


def _declaration(parser: CqlParser, first: Token, kind: str) -> Create:
    name = parser.name(f"a name after {kind}")
    match kind:
        case "STREAM":
            return _stream(parser, first, name)
        case "VIEW":
            renamed = parse_columns(parser) if parser.at_type(TokenType.L_PAREN) else ()
            parser.expect("AS")
            query = lower(parser.query(), parser.sql)
            timestamp = None
            if parser.at("TIMESTAMP"):
                parser.expect("TIMESTAMP", "BY")
                timestamp = parser.name("the column that holds the time")
            span = parser.span_from(first)
            return CreateView(name, renamed, query, span, timestamp=timestamp)
        case "QUERY":
            priority = parser.integer("a priority") if parser.take("PRIORITY") else 0
            parser.expect("AS")
            return replace(_query(parser, name, first), priority=priority)
        case "ARCHIVE":
            return _archive(parser, first, name)
        case "SUBSCRIPTIONS":
            return _subscriptions(parser, first, name)
        case "FUNCTION":
            return _function(parser, first, name)
    columns, key = parse_keyed_columns(parser)
    source = _files(parser, "FROM")
    ahead, idle = _patience(parser)
    retroactive, span = kind == "RELATION", parser.span_from(first)
    return CreateRelation(name, columns, retroactive, source, span, key, ahead, idle)


def _stream(parser: CqlParser, first: Token, name: Name) -> CreateStream:
    if parser.at("AS"):
        parser.fail(
            "( and the columns", remedy=f"a stream that a query makes is a view: write CREATE VIEW "
            f"{name.text} AS SELECT ..."
        )  # fmt: skip
    columns = parse_typed_columns(parser)
    source = timestamp = slack = ahead = idle = None
    while not parser.at_end:
        if parser.at("FROM") and source is None:
            source = _files(parser, "FROM")
        elif parser.at("TIMESTAMP") and timestamp is None:
            parser.expect("TIMESTAMP", "BY")
            timestamp = parser.name("the column that holds the time")
        elif parser.at("SLACK") and slack is None:
            parser.advance()
            slack = parse_duration(parser, "SLACK")
        elif parser.at("AHEAD") and ahead is None:
            ahead = _ahead(parser)
        elif parser.at("IDLE") and idle is None:
            idle = _idle(parser)
        else:
            refuse_next_statement(parser)
            start = "FROM" if source is None else "FORMAT"
            parser.fail(
                "FROM, TIMESTAMP BY, SLACK, AHEAD or IDLE AFTER, each once",
                near=(start, "TIMESTAMP", "SLACK", "AHEAD", "IDLE"),
                remedy=OF_CONNECTORS if parser.at("WITH") else "",
            )
    span = parser.span_from(first)
    return CreateStream(name, columns, source, timestamp, slack, span, ahead, idle)


def _patience(
    parser: CqlParser,
) -> tuple[Duration | Unlimited | None, Duration | Unlimited | None]:
    """AHEAD and IDLE AFTER, in either order, each once if at all."""
    ahead = idle = None
    while True:
        if parser.at("AHEAD") and ahead is None:
            ahead = _ahead(parser)
        elif parser.at("IDLE") and idle is None:
            idle = _idle(parser)
        else:
            return ahead, idle


def _ahead(parser: CqlParser) -> Duration | Unlimited:
    parser.expect("AHEAD")
    return parse_limit(parser, "AHEAD", "UNBOUNDED")


def _idle(parser: CqlParser) -> Duration | Unlimited:
    parser.expect("IDLE", "AFTER")
    return parse_limit(parser, "IDLE AFTER", "NEVER")


def _query(parser: CqlParser, name: Name | None, first: Token | None = None) -> CreateQuery:
    first = first or parser.current
    query = lower(parser.query(), parser.sql)
    into = _files(parser, "INTO")
    return CreateQuery(name, query, into, parser.span_from(first), parser.text_from(first))


def _explain(parser: CqlParser) -> Explain:
    first = parser.advance()
    cost = parser.take("COST")
    if parser.at("ANALYZE", "ANALYSE") and parser.following:
        parser.fail("a query or a name after EXPLAIN", remedy="it runs nothing: EXPLAIN COST says "
                    "what plans should cost, and windrow status what a run does")  # fmt: skip
    subject: CreateQuery | Name
    if parser.at("CREATE"):
        inner = _create(parser)
        if not isinstance(inner, CreateQuery):
            parser.fail("a query to explain", token=first, remedy="EXPLAIN takes a query or a name")
        subject = inner
    elif (parser.at_word() or parser.at_type(TokenType.IDENTIFIER)) and not parser.following:
        subject = parser.name("the name of a query or view")
    else:
        subject = _query(parser, None)
    return Explain(subject, cost, parser.span_from(first))


def _archive(parser: CqlParser, first: Token, name: Name) -> CreateArchive:
    parser.expect("ON")
    on = parser.name("the stream or view to archive")
    parser.expect("KEY")
    if parser.take_type(TokenType.L_PAREN):
        key = parser.names("a key column")
        parser.expect_type(TokenType.R_PAREN, ") after the key columns")
    else:
        key = parser.names("a key column")
    parser.expect("WINDOW")
    window = parse_duration(parser, "WINDOW")
    parser.expect("USING")
    scheme = parser.name("a scheme such as WATA")
    while scheme.text.upper().startswith("REINDEX") and parser.take_type(TokenType.PLUS):
        scheme = Name(scheme.text + "+", scheme.span)
    constituents = expiries = None
    if parser.take_type(TokenType.L_PAREN):
        constituents = parser.integer("the number of constituents")
        if parser.take_type(TokenType.COMMA):
            expiries = parser.integer("the number of partitions of expiry times")
        parser.expect_type(TokenType.R_PAREN, ") after the number of constituents")
    bare = parser.at_end or parser.at("INTO")
    technique = None if bare else parser.name("an update technique such as PACKED")
    into = _files(parser, "INTO")
    span = parser.span_from(first)
    return CreateArchive(
        name, on, key, window, scheme, constituents, technique, span, expiries, into
    )


def _subscriptions(parser: CqlParser, first: Token, name: Name) -> CreateSubscriptions:
    parser.expect("ON")
    on = parser.name("the stream or view to subscribe to")
    parser.expect_type(TokenType.L_PAREN, "( and the columns of the ranges")
    columns = parser.names("a column of the ranges")
    parser.expect_type(TokenType.R_PAREN, ") after the columns")
    source = _files(parser, "FROM")
    if source is None:
        parser.fail("FROM and the file of subscriptions")
    into = _files(parser, "INTO")
    span = parser.span_from(first)
    return CreateSubscriptions(name, on, columns, source, into, span)


def _function(parser: CqlParser, first: Token, name: Name) -> CreateFunction:
    parameters = parse_typed_columns(parser)
    parser.expect("RETURNS")
    returns = parse_type(parser)
    parser.expect("AS")
    place = parser.current
    location = parser.string("'module:function' after AS")
    at = parser.span_from(place)
    vectorised = parser.take("VECTORISED") or parser.take("VECTORIZED")
    return CreateFunction(
        name, parameters, returns, location, at, vectorised, parser.span_from(first)
    )


def _files(parser: CqlParser, word: str) -> FileClause | None:
    if not parser.at(word):
        return None
    first = parser.advance()
    path = parser.string(f"a path after {word}")
    kind = parser.name("a format such as parquet") if parser.take("FORMAT") else None
    limit = None
    if kind is not None and kind.text.lower() == "console" and parser.take("LIMIT"):
        limit = parser.integer("how many changes of a micro-batch are printed")
    options = _options(parser) if kind is not None and word == "FROM" else ()
    return FileClause(path, kind, parser.span_from(first), limit, options)


def _options(parser: CqlParser) -> tuple[tuple[Name, str], ...]:
    """``(SEPARATOR ';', HEADER false)`` after a format, if it is there."""
    if not parser.take_type(TokenType.L_PAREN):
        return ()
    options: list[tuple[Name, str]] = []
    while not options or parser.take_type(TokenType.COMMA):
        name = parser.name("an option such as SEPARATOR")
        parser.take_type(TokenType.EQ)
        if parser.at_string():
            options.append((name, parser.advance().text))
        elif parser.at("TRUE", "FALSE"):
            options.append((name, parser.advance().text.lower()))
        else:
            parser.fail(f"a text in quotes, TRUE or FALSE after {name.text}")
    parser.expect_type(TokenType.R_PAREN, ", or ) after the options")
    return tuple(options)
