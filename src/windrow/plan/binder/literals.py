"""Constants, values taken from one type to another, and the types that CASTs name."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from math import isfinite

from sqlglot import expressions as exp

from windrow.core.errors import BindError, Span
from windrow.core.schema import Type
from windrow.core.time import FOREVER, MICROSECONDS
from windrow.cql.column_parser import DECIMAL_HINT, OTHER_TYPES, TYPES, decimal_remedy
from windrow.cql.window_parser import UNIT_OF
from windrow.plan.binder.scope import did_you_mean
from windrow.plan.decimal_types import type_of
from windrow.plan.expressions import Call, Expression, Literal
from windrow.plan.functions import common

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)
AMOUNTS = re.compile(r"([-+]?\d+(?:\.\d+)?)\s*([A-Za-z]+)")
"""Numbers with units, as in 1 hour 30 minutes."""


def number(text: str, span: Span, *, negative: bool = False) -> Literal:
    """An INT if it fits into 32 bits, a BIGINT if into 64, a DOUBLE if it has a fraction."""
    if not text.isdigit():
        written = Decimal(text).copy_negate() if negative else Decimal(text)
        nearest = float(written)
        lost = isfinite(nearest) and Decimal(repr(nearest)) != written
        return Literal(nearest, Type.DOUBLE, written if lost else None)
    value = -int(text) if negative else int(text)
    if not -(2**63) <= value < 2**63:
        raise too_large(str(value), span)
    return Literal(value, Type.INT if abs(value) < 2**31 else Type.BIGINT)


def too_large(found: str, span: Span) -> BindError:
    """A whole number that no type has."""
    return BindError(
        span=span, expected="a number of at most 64 bits", found=found,
        remedy="write it with a point at its end: a DOUBLE, or beside a DECIMAL all of its digits",
    )  # fmt: skip


def timestamp(text: str, span: Span | None) -> int:
    """ISO 8601 text as microseconds since 1970; a time without a zone is UTC."""
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError:
        raise BindError(
            span=span, expected="a TIMESTAMP such as '2024-05-01 12:00:00'", found=f"'{text}'"
        ) from None
    if re.search(r"\.\d{6}\d*[1-9]", text):
        raise BindError(
            span=span, expected="a TIMESTAMP of whole microseconds", found=f"'{text}'",
            remedy="leave the further digits out",
        )  # fmt: skip
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return (moment - EPOCH) // MICROSECOND


def day(text: str, span: Span | None) -> int:
    """ISO 8601 text as days since 1970."""
    try:
        return (date.fromisoformat(text.strip()) - EPOCH.date()).days
    except ValueError:
        raise BindError(
            span=span, expected="a DATE such as '2024-05-01'", found=f"'{text}'"
        ) from None


def interval(amount: str, unit: str, span: Span) -> Literal:
    """``INTERVAL '5' MINUTE`` as microseconds; without a unit ``'1 hour 30 minutes'``."""
    parts: list[tuple[str, str]] = [(amount, unit)] if unit else AMOUNTS.findall(amount)
    whole = bool(unit) or not AMOUNTS.sub("", amount).strip()
    lengths = [_microseconds(*part) for part in parts]
    known = [length for length in lengths if length is not None]
    if not parts or not whole or len(known) < len(lengths):
        raise BindError(
            span=span,
            expected="an INTERVAL such as INTERVAL 5 MINUTES or INTERVAL '1 hour 30 minutes'",
            found=f"{amount} {unit}".strip(), remedy=_of_calendar([word for _, word in parts]),
        )  # fmt: skip
    value = sum(known, Decimal(0))
    if abs(value) >= FOREVER:
        raise BindError(
            span=span, expected="an INTERVAL of less than 64 bits of microseconds",
            found=f"{amount} {unit}".strip(),
        )  # fmt: skip
    return Literal(int(value), Type.INTERVAL)


def _microseconds(amount: str, unit: str) -> Decimal | None:
    known = UNIT_OF.get(unit.upper())
    try:
        return Decimal(amount) * MICROSECONDS[known or ""]
    except (ArithmeticError, KeyError):
        return None


def _of_calendar(units: list[str]) -> str:
    """What to write where one of the units is not always of one length."""
    names = [unit.lower().rstrip("s") for unit in units]
    name = next((name for name in names if name in ("month", "quarter", "year")), None)
    if name is None:
        return ""
    return (
        f"a {name} has no fixed length; count DAYS, or compare what DATE_TRUNC('{name}', ...) gives"
    )


def coerce(expression: Expression, target: Type, span: Span | None) -> Expression:
    """The expression as a value of ``target``: a constant is converted now, the rest is cast."""
    if expression.type is target:
        return expression
    if is_empty_array(expression) and target.element is not None:
        return Call("array", (), target)
    if isinstance(expression, Literal):
        value = expression.value
        if value is None:
            return Literal(None, target)
        if isinstance(value, str) and target is Type.TIMESTAMP:
            return Literal(timestamp(value, span), target)
        if isinstance(value, str) and target is Type.DATE:
            return Literal(day(value, span), target)
        if isinstance(value, int) and expression.type.integral:
            if target in (Type.DOUBLE, Type.FLOAT):
                return Literal(float(value), target)
            if target is Type.BIGINT:
                return Literal(value, target)
        if isinstance(value, int | Decimal) and target.is_decimal:
            exact = type_of(Decimal(value))
            if exact is not None and common((exact, target)) is target:
                return Literal(Decimal(value), target)
    return Call("cast", (expression,), target)


def as_digits(argument: Expression) -> Expression:
    """A constant with a point as the decimal of its digits; all else as it is."""
    if not isinstance(argument, Literal) or argument.type is not Type.DOUBLE:
        return argument
    if not isinstance(argument.value, float) or not isfinite(argument.value):
        return argument
    value = argument.digits or Decimal(repr(argument.value))
    kind = type_of(value)
    return argument if kind is None else Literal(value, kind)


def is_empty_array(expression: Expression) -> bool:
    """Whether it is ``[]``, which takes the type of any ARRAY beside it."""
    return isinstance(expression, Call) and expression.function == "array" and not expression.args


def fit_constants(
    arguments: list[Expression], spans: list[Span], *, read_times: bool = True
) -> list[Expression]:
    """Constants given the type that their neighbours have: NULL, times written as strings unless
    strings are what is wanted, and numbers with a point beside decimals.
    """
    typed = [
        a.type
        for a in arguments
        if not (isinstance(a, Literal) and a.value is None) and not is_empty_array(a)
    ]
    times = [t for t in typed if read_times and t in (Type.TIMESTAMP, Type.DATE)]
    if not typed:
        return arguments
    if any(t.is_decimal for t in typed):
        arguments = [as_digits(a) for a in arguments]
    lead = (times or typed)[0]
    return [
        coerce(argument, lead, span)
        if is_empty_array(argument)
        or (
            isinstance(argument, Literal)
            and (argument.value is None or (times and argument.type is Type.STRING))
        )
        else argument
        for argument, span in zip(arguments, spans, strict=True)
    ]


SYNONYMS = {"TIMESTAMPTZ": "TIMESTAMP", "DATETIME": "TIMESTAMP", "FLOAT8": "DOUBLE"}
NESTED = (exp.DType.ARRAY, exp.DType.STRUCT)
DECIMAL = re.compile(r"(?:DECIMAL|NUMERIC)\((\d+)(?:,\s*(\d+))?\)")


def cast_target(node: exp.Expr, span: Span) -> Type:
    """The type of SQLGlot's node; BindError if there is none."""
    if isinstance(node, exp.DataType) and node.this in NESTED:
        inner = [_field(part, span) for part in node.expressions]
        if inner and node.this is exp.DType.ARRAY:
            return Type.array(inner[0][1])
        if inner and all(name for name, _ in inner):
            return Type.struct(inner)
        raise BindError(
            span=span, expected="ARRAY<BIGINT>, BIGINT[] or STRUCT<a BIGINT, b STRING>",
            found=node.sql(),
        )  # fmt: skip
    text = node.sql().upper()
    name = text.split("(")[0]
    if digits := DECIMAL.fullmatch(text):
        precision, scale = int(digits[1]), int(digits[2] or 0)
        try:
            return Type.decimal(precision, scale)
        except ValueError:
            raise BindError(
                span=span, expected=DECIMAL_HINT, found=text,
                remedy=decimal_remedy(precision, scale),
            ) from None  # fmt: skip
    target = TYPES.get(SYNONYMS.get(name, name))
    if target is None:
        decimal = name in ("DECIMAL", "NUMERIC")
        raise BindError(
            span=span, expected=DECIMAL_HINT if decimal else "a type that CQL has", found=name,
            remedy="" if decimal else OTHER_TYPES.get(name) or did_you_mean(name, TYPES),
        )  # fmt: skip
    return target


def _field(node: exp.Expr, span: Span) -> tuple[str, Type]:
    """A field of a STRUCT, or the values of an ARRAY, which have no name."""
    if isinstance(node, exp.ColumnDef):
        return node.name, cast_target(node.args["kind"], span)
    return "", cast_target(node, span)
