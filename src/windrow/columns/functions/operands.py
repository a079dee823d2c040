"""What a kernel is given and gives back.

A kernel takes the values of a call's arguments and the call itself, and returns the call's
value. Literals stay scalars for as long as they can, so that ``a > 3`` never builds a column of
threes. At least one operand of every call is an array.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from windrow.columns.arrays import validity
from windrow.columns.decimal_numbers import to_doubles, to_scale
from windrow.columns.nested_arrays import is_nested, list_array, list_lengths, struct_array
from windrow.columns.types import ARROW
from windrow.core.schema import Type
from windrow.plan.expressions import Call

Operand: TypeAlias = pa.Array | pa.Scalar
Kernel: TypeAlias = Callable[[Sequence[Operand], Call], Operand]


def cast_operand(operand: Operand, kind: Type) -> Operand:
    """The operand in another type of the same kind: wider or narrower, never parsed.

    A number becomes the nearest double; Arrow's own check would refuse integers beyond 2**53.
    """
    target = ARROW[kind]
    if operand.type == target:
        return operand
    if is_nested(target):
        return _cast_nested(operand, kind)
    if pa.types.is_decimal(target) or pa.types.is_decimal(operand.type):
        return _cast_decimals(operand, target)
    return pc.cast(operand, target, safe=not pa.types.is_floating(target))


def _cast_decimals(operand: Operand, target: pa.DataType) -> Operand:
    values = pa.repeat(operand, 1) if isinstance(operand, pa.Scalar) else operand
    if pa.types.is_floating(target):
        found = pc.cast(to_doubles(values), target)
    elif pa.types.is_decimal(target):
        found = to_scale(values, target)
    else:
        found = pc.cast(values, target)
    return found[0] if isinstance(operand, pa.Scalar) else found


def _cast_nested(operand: Operand, kind: Type) -> Operand:
    """What is inside, in other types."""
    values = pa.repeat(operand, 1) if isinstance(operand, pa.Scalar) else operand
    if kind.element is not None:
        items = cast_operand(values.flatten(), kind.element)
        found = list_array(list_lengths(values), items, validity(values), ARROW[kind])
    else:
        kinds = [inner for _, inner in kind.fields]
        fields = [cast_operand(f, k) for f, k in zip(values.flatten(), kinds, strict=True)]
        found = struct_array(fields, validity(values), ARROW[kind])
    return found[0] if isinstance(operand, pa.Scalar) else found


def as_array(operand: Operand, length: int) -> pa.Array:
    """The operand as a column of ``length`` rows."""
    if isinstance(operand, pa.Scalar):
        return pa.repeat(operand, length) if length else pa.array([], operand.type)
    return operand


def length_of(args: Sequence[Operand]) -> int:
    """How many rows the arrays among the operands have."""
    return next(len(a) for a in args if not isinstance(a, pa.Scalar))


def literal(operand: Operand) -> Any | None:
    """The Python value of a literal operand that is not NULL; None for all else."""
    return operand.as_py() if isinstance(operand, pa.Scalar) else None


def null(kind: Type) -> pa.Scalar:
    return pa.scalar(None, ARROW[kind])


def row_by_row(function: Callable[..., Any], args: Sequence[Operand], kind: Type) -> pa.Array:
    """``function`` applied to the Python values of each row, NULL if one of them is NULL.

    The slow way out, for arguments that Arrow's kernels want constant and that are columns.
    """
    length = length_of(args)
    columns = [as_array(a, length).to_pylist() for a in args]
    values = (
        None if any(v is None for v in row) else function(*row)
        for row in zip(*columns, strict=True)
    )
    return pa.array(values, ARROW[kind], size=length)


def has_nan(operand: Operand) -> bool:
    """Whether a floating-point operand holds a NaN."""
    found = pc.is_nan(operand)
    return bool((found if isinstance(found, pa.Scalar) else pc.any(found)).as_py())


def bools(array: pa.Array) -> npt.NDArray[np.bool_]:
    """A boolean column as numpy, NULL as False."""
    if array.null_count:
        array = array.fill_null(False)
    result: npt.NDArray[np.bool_] = array.to_numpy(zero_copy_only=False)
    return result
