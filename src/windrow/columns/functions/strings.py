"""Functions on text. Positions and lengths count characters (code points) from 1.

Patterns, positions and replacements are constants in nearly every query, and then Arrow's
kernels do the work; where one of them is a column, the values are computed row by row.

In LIKE and ILIKE ``%`` is any text and ``_`` any character. An escape character makes them plain:
a backslash unless ESCAPE names another; what follows it stands for itself. Arrow matches plain
patterns fast. It takes a backslash for a character like any other where a pattern is only a
beginning, an end or a part (``'%a\\\\b%'``), so patterns in which something is escaped become
regular expressions here.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from functools import lru_cache, partial, reduce
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from windrow.columns.arrays import string_parts
from windrow.columns.functions.casts import to_text
from windrow.columns.functions.operands import (
    Kernel,
    Operand,
    as_array,
    cast_operand,
    length_of,
    literal,
    row_by_row,
)
from windrow.columns.functions.parts_of_text import parts_of_text
from windrow.plan.expressions import Call

BACKSLASH = "\\"
FIRST_OF_OTHERS = 0x80
"""Bytes below are ASCII's, of characters of one byte."""
SPECIAL = frozenset(r"\.+*?()|[]{}^$")


def plain(compute: Callable[..., Operand], **options: Any) -> Kernel:
    """A kernel of one text argument."""

    def kernel(args: Sequence[Operand], call: Call) -> Operand:
        return cast_operand(compute(args[0], **options), call.type)

    return kernel


def letters(
    compute: Callable[[Operand], Operand], of_bytes: Callable[[Operand], Operand]
) -> Kernel:
    """A kernel that changes letters; ``of_bytes`` does it where a character is a byte, at once."""

    def kernel(args: Sequence[Operand], call: Call) -> Operand:
        text = args[0]
        short = isinstance(text, pa.Array) and pa.types.is_string(text.type) and _is_ascii(text)
        return cast_operand(of_bytes(text) if short else compute(text), call.type)

    return kernel


def _is_ascii(texts: pa.Array) -> bool:
    offsets, data = string_parts(texts)
    stretch = data[offsets[0] : offsets[-1]]
    return not len(stretch) or int(stretch.max()) < FIRST_OF_OTHERS


def with_constant(
    compute: Callable[[pa.Array, str], Operand], one: Callable[[str, str], Any]
) -> Kernel:
    """A kernel of a text column and a text: constant for ``compute``, any for ``one``."""

    def kernel(args: Sequence[Operand], call: Call) -> Operand:
        constant = literal(args[1])
        if constant is None or isinstance(args[0], pa.Scalar):
            return row_by_row(one, args, call.type)
        return cast_operand(compute(args[0], constant), call.type)

    return kernel


def trim(compute: Callable[..., Operand], one: Callable[[str, str], str]) -> Kernel:
    """A kernel that takes characters, blanks if none are named, from the ends of a text."""

    def kernel(args: Sequence[Operand], call: Call) -> Operand:
        characters = literal(args[1]) if len(args) > 1 else " "
        if not characters:
            return row_by_row(one, args, call.type)
        return cast_operand(compute(args[0], characters=characters), call.type)

    return kernel


def bounds(start: int, length: int | None) -> tuple[int, int | None]:
    """SUBSTRING's 1-based start as Python's; a negative start counts from the end.

    A length reaches as far as it would from a start before the text: ``('hello', 0, 2)`` is
    ``'h'``.
    """
    begin = start - 1 if start > 0 else start
    if start == 0:
        return 0, None if length is None else max(length - 1, 0)
    if length is None:
        return begin, None
    end = begin + max(length, 0)
    if begin < 0 <= end:
        return begin, None
    return begin, end


def slice_one(text: str, start: int, length: int | None = None) -> str:
    if start < 0:  # a start before the text uses up some of the length
        start += len(text)
        end = len(text) if length is None else start + max(length, 0)
        return text[max(start, 0) : max(end, 0)]
    begin, stop = bounds(start, length)
    return text[begin:stop]


def substring(args: Sequence[Operand], call: Call) -> Operand:
    text, start, *rest = args
    first = literal(start)
    length = literal(rest[0]) if rest else None
    counted = bool(rest) and length is None
    if first is None or first < 0 or counted or isinstance(text, pa.Scalar):
        return row_by_row(slice_one, args, call.type)
    begin, stop = bounds(first, length)
    return pc.utf8_slice_codeunits(text, begin, stop)


def left_one(text: str, count: int) -> str:
    return text[:count]  # a negative count leaves out that many at the end, as in Python


def right_one(text: str, count: int) -> str:
    return text[-count:] if count else ""


def left_part(args: Sequence[Operand], call: Call) -> Operand:
    count = literal(args[1])
    if count is None or isinstance(args[0], pa.Scalar):
        return row_by_row(left_one, args, call.type)
    return pc.utf8_slice_codeunits(args[0], 0, count)


