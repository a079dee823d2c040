"""Expressions evaluated over Arrow batches, a column at a time.

One evaluator serves every operator and both runners. The functions are in
``windrow.columns.functions``; here are the forms that decide *which rows* a part is evaluated
on. A branch of CASE or a later argument of COALESCE that does not take every value (a CAST raises,
an overflow is counted) is evaluated only on the rows that take the branch; so is one that is dear,
and what is dear under AND and OR only on rows that the cheap parts leave open. Others are evaluated
on all rows, which is faster than gathering some of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
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
from windrow.core.thresholds import Threshold
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
DEAR = frozenset(regular_expressions.KERNELS)
"""Functions that take longer for a row than to find out whether the row needs them."""
MANY_ROWS = Threshold(256)
"""Rows from which on finding that out is worth it."""


def evaluate(expression: Expression, rows: Rows) -> pa.Array:
    """The expression's value for each row, of the type ``ARROW[expression.type]``."""
    if isinstance(expression, Column):
        return cast_operand(rows.column(expression.index), expression.type)
    needed = {c.index for c in columns_of(expression)}
    view = _Rows(rows.num_rows, {i: rows.column(i) for i in needed})
    return cast_operand(as_array(_value(expression, view), view.length), expression.type)


class SharedParts:
    """Several expressions over the same rows; a part that several of them have is evaluated once.

    It is evaluated on all rows, and is a column behind them for what it is a part of. A part that
    has no value for some rows stays where it stands: it is counted as often, and for the rows, as
    there.
    """

    def __init__(self, expressions: Sequence[Expression]) -> None:
        self._repeated: set[Expression] = set()
        met: set[Expression] = set()
        for expression in expressions:
            self._find_repeated(expression, met)
        self._parts: dict[Expression, tuple[int, Expression]] = {}
        self._needed = {c.index for e in expressions for c in columns_of(e)}
        self._expressions = [self._over_parts(e) for e in expressions]

    def _find_repeated(self, expression: Expression, met: set[Expression]) -> None:
        """What is inside of a repeated part counts once, unless it stands elsewhere too."""
        if not isinstance(expression, Call):
            return
        if expression in met and not is_partial(expression) and any(columns_of(expression)):
            self._repeated.add(expression)
            return
        met.add(expression)
        for part in expression.args:
            self._find_repeated(part, met)

    def _over_parts(self, expression: Expression) -> Expression:
        if not isinstance(expression, Call):
            return expression
        if expression not in self._repeated:
            return self._over_inner_parts(expression)
        if expression not in self._parts:
            inner = self._over_inner_parts(expression)
            self._parts[expression] = -1 - len(self._parts), inner
        place, _ = self._parts[expression]
        return Column(place, render(expression), expression.type)

    def _over_inner_parts(self, call: Call) -> Call:
        return replace(call, args=tuple(self._over_parts(a) for a in call.args))

    def evaluate(self, rows: Rows) -> list[pa.Array]:
        """Each expression's value for each row, as ``evaluate`` gives it."""
        if not self._parts:
            return [evaluate(e, rows) for e in self._expressions]
        view = _Rows(rows.num_rows, {i: rows.column(i) for i in self._needed})
        for place, part in self._parts.values():
            view.columns[place] = as_array(_value(part, view), view.length)
        return [
            cast_operand(as_array(_value(e, view), view.length), e.type) for e in self._expressions
        ]


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
        case "and" | "or":
            return _connect(expression, rows)
        case "not":
            return pc.invert(_truth(expression.args[0], rows))
        case _:
            return _call(expression, [_value(a, rows) for a in expression.args])


def _truth(expression: Expression, rows: _Rows) -> Operand:
    return cast_operand(_value(expression, rows), Type.BOOLEAN)


def _connect(call: Call, rows: _Rows) -> Operand:
    """AND and OR of parts, of which the dear ones are asked last, and about open rows only."""
    kleene = pc.and_kleene if call.function == "and" else pc.or_kleene
    dear = [a for a in call.args if _is_worth_avoiding(a, rows)]
    cheap = [a for a in call.args if a not in dear]
    if not dear or not cheap:
        return reduce(kleene, (_truth(a, rows) for a in call.args))
    found = as_array(reduce(kleene, (_truth(a, rows) for a in cheap)), rows.length)
    for part in dear:
        decided = found if call.function == "or" else pc.invert(found)
        still_open = np.flatnonzero(~bools(decided))
        if len(still_open) == rows.length:
            found = kleene(found, _truth(part, rows))
        elif len(still_open):
            asked = pa.array(still_open)
            values = kleene(found.take(asked), _on(part, rows, still_open, Type.BOOLEAN))
            mask = np.zeros(rows.length, np.bool_)
            mask[still_open] = True
            found = pc.replace_with_mask(found, pa.array(mask), values)
    return found


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


@lru_cache(maxsize=4096)
def is_dear(expression: Expression) -> bool:
    """Whether the expression has a value for each row, but not a cheap one."""
    return not is_partial(expression) and _has_dear_part(expression)


def _has_dear_part(expression: Expression) -> bool:
    return isinstance(expression, Call) and (
        expression.function in DEAR or any(map(_has_dear_part, expression.args))
    )


def _is_worth_avoiding(expression: Expression, rows: _Rows) -> bool:
    return rows.length >= MANY_ROWS.value and is_dear(expression)


def _case(call: Call, rows: _Rows) -> Operand:
    """``case(condition, value, ..., otherwise)``; the first condition that is true decides."""
    *pairs, otherwise = call.args
    if not any(is_partial(a) or _is_worth_avoiding(a, rows) for a in call.args):
        conditions = [
            pc.coalesce(as_array(_truth(c, rows), rows.length), pa.scalar(False))
            for c in pairs[0::2]
        ]
        values = [cast_operand(_value(v, rows), call.type) for v in (*pairs[1::2], otherwise)]
        if len(conditions) == 1:
            return pc.if_else(conditions[0], *values)
        names = [str(i) for i in range(len(conditions))]
        return pc.case_when(pa.StructArray.from_arrays(conditions, names), *values)
    branches = list(zip(pairs[0::2], pairs[1::2], strict=True))
    undecided = np.arange(rows.length, dtype=np.int64)
    parts: list[tuple[npt.NDArray[np.int64], Expression]] = []
    for condition, value in branches:
        if is_partial(condition) or _is_worth_avoiding(condition, rows):
            taken = bools(_on(condition, rows, undecided, Type.BOOLEAN))
        else:
            taken = bools(as_array(_truth(condition, rows), rows.length))[undecided]
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
