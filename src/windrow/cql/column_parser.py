"""Columns in parentheses, with their keys and types: plain ones, DECIMAL, ARRAY and STRUCT."""

from __future__ import annotations

from typing import NoReturn

from sqlglot.tokenizer_core import TokenType

from windrow.core.errors import ParseError, Span
from windrow.core.schema import MOST_DIGITS, Type
from windrow.cql.statement_tree import ColumnDefinition
from windrow.cql.syntax_tree import Name
from windrow.cql.token_cursor import TokenCursor

TYPES = {
    "BOOLEAN": Type.BOOLEAN, "BOOL": Type.BOOLEAN,
    "INT": Type.INT, "INTEGER": Type.INT, "SMALLINT": Type.INT, "TINYINT": Type.INT,
    "BIGINT": Type.BIGINT, "LONG": Type.BIGINT,
    "FLOAT": Type.FLOAT, "REAL": Type.FLOAT, "DOUBLE": Type.DOUBLE,
    "STRING": Type.STRING, "VARCHAR": Type.STRING, "TEXT": Type.STRING, "CHAR": Type.STRING,
    "BYTE": Type.STRING,
    "TIMESTAMP": Type.TIMESTAMP, "DATE": Type.DATE,
}  # fmt: skip
DECIMALS = ("DECIMAL", "NUMERIC", "DEC")
DECIMAL_HINT = f"DECIMAL(digits, digits behind the point), of at most {MOST_DIGITS} digits"
_JSON = "keep it as a STRING of JSON, and read it with json_extract_string or ->>"
MICROSECONDS = 6
NO_ZONE = "write TIMESTAMP: text with an offset is read as UTC"
OTHER_TYPES = {
    **dict.fromkeys(("TIMESTAMPTZ", "TIMESTAMP_LTZ", "TIMESTAMP_NTZ", "DATETIME"), NO_ZONE),
    "TIME": "write STRING, or INT for the seconds since midnight; of a TIMESTAMP EXTRACT(hour FROM "
    "t) is the hour, and strftime(t, '%H:%M:%S') the text",
    **dict.fromkeys(("UTINYINT", "USMALLINT", "UINT8", "UINT16", "INT8", "INT16"), "write INT"),
    **dict.fromkeys(("UINTEGER", "UINT32", "UINT", "INT64"), "write BIGINT"),
    "INT32": "write INT", "UNSIGNED": "numbers have signs: write the next larger type",
    "INTERVAL": "write BIGINT: differences of times are microseconds",
    "MONEY": "write DECIMAL(18, 2)", "UUID": "write STRING", "SERIAL": "write BIGINT",
    **dict.fromkeys(("BLOB", "BYTEA", "BYTES", "BINARY", "VARBINARY"),
                    "there are no bytes; a STRING may hold their hexadecimal digits"),
    **dict.fromkeys(("HUGEINT", "UBIGINT", "UINT64", "INT128"), "write DECIMAL(38, 0)"),
    "MAP": f"write STRUCT<a BIGINT, ...> if the names are known; else {_JSON}", "JSON": _JSON,
}  # fmt: skip
"""What to write for types that CQL does not have."""
OTHERS = {"DECIMAL(p, s)", "ARRAY<type>", "STRUCT<name type, ...>"}


def parse_type(parser: TokenCursor) -> Type:
    """A type; ``[]`` or ARRAY behind one makes an ARRAY of it."""
    kind = _one_type(parser)
    while True:
        if parser.take_type(TokenType.L_BRACKET):
            parser.expect_type(TokenType.R_BRACKET, "] at once: an ARRAY may have any length")
        elif not parser.take("ARRAY"):
            return kind
        kind = Type.array(kind)


