"""Sums of integers that do not fit into BIGINT: how many answers were NULL for it.

Such a sum is NULL for as long as it does not fit (``aggregates.sum_avg``); whoever runs the
operators asks here whether that happened.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from windrow.operators.aggregates.distinct_values import OfDistinct
from windrow.operators.aggregates.sum_avg import Sum
from windrow.operators.base import Operator
from windrow.operators.group_by import GroupedAggregation


def take_overflows(operators: Iterable[Operator]) -> int:
    """How many answers were NULL for that reason since this was last asked."""
    count = 0
    for sums in _sums(operators):
        count, sums.overflows = count + sums.overflows, 0
    return count


def _sums(operators: Iterable[Operator]) -> Iterator[Sum]:
    for operator in operators:
        if isinstance(operator, GroupedAggregation):
            for accumulator, _ in operator.aggregates:
                plain = accumulator.plain if isinstance(accumulator, OfDistinct) else accumulator
                if isinstance(plain, Sum):
                    yield plain
