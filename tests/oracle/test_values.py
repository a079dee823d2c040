"""Values that are hard to keep count of: floats that drown each other, NaN, infinities, NULL."""

from __future__ import annotations

import math
from collections import Counter
from itertools import groupby
from operator import itemgetter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import windrow
from tests.oracle.blocks import Item, Select, Source
from tests.oracle.definition import expected
from tests.oracle.expressions import COUNT_ALL, aggregate, column, compare
from tests.oracle.queries import Program, Stream
from tests.oracle.running import Push, Step, rows_of, run
from tests.oracle.windows import Arrival, Range, Rows, Unbounded, Window

pytestmark = pytest.mark.usefixtures("sizes")

K, V = column("k", "INT", "X"), column("v", "DOUBLE", "X")
NAN, INF = math.nan, math.inf


def measured(arrivals: list[Arrival], type_: str = "DOUBLE", name: str = "S") -> Stream:
    return Stream(name, (("k", "INT"), ("v", type_)), tuple(arrivals))


def totals(stream: Stream, window: Window) -> Program:
    exprs = (K, aggregate("SUM", V), aggregate("AVG", V), COUNT_ALL)
    items = tuple(Item(f"c{place}", expr) for place, expr in enumerate(exprs))
    return Program(
        (stream,), Select(items, (Source("S", "X", window),), grouped=True, keys=(K,)), beyond=9
    )


def states(program: Program, steps: list[Step] | None = None) -> dict[int, list[tuple[Any, ...]]]:
    """The relation after each instant that changed it, from the changes to the last bit."""
    bag: Counter[tuple[str, ...]] = Counter()
    result: dict[int, list[tuple[Any, ...]]] = {}
    changes = sorted(rows_of(run(program, steps).changes), key=itemgetter(0))
    for instant, group in groupby(changes, itemgetter(0)):
        for _, sign, *values in group:
            # repr tells floats apart to the last bit: a withdrawal must fit exactly.
            bag[tuple(repr(v) for v in values)] += 1 if sign == "+" else -1
        assert all(count >= 0 for count in bag.values()), f"at {instant}: {bag}"
        result[instant] = [tuple(float(v) for v in values) for values in bag.elements()]
    return result


wild = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False, min_value=-1e300, max_value=1e300),
    st.sampled_from([1e16, -1e16, 1.0, -1.0, 1e-9, 0.1, 1e300, -1e300, 1e-300]),
)


@st.composite
def wild_streams(draw: st.DrawFn) -> Stream:
    """Few keys, and doubles of very different size."""
    ts, arrivals = 0, []
    for gap, key, value in draw(
        st.lists(st.tuples(st.integers(0, 3), st.integers(0, 1), wild), min_size=1, max_size=25)
    ):
        ts += gap
        arrivals.append((ts, (key, value)))
    return measured(arrivals)


@settings(max_examples=150)
@given(stream=wild_streams(), length=st.integers(1, 6))
def test_a_sum_is_as_exact_as_a_sum_over_the_window_alone(stream: Stream, length: int) -> None:
    program = totals(stream, Range(length))
    found = states(program)
    rows: list[tuple[Any, ...]] = []
    for t in range(program.first, program.horizon + 1):
        rows = found.get(t, rows)
        by_key: dict[int, list[float]] = {}
        for ts, (key, value) in stream.arrivals:
            if t - length < ts <= t:
                by_key.setdefault(key, []).append(value)
        assert sorted(r[0] for r in rows) == sorted(by_key), f"groups at {t}"
        for key, total, mean, count in rows:
            values = by_key[key]
            # Any order of adding the window's own values is right; what has left is not.
            room = 1e-14 * len(values) * math.fsum(abs(v) for v in values)
            assert count == len(values)
            assert abs(total - math.fsum(values)) <= room, f"sum at {t} of {values}"
            assert abs(mean - math.fsum(values) / count) <= room, f"mean at {t} of {values}"


@pytest.mark.parametrize("window", [Range(3), Range(4, 2), Rows(2), Rows(1, ("k",)), Unbounded()])
@pytest.mark.parametrize(
    "values",
    [
        [1.0, NAN, 2.0, 3.0, 4.0, 5.0],
        [INF, 1.0, 2.0, 3.0, -INF, 4.0, 5.0, 6.0],
        [INF, -INF, 1.0, 2.0, 3.0, 4.0],
        [None, NAN, None, INF, None, 1.0, None],
        [-0.0, 0.0, -0.0],
    ],
    ids=str,
)
@pytest.mark.parametrize("type_", ["DOUBLE", "FLOAT"])
def test_nan_and_infinity_leave_no_trace_when_they_leave(
    window: Window, values: list[float | None], type_: str
) -> None:
    stream = measured([(2 * at, (7, v)) for at, v in enumerate(values)], type_)
    functions = ("SUM", "AVG", "MIN", "MAX", "COUNT", "COUNT DISTINCT")
    v = column("v", type_, "X")
    exprs = [K, COUNT_ALL, *(aggregate(f, v) for f in functions)]
    items = tuple(Item(f"c{place}", expr) for place, expr in enumerate(exprs))
    block = Select(items, (Source("S", "X", window),), grouped=True, keys=(K,))
    program = Program((stream,), block)
    assert run(program).history == expected(program)


