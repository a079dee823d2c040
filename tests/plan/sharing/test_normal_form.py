"""WHERE in disjunctive normal form selects what WHERE selects, NULLs included."""

from __future__ import annotations

import operator
from itertools import product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from windrow.core.schema import Type
from windrow.plan.expressions import Call, Column, Expression, Literal
from windrow.plan.sharing.periodic_aggregates import MOST_TERMS, normal_form
from windrow.sharing.rules import Order, Predicate
from windrow.sharing.rules.value_sets import values_where

N, X, T, B = (
    Column(i, name, kind)
    for i, (name, kind) in enumerate(
        [("n", Type.INT), ("x", Type.DOUBLE), ("t", Type.STRING), ("b", Type.BOOLEAN)]
    )
)
ROWS = list(product([None, 1, 2, 3], [None, 1.0, 1.5, 2.0], [None, "a", "b"], [None, True, False]))
COMPARE = {
    "eq": operator.eq, "ne": operator.ne, "lt": operator.lt, "le": operator.le,
    "gt": operator.gt, "ge": operator.ge,
}  # fmt: skip


def truth(expression: Expression, row: tuple[Any, ...]) -> Any:
    """SQL's three truth values, by definition; also the value of a column or a constant."""
    if isinstance(expression, Column):
        return row[expression.index]
    if isinstance(expression, Literal):
        return expression.value
    values = [truth(arg, row) for arg in expression.args]
    match expression.function:
        case "not":
            return None if values[0] is None else not values[0]
        case "and":
            return False if False in values else None if None in values else True
        case "or":
            return True if True in values else None if None in values else False
        case "is_null":
            return values[0] is None
        case "in":
            return None if values[0] is None else values[0] in values[1:]
        case name:
            return None if None in values else COMPARE[name](*values)


def selects(predicate: Predicate, row: tuple[Any, ...]) -> bool:
    """By its atoms; those that are no comparison are named by what they ask."""
    known = {"n": row[0], "x": row[1], "t": row[2], "b": row[3]}
    known |= {f"{name} IS NULL": value is None for name, value in known.items()}
    return any(
        all(
            known[a.attribute.name] in values_where(a.attribute, a.operator, a.constant)
            for a in term
        )
        for term in predicate.terms
    )


def call(function: str, *args: Expression) -> Call:
    return Call(function, args, Type.BOOLEAN)


def comparisons(column: Column, *values: Any) -> st.SearchStrategy[Expression]:
    constants = st.sampled_from([Literal(value, column.type) for value in values])
    functions = ["eq", "ne"] if column.type is Type.STRING else sorted(COMPARE)
    straight = st.builds(
        lambda f, c, turned: call(f, c, column) if turned else call(f, column, c),
        st.sampled_from(functions), constants, st.booleans(),
    )  # fmt: skip
    among = st.lists(constants, min_size=1, max_size=2).map(lambda c: call("in", column, *c))
    return straight | among


ATOMS = (
    comparisons(N, 1, 2)
    | comparisons(X, 1.0, 1.5)
    | comparisons(T, "a", "b")
    | st.sampled_from([B, call("is_null", N), call("is_null", T)])
)
PREDICATES = st.recursive(
    ATOMS,
    lambda inner: (
        st.builds(lambda a: call("not", a), inner)
        | st.builds(call, st.sampled_from(["and", "or"]), inner, inner)
    ),
    max_leaves=6,
)


@settings(max_examples=200)
@given(predicate=PREDICATES)
def test_the_normal_form_selects_the_same_rows(predicate: Expression) -> None:
    form = normal_form(predicate)
    assert [selects(form, row) for row in ROWS] == [truth(predicate, row) is True for row in ROWS]


def test_a_form_with_too_many_terms_is_one_atom() -> None:
    either = [call("or", call("lt", N, Literal(i, Type.INT)), call("eq", T, T)) for i in range(8)]
    predicate = either[0]
    for other in either[1:]:
        predicate = call("and", predicate, other)
    form = normal_form(predicate)
    assert MOST_TERMS < 2**8
    assert [len(term) for term in form.terms] == [1]
    assert form == normal_form(predicate)


@pytest.mark.parametrize(
    ("column", "value", "order"),
    [(N, 1, Order.DISCRETE), (X, 1, Order.DENSE), (T, "a", Order.UNORDERED)],
)
def test_values_lie_as_their_type_says(column: Column, value: Any, order: Order) -> None:
    kind = Type.INT if value == 1 else Type.STRING
    ((atom,),) = normal_form(call("eq", column, Literal(value, kind))).terms
    assert atom.attribute.order is order
