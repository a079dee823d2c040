"""Text to tree."""

from __future__ import annotations

import re
from itertools import pairwise

from sqlglot.errors import ParseError as SqlglotParseError
from sqlglot.errors import TokenError
from sqlglot.tokenizer_core import Token, TokenType

from windrow.core.errors import ParseError, Span
from windrow.cql.dialect import Cql, CqlParser
from windrow.cql.positions import span_between, token_span
from windrow.cql.script_parameters import Values, fill_parameters
from windrow.cql.statement_parser import parse_statement
from windrow.cql.statement_tree import Script, Statement
from windrow.cql.window_parser import UNIT_OF


def parse(text: str, values: Values | None = None) -> Script:
    """The statements of a script; ParseError, with the place underlined, if it is not CQL.

    ``values`` are those of its parameters.

    >>> script = parse("SELECT a FROM s [RANGE 5 SECONDS]")
    >>> script.statements[0].query.tables[0].window.length.unit
    'SECOND'
    """
    parser = CqlParser(dialect=Cql)
    tokens = _tokens(text)
    _check_numbers(tokens, text)
    _check_operators(tokens, text)
    filled = fill_parameters(tokens, text, values)
    parser.filled = filled
    statements = [_statement(parser, chunk, text) for chunk in _chunks(filled.tokens)]
    return Script(tuple(statements), text, filled.text(text))


def is_whole(text: str) -> bool:
    """Whether a text ends with a semicolon that is no part of a quote or comment.

    >>> is_whole("SELECT ';"), is_whole("SELECT a -- ;"), is_whole("SELECT a;")
    (False, False, True)
    """
    try:
        tokens = _tokens(text)
    except ParseError:
        return False
    return bool(tokens) and tokens[-1].token_type is TokenType.SEMICOLON


def statement_texts(text: str) -> list[str]:
    """The text of each statement, with blanks in the place of those before it: it stays where it
    stood. A text that is no tokens is one.

    >>> statement_texts("SELECT a;\\n  SELECT ';' -- b;")
    ['SELECT a;', "         \\n  SELECT ';' -- b;"]
    """
    try:
        tokens = _tokens(text)
    except ParseError:
        return [text]
    stops = [t.end + 1 for t in tokens if t.token_type is TokenType.SEMICOLON]
    rest = bool(tokens) and tokens[-1].token_type is not TokenType.SEMICOLON
    ends = [*stops, len(text)] if rest else stops
    return [
        re.sub(r"[^\n]", " ", text[:begin]) + text[begin:end] for begin, end in pairwise([0, *ends])
    ]


def words_of(text: str) -> list[tuple[TokenType, str]]:
    """What a statement says, whatever its spaces, its comments and the case of its keywords.

    OR REPLACE and IF NOT EXISTS are about what there was before, and left out.

    >>> words_of("CREATE OR REPLACE VIEW v AS s") == words_of("create view v /* so */ as s")
    True
    """
    words = [
        (t.token_type, t.text if t.token_type in NAMES else t.text.upper()) for t in _tokens(text)
    ]
    texts = [text for _, text in words]
    if texts[1:3] == ["OR", "REPLACE"]:
        del words[1:3], texts[1:3]
    if texts[2:5] == ["IF", "NOT", "EXISTS"]:
        del words[2:5]
    return words


NUMBER = re.compile(r"(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
NAMES = (TokenType.VAR, TokenType.IDENTIFIER, TokenType.STRING)


def _statement(parser: CqlParser, chunk: list[Token], text: str) -> Statement:
    parser.start(chunk, text)
    try:
        return parse_statement(parser)
    except SqlglotParseError as error:
        place = parser.failed_at or chunk[-1]
        details = error.errors[0] if error.errors else {}
        expected = str(details.get("description") or "CQL")
        raise ParseError(
            span=token_span(text, place),
            source=text,
            found=(
                "the end of the statement"
                if parser.failed_at_end
                else f"'{text[place.start : place.end + 1]}'"
            ),
            expected=_plain(expected),
        ) from None
    except RecursionError:
        raise ParseError(
            "the statement is nested too deeply",
            span=token_span(text, chunk[0]),
            source=text,
            remedy="split it with CREATE VIEW",
        ) from None


def _plain(description: str) -> str:
    """SQLGlot's description as the object of 'expected'."""
    if description.startswith("Expecting "):
        return description.removeprefix("Expecting ")
    if description.startswith("Expected "):
        return description.removeprefix("Expected ").split(" but got")[0]
    if description.startswith("Required "):
        return "an operand"
    return "an expression" if "Invalid expression" in description else description


def _tokens(text: str) -> list[Token]:
    try:
        return Cql().tokenize(text)
    except TokenError as error:
        raise _token_error(text, error) from None


def _check_numbers(tokens: list[Token], text: str) -> None:
    """ParseError where a number runs into a word: ``1_000`` would be 1, under the name _000.

    A unit of time may follow at once, as in ``[RANGE 5s]``. An exponent has digits.
    """
    for number, word in pairwise([*tokens, None]):
        if number is None or number.token_type is not TokenType.NUMBER:
            continue
        last, whole = number, NUMBER.fullmatch(number.text) is not None
        if word is not None and word.token_type is TokenType.VAR and word.start == number.end + 1:
            last, whole = word, whole and word.text.upper() in UNIT_OF
        if not whole:
            raise ParseError(
                span=span_between(text, number.start, last.end),
                source=text,
                expected="a number",
                found=f"'{text[number.start : last.end + 1]}'",
                remedy="write its digits in base ten, without a mark between them; before a name "
                "leave a blank",
            )


DOUBLED = {
    TokenType.SLASH: "write / between integers, which cuts off, or floor(x / y)",
    TokenType.STAR: "write power(x, y)",
}
"""Signs of which two are an operator elsewhere, and what stands in its place."""


def _check_operators(tokens: list[Token], text: str) -> None:
    """ParseError at ``//`` and ``**``, which would be one sign too many somewhere."""
    for first, second in pairwise(tokens):
        sign = first.token_type
        if sign in DOUBLED and second.token_type is sign and second.start == first.end + 1:
            raise ParseError(
                span=span_between(text, first.start, second.end), source=text,
                expected="an operator of CQL", found=f"'{first.text}{second.text}'",
                remedy=DOUBLED[sign],
            )  # fmt: skip


def _chunks(tokens: list[Token]) -> list[list[Token]]:
    """The tokens of each statement; empty statements are nothing."""
    chunks: list[list[Token]] = [[]]
    for token in tokens:
        if token.token_type is TokenType.SEMICOLON:
            chunks.append([])
        else:
            chunks[-1].append(token)
    return [chunk for chunk in chunks if chunk]


def _token_error(text: str, error: TokenError) -> ParseError:
    """A quote or a comment that is never closed; the last one that was opened is to blame."""
    opened = _last_opened(text)
    span = span_between(text, opened, opened) if opened is not None else Span(1, 1)
    reason = "a closed quote or comment" if opened is not None else str(error).split(".")[0]
    return ParseError(span=span, source=text, expected=reason, found="the end of the script")


def _last_opened(text: str) -> int | None:
    """Where the quote or comment that is still open at the end of the text began."""
    index = 0
    closers = {"'": "'", '"': '"', "`": "`", "/*": "*/", "--": "\n"}
    while index < len(text):
        opener = next((o for o in closers if text.startswith(o, index)), None)
        if opener is None:
            index += 1
            continue
        end = text.find(closers[opener], index + len(opener))
        if end < 0:
            return None if opener == "--" else index
        index = end + len(closers[opener])
    return None
