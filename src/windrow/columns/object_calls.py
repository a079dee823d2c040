"""The interpreter's own functions, called from kernels that make Python objects.

Numba makes the objects that a kernel returns by these same functions; here a kernel calls them for
each value, so that many small objects are made without a step of the interpreter between them. An
object is passed as its address. What is *new* belongs to whoever called; what is *borrowed* does
not; ``put_in_list`` and ``put_in_tuple`` take over what they are given. A result of 0 means that an
error is set: the kernel clears it and says so in its own way.

A kernel that calls these keeps the interpreter's lock (``object_kernel``).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from windrow.columns.kernels import Compiled, compile_cached


def object_kernel(result: Any, *arguments: Any) -> Callable[[Compiled], Compiled]:
    """Compile for exactly these types, to run with the interpreter's lock."""
    return compile_cached(result(*arguments))


_WORD = ir.IntType(64)


def _call(symbol: str, kinds: list[Any], result: Any) -> Callable[..., Any]:
    """Generates a call of a function of the interpreter by its name."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:  # noqa: ARG001
        kind = ir.FunctionType(result, kinds)
        function = cgutils.get_or_insert_function(builder.module, kind, symbol)
        found = builder.call(function, arguments)
        return context.get_dummy_value() if isinstance(result, ir.VoidType) else found

    return generate


def _one(symbol: str, kind: Any = types.int64, held: Any = _WORD) -> Any:
    def function(context: Any, first: Any) -> Any:  # noqa: ARG001 (numba's own way of calling)
        return types.int64(kind), _call(symbol, [held], _WORD)

    return intrinsic(function)


def _ascii() -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:  # noqa: ARG001
        kind = ir.FunctionType(_WORD, [ir.IntType(32), _WORD, _WORD])
        name = "PyUnicode_FromKindAndData"
        function = cgutils.get_or_insert_function(builder.module, kind, name)
        return builder.call(function, [ir.IntType(32)(1), *arguments])  # a byte per character

    def function(context: Any, first: Any, second: Any) -> Any:  # noqa: ARG001
        return types.int64(types.int64, types.int64), generate

    return intrinsic(function)


def _two(symbol: str) -> Any:
    def function(context: Any, first: Any, second: Any) -> Any:  # noqa: ARG001
        return types.int64(types.int64, types.int64), _call(symbol, [_WORD] * 2, _WORD)

    return intrinsic(function)


def _three(symbol: str, result: Any = _WORD) -> Any:
    def function(context: Any, first: Any, second: Any, third: Any) -> Any:  # noqa: ARG001
        given = types.int64 if result is _WORD else types.int32
        return given(types.int64, types.int64, types.int64), _call(symbol, [_WORD] * 3, result)

    return intrinsic(function)


def _none(symbol: str) -> Any:
    def function(context: Any, first: Any) -> Any:  # noqa: ARG001
        return types.void(types.int64), _call(symbol, [_WORD], ir.VoidType())

    return intrinsic(function)


def _clear() -> Any:
    def function(context: Any) -> Any:  # noqa: ARG001
        return types.void(), _call("PyErr_Clear", [], ir.VoidType())

    return intrinsic(function)


new_int = _one("PyLong_FromLongLong")
new_unsigned = _one("PyLong_FromUnsignedLongLong")
new_bool = _one("PyBool_FromLong")
new_float = _one("PyFloat_FromDouble", types.float64, ir.DoubleType())
new_tuple = _one("PyTuple_New")
new_text = _three("PyUnicode_DecodeUTF8")
"""Of an address, a length, and 0: an error for what is not UTF-8."""
new_ascii = _ascii()
"""Of an address and a length, where all bytes are below 128: half the time of ``new_text``."""
new_bytes = _two("PyBytes_FromStringAndSize")
item_of = _two("PyList_GetItem")
"""Borrowed."""
put_in_tuple = _three("PyTuple_SetItem", ir.IntType(32))
put_in_list = _three("PyList_SetItem", ir.IntType(32))
hold = _none("Py_IncRef")
drop = _none("Py_DecRef")
clear_error = _clear()
