"""Decimals of up to 76 digits against exact fractions, and the words behind their keys."""

from __future__ import annotations

import math
import random
from decimal import Decimal, localcontext
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.subscriptions.exact import expected, matched
from windrow.core.schema import Type
from windrow.subscriptions.predicates import OneOf, Range, Subscription
from windrow.subscriptions.subscriptions import Subscriptions
from windrow.subscriptions.wide_decimals import keys_for, move_by, words_for, words_in

DECIMALS = [
    pa.decimal32(9, 2),
    pa.decimal64(18, 4),
    pa.decimal128(5, 5),
    pa.decimal128(18, 0),
    pa.decimal128(19, 2),
    pa.decimal128(38, 18),
    pa.decimal128(38, 0),
    pa.decimal256(50, 10),
    pa.decimal256(76, 40),
    pa.decimal256(76, 0),
]


def scaled(units: int, scale: int) -> Decimal:
    with localcontext(prec=100):
        return Decimal(units).scaleb(-scale)


@st.composite
def decimal_cases(draw) -> tuple[pa.DataType, list[Any], list[Any]]:
    """Values around a few places of any size, and bounds on, beside and between them."""
    kind = draw(st.sampled_from(DECIMALS))
    most = 10**kind.precision - 1
    centres = draw(
        st.lists(
            st.one_of(
                st.integers(0, kind.precision).map(lambda p: 10**p - 1),
                st.integers(-most, most),
                st.sampled_from([0, 2**62, 2**63, 2**64, -(2**62), -(2**64)]),
            ),
            min_size=1,
            max_size=3,
        )
    )
    units = st.builds(lambda c, d: c + d, st.sampled_from(centres), st.integers(-2, 2))
    inside = units.map(lambda u: max(min(u, most), -most))
    values = draw(
        st.lists(st.one_of(st.none(), inside.map(lambda u: scaled(u, kind.scale))), max_size=8)
    )
    finer = st.builds(lambda u, d: scaled(10 * u + d, kind.scale + 1), units, st.integers(0, 9))
    plain = finer.filter(lambda b: abs(b) < 10**40)
    bounds = st.one_of(
        units.map(lambda u: scaled(u, kind.scale)),
        finer,
        plain.map(lambda b: f"{b:f}"),
        plain.map(float),
        units.map(lambda u: u // 10**kind.scale),
        st.sampled_from([math.inf, -math.inf, Decimal("1e90"), Decimal("-1e90"), "1e-90"]),
    )
    end = st.one_of(st.none(), bounds)
    conditions = draw(
        st.lists(
            st.one_of(
                st.builds(Range, end, end, st.booleans(), st.booleans()),
                st.lists(bounds.filter(lambda b: not isinstance(b, str)), min_size=1, max_size=3)
                .map(lambda v: OneOf(tuple(v))),
            ),
            min_size=1,
            max_size=8,
        )
    )  # fmt: skip
    return kind, conditions, values


@settings(max_examples=150)
@given(case=decimal_cases())
def test_decimals_of_every_size_meet_what_exact_fractions_meet(case):
    kind, conditions, values = case
    assert matched(kind, conditions, pa.array(values, kind)) == expected(conditions, values)


@settings(max_examples=50)
@given(case=decimal_cases(), start=st.integers(0, 3))
def test_decimals_in_a_slice_and_in_a_moved_index_are_the_same(case, start):
    kind, conditions, values = case
    ours = Subscriptions({"x": kind}, ids=pa.int64())
    ours.add([Subscription.of(i, {"x": c}) for i, c in enumerate(conditions)])
    other = Subscriptions({"x": kind}, ids=pa.int64())
    other.add(ours.entries())
    rows = pa.record_batch({"x": pa.array(values, kind)})
    for chosen in (rows.slice(start), rows.slice(start, 2)):
        found = other.match(chosen)
        assert set(zip(*found.to_pydict().values(), strict=True)) == expected(
            conditions, chosen.column(0).to_pylist()
        )


def test_a_tenth_is_a_tenth_and_neighbours_of_38_digits_are_told_apart():
    tenth = [Decimal("0.10"), Decimal("0.11")]
    for bound in (Decimal("0.1"), "0.1", "0.100", 0.1, Decimal("1E-1")):
        assert matched(pa.decimal128(12, 2), [bound], pa.array(tenth)) == {(0, 0)}
    many = [Decimal(10**37 + i) for i in range(-3, 4)]
    column = pa.array(many, pa.decimal128(38, 0))
    assert matched(column.type, [f"= {many[4]}", f"> {many[4]}"], column) == {
        (4, 0), (5, 1), (6, 1),
    }  # fmt: skip
    assert matched(column.type, [OneOf(tuple(many[2:5]))], column) == {(2, 0), (3, 0), (4, 0)}


def test_a_long_list_within_one_rough_cell_names_each_entry_once():
    base = 10**75
    column = pa.array([Decimal(base + i) for i in range(100)], pa.decimal256(76, 0))
    wanted = [OneOf(tuple(Decimal(base + i) for i in range(0, 100, 3)))]
    assert matched(column.type, wanted, column) == {(i, 0) for i in range(0, 100, 3)}


def test_decimals_beside_other_conditions_and_after_changes():
    kind = pa.decimal128(38, 18)
    ours = Subscriptions({"price": kind, "symbol": pa.large_string(), "n": pa.uint64()})
    ours.add(
        [
            {"id": "a", "symbol": "X", "price": "[10.000000000000000001, 20.2]"},
            {"id": "a", "symbol": "Y", "n": f">= {2**63}"},
            {"id": "b", "price": Range(Decimal("20.2"), low_open=True)},
        ]
    )
    prices = ["10", "10.000000000000000001", "20.2", "20.200000000000000001", "30"]
    rows = pa.record_batch(
        {
            "symbol": pa.array(["X", "X", "X", "X", "Y"]).dictionary_encode(),
            "price": pa.array([Decimal(p) for p in prices], kind),
            "n": pa.array([0, 0, 0, 0, 2**64 - 1], pa.uint64()),
        }
    )
    pairs = [(1, "a"), (2, "a"), (3, "b"), (4, "a"), (4, "b")]
    assert sorted(zip(*ours.match(rows).to_pydict().values(), strict=True)) == pairs
    ours.drop("a")
    ours.add([{"id": "c", "price": OneOf((Decimal(10), Decimal(30)))}])
    pairs = [(0, "c"), (3, "b"), (4, "b"), (4, "c")]
    assert sorted(zip(*ours.match(rows).to_pydict().values(), strict=True)) == pairs


def test_minima_and_maxima_of_any_type_are_exact_too():
    kind = pa.decimal128(38, 18)
    values = [Decimal("0.1"), Decimal("20.2"), Decimal("20.200000000000000001")]
    rows = pa.record_batch({"x": pa.array(values, kind)})
    for low, high in (
        (pa.array([Decimal("0.1")]), pa.array([Decimal("20.20")])),
        (pa.array([0.1]), pa.array([20.2])),
        (pa.array(["0.1"]), pa.array(["20.2"])),
        (pa.array([Decimal("0.1")], kind), pa.array([Decimal("20.2")], kind)),
    ):
        ours = Subscriptions({"x": kind}, ids=pa.int64())
        ours.add(pa.table({"id": [0], "x_min": low, "x_max": high}))
        assert ours.match(rows)["row"].to_pylist() == [0, 1]
    ours = Subscriptions({"x": Type.BIGINT}, ids=pa.int64())
    ours.add(pa.table({"id": [0], "x_min": pa.array([2.0**60]), "x_max": pa.array([2.0**60])}))
    assert ours.match(pa.record_batch({"x": [2**60 - 1, 2**60, 2**60 + 1]}))["row"].to_pylist() == [
        1
    ]


def slow_key(value: int) -> int:
    """The rule of ``windrow.subscriptions.wide_decimals``, on one integer."""
    size = abs(value)
    bits = size.bit_length()
    if bits > 62:
        size = 2**62 + ((bits - 63) << 54) + ((size >> (bits - 55)) - 2**54)
    return -size if value < 0 else size


def test_keys_and_steps_of_words_are_those_of_the_integers():
    rng = random.Random(1)
    for count in (2, 4):
        edges = [0, 2**62 - 1, 2**62, 2**63 - 1, 2**63, 2**64 - 1, 2**64, 2 ** (64 * count - 1) - 1]
        values = [rng.getrandbits(rng.randrange(1, 64 * count - 1)) for _ in range(2_000)]
        values = sorted([*values, *edges, *(-v for v in values + edges), -(2 ** (64 * count - 1))])
        words = words_for(values, count)
        keys = keys_for(words)
        assert keys.tolist() == [slow_key(v) for v in values]
        assert (np.diff(keys) >= 0).all()
        assert words.tolist() == sorted(words.tolist())
        for step in (-1, 0, 1):
            steps = np.full(len(values), step)
            assert (move_by(words, steps) == words_for([v + step for v in values], count)).all()


def test_words_of_a_column_are_those_of_its_integers():
    units = [5, -5, None, 10**37, -(10**37)]
    for kind in (pa.decimal128(38, 3), pa.decimal256(70, 3)):
        column = pa.array([None if u is None else scaled(u, 3) for u in units], kind)
        chosen = [0, 1, 3, 4]
        words = words_in(column.slice(0))[chosen]
        assert (words == words_for([units[i] for i in chosen], words.shape[1])).all()
        assert (words_in(column.slice(3)) == words[2:]).all()
