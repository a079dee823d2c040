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
    count = 0

    def name(found: re.Match[str]) -> str:
        nonlocal count
        if found[0] != "(":
            return found[0]
        count += 1
        return f"(?P<_{count}>"

    return f"(?P<_0>{_TOKENS.sub(name, pattern)})"


def naming_pattern(compute: Callable[[Operand, Call], Operand]) -> Kernel:
    """The kernel that names a pattern that RE2 does not take."""

    def kernel(args: Sequence[Operand], call: Call) -> Operand:
        try:
            return compute(args[0], call)
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
    groups = pc.extract_regex(text, with_named_groups(pattern))
    assert isinstance(group, int)
    if group >= groups.type.num_fields:
        raise pa.ArrowInvalid(f"no group {group} in a pattern of {groups.type.num_fields - 1}")
    found = pc.struct_field(groups, [group])
    return pc.if_else(pc.and_(pc.is_valid(text), pc.is_null(found)), "", found)


KERNELS: dict[str, Kernel] = {
    "regexp_matches": naming_pattern(matches),
    "regexp_extract": naming_pattern(extract),
    "regexp_replace": naming_pattern(replace),
}
