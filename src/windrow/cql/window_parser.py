"""Window clauses and durations: what stands between ``[`` and ``]``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal

from sqlglot import expressions as exp
from sqlglot.tokenizer_core import Token, TokenType

from windrow.cql.syntax_tree import (
    ColumnName,
    Duration,
    Name,
    NowClause,
    RangeClause,
    RowsClause,
    SessionClause,
    UnboundedClause,
    Unlimited,
    WindowClause,
)
from windrow.cql.token_cursor import TokenCursor

UNITS = {
    "MICROSECOND": ("US", "USEC", "USECS", "MICROS", "MICROSECONDS"),
    "MILLISECOND": ("MS", "MSEC", "MSECS", "MILLIS", "MILLISECONDS"),
    "SECOND": ("S", "SEC", "SECS", "SECONDS"),
    "MINUTE": ("M", "MIN", "MINS", "MINUTES"),
    "HOUR": ("H", "HR", "HRS", "HOURS"),
    "DAY": ("D", "DAYS"),
    "WEEK": ("W", "WEEKS"),
}
UNIT_OF = {word: unit for unit, words in UNITS.items() for word in (unit, *words)}
FORMS = "RANGE, ROWS, SESSION, PARTITION BY, NOW or UNBOUNDED"
WINDOWS = ("RANGE", "ROWS", "SESSION", "PARTITION BY", "NOW", "UNBOUNDED")
SIZE, SLIDE = "the length of the window", "the slide of the window"
TABLE_FUNCTIONS = {
    "TUMBLE": {"SIZE": SIZE},
    "HOP": {"SLIDE": SLIDE, "SIZE": SIZE},
    "SESSION": {"GAP": "the silence that ends a session"},
}
"""What follows the column of the time in each, by its name in ``SIZE => INTERVAL '1' HOUR``."""
TABLE, TIME = "DATA", "TIMECOL"
"""The names of the first two arguments."""
AFTER_TICKS = {
    "SLIDE", "INTERNAL", "INTO", "USING", "FROM", "TIMESTAMP", "SLACK", "AHEAD", "IDLE",
    "AFTER", "BEFORE", "PRECEDING",
}  # fmt: skip
"""Words that may follow a bare number of ticks; any other one is a unit, or meant as one."""
KSQL_WINDOWS = ("TUMBLING", "HOPPING", "SESSION")
IN_SLIDES = (
    "a window stands in brackets after the name: s [RANGE 5 MINUTES SLIDE 5 MINUTES] tumbles, with "
    "a longer RANGE it hops, and s [SESSION 5 MINUTES] is a session"
)
IN_BRACKETS = "a window stands in brackets after the name, as in s [RANGE 5 SECONDS]"


def parse_duration(parser: TokenCursor, what: str) -> Duration:
    """``5 SECONDS``, ``0.5 min`` or a bare number of ticks."""
    first = parser.current
    sign = -1 if parser.take_type(TokenType.DASH) else 1
    if not parser.at_type(TokenType.NUMBER):
        quoted = parser.at("INTERVAL") or parser.at_string()
        parser.fail(
            f"a number and a unit for {what}, as in 5 SECONDS",
            remedy=f"write {what} 5 SECONDS, without INTERVAL and quotes" if quoted else "",
        )
    amount = sign * Decimal(parser.advance().text)
    unit = None
    if parser.at_word():
        word = parser.current.text.upper()
        if word in UNIT_OF:
            unit = UNIT_OF[word]
            parser.advance()
        elif word not in AFTER_TICKS:
            uneven = word.removesuffix("S") in ("MONTH", "QUARTER", "YEAR")
            parser.fail(
                f"a unit of time: {', '.join(UNITS)}", near=UNIT_OF,
                remedy="months are not equally long; write 30 DAYS, say" if uneven else "",
            )  # fmt: skip
    return Duration(amount, unit, parser.span_from(first))


def parse_limit(parser: TokenCursor, what: str, endless: str) -> Duration | Unlimited:
    """A duration, or the word that says there is no limit."""
    if parser.at(endless):
        first = parser.advance()
        return Unlimited(parser.span_from(first))
    if parser.at_word():
        parser.fail(f"a number and a unit for {what}, or {endless}", near=(endless,))
    return parse_duration(parser, what)


def at_window_in_parentheses(parser: TokenCursor) -> bool:
    return parser.at_type(TokenType.L_PAREN) and parser.following.text.upper() in WINDOWS


def parse_window(parser: TokenCursor) -> WindowClause:
    """A whole clause; the parser stands at ``[``."""
    first = parser.advance()
    if parser.take("RANGE"):
        if parser.take("UNBOUNDED"):
            internal = _close(parser)
            return UnboundedClause(internal, parser.span_from(first))
        length = parse_duration(parser, "RANGE")
        slide = parse_duration(parser, "SLIDE") if parser.take("SLIDE") else None
        internal = _close(parser)
        return RangeClause(length, slide, internal, parser.span_from(first))
    if parser.take("NOW"):
        internal = _close(parser)
        return NowClause(internal, parser.span_from(first))
    if parser.take("UNBOUNDED"):
        internal = _close(parser)
        return UnboundedClause(internal, parser.span_from(first))
    partition_by: tuple[ColumnName, ...] = ()
    if parser.take_type(TokenType.PARTITION_BY):
        partition_by = _columns(parser, "a column to partition by")
        if not parser.at("ROWS", "ROW", "SESSION"):
            parser.fail("ROWS and a number, or SESSION and a duration, after PARTITION BY")
    if parser.take("SESSION"):
        gap = parse_duration(parser, "SESSION")
        internal = _close(parser)
        return SessionClause(gap, partition_by, internal, parser.span_from(first))
    if parser.take("ROWS") or parser.take("ROW"):
        count = parser.integer("the number of rows of the window")
        step = None
        if parser.take("SLIDE"):
            step = parser.integer("the number of rows by which the window moves")
        internal = _close(parser)
        return RowsClause(count, partition_by, step, internal, parser.span_from(first))
    return parser.fail(
        f"{FORMS} after [", near=("RANGE", "ROWS", "SESSION", "PARTITION", "NOW", "UNBOUNDED")
    )


def at_table_function(parser: TokenCursor) -> bool:
    """Whether TUMBLE(, HOP( or TABLE( stands here."""
    words = (*TABLE_FUNCTIONS, "TABLE")
    return parser.at(*words) and parser.following.token_type is TokenType.L_PAREN


def parse_function_window(
    parser: TokenCursor, function: Token, table: Callable[[], exp.Expr]
) -> tuple[exp.Expr, Name, WindowClause]:
    """The arguments of a table function: its table, the column of the time, the window.

    In order HOP names its slide before its length, as in Flink; by name (``SIZE => ...``) they
    come in any order. SESSION may have PARTITION BY behind its table.
    """
    name = function.text.upper()
    words = {TABLE: "a table", TIME: "the column that holds the time", **TABLE_FUNCTIONS[name]}
    named = parser.following.token_type is TokenType.FARROW
    tables: list[exp.Expr] = []
    times: list[Name] = []
    durations: dict[str, Duration] = {}
    partition_by: tuple[ColumnName, ...] = ()
    left = list(words)
    while left:
        if len(left) < len(words):
            missing = f"{left[0]} => ..., " if named else ""
            parser.expect_type(TokenType.COMMA, f", and {missing}{words[left[0]]}")
        argument = left.pop(left.index(_argument(parser, left)) if named else 0)
        if argument == TABLE:
            tables.append(table())
            if name == "SESSION" and parser.take_type(TokenType.PARTITION_BY):
                until = (TIME, *TABLE_FUNCTIONS[name]) if named else ("DESCRIPTOR",)
                partition_by = _columns(parser, "a column, or DESCRIPTOR(column)", until)
        elif argument == TIME:
            times.append(_time(parser))
        else:
            durations[argument] = _interval(parser, words[argument])
    parser.expect_type(TokenType.R_PAREN, f") at the end of {name}(")
    span = parser.span_from(function)
    if name == "SESSION":
        return tables[0], times[0], SessionClause(durations["GAP"], partition_by, False, span)
    length = durations["SIZE"]
    slide = durations.get("SLIDE", length)
    return tables[0], times[0], RangeClause(length, slide, False, span)


def _argument(parser: TokenCursor, left: Sequence[str]) -> str:
    """The name of an argument that was not there yet, and the arrow behind it."""
    if not parser.at(*left):
        parser.fail(f"{' or '.join(left)} and => before its value", near=left)
    name = parser.advance().text.upper()
    parser.expect_type(TokenType.FARROW, f"=> after {name}")
    return name


def _time(parser: TokenCursor) -> Name:
    described = parser.take("DESCRIPTOR")
    if described:
        parser.expect_type(TokenType.L_PAREN, "( after DESCRIPTOR")
    time = parser.name("the column that holds the time")
    if described:
        parser.expect_type(TokenType.R_PAREN, ") at the end of DESCRIPTOR(")
    return time


def _interval(parser: TokenCursor, what: str) -> Duration:
    """``INTERVAL '10' MINUTE``, ``INTERVAL 10 MINUTES`` or just ``10 MINUTES``."""
    first = parser.current
    if not parser.take("INTERVAL") or not parser.at_string():
        return parse_duration(parser, what)
    text = parser.current.text.strip()
    if not text.replace(".", "", 1).isdigit():
        parser.fail(f"a number in quotes for {what}", remedy="write INTERVAL '10' MINUTE")
    amount = Decimal(parser.advance().text)
    if not parser.at(*UNIT_OF):
        parser.fail(f"a unit of time: {', '.join(UNITS)}", near=UNIT_OF)
    unit = UNIT_OF[parser.advance().text.upper()]
    return Duration(amount, unit, parser.span_from(first))


def _columns(parser: TokenCursor, what: str, until: tuple[str, ...] = ()) -> tuple[ColumnName, ...]:
    """Columns between commas, each with its table before a dot if that is written.

    The comma before one of the words of ``until`` is no part of them.
    """
    columns: list[ColumnName] = []
    while not columns or parser.at_type(TokenType.COMMA):
        if columns and parser.following.text.upper() in until:
            break
        if columns:
            parser.advance()
        first = parser.current
        names = [parser.name(what)]
        if parser.take_type(TokenType.DOT):
            names.append(parser.name(f"{what} after the dot"))
        qualifier = names[0].text if len(names) > 1 else None
        columns.append(ColumnName(names[-1].text, qualifier, parser.span_from(first)))
    return tuple(columns)


def _close(parser: TokenCursor) -> bool:
    """INTERNAL, if it is there, and the closing bracket."""
    internal = parser.take("INTERNAL")
    if not parser.take_type(TokenType.R_BRACKET):
        backward = "a window always looks back; leave out PRECEDING"
        parser.fail(
            "] at the end of the window", near=("SLIDE", "INTERNAL"),
            remedy=backward if parser.at("PRECEDING") else "",
        )  # fmt: skip
    return internal
