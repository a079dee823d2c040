"""Integers and decimals that leave the range of their type: NULL in their row, and counted.

A query runs for months, and its checkpoint is of no use to a script that was changed: one absurd
row must not end it. So a result that does not fit is NULL, like a quotient by zero. Whoever runs
the query asks for the count (``count_overflows``) and warns; elsewhere nothing is counted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import pyarrow as pa

from windrow.columns.functions.operands import Operand, as_array


class Overflows:
    """How many results did not fit since the count was last taken."""

    def __init__(self) -> None:
        self.count = 0

    def take(self) -> int:
        """The count, which starts again from 0."""
        count, self.count = self.count, 0
        return count


_counted: ContextVar[Overflows | None] = ContextVar("overflows", default=None)


@contextmanager
def count_overflows(overflows: Overflows) -> Iterator[None]:
    """Count what is evaluated inside; an outer count goes on afterwards."""
    token = _counted.set(overflows)
    try:
        yield
    finally:
        _counted.reset(token)


def note_overflows(count: int) -> None:
    """Results that did not fit, for whoever counts."""
    counted = _counted.get()
    if counted is not None:
        counted.count += count


def or_null(compute: Callable[..., Operand], exact: Callable[..., int]) -> Callable[..., Operand]:
    """``compute`` over columns, with NULL in the rows whose integers do not fit.

    Arrow refuses the whole column then; only in this case ``exact`` works row by row, on integers
    without a limit.
    """

    def compute_or_null(*operands: Operand) -> Operand:
        try:
            return compute(*operands)
        except pa.ArrowInvalid:
            return exact_or_null(exact, *operands)

    return compute_or_null


def exact_or_null(exact: Callable[..., int], *operands: Operand) -> Operand:
    """``exact`` of each row, NULL if an operand is or if the type of the first does not have it."""
    arrays = [o for o in operands if not isinstance(o, pa.Scalar)]
    columns = [as_array(o, len(arrays[0]) if arrays else 1).to_pylist() for o in operands]
    kind = operands[0].type
    most = 2 ** (8 * kind.byte_width - 1) - 1
    values = [None if None in row else exact(*row) for row in zip(*columns, strict=True)]
    fits = [v if v is None or -most - 1 <= v <= most else None for v in values]
    note_overflows(fits.count(None) - values.count(None))
    result = pa.array(fits, kind)
    return result if arrays else result[0]
