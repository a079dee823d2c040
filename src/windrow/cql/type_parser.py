"""Types as they are declared: plain ones, DECIMAL, ARRAY and STRUCT."""

from __future__ import annotations

from sqlglot.tokenizer_core import TokenType

from windrow.core.schema import Type
from windrow.core.value_types import MOST_DIGITS
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
    "MONEY": "write DECIMAL(18, 2)",
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
        parser.fail(DECIMAL_HINT, token=first)
