"""Parameters of a script: ``:name`` and ``$name``, or ``?`` and ``$1``, and the values for them.

A value takes the place of its parameter as a literal among the tokens, after the text was cut into
them. So no value is ever read as CQL, whatever it contains; positions stay those of the text. It
may stand wherever a literal may: in a condition, as the length of a window, as a path. A colon that
separates, in ``{'a':1}`` and ``a[1:2]``, is no parameter.

What a statement was is written down, in a checkpoint, say, with its values as literals: ``text``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any, NoReturn

from sqlglot.tokenizer_core import Token, TokenType

from windrow.core.errors import InputError, ParseError
from windrow.cql.positions import span_between

Values = Mapping[str, Any] | Sequence[Any]
"""Values by name, or by place."""
OPENING = (TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE)
CLOSING = (TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE)
ENDS_OF_VALUES = (*CLOSING, TokenType.STRING, TokenType.NUMBER, TokenType.IDENTIFIER)
"""What no value can follow; words may be keywords, and those that are names are harder to tell."""
BEFORE_NUMBERS = ("RANGE", "ROWS", "ROW", "SESSION", "SLIDE")
"""Words of windows that a number follows."""
BEFORE_DURATIONS = (*BEFORE_NUMBERS, "SLACK", "AHEAD", "AFTER", "EVERY", "WITHIN", "WINDOW")
"""Words that a duration follows, without INTERVAL."""
TYPES = "None, a bool, a number, a text, a date, a datetime or a timedelta"


@dataclass(frozen=True)
class Filled:
    """Tokens with values in the places of parameters; ``places`` are where in the text, and what.

    A place is its first and last offset, and the literal.
    """

    tokens: list[Token]
    places: tuple[tuple[int, int, str], ...] = ()

    def text(self, sql: str, start: int = 0, end: int | None = None) -> str:
        """``sql[start:end]`` with literals for parameters."""
        end = len(sql) if end is None else end
        parts = []
        for first, last, literal in self.places:
            if start <= first and last < end:
                parts += [sql[start:first], literal]
                start = last + 1
        return "".join([*parts, sql[start:end]])


def fill_parameters(tokens: Sequence[Token], sql: str, values: Values | None) -> Filled:
    """The tokens with literals for parameters; ParseError at one that has no value."""
    check_values(values)
    filled: list[Token] = []
    places: list[tuple[int, int, str]] = []
    used: set[str] = set()
    count = 0
    for first, last, name in _parameters(tokens):
        if name is None:
            filled.append(first)
            continue
        if name == "?":
            count += 1
            name = str(count)  # noqa: PLW2901 - the place that it means
        value = _value(name, values, sql, first, last)
        used.add(name)
        before = filled[-1].text.upper() if filled else ""
        literal = list(_literal(value, name, before, first.start, last.end))
        filled += literal
        places.append((first.start, last.end, " ".join(map(_written, literal))))
    _refuse_unused(values, used)
    return Filled(filled, tuple(places))


def check_values(values: object) -> None:
    """Refuse what is neither values by name nor values in order."""
    if values is None or isinstance(values, Mapping):
        return
    if not isinstance(values, Sequence) or isinstance(values, str | bytes):
        raise InputError(
            where="parameters",
            expected="values by name in a dict, or in order in a list",
            found=type(values).__name__,
            remedy="put a single value into a list: [value]",
        )


def _parameters(tokens: Sequence[Token]) -> Iterator[tuple[Token, Token, str | None]]:
    """Each token, or the two of a parameter, and the name of that; None for what is none."""
    index = 0
    opened: list[TokenType] = []
    while index < len(tokens):
        token = tokens[index]
        if token.token_type in OPENING:
            opened.append(token.token_type)
        elif token.token_type in CLOSING and opened:
            opened.pop()
        following = tokens[index + 1] if index + 1 < len(tokens) else None
        name, last = None, token
        if token.token_type is TokenType.PLACEHOLDER:
            name = "?"
        elif token.token_type is TokenType.VAR and token.text[:1] == "$" and len(token.text) > 1:
            name = token.text[1:]
        elif token.token_type is TokenType.COLON and following is not None:
            word = following.text.replace("_", "a").isalnum()
            begins = not _separates(tokens, index, opened[-1] if opened else None)
            if begins and word and following.start == token.end + 1:
                name, last = following.text, following
        yield token, last, name
        index += 1 if last is token else 2


def _separates(tokens: Sequence[Token], index: int, opened: TokenType | None) -> bool:
    """Whether a colon stands behind a key of a struct or a bound of a slice, and begins no value.

    ``opened`` is the bracket that it stands in.
    """
    if not index:
        return False
    before = tokens[index - 1]
    if before.token_type in ENDS_OF_VALUES:
        return True
    if opened is TokenType.L_BRACE:
        first = tokens[index - 2].token_type
        return first in (TokenType.L_BRACE, TokenType.COMMA)
    is_name = before.token_type is TokenType.VAR and before.text.upper() not in BEFORE_NUMBERS
    return opened is TokenType.L_BRACKET and is_name


def _value(name: str, values: Values | None, sql: str, first: Token, last: Token) -> Any:
    found = sql[first.start : last.end + 1]
    if isinstance(values, Mapping):
        if name in values and found != "?":
            return values[name]
        given = ", ".join(map(str, values))
        expected = f"a parameter that has a value: {given}" if values else "no parameter"
        remedy = f'add a value for it: {{"{name}": ...}}'
        if found == "?":
            remedy = "write :name for a value that is given by its name"
    elif values is not None and name.isdigit():
        if 1 <= int(name) <= len(values):
            return values[int(name) - 1]
        expected, remedy = f"{len(values)} parameters, as many as there are values", ""
    elif values is not None:
        expected = "? or $1 for values that are given in order"
        remedy = 'give them by name: execute(text, {"' + name + '": ...})'
    else:
        expected = "a value"
        given = "[...]" if name.isdigit() else '{"' + name + '": ...}'
        remedy = f"from Python, pass it: execute(text, {given}); in a file, write the value itself"
    raise ParseError(
        span=span_between(sql, first.start, last.end),
        source=sql,
        expected=expected,
        found=f"the parameter {found}",
        remedy=remedy,
    )


def _refuse_unused(values: Values | None, used: set[str]) -> None:
    if values is None:
        return
    names = values if isinstance(values, Mapping) else map(str, range(1, len(values) + 1))
    unused = [str(name) for name in names if name not in used]
    if unused:
        raise InputError(
            where="parameters",
            expected="a parameter in the script for each value",
            found=f"none for {', '.join(unused)}",
            remedy="write :name, ? or $1 where a value belongs",
        )


def _literal(value: Any, name: str, before: str, start: int, end: int) -> Iterator[Token]:
    """The tokens of a value, all of them where the parameter stands, behind the word ``before``."""
    if not isinstance(value, str | date) and hasattr(value, "item"):
        value = value.item()  # NumPy's numbers
    if isinstance(value, timedelta) and before not in BEFORE_DURATIONS:
        yield Token(TokenType.INTERVAL, "INTERVAL", start=start, end=end)
    for kind, text in _parts(value, name):
        yield Token(kind, text, start=start, end=end)


def _parts(value: Any, name: str) -> Iterator[tuple[TokenType, str]]:
    match value:
        case None:
            yield TokenType.NULL, "NULL"
        case bool():
            yield (TokenType.TRUE, "TRUE") if value else (TokenType.FALSE, "FALSE")
        case int() | float() | Decimal():
            if not math.isfinite(value):
                _refuse(name, str(value), "a finite number")
            if value < 0:
                yield TokenType.DASH, "-"
            text = format(abs(value), "f") if isinstance(value, Decimal) else repr(abs(value))
            if isinstance(value, Decimal) and "." not in text and abs(value) >= 2**63:
                text += "."  # no BIGINT
            yield TokenType.NUMBER, text
        case str():
            yield TokenType.STRING, value
        case datetime():
            if value.tzinfo is not None:
                value = value.astimezone(UTC).replace(tzinfo=None)
            yield TokenType.TIMESTAMP, "TIMESTAMP"
            yield TokenType.STRING, value.isoformat(" ")
        case timedelta():
            ticks = value // timedelta(microseconds=1)
            unit, ticks = (
                ("SECOND", ticks // 10**6) if not ticks % 10**6 else ("MICROSECOND", ticks)
            )
            if ticks < 0:
                yield TokenType.DASH, "-"
            yield TokenType.NUMBER, str(abs(ticks))
            yield TokenType.VAR, unit
        case date():
            yield TokenType.DATE, "DATE"
            yield TokenType.STRING, value.isoformat()
        case _:
            _refuse(name, f"a {type(value).__name__}", TYPES)


def _refuse(name: str, found: str, expected: str) -> NoReturn:
    several = found in ("a list", "a tuple", "a set")
    remedy = "write a parameter for each value: x IN (:a, :b)" if several else ""
    raise InputError(where=f"parameter {name}", expected=expected, found=found, remedy=remedy)


def _written(token: Token) -> str:
    if token.token_type is not TokenType.STRING:
        return token.text
    return "'" + token.text.replace("'", "''") + "'"
