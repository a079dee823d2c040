"""LIKE and ILIKE: ``%`` is any text, ``_`` any character, an escape character makes them plain.

The escape character is a backslash unless ESCAPE names another; what follows it stands for itself.
Arrow matches plain patterns fast. It takes a backslash for a character like any other where a
pattern is only a beginning, an end or a part (``'%a\\\\b%'``), so patterns in which something is
escaped become regular expressions here.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import pyarrow as pa
import pyarrow.compute as pc

from windrow.columns.functions.operands import Kernel, Operand, cast_operand, literal, row_by_row
from windrow.plan.expressions import Call

BACKSLASH = "\\"
SPECIAL = frozenset(r"\.+*?()|[]{}^$")


@lru_cache(maxsize=256)
def regular_expression(pattern: str, escape: str = BACKSLASH) -> str:
    """The pattern for RE2. An escape character at the very end stands for itself.

    >>> print(regular_expression("50!%_", "!"))
    \\A(?s:50%.)\\z
    """
    parts, characters = [], iter(pattern)
    for character in characters:
        if character == escape:
            parts.append(_literal(next(characters, escape)))
        else:
            parts.append({"%": ".*", "_": "."}.get(character) or _literal(character))
    return f"\\A(?s:{''.join(parts)})\\z"


def _literal(character: str) -> str:
    return BACKSLASH + character if character in SPECIAL else character


def like_kernel(ignore_case: bool) -> Kernel:
    """Of a text, a pattern and perhaps an escape character."""

    def one(text: str, pattern: str, escape: str = BACKSLASH) -> bool:
        matches: bool = match(pa.array([text]), pattern, escape)[0].as_py()
        return matches

    def match(texts: pa.Array, pattern: str, escape: str) -> pa.Array:
        if escape not in pattern and BACKSLASH not in pattern:
            return pc.match_like(texts, pattern, ignore_case=ignore_case)
        expression = regular_expression(pattern, escape)
        return pc.match_substring_regex(texts, expression, ignore_case=ignore_case)

    def kernel(args: Sequence[Operand], call: Call) -> Operand:
        pattern = literal(args[1])
        if pattern is None or isinstance(args[0], pa.Scalar):
            return row_by_row(one, args, call.type)
        escape = literal(args[2]) if len(args) > 2 else None
        return cast_operand(match(args[0], pattern, escape or BACKSLASH), call.type)

    return kernel


KERNELS: dict[str, Kernel] = {
    "like": like_kernel(ignore_case=False),
    "ilike": like_kernel(ignore_case=True),
}
