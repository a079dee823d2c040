"""Functions of the user's own, in Python, called by row or by column.

A call's function is ``name@module:function``, and ends in ``[]`` if it takes Arrow arrays. It is
imported where it is first evaluated, which on Spark is a worker. Nothing is evaluated from text: a
location names a module and what is in it. A callable that no module has is registered under a
location of its own, and lives as long as this process.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from datetime import date, datetime
from decimal import Decimal
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from windrow.columns.decimal_casts import cast_to_decimals
from windrow.columns.functions.operands import Kernel, Operand, as_array, length_of, row_by_row
from windrow.columns.types import ARROW
from windrow.core.errors import DataError, InputError
from windrow.core.schema import Type
from windrow.plan.expressions import ARRAYS, Call, render

REGISTERED = "registered"
"""The module of callables that no module has."""
_registered: dict[str, Callable[..., Any]] = {}


def register(name: str, function: Callable[..., Any]) -> str:
    """A location for a callable of this process."""
    location = f"{REGISTERED}:{name}_{len(_registered) + 1}"
    _registered[location] = function
    return location


def registered_at(location: str) -> Callable[..., Any] | None:
    """The callable of this process that has the location, if one has."""
    return _registered.get(location)


def location_of(function: Callable[..., Any]) -> str | None:
    """Where others can import the function from; None if they cannot."""
    module, name = getattr(function, "__module__", None), getattr(function, "__qualname__", "<>")
    if module in (None, "__main__") or "<" in name:
        return None
    try:
        found = load_function(f"{module}:{name}")
    except InputError:
        return None
    return f"{module}:{name}" if found is function else None


def load_function(location: str) -> Callable[..., Any]:
    """The function at ``module:function``; InputError says which part of it there is not."""
    if location in _registered:
        return _registered[location]
    module, _, path = location.partition(":")
    try:
        found: Any = importlib.import_module(module)
    except Exception as error:  # whatever the module's own code raises
        raise InputError(
            where=f"function '{location}'", expected=f"a module {module} that can be imported",
            found=f"{type(error).__name__}: {error}",
            remedy="put its directory on PYTHONPATH; on Spark send it to the workers with "
            "--py-files",
        ) from error  # fmt: skip
    for part in path.split("."):
        found = getattr(found, part, None)
    if not callable(found):
        raise InputError(
            where=f"function '{location}'", expected=f"a function {path} in {module}",
            found="none" if found is None else type(found).__name__,
            remedy="write 'module:function' as it is defined there",
        )  # fmt: skip
    function: Callable[..., Any] = found
    return function


@lru_cache(maxsize=256)
def python_kernel(name: str) -> Kernel:
    """The kernel of a call's function."""
    location = name.partition("@")[2]
    try:
        function = load_function(location.removesuffix(ARRAYS))
    except InputError as error:  # not here, though where the script was compiled
        raise DataError(
            where=error.where, expected=error.expected, found=error.found, remedy=error.remedy
        ) from error
    return _by_column(function) if location.endswith(ARRAYS) else _by_row(function)


def is_of_type(value: object, kind: Type) -> bool:
    """Whether a Python value is one of the type; Arrow would cut 1.5 to an integer."""
    if kind.element is not None:
        inside = value if isinstance(value, list | tuple) else None
        return inside is not None and all(v is None or is_of_type(v, kind.element) for v in inside)
    if kind.fields:
        return isinstance(value, dict) and all(
            value.get(name) is None or is_of_type(value[name], inner) for name, inner in kind.fields
        )
    if kind.is_decimal:
        return isinstance(value, Decimal | int) and not isinstance(value, bool)
    match kind:
        case Type.BOOLEAN:
            return isinstance(value, bool | np.bool_)
        case Type.INT | Type.BIGINT:
            return isinstance(value, int | np.integer) and not isinstance(value, bool)
        case Type.FLOAT | Type.DOUBLE:
            return isinstance(value, int | float | np.number) and not isinstance(value, bool)
        case Type.TIMESTAMP:
            return isinstance(value, datetime)
        case Type.DATE:
            return isinstance(value, date) and not isinstance(value, datetime)
    return isinstance(value, str)


def _by_row(function: Callable[..., Any]) -> Kernel:
    """Called with Python values; not called where one of them is NULL."""

    def kernel(args: Sequence[Operand], call: Call) -> Operand:
        def one(*values: Any) -> Any:
            try:
                result = function(*values)
            except Exception as error:
                raise _failure(call, error, f" of {', '.join(map(repr, values))}") from error
            if result is not None and not is_of_type(result, call.type):
                raise _wrong_result(call, repr(result))
            return result

        try:
            return row_by_row(one, args, call.type)
        except (pa.ArrowException, OverflowError, UnicodeEncodeError) as error:  # out of range
            raise _wrong_result(call, str(error).splitlines()[0]) from error

    return kernel


def _by_column(function: Callable[..., Any]) -> Kernel:
    """Called with Arrow arrays of one length; gives an array of that length."""

    def kernel(args: Sequence[Operand], call: Call) -> Operand:
        count = length_of(args)
        try:
            found = function(*(as_array(a, count) for a in args))
        except Exception as error:
            raise _failure(call, error, "") from error
        if isinstance(found, pa.ChunkedArray):
            found = found.combine_chunks()
        elif isinstance(found, np.ndarray):
            found = pa.array(found)
        if not isinstance(found, pa.Array):
            raise _wrong_result(call, type(found).__name__)
        if len(found) != count:
            raise _wrong_result(call, f"{len(found)} values for {count} rows")
        cast = cast_to_decimals if pa.types.is_decimal(found.type) else pc.cast
        try:
            return cast(found, ARROW[call.type])
        except pa.ArrowException as error:
            raise _wrong_result(call, str(error).splitlines()[0]) from error

    return kernel


def _failure(call: Call, error: Exception, values: str) -> DataError:
    return DataError(
        where=render(call), expected=f"a value{values}",
        found=f"{type(error).__name__}: {error}",
        remedy="let the function return None for such values, or exclude them with WHERE or CASE",
    )  # fmt: skip


def _wrong_result(call: Call, found: str) -> DataError:
    return DataError(
        where=render(call), expected=f"{call.type.value}, as the function was declared",
        found=found, remedy="declare what it returns, or convert it there",
    )  # fmt: skip
