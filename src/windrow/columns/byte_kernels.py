"""Bytes copied, compared, read and looked for many at a time, for kernels.

A loop over the bytes of a string is compiled to a step for each of them. These are compiled to the
machine's own copy, to loads of eight bytes wherever they lie, and to comparisons of as many bytes
as the machine has in a register. Nothing is checked: whoever calls knows that the bytes are there.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
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


def _block(context: Any, builder: Any, kind: Any, array: Any, at: Any) -> Any:
    """``BLOCK`` bytes from a position on, as a vector."""
    pointer = ir.VectorType(ir.IntType(8), BLOCK).as_pointer()
    loaded = builder.load(builder.bitcast(_address(context, builder, kind, array, at), pointer))
    loaded.align = 1
    return loaded


def _bits(builder: Any, found: Any) -> Any:
    return builder.bitcast(found, ir.IntType(BLOCK))


def _equal(_: Any, data: Any, at: Any, _byte: Any) -> Generated:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        block = _block(context, builder, signature.args[0], args[0], args[1])
        one = builder.insert_element(
            ir.Constant(block.type, ir.Undefined), args[2], ir.Constant(ir.IntType(32), 0)
        )
        everywhere = ir.Constant(ir.VectorType(ir.IntType(32), BLOCK), [0] * BLOCK)
        wanted = builder.shuffle_vector(one, one, everywhere)
        return _bits(builder, builder.icmp_unsigned("==", block, wanted))

    return types.uint64(data, at, types.uint8), generate


def _high(_: Any, data: Any, at: Any) -> Generated:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        block = _block(context, builder, signature.args[0], *args)
        zero = ir.Constant(block.type, [0] * BLOCK)
        return _bits(builder, builder.icmp_signed("<", block, zero))

    return types.uint64(data, at), generate


def _lowest(_: Any, _bits: Any) -> Generated:
    def generate(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        return builder.cttz(args[0], ir.Constant(ir.IntType(1), 0))

    return types.int64(types.uint64), generate


def _count(_: Any, _bits: Any) -> Generated:
    def generate(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        return builder.ctpop(args[0])

    return types.int64(types.uint64), generate


BLOCK = 64
"""Bytes that are looked through at once, one for each bit of what is found."""
equal_bytes: Compiled = intrinsic(_equal)
"""``equal_bytes(data, at, byte)``: a bit for each of ``BLOCK`` bytes, the first of them lowest."""
high_bytes: Compiled = intrinsic(_high)
"""``high_bytes(data, at)``: the same, of those that are not ASCII."""
lowest_bit: Compiled = intrinsic(_lowest)
"""The number of the lowest bit that is set; 64 if none is."""
bit_count: Compiled = intrinsic(_count)
"""How many bits are set."""
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
