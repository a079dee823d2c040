"""Every number that Golab 2006, 5.3.2 works out for join orders, and what the heuristic chooses.

Orders are written as in the text, S1 S2 S3 S4 being 1234.
"""

from __future__ import annotations

from itertools import permutations
from math import isclose

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windrow.plan.costs.join_order import (
    Order,
    WindowedStream,
    best_order,
    considered_orders,
    fast_streams,
    joined_size,
    order_cost,
    origin_cost,
    selectivity_order,
)

TABLE_5_3 = [
    WindowedStream(10, 100, 500),
    WindowedStream(1, 100, 50),
    WindowedStream(1, 200, 40),
    WindowedStream(3, 100, 5),
]
# Table 5.5 prints 100 tuples per unit of time for stream 1; all four costs that the text works
# out for it, exact to the last digit, are those of 10.
TABLE_5_5 = [
    WindowedStream(10, 100, 40),
    WindowedStream(1, 100, 100),
    WindowedStream(1, 100, 8),
    WindowedStream(1, 100, 5),
]
TABLE_5_6 = [
    WindowedStream(11, 100, 200),
    WindowedStream(10, 100, 100),
    WindowedStream(1, 100, 65),
    WindowedStream(1, 100, 20),
]


def order(written: int) -> Order:
    return tuple(int(digit) - 1 for digit in str(written))


@pytest.mark.parametrize(
    ("members", "size"),
    [(12, 200), (13, 400), (14, 600), (23, 400), (24, 600), (34, 1500), (123, 800), (124, 1200)],
)
def test_intermediate_results_are_as_large_as_in_table_5_4(members: int, size: float) -> None:
    assert joined_size(TABLE_5_3, order(members)) == size


def test_each_origin_costs_what_the_text_works_out() -> None:
    costs = [origin_cost(TABLE_5_3, order(1234), origin) for origin in range(4)]
    assert costs == [3800, 3800, 2400, 6000]
    assert order_cost(TABLE_5_3, order(1234)) == 16000


@pytest.mark.parametrize(
    ("streams", "written", "cost"),
    [
        (TABLE_5_5, 2134, 16200), (TABLE_5_5, 2341, 42600), (TABLE_5_5, 1234, 21000),
        (TABLE_5_6, 3412, 49542), (TABLE_5_6, 3142, 47977), (TABLE_5_6, 3124, 51954),
        (TABLE_5_6, 1234, 68200), (TABLE_5_6, 2134, 79000),
    ],
)  # fmt: skip
def test_an_order_costs_what_the_text_says(
    streams: list[WindowedStream], written: int, cost: float
) -> None:
    assert round(order_cost(streams, order(written))) == cost


def test_the_worst_and_the_average_order_cost_what_the_text_says() -> None:
    costs = {
        name: [order_cost(streams, p) for p in permutations(range(4))]
        for name, streams in (("5.3", TABLE_5_3), ("5.5", TABLE_5_5), ("5.6", TABLE_5_6))
    }
    assert 85_000 < max(costs["5.3"]) < 90_000
    assert 135_000 < max(costs["5.5"]) < 136_000
    assert round(sum(costs["5.6"]) / 24) == 63362


@pytest.mark.parametrize(
    ("streams", "by_selectivity", "fast", "chosen"),
    [
        (TABLE_5_3, 1234, 1, 1234),
        (TABLE_5_5, 2341, 1, 2134),
        (TABLE_5_6, 3412, 12, 3142),
    ],
)
def test_the_heuristic_finds_the_optimum_of_each_example(
    streams: list[WindowedStream], by_selectivity: int, fast: int, chosen: int
) -> None:
    assert selectivity_order(streams) == order(by_selectivity)
    assert fast_streams(streams) == order(fast)
    assert best_order(streams) == order(chosen)
    cheapest = min(order_cost(streams, p) for p in permutations(range(4)))
    assert order_cost(streams, order(chosen)) == cheapest


def test_fast_streams_are_tried_everywhere_above_their_place() -> None:
    assert [order(2341), order(2314), order(2134), order(1234)] == list(
        considered_orders(TABLE_5_5)
    )
    assert {order(3412), order(3142), order(3124)} < set(considered_orders(TABLE_5_6))
    assert len(considered_orders(TABLE_5_6)) <= 4**2


def test_many_fast_streams_do_not_multiply_the_orders_beyond_reason() -> None:
    streams = [WindowedStream(100, 10, 5)] * 5 + [WindowedStream(1, 10, 5)] * 10
    assert 1 < len(considered_orders(streams)) <= 1_000


def test_hash_buckets_divide_what_a_probe_scans_but_not_what_it_finds() -> None:
    plain = [WindowedStream(1, 100, 10)] * 2
    hashed = [WindowedStream(1, 100, 10, buckets=10)] * 2
    assert order_cost(plain, (0, 1)) == 200
    assert order_cost(hashed, (0, 1)) == 20
    assert joined_size(hashed, (0, 1)) == joined_size(plain, (0, 1)) == 1000


STREAMS = st.lists(
    st.builds(
        WindowedStream, st.floats(0.1, 100), st.floats(1, 100), st.floats(1, 500), st.just(1.0)
    ),
    min_size=2,
    max_size=5,
)


@given(STREAMS)
def test_a_result_has_one_size_whatever_the_order(streams: list[WindowedStream]) -> None:
    sizes = [joined_size(streams, p) for p in permutations(range(len(streams)))]
    assert all(isclose(size, sizes[0], rel_tol=1e-9) for size in sizes)


@given(STREAMS)
def test_every_considered_order_is_an_order_and_none_beats_the_chosen(
    streams: list[WindowedStream],
) -> None:
    considered = considered_orders(streams)
    assert all(sorted(o) == list(range(len(streams))) for o in considered)
    chosen = order_cost(streams, best_order(streams))
    assert all(chosen <= order_cost(streams, o) for o in considered)
