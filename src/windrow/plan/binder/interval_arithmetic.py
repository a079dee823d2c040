"""INTERVALs beside numbers: multiplied by them, and compared with a difference of times.

An INTERVAL is a length of time, and an integer has no unit. So they go together only where the unit
is known: ``n * INTERVAL 1 HOUR`` is n hours, and a difference of TIMESTAMPs is in microseconds.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

from windrow.core.errors import BindError, Span
from windrow.core.schema import Type
from windrow.core.time import FOREVER, Clock, ticks
from windrow.plan.expressions import Call, Expression, Literal

COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge", "in")
SUMS = ("add", "subtract")
TIMES = (Type.TIMESTAMP, Type.DATE)


def fit_intervals(function: str, arguments: list[Expression], span: Span) -> list[Expression]:
    """The arguments of a call; beside a difference of times an INTERVAL is its microseconds."""
    if not any(a.type is Type.INTERVAL for a in arguments):
        return arguments
    if function in (*COMPARISONS, *SUMS) and any(_is_difference(a) for a in arguments):
        return [_microseconds(a) for a in arguments]
    if any(a.type.integral for a in arguments) and function in (*COMPARISONS, *SUMS):
        raise _without_unit(function, arguments, span)
    return arguments


def constant_multiple(function: str, arguments: Sequence[Expression], span: Span) -> Literal | None:
    """A constant times an INTERVAL that is one; None for all else."""
    if function != "multiply" or {a.type is Type.INTERVAL for a in arguments} != {True, False}:
        return None
    values = [a.value for a in arguments if isinstance(a, Literal)]
    if len(values) < 2 or not all(isinstance(v, int | float | Decimal) for v in values):
        return None
    product = Decimal(str(values[0])) * Decimal(str(values[1]))
    if not product.is_finite() or abs(product) >= FOREVER:
        raise BindError(
            span=span, expected="an INTERVAL of less than 64 bits of microseconds",
            found=f"{product} of them",
        )  # fmt: skip
    return Literal(int(product), Type.INTERVAL)


def interval_remedy(function: str, kinds: Sequence[Type]) -> str:
    """What to write for a call that does not take its INTERVAL; empty if there is none."""
    if function in ("add", "subtract") and any(kind in TIMES for kind in kinds):
        return "write t + INTERVAL 1 DAY" if any(kind.numeric for kind in kinds) else ""
    if Type.INTERVAL not in kinds:
        return ""
    if function == "multiply" and any(kind.numeric for kind in kinds):
        return "of columns only integers count an INTERVAL: write CAST(x AS BIGINT) * INTERVAL ..."
    if function == "divide" and kinds[0] is Type.INTERVAL:
        return "write a fraction of it: 0.5 * INTERVAL 1 HOUR"
    if function == "divide":
        return "divide by a number: a difference of TIMESTAMPs is in microseconds"
    return ""


def _is_difference(expression: Expression) -> bool:
    """Whether it is a number of microseconds between two times, or made of one."""
    if not isinstance(expression, Call) or expression.function not in ("abs", "negate", *SUMS):
        return False
    if expression.function == "subtract" and all(a.type in TIMES for a in expression.args):
        return True
    return any(_is_difference(a) for a in expression.args)


def _microseconds(expression: Expression) -> Expression:
    if expression.type is not Type.INTERVAL:
        return expression
    if isinstance(expression, Literal):
        return Literal(expression.value, Type.BIGINT)
    return Call("cast", (expression,), Type.BIGINT)


def _without_unit(function: str, arguments: Sequence[Expression], span: Span) -> BindError:
    known = [a.value for a in arguments if a.type is Type.INTERVAL and isinstance(a, Literal)]
    micros = known[0] if known and isinstance(known[0], int) else None
    seconds = None if micros is None else ticks(micros, Clock.INTEGER)
    remedy = "where time is an integer it counts seconds: write " + (
        "their number" if seconds is None else f"{seconds} for the INTERVAL"
    )
    if function in COMPARISONS:
        length = "" if micros is None else f": {micros}"
        remedy += f"; a difference of TIMESTAMPs that has a name is in microseconds{length}"
    return BindError(
        "an integer has no unit of time, so it does not go with an INTERVAL", span=span,
        expected="a TIMESTAMP beside the INTERVAL",
        found=" and ".join(a.type.value for a in arguments), remedy=remedy,
    )  # fmt: skip
