"""REGEXP_MATCHES, REGEXP_EXTRACT and REGEXP_REPLACE, in RE2's language (no back-references).

Patterns, groups and options are constants: the binder sees to it. A search takes time linear in
the text, whatever the pattern, so no query can be stopped by one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache

import pyarrow as pa
import pyarrow.compute as pc

from windrow.columns.functions.operands import Kernel, Operand
from windrow.columns.functions.repeated_texts import by_different_texts
from windrow.core.errors import DataError
from windrow.plan.expressions import Call, Literal, render

_TOKENS = re.compile(
    r"\\Q.*?(?:\\E|\Z)|\\.|\[\^?\]?(?:\\.|\[:\w+:\]|[^\]\\])*\]|\((?!\?)", re.DOTALL
)
"""Quoted text, an escape, a class, or a group without a name. The last alone is looked for."""


def constant(call: Call, place: int) -> str:
    """The text in a constant argument; empty if there is no such argument."""
    if place >= len(call.args):
        return ""
    argument = call.args[place]
    assert isinstance(argument, Literal)
    return str(argument.value)


def with_options(pattern: str, options: str) -> str:
    """The pattern with its flags in front; ``i``, ``s`` and ``m`` are RE2's own."""
    flags = "".join(sorted(set(options) - {"g"}))
    return f"(?{flags}){pattern}" if flags else pattern


@lru_cache(maxsize=256)
def with_named_groups(pattern: str) -> str:
    """The pattern with a name for each group, the whole being group 0: Arrow extracts named groups.

    >>> with_named_groups(r"(a|[(])\\((?:x)")
    '(?P<_0>(?P<_1>a|[(])\\\\((?:x))'
    """
    return f"(?P<_0>{_name_groups(pattern, lambda _: True)[0]})"


def _name_groups(pattern: str, wanted: Callable[[int], bool]) -> tuple[str, int]:
    """The pattern with names for the groups that are wanted, by their numbers, while others
    that had none capture nothing; and how many groups had none.
    """
    count = 0

    def name(found: re.Match[str]) -> str:
        nonlocal count
        if found[0] != "(":
            return found[0]
        count += 1
        return f"(?P<_{count}>" if wanted(count) else "(?:"

    return _TOKENS.sub(name, pattern), count


@lru_cache(maxsize=256)
def with_one_group(pattern: str, group: int) -> tuple[str, int]:
    """The pattern with as few named groups as will do, and at which place the wanted one is.

    A group that is extracted costs time, so the others get no name if none has one already.

    >>> with_one_group("(a)(b)", 2)
    ('(?:a)(?P<_2>b)', 0)
    >>> with_one_group("(?P<x>a)(b)", 2)
    ('(?P<_0>(?P<x>a)(?P<_1>b))', 2)
    """
    made, count = _name_groups(pattern, lambda number: number == group)
    if "(?P<" in pattern or "(?<" in pattern or group > count:
        return with_named_groups(pattern), group
    return (made if group else f"(?P<_0>{made})"), 0


def naming_pattern(compute: Callable[[Operand, Call], Operand]) -> Kernel:
    """The kernel for repeated texts too, which names a pattern that RE2 does not take."""

    def kernel(args: Sequence[Operand], call: Call) -> Operand:
        try:
            return by_different_texts(args[0], lambda texts: compute(texts, call))
        except pa.ArrowInvalid as error:
            raise DataError(
                where=render(call),
                expected="a regular expression of RE2",
                found=str(error).splitlines()[0],
                remedy="RE2 has no look-ahead, look-behind or back-references in patterns",
            ) from error

    return kernel


def matches(text: Operand, call: Call) -> Operand:
    pattern = with_options(constant(call, 1), constant(call, 2))
    return pc.match_substring_regex(text, pattern)


def replace(text: Operand, call: Call) -> Operand:
    """The first match replaced, all of them with the option ``g``."""
    options = constant(call, 3)
    pattern = with_options(constant(call, 1), options)
    limit = None if "g" in options else 1
    return pc.replace_substring_regex(
        text, pattern=pattern, replacement=constant(call, 2), max_replacements=limit
    )


def extract(text: Operand, call: Call) -> Operand:
    """What a group of the first match is: empty where nothing matches."""
    group = call.args[2].value if len(call.args) > 2 and isinstance(call.args[2], Literal) else 0
    pattern = with_options(constant(call, 1), constant(call, 3))
    assert isinstance(group, int)
    named, place = with_one_group(pattern, group)
    groups = pc.extract_regex(text, named)
    if place >= groups.type.num_fields:
        raise pa.ArrowInvalid(f"no group {group} in a pattern of {groups.type.num_fields - 1}")
    found = pc.struct_field(groups, [place])
    return pc.if_else(pc.and_(pc.is_valid(text), pc.is_null(found)), "", found)


KERNELS: dict[str, Kernel] = {
    "regexp_matches": naming_pattern(matches),
    "regexp_extract": naming_pattern(extract),
    "regexp_replace": naming_pattern(replace),
}