def _one_type(parser: TokenCursor) -> Type:
    if parser.at(*DECIMALS):
        return _decimal(parser)
    if parser.at("ARRAY"):
        parser.advance()
        closing = _open(parser, "ARRAY<BIGINT> or BIGINT[]")
        element = parse_type(parser)
        parser.expect_type(*closing)
        return Type.array(element)
    if parser.at("STRUCT", "ROW"):
        return _struct(parser)
    if not parser.at(*TYPES):
        word = parser.current.text.upper() if not parser.at_end else ""
        parser.fail(
            "a type: " + ", ".join(sorted({t.value for t in TYPES.values()} | OTHERS)),
            near=(*TYPES, *DECIMALS, "ARRAY", "STRUCT"),
            remedy=OTHER_TYPES.get(word, ""),
        )  # fmt: skip
    kind = TYPES[parser.advance().text.upper()]
    if kind is Type.DOUBLE:
        parser.take("PRECISION")
    if kind is Type.TIMESTAMP:
        _finish_timestamp(parser)
    if kind is Type.STRING and parser.take_type(TokenType.L_PAREN):
        parser.integer("the length of the string")
        parser.expect_type(TokenType.R_PAREN, ") after the length")
    return kind


def _finish_timestamp(parser: TokenCursor) -> None:
    """The digits of a second, which are read and ignored, and WITHOUT TIME ZONE."""
    if parser.take_type(TokenType.L_PAREN):
        place = parser.current
        if parser.integer("how many digits a second has behind the point") > MICROSECONDS:
            parser.fail("at most 6 digits behind the point of a second", token=place)
        parser.expect_type(TokenType.R_PAREN, ") after the number of digits")
    if parser.at("WITH"):
        parser.fail("a TIMESTAMP without a zone", remedy=NO_ZONE)
    if parser.take("WITHOUT"):
        parser.expect("TIME")
        parser.expect("ZONE")


def _open(parser: TokenCursor, expected: str) -> tuple[TokenType, str]:
    """Go past < or (, and say what has to close it."""
    if parser.take_type(TokenType.LT):
        return TokenType.GT, "> at the end of the type"
    parser.expect_type(TokenType.L_PAREN, expected)
    return TokenType.R_PAREN, ") at the end of the type"


def _struct(parser: TokenCursor) -> Type:
    """``STRUCT<a BIGINT, b STRING>``, also with parentheses, and ROW for STRUCT."""
    first = parser.advance()
    closing = _open(parser, "STRUCT<a BIGINT, b STRING>, the names and types of its fields")
    fields: list[tuple[str, Type]] = []
    while not fields or parser.take_type(TokenType.COMMA):
        name = parser.name("the name of a field")
        parser.take_type(TokenType.COLON)
        fields.append((name.text, parse_type(parser)))
    parser.expect_type(*closing)
    try:
        return Type.struct(fields)
    except ValueError:
        parser.fail("each name once in a STRUCT", token=first)


def _decimal(parser: TokenCursor) -> Type:
    """``DECIMAL(p)`` or ``DECIMAL(p, s)``."""
    first = parser.advance()
    if not parser.take_type(TokenType.L_PAREN):
        parser.fail(DECIMAL_HINT, token=first)
    precision = parser.integer("how many digits there are")
    scale = 0
    if parser.take_type(TokenType.COMMA):
        scale = parser.integer("how many of them are behind the point")
    parser.expect_type(TokenType.R_PAREN, ") after the number of digits")
    try:
        return Type.decimal(precision, scale)
    except ValueError:
        raise ParseError(
            span=parser.span_from(first), source=parser.sql, expected=DECIMAL_HINT,
            found=f"DECIMAL({precision}, {scale})", remedy=decimal_remedy(precision, scale),
        ) from None  # fmt: skip


def decimal_remedy(precision: int, scale: int) -> str:
    """What to write for a DECIMAL that is no type.

    >>> decimal_remedy(5, 7)
    '5 digits cannot have 7 of them behind the point: for 5 before it write DECIMAL(12, 7)'
    """
    if precision < 1:
        return "a number has at least one digit"
    if precision > MOST_DIGITS:
        fitting = f"DECIMAL({MOST_DIGITS}, {scale})" if scale <= MOST_DIGITS else "fewer"
        return f"{precision} digits are too many: write {fitting}, or DOUBLE for rounded numbers"
    wide = precision + scale
    fitting = f": for {precision} before it write DECIMAL({wide}, {scale})"
    return f"{precision} digits cannot have {scale} of them behind the point" + (
        fitting if wide <= MOST_DIGITS else ""
    )


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
    if parser.at("KEY"):
        parser.fail(", or ) after the columns",
                    remedy="a stream has no key; of a relation write PRIMARY KEY")  # fmt: skip
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
