"""Rounding, roots, powers and logarithms.

Outside their domain these give what IEEE arithmetic gives: the root of -1 is NaN, the logarithm
of 0 is minus infinity.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from windrow.columns.functions.operands import Kernel, Operand, literal, row_by_row, typed
from windrow.core.schema import Type
from windrow.plan.expressions import Call

AWAY = "half_towards_infinity"  # 0.5 becomes 1 and -0.5 becomes -1


def on_doubles(compute: Callable[..., Operand]) -> Kernel:
    def kernel(args: Sequence[Operand], call: Call) -> Operand:
        return typed(compute(*(typed(a, Type.DOUBLE) for a in args)), call.type)

    return kernel


def whole(compute: Callable[[Operand], Operand]) -> Kernel:
    """FLOOR and CEIL, which leave integers as they are."""

    def kernel(args: Sequence[Operand], call: Call) -> Operand:
        if pa.types.is_integer(args[0].type):
            return typed(args[0], call.type)
        return typed(compute(args[0]), call.type)

    return kernel


def round_one(value: float, digits: int) -> float:
    rounded: float = pc.round(pa.scalar(value), digits, round_mode=AWAY).as_py()
    return rounded


def rounded(args: Sequence[Operand], call: Call) -> Operand:
    """ROUND: halves go away from zero; negative digits round before the point."""
    digits = literal(args[1]) if len(args) > 1 else 0
    value = typed(args[0], call.type)
    if digits is None:
        return row_by_row(round_one, [value, args[1]], call.type)
    return pc.round(value, digits, round_mode=AWAY)


KERNELS: dict[str, Kernel] = {
    "round": rounded,
    "floor": whole(pc.floor),
    "ceil": whole(pc.ceil),
    "sqrt": on_doubles(pc.sqrt),
    "power": on_doubles(pc.power),
    "ln": on_doubles(pc.ln),
    "log10": on_doubles(pc.log10),
    "exp": on_doubles(pc.exp),
}
