"""Arguments that must be constants: units of time, regular expressions, paths into JSON.

Kernels read them from the call, once per batch; so what is wrong with one is said here, where its
place in the text is known. What depends on when or how often it is computed is refused here too.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Sequence

from sqlglot import expressions as exp

from windrow.core.errors import BindError, Span
from windrow.core.schema import Type
from windrow.plan.expressions import Expression, Literal
from windrow.plan.json_paths import parse_path, path_text

UNITS = ("microsecond", "millisecond", "second", "minute", "hour", "day", "week", "month",
         "quarter", "year")  # fmt: skip
DIRECTIVES = tuple("YymdjHIpMSfaAbB%")
"""What STRFTIME knows: each means the same in C, Python and DuckDB."""
_NOT_RE2 = re.compile(r"(?:\\[^1-9]|[^\\(]|\((?!\?(?:[=!>(]|<[=!]|P=)))*\Z", re.DOTALL)
"""Patterns without what RE2 does not have: looking around, and references to groups."""
_SURE = ("missing )", "unbalanced", "unterminated", "nothing to repeat", "multiple repeat",
         "bad character range", "min repeat")  # fmt: skip
"""What Python's own expressions have in common with RE2's: such patterns are wrong in both."""
CLOCKS = frozenset({
    "now", "current_timestamp", "current_date", "current_time", "localtimestamp", "localtime",
    "getdate", "sysdate", "systimestamp", "today", "clock_timestamp",
})  # fmt: skip
DICE = frozenset({"random", "rand", "uuid", "gen_random_uuid", "newid"})


def refuse_changing(name: str, span: Span) -> None:
    """BindError if the function gives another value each time it is computed."""
    if name.lower() in CLOCKS:
        raise BindError(
            f"{name.upper()} is not part of the language: an answer depends on the rows and their "
            "times, not on when it is computed", span=span,
            remedy="use the time column of the stream, or bound the input with a window: "
            "FROM stream [RANGE 10 MINUTES]",
        )  # fmt: skip
    if name.lower() in DICE:
        raise BindError(
            f"{name.upper()} is not part of the language: the same rows must give the same answer",
            span=span, remedy="make such a column where the rows are made",
        )  # fmt: skip


def check_constants(
    function: str, args: Sequence[Expression], spans: Sequence[Span]
) -> list[Expression]:
    """The arguments, constants in one form; BindError at one that is none or a wrong one."""
    arguments = list(args)
    for place, check in CHECKS.get(function, {}).items():
        if place < len(arguments):
            arguments[place] = check(arguments[place], spans[place])
    if function == "regexp_extract" and len(arguments) > 2:
        _check_group(arguments[1], arguments[2], spans[2])
    return arguments


def json_path(node: exp.Expr, span: Span) -> Literal:
    """The path after ``->`` or ``->>``: a key, a place, or a path in quotes."""
    negative = isinstance(node, exp.Neg)
    number = node.this if negative else node
    if isinstance(number, exp.Literal) and not number.is_string and number.name.isdigit():
        return Literal(
            path_text([-int(number.name) if negative else int(number.name)]), Type.STRING
        )
    steps = parse_path(node.name) if isinstance(node, exp.Literal) and node.is_string else None
    if steps is None:
        raise _no_path(span)
    text = path_text(steps)
    return Literal(text if parse_path(text) == steps else node.name, Type.STRING)


def _unit(argument: Expression, span: Span) -> Expression:
    unit = str(argument.value).lower() if isinstance(argument, Literal) else ""
    if unit not in UNITS:
        raise BindError(
            span=span, expected="a unit in quotes", found="something else",
            remedy="write one of " + ", ".join(UNITS),
        )  # fmt: skip
    return Literal(unit, Type.STRING)


def _text(argument: Expression, span: Span, expected: str, remedy: str) -> str:
    if not isinstance(argument, Literal) or not isinstance(argument.value, str):
        raise BindError(span=span, expected=expected, found="something else", remedy=remedy)
    return argument.value


def _pattern(argument: Expression, span: Span) -> Expression:
    pattern = _text(argument, span, "a regular expression in quotes", "only constants are patterns")
    reason = "looking around, or a reference to a group" if not _NOT_RE2.match(pattern) else ""
    wrong = _compile(pattern)
    if isinstance(wrong, re.error) and str(wrong).startswith(_SURE):
        reason = str(wrong)
    if reason:
        raise BindError(
            span=span, expected="a regular expression as RE2 takes it", found=reason,
            remedy="a backslash before a special character makes it plain",
        )  # fmt: skip
    return argument


def _options(allowed: str) -> Callable[[Expression, Span], Expression]:
    def check(argument: Expression, span: Span) -> Expression:
        described = "options in quotes: " + ", ".join(allowed)
        options = _text(argument, span, described, "write for example 'i'")
        if set(options) - set(allowed):
            raise BindError(span=span, expected=described, found=f"'{options}'")
        return argument

    return check


def _replacement(argument: Expression, span: Span) -> Expression:
    _text(argument, span, "a replacement in quotes", r"groups are written \1, \2 in it")
    return argument


def _group(argument: Expression, span: Span) -> Expression:
    if not isinstance(argument, Literal) or not isinstance(argument.value, int):
        raise BindError(span=span, expected="the number of a group", found="something else")
    if argument.value < 0:
        raise BindError(span=span, expected="a group from 0", found=str(argument.value))
    return argument


def _check_group(pattern: Expression, group: Expression, span: Span) -> None:
    assert isinstance(pattern, Literal)
    assert isinstance(group, Literal)
    compiled = _compile(str(pattern.value))
    if isinstance(compiled, re.Pattern) and int(group.value or 0) > compiled.groups:
        raise BindError(
            span=span, expected=f"a group from 0 to {compiled.groups}", found=str(group.value),
            remedy="0 is the whole match; a group stands in parentheses",
        )  # fmt: skip


def _compile(pattern: str) -> re.Pattern[str] | re.error:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return re.compile(pattern)
        except re.error as error:
            return error


def _path(argument: Expression, span: Span) -> Expression:
    text = _text(argument, span, "a path in quotes", "write for example '$.a.b[0]'")
    if parse_path(text) is None:
        raise _no_path(span)
    return argument


def _no_path(span: Span) -> BindError:
    return BindError(
        span=span, expected="a path to one value", found="something else",
        remedy="write '$.key', '$.\"any key\"' or '$[0]', one after another: '$.a.b[0]'",
    )  # fmt: skip


def _format(argument: Expression, span: Span) -> Expression:
    text = _text(argument, span, "a format in quotes", "write for example '%Y-%m-%d %H:%M:%S'")
    unknown = [d for d in re.findall("%.?", text, re.DOTALL) if d[1:] not in DIRECTIVES]
    if unknown:
        raise BindError(
            span=span, expected="directives among " + " ".join(f"%{d}" for d in DIRECTIVES),
            found=unknown[0], remedy="write %% for a percent sign",
        )  # fmt: skip
    return argument


CHECKS: dict[str, dict[int, Callable[[Expression, Span], Expression]]] = {
    "date_trunc": {0: _unit},
    "date_diff": {0: _unit},
    "strftime": {1: _format},
    "regexp_matches": {1: _pattern, 2: _options("ism")},
    "regexp_extract": {1: _pattern, 2: _group, 3: _options("ism")},
    "regexp_replace": {1: _pattern, 2: _replacement, 3: _options("gism")},
    "json_extract": {1: _path},
    "json_extract_string": {1: _path},
}
"""By function and place of the argument."""