ODD = [1.0, NAN, 0.0, None, -0.0, NAN, INF, None, NAN, -INF, 0.0, 1.0]


@pytest.mark.parametrize("type_", ["DOUBLE", "FLOAT"])
@pytest.mark.parametrize("window", [Range(5), Range(6, 3), Rows(4), Rows(1, ("v",)), Unbounded()])
@pytest.mark.parametrize("shape", ["group", "distinct", "plain"])
def test_nan_groups_with_nan_null_with_null_and_zero_with_minus_zero(
    type_: str, window: Window, shape: str
) -> None:
    stream = measured([(at, (at % 2, value)) for at, value in enumerate(ODD)], type_)
    v = column("v", type_, "X")
    sources = (Source("S", "X", window),)
    if shape == "group":
        items = (Item("v", v), Item("n", COUNT_ALL))
        block = Select(items, sources, grouped=True, keys=(v,))
    else:
        block = Select((Item("v", v),), sources, distinct=shape == "distinct")
    program = Program((stream,), block)
    assert run(program).history == expected(program)


@pytest.mark.parametrize("type_", ["DOUBLE", "FLOAT"])
def test_nan_joins_nan_and_null_joins_nothing(type_: str) -> None:
    left = measured([(at, (at, value)) for at, value in enumerate(ODD)], type_, "L")
    right = measured([(at + 1, (at, value)) for at, value in enumerate(ODD)], type_, "R")
    x, y = (column("v", type_, alias) for alias in "XY")
    items = (Item("l", column("k", "INT", "X")), Item("r", column("k", "INT", "Y")), Item("v", x))
    where = compare(x, "=", y)
    sources = (Source("L", "X", Range(6)), Source("R", "Y", Range(9)))
    program = Program((left, right), Select(items, sources, where))
    said = expected(program)
    assert any(values[2] == "NaN" for bag in said.values() for values in bag)
    assert not any(None in values for bag in said.values() for values in bag)
    assert run(program).history == said


def test_null_keys_of_every_type_group_together_and_join_nothing() -> None:
    columns = (("i", "INT"), ("b", "BIGINT"), ("s", "STRING"), ("d", "DOUBLE"))
    arrivals = tuple((at, (None, None, None, None)) for at in (1, 1, 2, 5))
    left, right = Stream("L", columns, arrivals), Stream("R", columns, arrivals)
    for name, type_ in columns:
        x, y = column(name, type_, "X"), column(name, type_, "Y")
        window = Range(3)
        grouped = Select(
            (Item("v", x), Item("n", COUNT_ALL)),
            (Source("L", "X", window),),
            grouped=True,
            keys=(x,),
        )
        program = Program((left,), grouped)
        found = run(program).history
        assert found == expected(program)
        assert found[2] == Counter({(None, 3): 1, (None, 2): -1})
        equal = compare(x, "=", y)
        join = Select((Item("v", x),), (Source("L", "X", window), Source("R", "Y", window)), equal)
        assert run(Program((left, right), join)).history == {}


def test_a_sum_forgets_a_huge_value_that_left_in_another_push() -> None:
    stream = measured([(0, (1, 1e17)), (1, (1, 0.5)), (4, (1, 0.25))])
    steps: list[Step] = [Push("S", place, place + 1) for place in range(3)]
    found = states(totals(stream, Range(3)), steps)
    assert found[3] == [(1.0, 0.5, 0.5, 1.0)]
    assert found[4] == [(1.0, 0.25, 0.25, 1.0)]


LARGEST = 2**63 - 1


@pytest.mark.parametrize(
    "values", [[LARGEST], [-LARGEST - 1], [LARGEST, -5, 3], [LARGEST - 1, 1]], ids=str
)
def test_a_sum_that_fits_bigint_is_given(values: list[int]) -> None:
    assert said_of("SUM", values) == [sum(values)]


def test_an_average_does_not_depend_on_its_sum_fitting_bigint() -> None:
    assert said_of("AVG", [5 * 10**18, 5 * 10**18]) == [5e18]


def test_a_sum_that_does_not_fit_bigint_is_null_with_a_warning() -> None:
    with pytest.warns(windrow.WindrowWarning, match="BIGINT"):
        assert said_of("SUM", [LARGEST, LARGEST]) == [None]


def said_of(function: str, values: list[int]) -> list[Any]:
    """What an aggregate of one instant's values is."""
    with windrow.connect() as connection:
        connection.execute("CREATE STREAM s (at_ BIGINT, v BIGINT) TIMESTAMP BY at_;")
        (query,) = connection.execute(f"SELECT {function}(v) AS c FROM s [RANGE 3 SECONDS];")
        connection.push("s", {"at_": [1] * len(values), "v": values})
        connection.advance(to=2)
        return query.answer()["c"].to_pylist()
