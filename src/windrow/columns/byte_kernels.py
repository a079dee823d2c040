"""Bytes copied, compared and read many at a time, for kernels.

A loop over the bytes of a string is compiled to a step for each of them. These are compiled to the
machine's own copy and to loads of eight bytes wherever they lie. Nothing is checked: whoever calls
knows that the bytes are there.
"""

from __future__ import annotations

from typing import Any

from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from windrow.columns.kernels import Compiled, inline

Generated = tuple[Any, Any]
"""A signature, and what writes the code for it."""


def _address(context: Any, builder: Any, kind: Any, array: Any, at: Any) -> Any:
    """Where the byte at a position of an array lies."""
    return builder.gep(context.make_array(kind)(context, builder, array).data, [at])


def _copy(_: Any, out: Any, target: Any, data: Any, start: Any, count: Any) -> Generated:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        into = _address(context, builder, signature.args[0], args[0], args[1])
        source = _address(context, builder, signature.args[2], args[2], args[3])
        cgutils.raw_memcpy(builder, into, source, args[4], 1)
        return context.get_dummy_value()

    return types.void(out, target, data, start, count), generate


def _word(_: Any, data: Any, at: Any) -> Generated:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        place = _address(context, builder, signature.args[0], *args)
        pointer = builder.bitcast(place, context.get_value_type(types.uint64).as_pointer())
        word = builder.load(pointer)
        word.align = 1
        return word

    return types.uint64(data, at), generate


copy_bytes: Compiled = intrinsic(_copy)
"""``copy_bytes(out, i, data, j, n)``: ``out[i:i + n] = data[j:j + n]``, of two arrays."""
word_at: Compiled = intrinsic(_word)
"""``word_at(data, at)``: the eight bytes from ``at`` on as an integer, the first of them lowest."""


@inline
def same_bytes(a, i, b, j, count):  # type: ignore[no-untyped-def]
    """Whether ``a[i:i + count]`` and ``b[j:j + count]`` are equal."""
    at = 0
    while at + 8 <= count and word_at(a, i + at) == word_at(b, j + at):
        at += 8
    if at + 8 > count:
        while at < count and a[i + at] == b[j + at]:
            at += 1
    return at == count
