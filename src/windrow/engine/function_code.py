"""Whether two Python functions are the same code: what a cell of a notebook defines when it is run
again is another object, though nothing of it has changed.

Two functions are the same if their instructions, constants, defaults, closures and globals are, at
whatever lines they stand. Globals are one dictionary, which both look into when they are called, so
what is in there need not be compared. When in doubt they are not the same.
"""

from __future__ import annotations

from collections.abc import Callable
from types import CodeType, FunctionType
from typing import Any


def is_same_code(function: Callable[..., Any], other: Callable[..., Any]) -> bool:
    """Whether calls of one and of the other do the same.

    >>> is_same_code(lambda x: x / 2, lambda x: x / 2), is_same_code(lambda x: x, lambda x: -x)
    (True, False)
    """
    if function is other:
        return True
    if not isinstance(function, FunctionType) or not isinstance(other, FunctionType):
        return False
    return (
        function.__globals__ is other.__globals__
        and _instructions(function.__code__) == _instructions(other.__code__)
        and _is_alike(function.__defaults__, other.__defaults__)
        and _is_alike(function.__kwdefaults__, other.__kwdefaults__)
        and _is_alike(_closure(function), _closure(other))
    )


def _instructions(code: CodeType) -> tuple[object, ...]:
    """What the interpreter carries out, without the places of its lines."""
    return (
        code.co_code, code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars,
        code.co_flags, code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount,
        code.co_exceptiontable, tuple(map(_constant, code.co_consts)),
    )  # fmt: skip


def _constant(value: object) -> object:
    """A constant as something to compare: 1, 1.0 and True are different ones."""
    return _instructions(value) if isinstance(value, CodeType) else (type(value), repr(value))


def _closure(function: FunctionType) -> list[object]:
    try:
        return [cell.cell_contents for cell in function.__closure__ or ()]
    except ValueError:  # a cell that is still empty
        return [object()]


def _is_alike(one: object, other: object) -> bool:
    """Whether two values are one, or of the same plain types and equal."""
    if one is other:
        return True
    if type(one) is not type(other):
        return False
    if isinstance(one, FunctionType) and isinstance(other, FunctionType):
        return is_same_code(one, other)
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(_is_alike, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return list(one) == list(other) and _is_alike([*one.values()], [*other.values()])
    return isinstance(one, bool | int | float | str | bytes) and repr(one) == repr(other)