def right(args: Sequence[Operand], call: Call) -> Operand:
    count = literal(args[1])
    if not count or isinstance(args[0], pa.Scalar):
        return row_by_row(right_one, args, call.type)
    return pc.utf8_slice_codeunits(args[0], -count)


def concat(args: Sequence[Operand], call: Call) -> Operand:
    """``||``: NULL if one of the parts is NULL; what is not text is written as text."""
    parts = [to_text(v, a.type) for v, a in zip(args, call.args, strict=True)]
    return pc.binary_join_element_wise(*parts, "")


def concat_ws(args: Sequence[Operand], _: Call) -> Operand:
    """The parts that are not NULL with the first argument between them."""
    separator, *parts = (as_array(a, length_of(args)) for a in args)
    missing = reduce(pc.and_, (pc.is_null(part) for part in parts))
    parts[0] = pc.if_else(missing, "", parts[0])  # Arrow leaves such a row out of its answer
    return pc.binary_join_element_wise(*parts, separator, null_handling="skip")


def pad_one(left: bool, text: str, length: int, padding: str = " ") -> str:
    missing = max(length, 0) - len(text)
    if missing <= 0:
        return text[: max(length, 0)]
    fill = (padding * missing)[:missing]
    return fill + text if left else text + fill


def pad(left: bool) -> Kernel:
    """LPAD and RPAD: exactly so many characters, what is longer is cut at its end."""
    widen = pc.utf8_lpad if left else pc.utf8_rpad

    def kernel(args: Sequence[Operand], call: Call) -> Operand:
        length = literal(args[1])
        padding = literal(args[2]) if len(args) > 2 else " "
        if not length or length < 0 or padding is None or len(padding) != 1:
            return row_by_row(partial(pad_one, left), args, call.type)
        return pc.utf8_slice_codeunits(widen(args[0], length, padding), 0, length)

    return kernel


def part_one(text: str, separator: str, place: int) -> str:
    """The part of that place, from 1, or from the end if it is negative; empty if there is none."""
    parts = text.split(separator) if separator else [text]
    index = place - 1 if place > 0 else place
    return parts[index] if place and -len(parts) <= index < len(parts) else ""


def split_part(args: Sequence[Operand], call: Call) -> Operand:
    text, separator, place = args[0], literal(args[1]), literal(args[2])
    if not separator or place is None or isinstance(text, pa.Scalar):
        return row_by_row(part_one, args, call.type)
    return parts_of_text(text, separator, place)


def replace_one(text: str, old: str, new: str) -> str:
    return text.replace(old, new) if old else text


def replace(args: Sequence[Operand], call: Call) -> Operand:
    text, old, new = args[0], literal(args[1]), literal(args[2])
    # Arrow never comes back from replacing an empty text, so that case takes the slow way.
    if not old or new is None or isinstance(text, pa.Scalar):
        return row_by_row(replace_one, args, call.type)
    return pc.replace_substring(text, pattern=old, replacement=new)


def strpos(text: pa.Array, part: str) -> Operand:
    """Where ``part`` first stands in the text, 0 if it does not."""
    found = pc.find_substring(text, part)
    if not pc.all(pc.string_is_ascii(text)).as_py():  # Arrow counts bytes
        found = pc.if_else(pc.string_is_ascii(text), found, by_character(text, part))
    return pc.add(found, 1)


def by_character(text: pa.Array, part: str) -> pa.Array:
    return pa.array((None if t is None else t.find(part) for t in text.to_pylist()), pa.int32())


def digest(name: str) -> Kernel:
    """The hexadecimal digits of a hash of the text's UTF-8 bytes."""

    def one(text: str) -> str:
        return hashlib.new(name, text.encode(), usedforsecurity=False).hexdigest()

    return lambda args, call: row_by_row(one, args, call.type)


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
    "upper": letters(pc.utf8_upper, pc.ascii_upper),
    "lower": letters(pc.utf8_lower, pc.ascii_lower),
    "length": plain(pc.utf8_length),
    "reverse": plain(pc.utf8_reverse),
    "initcap": plain(pc.utf8_title),
    "trim": trim(pc.utf8_trim, str.strip),
    "ltrim": trim(pc.utf8_ltrim, str.lstrip),
    "rtrim": trim(pc.utf8_rtrim, str.rstrip),
    "substring": substring,
    "left": left_part,
    "right": right,
    "concat": concat,
    "replace": replace,
    "strpos": with_constant(strpos, lambda text, part: text.find(part) + 1),
    "starts_with": with_constant(pc.starts_with, str.startswith),
    "ends_with": with_constant(pc.ends_with, str.endswith),
    "contains": with_constant(pc.match_substring, str.__contains__),
    "concat_ws": concat_ws,
    "lpad": pad(left=True),
    "rpad": pad(left=False),
    "split_part": split_part,
    "md5": digest("md5"),
    "sha256": digest("sha256"),
    "like": like_kernel(ignore_case=False),
    "ilike": like_kernel(ignore_case=True),
}
