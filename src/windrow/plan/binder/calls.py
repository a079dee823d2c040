"""Typed calls: the type that a function gives, and what constants become beside other values."""

from __future__ import annotations

from collections.abc import Sequence

from windrow.core.errors import BindError, Span
from windrow.core.schema import Type
from windrow.plan.binder.literals import coerce, fit_constants
from windrow.plan.expressions import OPERATORS, Call, Expression, Literal
from windrow.plan.functions import FUNCTIONS, common

SYMBOLS = {**OPERATORS, "concat": "||", "negate": "-"}


def typed_call(
    function: str, args: Sequence[Expression], spans: list[Span], span: Span
) -> Expression:
    """The call of a function; constants take the type of their neighbours first.

    ``spans`` are where the arguments stand, ``span`` is where the whole call does.
    """
    arguments = list(args)
    if function not in ("and", "or", "not", "case", "date_trunc", "is_null"):
        arguments = fit_constants(arguments, spans)
    elif function in ("and", "or", "not"):
        arguments = [null_as(a, Type.BOOLEAN) for a in arguments]
    description = FUNCTIONS[function]
    kinds = [a.type for a in arguments]
    result = description.rule(kinds)
    if result is None:
        shown = SYMBOLS.get(function, function.upper().replace("EXTRACT_", "EXTRACT "))
        raise BindError(
            f"{shown} does not take these types", span=span, expected=description.takes,
            found=" and ".join(k.value for k in kinds), remedy=_cast_hint(kinds),
        )  # fmt: skip
    if function in ("coalesce", "greatest", "least", "nullif"):
        arguments = [coerce(a, result, s) for a, s in zip(arguments, spans, strict=True)]
    elif function in ("eq", "ne", "lt", "le", "gt", "ge", "in"):
        target = common(kinds)
        if target is Type.TIMESTAMP:
            arguments = [coerce(a, target, s) for a, s in zip(arguments, spans, strict=True)]
    elif result is Type.TIMESTAMP or Type.DATE in kinds:
        arguments = [
            coerce(a, Type.TIMESTAMP, span) if a.type is Type.DATE else a for a in arguments
        ]
    return Call(function, tuple(arguments), result)


def null_as(expression: Expression, kind: Type) -> Expression:
    if isinstance(expression, Literal) and expression.value is None:
        return Literal(None, kind)
    return expression


def castable(source: Type, target: Type) -> bool:
    if Type.INTERVAL in (source, target):
        return False
    if source is target or Type.STRING in (source, target):
        return True
    times = {Type.TIMESTAMP, Type.DATE}
    return (source in times) == (target in times)


def _cast_hint(kinds: Sequence[Type]) -> str:
    """What to write when a string meets something else."""
    other = [k for k in kinds if k is not Type.STRING]
    if other and len(other) < len(kinds):
        return f"cast one side, as in CAST(... AS {other[0].value})"
    return ""


def wrong_number(function: str, takes: str, found: int, span: Span) -> BindError:
    """A function was given more or fewer arguments than it takes."""
    return BindError(
        f"wrong number of arguments for {function}", span=span, expected=takes,
        found=f"{found} argument{'' if found == 1 else 's'}",
    )  # fmt: skip
