"""TO_TIMESTAMP and STRFTIME: seconds since 1970 as times, and times as texts in a format.

A format has the directives that the binder lets pass, which mean the same in C, Python and DuckDB;
names of days and months are English.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from windrow.columns.functions.operands import Kernel, Operand, cast_operand
from windrow.columns.functions.regular_expressions import constant
from windrow.columns.types import ARROW
from windrow.core.schema import Type
from windrow.core.time import MICROSECONDS
from windrow.plan.expressions import Call

SECOND = MICROSECONDS["SECOND"]
MOST = (2**63 - 1) // SECOND
"""Seconds that a TIMESTAMP can be away from 1970."""
FRACTION = "%f"


def to_timestamp(args: Sequence[Operand], call: Call) -> Operand:
    """The time so many seconds after 1970, to the nearest microsecond; NULL where there is none."""
    if call.args[0].type.integral:
        seconds = cast_operand(args[0], Type.BIGINT)
        whole = pc.multiply(_within_reach(seconds), SECOND)
    else:
        seconds = cast_operand(args[0], Type.DOUBLE)
        micros = pc.round(pc.multiply(_within_reach(seconds), float(SECOND)))
        whole = pc.cast(micros, pa.int64())
    return pc.cast(whole, ARROW[Type.TIMESTAMP])


def _within_reach(seconds: Operand) -> Operand:
    """The seconds, NULL where they are too many or NaN."""
    near = pc.and_(pc.greater_equal(seconds, -MOST), pc.less_equal(seconds, MOST))
    return pc.if_else(near, seconds, pa.scalar(None, seconds.type))


def strftime(args: Sequence[Operand], call: Call) -> Operand:
    """The format with parts of the time in the places of its directives.

    Arrow writes the fraction behind ``%S``, so it gets whole seconds, and ``%f`` is put between the
    pieces of the format.
    """
    moment = cast_operand(args[0], Type.TIMESTAMP)
    seconds = pc.cast(pc.floor_temporal(moment, unit="second"), pa.timestamp("s"))
    micros = pc.cast(pc.add(pc.multiply(pc.millisecond(moment), 1000), pc.microsecond(moment)),
                     pa.string())  # fmt: skip
    fraction = pc.utf8_lpad(micros, width=6, padding="0")
    pieces = [pc.strftime(seconds, format=p) for p in _pieces(constant(call, 1))]
    joined = [part for piece in pieces for part in (fraction, piece)][1:]
    return pc.binary_join_element_wise(*joined, pa.scalar("", pa.string()))


def _pieces(text: str) -> list[str]:
    """The format around each ``%f``, where that is no end of ``%%f``."""
    pieces, place = [""], 0
    while place < len(text):
        directive = text[place : place + 2] if text[place] == "%" else text[place]
        place += len(directive)
        if directive == FRACTION:
            pieces.append("")
        else:
            pieces[-1] += directive
    return pieces


KERNELS: dict[str, Kernel] = {"to_timestamp": to_timestamp, "strftime": strftime}
