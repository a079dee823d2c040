"""Expressions evaluated over Arrow batches, a column at a time.

One evaluator serves every operator and both runners. The functions are in
``windrow.columns.functions``; here are the forms that decide *which rows* a part is evaluated
on. A branch of CASE or a later argument of COALESCE that does not take every value (a CAST raises,
an overflow is counted) is evaluated only on the rows that take the branch; others are evaluated on
all rows, which is faster than gathering some of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache, reduce
from typing import TypeGuard

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from windrow.columns.delta import Rows
from windrow.columns.functions import (
    arithmetic,
    casts,
    comparison,
    json_access,
    nested,
    regular_expressions,
    single_rows,
    sort_pairs,
    strings,
    times,
)
from windrow.columns.functions.operands import (
    Kernel,
    Operand,
    as_array,
    bools,
    cast_operand,
    null,
)
from windrow.columns.functions.python_functions import python_kernel
from windrow.columns.types import ARROW
from windrow.core.errors import DataError
from windrow.core.schema import Type
from windrow.plan.expressions import Call, Column, Expression, Literal, columns_of, render

KERNELS: dict[str, Kernel] = {
    **arithmetic.KERNELS,
    **comparison.KERNELS,
    **strings.KERNELS,
    **times.KERNELS,
    **casts.KERNELS,
    **regular_expressions.KERNELS,
    **json_access.KERNELS,
    **sort_pairs.KERNELS,
    **nested.KERNELS,
    **single_rows.KERNELS,
}

CONNECTED = {"and": np.logical_and, "or": np.logical_or}
"""What they are of masks, in which NULL is false: right as long as nothing else is above them."""
PARTIAL = frozenset((
    "add", "subtract", "multiply", "divide", "negate", "abs", "cast", "round", "single_row",
))  # fmt: skip
"""Functions that raise for some values, or are NULL for them and count that."""


def evaluate(expression: Expression, rows: Rows) -> pa.Array:
    """The expression's value for each row, of the type ``ARROW[expression.type]``."""
    if isinstance(expression, Column):
        return cast_operand(rows.column(expression.index), expression.type)
    needed = {c.index for c in columns_of(expression)}
    view = _Rows(rows.num_rows, {i: rows.column(i) for i in needed})
    return cast_operand(as_array(_value(expression, view), view.length), expression.type)


def selection_mask(predicate: Expression, rows: Rows) -> npt.NDArray[np.bool_]:
    """Which rows satisfy the predicate; NULL does not."""
    return bools(evaluate(predicate, rows))


class SelectionMasks:
    """Many predicates over the same rows, of which None selects all.

    What several have in common under AND and OR is evaluated once, unless it may be counted: then
    it is counted as often as it stands there.
    """

    def __init__(self, predicates: Sequence[Expression | None]) -> None:
        self._parts: list[tuple[Expression, tuple[int, ...]]] = []
        known: dict[Expression, int] = {}
        self._lines = [None if p is None else self._number(p, known) for p in predicates]

    def _number(self, predicate: Expression, known: dict[Expression, int]) -> int:
        """The place of a predicate among the parts, behind those that it is made of."""
        if predicate in known and not is_partial(predicate):
            return known[predicate]
        operands: tuple[int, ...] = ()
        if _is_connected(predicate) and not is_partial(predicate):
            operands = tuple(self._number(part, known) for part in predicate.args)
        known[predicate] = len(self._parts)
        self._parts.append((predicate, operands))
        return known[predicate]

    def evaluate(self, rows: pa.RecordBatch) -> npt.NDArray[np.bool_]:
        """Which rows satisfy each of the predicates: a line for each of these."""
        masks: list[npt.NDArray[np.bool_]] = []
        for part, operands in self._parts:
            if operands:
                assert _is_connected(part)
                masks.append(reduce(CONNECTED[part.function], (masks[o] for o in operands)))
            else:
                masks.append(selection_mask(part, rows))
        found = np.ones((len(self._lines), rows.num_rows), np.bool_)
        for line, place in zip(found, self._lines, strict=True):
            if place is not None:
                line[:] = masks[place]
        return found


def _is_connected(predicate: Expression) -> TypeGuard[Call]:
    return isinstance(predicate, Call) and predicate.function in CONNECTED


@dataclass(frozen=True)
class _Rows:
    """The rows under evaluation; columns that the expression does not read may be missing."""

    length: int
    columns: dict[int, pa.Array]

    def take(self, indices: pa.Array, expression: Expression) -> _Rows:
        needed = {c.index for c in columns_of(expression)}
        return _Rows(len(indices), {i: self.columns[i].take(indices) for i in needed})


