"""Conditions as people write them, in every form, for every type."""

from __future__ import annotations

import math
import warnings

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from windrow.core.errors import InputError
from windrow.core.schema import Type
from windrow.core.warnings import WindrowWarning
from windrow.subscriptions.predicates import OneOf, Range, Subscription
from windrow.subscriptions.subscriptions import Subscriptions

pytestmark = pytest.mark.usefixtures("sizes")

FAR = 2**63 - 1


def taken(kind: Type, condition: str, values: list) -> list:
    """The values that meet a condition."""
    ours = Subscriptions({"x": kind})
    ours.add([{"id": "s", "x": condition}])
    from windrow.columns.types import ARROW  # noqa: PLC0415

    rows = pa.record_batch({"x": pa.array(values, ARROW[kind])})
    return [values[i] for i in ours.match(rows)["row"].to_pylist()]


INTEGERS = [-FAR - 1, -5, 0, 1, 2, 3, 4, 5, 6, FAR, None]


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("[2, 4]", [2, 3, 4]),
        ("[2, 4)", [2, 3]),
        ("(2, 4]", [3, 4]),
        ("(2,4)", [3]),
        (" [ 2 , 4 ] ", [2, 3, 4]),
        ("[5, )", [5, 6, FAR]),
        ("(, 0]", [-FAR - 1, -5, 0]),
        ("> 5", [6, FAR]),
        (">=5", [5, 6, FAR]),
        ("< 0", [-FAR - 1, -5]),
        ("<= -5", [-FAR - 1, -5]),
        ("= 3", [3]),
        ("== 3", [3]),
        ("3", [3]),
        ("+3", [3]),
        ("in (1, 3, 99)", [1, 3]),
        ("IN(1)", [1]),
        ("*", [v for v in INTEGERS if v is not None]),
        ("> 2.5", [3, 4, 5, 6, FAR]),
        ("< 2.5", [-FAR - 1, -5, 0, 1, 2]),
        ("[1.5, 3.5]", [2, 3]),
        ("= 2.5", []),
        ("> 1e30", []),
        ("< 1e30", [v for v in INTEGERS if v is not None]),
        ("> -inf", [v for v in INTEGERS if v is not None]),
        ("< nan", []),
        ("[4, 2]", []),
        ("(2, 3)", []),
        (f"= {FAR}", [FAR]),
        (f"> {FAR}", []),
        (f"<= {FAR}", [v for v in INTEGERS if v is not None]),
        (f"< {FAR}", [v for v in INTEGERS if v not in (None, FAR)]),
    ],
)
def test_conditions_on_integers(condition, expected):
    assert taken(Type.BIGINT, condition, INTEGERS) == expected


REALS = [-math.inf, -1.5, -0.0, 0.0, 0.5, 1.0, math.inf, math.nan, None]


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("[0, 1]", [-0.0, 0.0, 0.5, 1.0]),
        ("[-0.0, 0.5)", [-0.0, 0.0]),
        ("(0, 1)", [0.5]),
        ("> 1", [math.inf]),
        (">= inf", [math.inf]),
        ("< inf", [-math.inf, -1.5, -0.0, 0.0, 0.5, 1.0]),
        ("<= -inf", [-math.inf]),
        ("= 0.5", [0.5]),
        ("= nan", []),
        ("> nan", []),
        ("in (0, 1.0)", [-0.0, 0.0, 1.0]),
        ("*", REALS[:-2]),
    ],
)
def test_conditions_on_reals(condition, expected):
    assert taken(Type.DOUBLE, condition, REALS) == expected


def test_conditions_on_times_days_and_truths():
    from datetime import date, datetime  # noqa: PLC0415

    days = [date(2024, 1, d) for d in (1, 2, 3)]
    assert taken(Type.DATE, "[2024-01-02, )", days) == days[1:]
    assert taken(Type.DATE, "in ('2024-01-01', 2024-01-03)", days) == [days[0], days[2]]
    moments = [datetime(2024, 1, 1, 12, m) for m in (0, 1, 2)]
    assert taken(Type.TIMESTAMP, "< 2024-01-01 12:01:00", moments) == moments[:1]
    assert taken(Type.TIMESTAMP, "= '2024-01-01T13:01:00+01:00'", moments) == [moments[1]]
    assert taken(Type.BOOLEAN, "true", [True, False, None]) == [True]


WORDS = ["", "a", "b", "in (x)", "'", "*", "> 1", None]


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("a", ["a"]),
        ("'a'", ["a"]),
        ("= a", ["a"]),
        ("= 'a'", ["a"]),
        ("in (a, 'b')", ["a", "b"]),
        ("'in (x)'", ["in (x)"]),
        ("''''", ["'"]),
        ("''", [""]),
        ("*", ["*"]),
        ("'> 1'", ["> 1"]),
    ],
)
def test_conditions_on_texts(condition, expected):
    assert taken(Type.STRING, condition, WORDS) == expected


@pytest.mark.parametrize(
    ("kind", "condition", "said"),
    [
        (Type.BIGINT, "[1, 2", "expected BIGINT, found '[1, 2'"),
        (Type.BIGINT, "between 1 and 2", "written as 5, < 5, [1, 5] and in (1, 5)"),
        (Type.BIGINT, "> five", "expected BIGINT, found 'five'"),
        (Type.DOUBLE, "in (1, x)", "expected DOUBLE, found 'x'"),
        (Type.TIMESTAMP, "[yesterday, )", "expected TIMESTAMP, found 'yesterday'"),
        (Type.STRING, "> a", "texts have no ranges here"),
    ],
)
def test_what_cannot_be_read_says_where_and_why(kind, condition, said):
    ours = Subscriptions({"x": kind})
    with pytest.raises(InputError) as caught:
        ours.add([{"id": "fine", "x": "2024-01-01" if kind is Type.TIMESTAMP else "7"},
                  {"id": "bad", "x": condition}])  # fmt: skip
    assert said in str(caught.value)
    assert "row 2" in str(caught.value)
    assert len(ours) == 0


@given(
    st.one_of(
        st.builds(
            Range, *[st.one_of(st.none(), st.integers(-9, 9))] * 2, st.booleans(), st.booleans()
        ),
        st.lists(st.integers(-9, 9), min_size=1).map(lambda v: OneOf(tuple(v))),
    )
)
def test_a_condition_reads_back_as_it_is_written(condition):
    values = list(range(-10, 11))
    ours = Subscriptions({"x": Type.BIGINT})
    ours.add([Subscription.of("s", {"x": condition})])
    rows = pa.record_batch({"x": pa.array(values)})
    assert taken(Type.BIGINT, str(condition), values) == [
        values[i] for i in ours.match(rows)["row"].to_pylist()
    ]


def test_a_lower_bound_above_the_upper_one_is_warned_of():
    found = Subscriptions({"x": Type.BIGINT})
    with pytest.warns(WindrowWarning, match=r"row 2: the lower bound 5 is above .* mean \[1, 5\]"):
        found.add({"id": ["a", "b"], "x": ["(5, 6)", "[5, 1]"]})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found.add({"id": ["c", "d"], "x": ["[1, 5]", "[5, 5]"]})
