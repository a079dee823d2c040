"""Typed scalar expressions: a column, a literal, or a call. Nothing else.

``Call.function`` is one of the names in ``windrow.plan.functions``, or ``name@module:function`` for
one of the user's own; CASE is ``case(condition, value, ..., otherwise)``, CAST is ``cast(x)`` with
the target in ``type``, IN is ``in(x, literal, ...)``. BETWEEN is already two comparisons here.
``a[i]`` is ``element(a, i)``, ``s.name`` is ``field(s, 'name')``; ``struct(...)`` has its names in
``type``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal

from windrow.core.schema import Schema, Type

ARRAYS = "[]"
"""What the function of a call ends in if it is one of the user's own and takes Arrow arrays."""
Value = bool | int | float | Decimal | str | None
"""TIMESTAMP and INTERVAL literals are integer microseconds, DATE literals days since 1970."""


@dataclass(frozen=True)
class Column:
    """The ``index``-th column of the operator's input (of a join: left columns, then right)."""

    index: int
    name: str
    type: Type


@dataclass(frozen=True)
class Literal:
    """A constant. 0.0 is not -0.0, which looks different as text.

    ``digits`` is what a DOUBLE was written as, where that has more digits than a DOUBLE.
    """

    value: Value
    type: Type
    digits: Decimal | None = field(default=None, repr=False)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Literal):
            return NotImplemented
        same = (self.value, self.type) == (other.value, other.type)
        return same and str(self.value) == str(other.value)

    def __hash__(self) -> int:
        return hash((self.value, self.type))


@dataclass(frozen=True)
class Call:
    """A function of other expressions."""

    function: str
    args: tuple[Expression, ...]
    type: Type


Expression = Column | Literal | Call


@dataclass(frozen=True)
class Named:
    """An expression and the name (and, for a bare column, the qualifier) of its result."""

    name: str
    expression: Expression
    qualifier: str | None = None


def columns_of(expression: Expression) -> Iterator[Column]:
    """Every column reference in the expression, from left to right."""
    if isinstance(expression, Column):
        yield expression
    elif isinstance(expression, Call):
        for arg in expression.args:
            yield from columns_of(arg)


def replace_columns(expression: Expression, change: Callable[[Column], Expression]) -> Expression:
    """The expression with every column reference passed through ``change``; itself if all stay."""
    if isinstance(expression, Column):
        return change(expression)
    if isinstance(expression, Call):
        args = tuple(replace_columns(a, change) for a in expression.args)
        same = all(new is old for new, old in zip(args, expression.args, strict=True))
        return expression if same else replace(expression, args=args)
    return expression


def shift_columns(expression: Expression, by: int) -> Expression:
    """The expression over columns that stand ``by`` places further right."""
    return replace_columns(expression, lambda c: replace(c, index=c.index + by))


def conjuncts(predicate: Expression) -> tuple[Expression, ...]:
    """The parts of a conjunction, flattened."""
    if isinstance(predicate, Call) and predicate.function == "and":
        return tuple(part for arg in predicate.args for part in conjuncts(arg))
    return (predicate,)


def conjunction(parts: tuple[Expression, ...]) -> Expression | None:
    """All the parts joined by AND; None if there are none."""
    return connect("and", parts) if parts else None


def connect(function: str, parts: tuple[Expression, ...]) -> Expression:
    """At least one part, joined by AND or OR into a tree of logarithmic depth."""
    if len(parts) == 1:
        return parts[0]
    middle = (len(parts) + 1) // 2
    halves = (connect(function, parts[:middle]), connect(function, parts[middle:]))
    return Call(function, halves, Type.BOOLEAN)


OPERATORS = {
    "add": "+", "subtract": "-", "multiply": "*", "divide": "/", "modulo": "%",
    "eq": "=", "ne": "<>", "lt": "<", "le": "<=", "gt": ">", "ge": ">=",
    "and": "AND", "or": "OR", "like": "LIKE", "ilike": "ILIKE",
}  # fmt: skip


def render(expression: Expression, schema: Schema | None = None) -> str:
    """The expression as SQL text, for EXPLAIN and error messages.

    >>> a = Column(0, "a", Type.INT)
    >>> render(Call("gt", (a, Literal(3, Type.INT)), Type.BOOLEAN))
    'a > 3'
    """
    if isinstance(expression, Column):
        return str(schema[expression.index]) if schema else expression.name
    if isinstance(expression, Literal):
        if expression.value is None:
            return "NULL"
        return _constant(expression.value, expression.type)
    args = [render(a, schema) for a in expression.args]
    wrapped = [
        f"({text})" if isinstance(a, Call) and a.function in OPERATORS else text
        for a, text in zip(expression.args, args, strict=True)
    ]
    match expression.function:
        case name if name in OPERATORS:
            if name in ("and", "or"):  # a chain of one of them needs no parentheses of its own
                other = "or" if name == "and" else "and"
                flat = (
                    t if isinstance(a, Call) and a.function != other else w
                    for a, t, w in zip(expression.args, args, wrapped, strict=True)
                )
                return f" {name.upper()} ".join(flat)
            escape = f" ESCAPE {args[2]}" if name in ("like", "ilike") and len(args) > 2 else ""
            return f" {OPERATORS[name]} ".join(wrapped[:2]) + escape
        case "not":
            return f"NOT ({args[0]})"
        case "negate":
            return f"-{wrapped[0]}"
        case "is_null":
            return f"{wrapped[0]} IS NULL"
        case "in":
            return f"{wrapped[0]} IN ({', '.join(args[1:])})"
        case "cast":
            return f"CAST({args[0]} AS {expression.type.value})"
        case "case":
            pairs = zip(args[0:-1:2], args[1:-1:2], strict=True)
            whens = " ".join(f"WHEN {c} THEN {v}" for c, v in pairs)
            return f"CASE {whens} ELSE {args[-1]} END"
        case name if "@" in name:  # one of the user's own
            return f"{name.partition('@')[0]}({', '.join(args)})"
        case name:
            return _nested(expression, args, wrapped) or f"{name.upper()}({', '.join(args)})"


def _nested(call: Call, args: list[str], wrapped: list[str]) -> str:
    """ARRAYs, STRUCTs and what is taken out of them; nothing for other calls."""
    match call.function:
        case "any_equal":
            return f"{args[1]} = ANY({args[0]})"
        case "array":
            return f"ARRAY[{', '.join(args)}]"
        case "element":
            return f"{wrapped[0]}[{args[1]}]"
        case "field":
            return f"{wrapped[0]}.{args[1][1:-1]}"
        case "struct":
            parts = (f"'{n}': {t}" for (n, _), t in zip(call.type.fields, args, strict=True))
            return f"{{{', '.join(parts)}}}"
    return ""


def _constant(value: bool | int | float | Decimal | str, kind: Type) -> str:
    """Times as people write them, not as they are counted."""
    match value:
        case str():
            return "'" + value.replace("'", "''") + "'"
        case bool():
            return str(value).upper()
        case Decimal():
            return f"{value:f}"
    epoch = datetime(1970, 1, 1, tzinfo=UTC)
    try:
        if kind is Type.TIMESTAMP:
            moment = epoch + timedelta(microseconds=value)
            return f"TIMESTAMP '{moment.replace(tzinfo=None).isoformat(' ')}'"
        if kind is Type.DATE:
            return f"DATE '{(epoch + timedelta(days=value)).date().isoformat()}'"
    except OverflowError:  # beyond the year 9999
        return str(value)
    return f"INTERVAL {value} MICROSECONDS" if kind is Type.INTERVAL else str(value)