def _value(expression: Expression, rows: _Rows) -> Operand:
    if isinstance(expression, Column):
        return rows.columns[expression.index]
    if isinstance(expression, Literal):
        return pa.scalar(expression.value, ARROW[expression.type])
    match expression.function:
        case "case":
            return _case(expression, rows)
        case "coalesce":
            return _coalesce(expression, rows)
        case "and":
            return reduce(pc.and_kleene, (_truth(a, rows) for a in expression.args))
        case "or":
            return reduce(pc.or_kleene, (_truth(a, rows) for a in expression.args))
        case "not":
            return pc.invert(_truth(expression.args[0], rows))
        case _:
            return _call(expression, [_value(a, rows) for a in expression.args])


def _truth(expression: Expression, rows: _Rows) -> Operand:
    return cast_operand(_value(expression, rows), Type.BOOLEAN)


def _call(call: Call, args: Sequence[Operand]) -> Operand:
    constant = bool(args) and all(isinstance(a, pa.Scalar) for a in args)
    if constant:  # kernels want one array at least
        args = [as_array(a, 1) for a in args]
    try:
        kernel = KERNELS.get(call.function) or python_kernel(call.function)
        result = kernel(args, call)
    except (pa.ArrowInvalid, OverflowError) as error:
        raise DataError(
            where=render(call),
            expected=f"a result that fits {call.type.value}",
            found=str(error).splitlines()[0],
            remedy="compute it on DOUBLE, or exclude such rows with WHERE or CASE",
        ) from error
    return result[0] if constant and not isinstance(result, pa.Scalar) else result


@lru_cache(maxsize=4096)
def is_partial(expression: Expression) -> bool:
    """Whether the expression has no value for some rows."""
    return isinstance(expression, Call) and (
        expression.function in PARTIAL
        or "@" in expression.function
        or any(is_partial(a) for a in expression.args)
    )


def _case(call: Call, rows: _Rows) -> Operand:
    """``case(condition, value, ..., otherwise)``; the first condition that is true decides."""
    *pairs, otherwise = call.args
    if not any(is_partial(a) for a in call.args):
        conditions = [
            pc.coalesce(as_array(_truth(c, rows), rows.length), pa.scalar(False))
            for c in pairs[0::2]
        ]
        values = [cast_operand(_value(v, rows), call.type) for v in (*pairs[1::2], otherwise)]
        names = [str(i) for i in range(len(conditions))]
        return pc.case_when(pa.StructArray.from_arrays(conditions, names), *values)
    branches = list(zip(pairs[0::2], pairs[1::2], strict=True))
    undecided = np.arange(rows.length, dtype=np.int64)
    parts: list[tuple[npt.NDArray[np.int64], Expression]] = []
    for condition, value in branches:
        holds = _on(condition, rows, undecided, Type.BOOLEAN)
        taken = bools(holds)
        parts.append((undecided[taken], value))
        undecided = undecided[~taken]
    parts.append((undecided, otherwise))
    return _gather(parts, rows, call.type)


def _coalesce(call: Call, rows: _Rows) -> Operand:
    first, *others = call.args
    result = as_array(cast_operand(_value(first, rows), call.type), rows.length)
    for other in others:
        if not result.null_count:
            break
        if is_partial(other):
            missing = np.flatnonzero(bools(pc.is_null(result)))
            values = _on(other, rows, missing, call.type)
            places = np.arange(rows.length)
            places[missing] = rows.length + np.arange(len(missing))
            result = pa.concat_arrays([result, values]).take(pa.array(places))
        else:
            result = pc.coalesce(result, cast_operand(_value(other, rows), call.type))
    return result


def _on(
    expression: Expression, rows: _Rows, indices: npt.NDArray[np.int64], kind: Type
) -> pa.Array:
    """The expression on some of the rows only."""
    if len(indices) == 0:
        return pa.array([], ARROW[kind])
    part = rows if len(indices) == rows.length else rows.take(pa.array(indices), expression)
    return as_array(cast_operand(_value(expression, part), kind), part.length)


def _gather(
    parts: Sequence[tuple[npt.NDArray[np.int64], Expression]], rows: _Rows, kind: Type
) -> Operand:
    """Each part's values at the places of its rows; the parts cover every row once."""
    if rows.length == 0:
        return null(kind)
    values = pa.concat_arrays([_on(value, rows, indices, kind) for indices, value in parts])
    places = np.concatenate([indices for indices, _ in parts])
    order = np.empty(rows.length, np.int64)
    order[places] = np.arange(rows.length)
    return values.take(pa.array(order))
