"""Random expressions over random rows give what DuckDB gives."""

from __future__ import annotations

import math

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.columns.duckdb_expressions import to_duckdb
from tests.columns.random_expressions import (
    DATE,
    USED,
    B,
    D,
    F,
    I,
    L,
    S,
    T,
    batches,
    calls,
)
from windrow.columns.evaluate import (
    DEAR,
    KERNELS,
    MANY_ROWS,
    SharedParts,
    evaluate,
    is_dear,
    selection_mask,
)
from windrow.columns.types import ARROW
from windrow.plan.expressions import Call, Column, Expression, Literal, render


@pytest.fixture(scope="module")
def oracle() -> duckdb.DuckDBPyConnection:
    return duckdb.connect()


def same(ours: object, theirs: object) -> bool:
    if isinstance(ours, float) and isinstance(theirs, float):
        return ours == theirs or (math.isnan(ours) and math.isnan(theirs))
    return ours == theirs


def check(expression: Expression, rows: pa.RecordBatch, oracle: duckdb.DuckDBPyConnection) -> None:
    ours = evaluate(expression, rows)
    assert ours.type == ARROW[expression.type]
    assert len(ours) == rows.num_rows
    ours.validate(full=True)
    oracle.register("rows", pa.Table.from_batches([rows]))
    sql = f"SELECT {to_duckdb(expression)} AS v FROM rows"
    theirs = [value for (value,) in oracle.execute(sql).fetchall()]
    for number, (mine, expected) in enumerate(zip(ours.to_pylist(), theirs, strict=True)):
        row = rows.slice(number, 1).to_pylist()[0]
        assert same(mine, expected), f"{render(expression)}\n{sql}\n{row}"


ANGLES = ["sin", "cos", "tan", "asin", "acos", "atan", "radians", "degrees"]
KINDS = [B, L, D, S, T, DATE, I, F]


@pytest.mark.parametrize("kind", KINDS, ids=lambda k: k.value)
@settings(max_examples=120, deadline=None)
@given(data=st.data())
def test_random_expressions_give_what_duckdb_gives(kind, data, oracle):
    expression = data.draw(calls(kind, 2))
    check(expression, data.draw(batches(expression)), oracle)


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_what_is_dear_is_avoided_and_the_answer_is_the_same(data, oracle):
    expression = data.draw(calls(B, 2) | calls(S, 2))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(MANY_ROWS, "value", 0)
        patch.setattr("windrow.columns.evaluate.DEAR", DEAR | {"lower", "lt", "eq", "is_null"})
        is_dear.cache_clear()
        check(expression, data.draw(batches(expression)), oracle)
    is_dear.cache_clear()


@settings(max_examples=80, deadline=None)
@given(data=st.data())
def test_shared_parts_give_what_each_expression_gives_alone(data):
    predicate, text = data.draw(calls(B, 1)), data.draw(calls(S, 1))
    chosen = Call("case", (predicate, text, Call("lower", (text,), S)), S)
    other = Call("or", (Call("not", (predicate,), B), Call("is_null", (chosen,), B)), B)
    expressions = [chosen, predicate, other, text, Call("lower", (text,), S)]
    rows = data.draw(batches(Call("concat", tuple(expressions), S)))
    found = SharedParts(expressions).evaluate(rows)
    for expression, array in zip(expressions, found, strict=True):
        alone = evaluate(expression, rows)
        assert array.type == alone.type
        assert array.to_pylist() == alone.to_pylist()


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_selected_rows_are_those_that_a_where_clause_keeps(data, oracle):
    predicate = data.draw(calls(B, 2))
    rows = data.draw(batches(predicate))
    oracle.register("rows", pa.Table.from_batches([rows]))
    sql = f"SELECT coalesce({to_duckdb(predicate)}, false) AS v FROM rows"
    theirs = [value for (value,) in oracle.execute(sql).fetchall()]
    assert selection_mask(predicate, rows).tolist() == theirs


@settings(max_examples=60, deadline=None)
@given(
    name=st.sampled_from(["ln", "log10", "exp", "power", *ANGLES, "atan2"]),
    values=st.lists(st.none() | st.floats(-50, 50), min_size=1, max_size=8),
    exponent=st.integers(-3, 3),
)
def test_transcendental_functions_agree_with_duckdb_to_the_last_digits(
    name, values, exponent, oracle
):
    if name in {"asin", "acos"}:  # DuckDB refuses what is not a sine
        values = [value and value / 50 for value in values]
    rows = pa.RecordBatch.from_arrays([pa.array(values, pa.float64())], ["v"])
    more = (Literal(exponent, I),) if name in {"power", "atan2"} else ()
    found = evaluate(Call(name, (Column(0, "v", D), *more), D), rows).to_pylist()
    oracle.register("given", pa.Table.from_batches([rows]))
    args = f"v, {exponent}" if more else "v"
    theirs = oracle.execute(f"SELECT {name}({args}) FROM given").fetchall()
    for mine, (expected,) in zip(found, theirs, strict=True):
        if expected is None:
            assert mine is None
        else:
            assert mine == pytest.approx(expected, rel=1e-12, nan_ok=True)


def test_the_random_expressions_use_every_function_that_has_a_kernel():
    for kind in KINDS:
        calls(kind, 1)
    elsewhere = {
        *ANGLES,
        "atan2",
        "initcap",
        "ln",
        "log10",
        "exp",
        "power",
        "eq",
        "ne",
        "lt",
        "le",
        "gt",
        "ge",
        "like",
        "ilike",
        "in",
        "strftime",
        "to_timestamp",
        "sort_pair",
        "pair_value",
        "sort_item",
        "item_text",
        "single_row",
    }
    assert set(KERNELS) - USED - elsewhere == set()
