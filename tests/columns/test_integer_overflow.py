"""Integers that do not fit are NULL in their rows, and counted; all other rows are as they were."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from windrow.columns.evaluate import evaluate
from windrow.columns.integer_overflow import Overflows, count_overflows
from windrow.columns.types import ARROW
from windrow.core.schema import Type
from windrow.plan.expressions import Call, Column, Expression, Literal

L, MOST = Type.BIGINT, 2**63 - 1
A, B = Column(0, "a", L), Column(1, "b", L)
integers = st.one_of(
    st.none(), st.integers(-3, 3), st.integers(-MOST - 1, MOST), st.sampled_from([MOST, -MOST - 1])
)


def evaluated(expression: Expression, **columns: list[Any]) -> tuple[list[Any], int]:
    rows = pa.RecordBatch.from_pydict({n: pa.array(v, ARROW[L]) for n, v in columns.items()})
    overflows = Overflows()
    with count_overflows(overflows):
        found = evaluate(expression, rows).to_pylist()
    return found, overflows.take()


def truncated(a: int, b: int) -> int | None:
    if b == 0:
        return None
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


EXACT: dict[str, Callable[[int, int], int | None]] = {
    "add": lambda a, b: a + b,
    "subtract": lambda a, b: a - b,
    "multiply": lambda a, b: a * b,
    "divide": truncated,
    "negate": lambda a, b: -a,
    "abs": lambda a, b: abs(a),
}


@given(st.sampled_from(sorted(EXACT)), st.lists(st.tuples(integers, integers), max_size=8))
def test_every_row_is_exact_or_null(function: str, pairs: list[tuple[Any, Any]]) -> None:
    arguments = (A,) if function in ("negate", "abs") else (A, B)
    expected, beyond = [], 0
    for pair in pairs:
        missing = None in pair[: len(arguments)]
        value = None if missing else EXACT[function](*pair)
        fits = value is None or -MOST - 1 <= value <= MOST
        beyond += not fits
        expected.append(value if fits else None)
    columns = {"a": [a for a, _ in pairs], "b": [b for _, b in pairs]}
    assert evaluated(Call(function, arguments, L), **columns) == (expected, beyond)


def test_constants_beyond_are_null() -> None:
    sum_ = Call("add", (Literal(MOST, L), Literal(1, L)), L)
    assert evaluated(sum_, a=[1, 2]) == ([None, None], 1)


def test_what_is_computed_from_it_is_null_and_counted_no_more() -> None:
    inner = Call("multiply", (A, Literal(4, L)), L)
    assert evaluated(Call("add", (inner, A), L), a=[1, 2**62]) == ([5, None], 1)


def test_a_branch_that_is_not_taken_is_not_counted() -> None:
    small = Call("lt", (A, Literal(100, L)), Type.BOOLEAN)
    square = Call("multiply", (A, A), L)
    guarded = Call("case", (small, square, Literal(0, L)), L)
    assert evaluated(guarded, a=[5, MOST]) == ([25, 0], 0)
    other = Call("coalesce", (A, square), L)
    assert evaluated(other, a=[MOST, None]) == ([MOST, None], 0)


def test_times_beyond_are_null() -> None:
    later = Literal(MOST, Type.INTERVAL)
    moved = Call("add", (Column(0, "t", Type.TIMESTAMP), later), Type.TIMESTAMP)
    rows = pa.RecordBatch.from_pydict(
        {"t": pa.array([datetime(2026, 3, 1), datetime(1900, 1, 1)], ARROW[Type.TIMESTAMP])}
    )
    found = evaluate(moved, rows)
    assert found.null_count == 1
    assert not found[1:].null_count
    day = Column(0, "d", Type.DATE)
    days = pa.RecordBatch.from_pydict(
        {"d": pa.array([2**31 - 1, 0], pa.int32()).cast(ARROW[Type.DATE])}
    )
    hour = Literal(3_600_000_000, Type.INTERVAL)
    moved = Call("add", (day, hour), Type.TIMESTAMP)
    assert evaluate(moved, days).to_pylist() == [None, datetime(1970, 1, 1, 1)]
    assert evaluate(Call("subtract", (day, Literal(date(1970, 1, 1), Type.DATE)), L), days)[
        1
    ].as_py() == 0  # fmt: skip


@pytest.mark.parametrize("outer", [False, True])
def test_counts_do_not_mix(outer: bool) -> None:
    twice = Call("add", (A, A), L)
    mine = Overflows()
    if outer:
        with count_overflows(mine):
            assert evaluated(twice, a=[MOST])[1] == 1
            evaluate(twice, pa.RecordBatch.from_pydict({"a": pa.array([MOST, MOST])}))
    else:
        evaluate(twice, pa.RecordBatch.from_pydict({"a": pa.array([MOST])}))
    assert mine.take() == (2 if outer else 0)
    assert mine.take() == 0
