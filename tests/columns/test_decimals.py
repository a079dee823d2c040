"""Decimals are computed exactly, whatever their digits; what has no place in its type is NULL."""

from __future__ import annotations

from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_UP, Context, Decimal
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from windrow.columns.arrays import fixed_array, numbers
from windrow.columns.byte_forms import byte_parts, from_bytes, is_bytes
from windrow.columns.decimal_numbers import to_doubles
from windrow.columns.evaluate import evaluate
from windrow.columns.integer_overflow import Overflows, count_overflows
from windrow.columns.interner import Interner
from windrow.columns.stored_columns import RowStore
from windrow.columns.types import ARROW, parse
from windrow.columns.value_order import sorted_positions
from windrow.core.errors import DataError
from windrow.core.schema import Type
from windrow.plan.expressions import Call, Column, Literal
from windrow.plan.functions import FUNCTIONS
from windrow.tables.fit import fit

MANY = Context(prec=200)
KINDS = [
    Type.decimal(*ps) for ps in ((1, 0), (5, 2), (18, 0), (18, 18), (19, 4), (38, 0), (38, 38))
]


def decimals(kind: Type) -> st.SearchStrategy[Decimal]:
    most = 10**kind.precision - 1
    whole = st.one_of(st.integers(-most, most), st.sampled_from([0, 1, -1, most, -most, most // 2]))
    return whole.map(lambda n: Decimal(n).scaleb(-kind.scale, MANY))


def applied(function: str, *operands: tuple[Any, Type]) -> tuple[Any, Type, int]:
    """What a function gives for one row, its type, and how many results did not fit."""
    rows = pa.record_batch(
        [pa.array([value], ARROW[kind]) for value, kind in operands],
        [f"c{i}" for i in range(len(operands))],
    )
    columns = tuple(Column(i, f"c{i}", kind) for i, (_, kind) in enumerate(operands))
    result = FUNCTIONS[function].rule([kind for _, kind in operands])
    assert result is not None
    counted = Overflows()
    with count_overflows(counted):
        (value,) = evaluate(Call(function, columns, result), rows).to_pylist()
    return value, result, counted.count


def exact(function: str, left: Decimal, right: Decimal) -> Decimal | None:
    match function:
        case "add":
            return MANY.add(left, right)
        case "subtract":
            return MANY.subtract(left, right)
        case "multiply":
            return MANY.multiply(left, right)
        case "divide":
            return MANY.divide(left, right) if right else None
    return MANY.remainder(left, right) if right else None


@pytest.mark.parametrize("function", ["add", "subtract", "multiply", "divide", "modulo"])
@given(data=st.data(), one=st.sampled_from(KINDS), other=st.sampled_from([*KINDS, Type.BIGINT]))
def test_arithmetic_is_exact_rounded_once_and_null_beyond(
    function: str, data: st.DataObject, one: Type, other: Type
) -> None:
    left = data.draw(decimals(one))
    whole = st.integers(-(2**63), 2**63 - 1)
    right = data.draw(decimals(other) if other.is_decimal else whole)
    found, kind, overflows = applied(function, (left, one), (right, other))
    true = exact(function, left, Decimal(right))
    if true is None:
        assert (found, overflows) == (None, 0)
        return
    rounded = true.quantize(Decimal(1).scaleb(-kind.scale), ROUND_HALF_UP, MANY)
    fits = rounded.copy_abs() < Decimal(10) ** (kind.precision - kind.scale)
    assert (found, overflows) == ((rounded, 0) if fits else (None, 1))


@given(data=st.data(), one=st.sampled_from(KINDS), other=st.sampled_from(KINDS))
def test_decimals_of_any_types_are_compared_exactly(
    data: st.DataObject, one: Type, other: Type
) -> None:
    left, right = data.draw(decimals(one)), data.draw(decimals(other))
    for function, true in (("eq", left == right), ("lt", left < right), ("ge", left >= right)):
        assert applied(function, (left, one), (right, other))[0] is true


@given(data=st.data(), kind=st.sampled_from(KINDS))
def test_stores_give_back_what_they_were_given(data: st.DataObject, kind: Type) -> None:
    values = data.draw(st.lists(st.one_of(st.none(), decimals(kind)), min_size=1, max_size=8))
    array = pa.array(values, ARROW[kind])
    store = RowStore(pa.schema([("v", array.type)]))
    store.append(pa.record_batch([array], ["v"]))
    assert store.take(np.arange(len(values))).column(0).to_pylist() == values
    assert store.lend()().column(0).to_pylist() == values
    interner = Interner([array.type])
    codes = interner.codes([array], len(array))
    assert interner.rows(codes)[0].to_pylist() == values
    assert len(set(codes.tolist())) == len(set(values))
    order = sorted_positions([(array, False)])
    there = sorted(v for v in values if v is not None)
    assert [values[i] for i in order][: len(there)] == there


@given(data=st.data(), kind=st.sampled_from(KINDS))
def test_a_slice_of_decimals_has_the_numbers_and_bytes_of_its_values(
    data: st.DataObject, kind: Type
) -> None:
    values = data.draw(st.lists(decimals(kind), min_size=3, max_size=8))
    array = pa.array(values, ARROW[kind]).slice(1)
    if is_bytes(array.type):
        offsets, raw = byte_parts(array)
        assert from_bytes(offsets, raw, None, array.type).equals(array)
        parts = [raw[a:b].tobytes() for a, b in pairwise(offsets)]
        ranks = [sorted(values[1:]).index(v) for v in values[1:]]
        assert [sorted(parts).index(p) for p in parts] == ranks
    else:
        assert fixed_array(numbers(array), None, array.type).equals(array)


@given(data=st.data(), kind=st.sampled_from(KINDS))
def test_a_decimal_becomes_the_nearest_double(data: st.DataObject, kind: Type) -> None:
    value = data.draw(decimals(kind))
    assert to_doubles(pa.array([value], ARROW[kind])).to_pylist() == [float(value)]


def cast(value: Any, source: Type, target: Type, function: str = "cast") -> Any:
    rows = pa.record_batch([pa.array([value], ARROW[source])], ["c"])
    return evaluate(Call(function, (Column(0, "c", source),), target), rows)[0].as_py()


PRICE = Type.decimal(5, 2)
CASTS = [
    ("1.5", Type.STRING, PRICE, Decimal("1.50")),
    (" +1.5 ", Type.STRING, PRICE, Decimal("1.50")),
    ("1.505", Type.STRING, PRICE, None),
    (0.145, Type.DOUBLE, PRICE, Decimal("0.15")),
    (1e300, Type.DOUBLE, PRICE, None),
    (float("nan"), Type.DOUBLE, PRICE, None),
    (999, Type.INT, PRICE, Decimal("999.00")),
    (1000, Type.BIGINT, PRICE, None),
    (True, Type.BOOLEAN, PRICE, Decimal("1.00")),
    (Decimal("2.50"), PRICE, Type.INT, 3),
    (Decimal("-2.50"), PRICE, Type.BIGINT, -3),
    (Decimal("0.00"), PRICE, Type.BOOLEAN, False),
    (Decimal("9.995"), Type.decimal(9, 3), PRICE, Decimal("10.00")),
    (Decimal("999.995"), Type.decimal(9, 3), PRICE, None),
    (Decimal("0.0000001"), Type.decimal(9, 7), Type.STRING, "0.0000001"),
    (Decimal(99999999999), Type.decimal(11, 0), Type.INT, None),
]


@pytest.mark.parametrize(("value", "source", "target", "expected"), CASTS)
def test_casts_round_away_from_zero_and_refuse_what_does_not_fit(
    value: Any, source: Type, target: Type, expected: Any
) -> None:
    assert cast(value, source, target, "try_cast") == expected
    if expected is None:
        with pytest.raises(DataError, match="TRY_CAST"):
            cast(value, source, target)


@pytest.mark.parametrize(
    ("function", "digits", "expected"),
    [("round", 1, "-2.40"), ("round", -1, "0.00"), ("round", 9, "-2.35"), ("floor", None, "-3.00"),
     ("ceil", None, "-2.00"), ("abs", None, "2.35"), ("sign", None, "-1.00"),
     ("negate", None, "2.35")],
)  # fmt: skip
def test_rounding_has_a_digit_more_than_its_argument(
    function: str, digits: int | None, expected: str
) -> None:
    rows = pa.record_batch([pa.array([Decimal("-2.35")], ARROW[PRICE])], ["c"])
    args: list[Any] = [Column(0, "c", PRICE)]
    args += [] if digits is None else [Literal(digits, Type.INT)]
    kind = FUNCTIONS[function].rule([a.type for a in args])
    assert kind is not None
    assert evaluate(Call(function, tuple(args), kind), rows)[0].as_py() == Decimal(expected)


def test_a_type_is_one_object_by_its_text_and_has_limits() -> None:
    assert Type("DECIMAL(5, 2)") is PRICE
    for digits in ((0, 0), (39, 0), (5, 6)):
        with pytest.raises(ValueError, match="is not a type"):
            Type.decimal(*digits)
    with pytest.raises(ValueError, match="is not a type"):
        Type("DECIMAL")


def any_kinds() -> st.SearchStrategy[Type]:
    digits = st.one_of(st.integers(1, 38), st.sampled_from([18, 19, 37, 38]))
    return digits.flatmap(lambda p: st.integers(0, p).map(lambda scale: Type.decimal(p, scale)))


def in_type(value: Decimal, kind: Type) -> Decimal | None:
    """The value rounded to the digits of a type; None if it has no place there."""
    rounded = value.quantize(Decimal(1).scaleb(-kind.scale), ROUND_HALF_UP, MANY)
    return rounded if rounded.copy_abs() < Decimal(10) ** (kind.precision - kind.scale) else None


@given(data=st.data(), source=any_kinds(), target=any_kinds())
def test_a_cast_between_any_two_types_is_right_or_refused(
    data: st.DataObject, source: Type, target: Type
) -> None:
    value = data.draw(decimals(source))
    assert cast(value, source, target, "try_cast") == in_type(value, target)


@given(data=st.data(), source=any_kinds(), target=any_kinds())
def test_a_text_is_read_with_its_digits_or_not_at_all(
    data: st.DataObject, source: Type, target: Type
) -> None:
    value = data.draw(decimals(source))
    fits = in_type(value, target)
    expected = value if fits == value else None
    assert parse(pa.array([f"{value:f}"]), target).to_pylist() == [expected]
    assert fit(pa.array([value], ARROW[source]), target).to_pylist() == [expected]


@pytest.mark.parametrize(
    ("value", "source", "target"),
    [("347863165156105538215829236752191.2", (34, 1), (38, 6)),
     ("-31378432.8", (11, 1), (38, 33)), ("8", (1, 0), (38, 38))],
)  # fmt: skip
def test_what_128_bits_do_not_hold_is_refused(
    value: str, source: tuple[int, int], target: tuple[int, int]
) -> None:
    number, narrow, wide = Decimal(value), Type.decimal(*source), Type.decimal(*target)
    with pytest.raises(DataError, match="TRY_CAST"):
        cast(number, narrow, wide)
    assert parse(pa.array([value]), wide).to_pylist() == [None]
    assert fit(pa.array([number], ARROW[narrow]), wide).to_pylist() == [None]


@given(data=st.data(), kind=any_kinds(), digits=st.integers(-40, 40))
def test_rounding_keeps_the_digits_behind_the_point(
    data: st.DataObject, kind: Type, digits: int
) -> None:
    value = data.draw(decimals(kind))
    places = Decimal(1).scaleb(-digits)
    rounded = value if digits >= kind.scale else value.quantize(places, ROUND_HALF_UP, MANY)
    true = {
        "round": rounded,
        "floor": value.to_integral_value(ROUND_FLOOR, MANY),
        "ceil": value.to_integral_value(ROUND_CEILING, MANY),
        "sign": Decimal((value > 0) - (value < 0)),
    }
    for function, expected in true.items():
        operands = [(value, kind)] + ([(digits, Type.INT)] if function == "round" else [])
        found, result, overflows = applied(function, *operands)
        assert result.precision - result.scale > 0
        assert result.scale == min(kind.scale, 37)
        assert (found, overflows) == (in_type(expected, result), int(found is None))
