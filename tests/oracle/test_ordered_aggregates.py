"""Aggregates in which order counts: FIRST, LAST, MIN_BY, MAX_BY, STRING_AGG."""

from __future__ import annotations

import random

import pytest

import windrow
from tests.oracle.blocks import Item, Select, Source
from tests.oracle.definition import expected
from tests.oracle.expressions import COUNT_ALL, Expr, collected, column, joined, least_by
from tests.oracle.queries import Program, Stream
from tests.oracle.running import run
from tests.oracle.windows import Range, Rows, Unbounded, Window
from windrow.plan.strategy import Strategy

pytestmark = pytest.mark.usefixtures("sizes")

COLUMNS = (("k", "INT"), ("v", "DOUBLE"), ("s", "STRING"), ("b", "BOOLEAN"), ("i", "BIGINT"))
K, V, S, B, N = (column(name, type_, "X") for name, type_ in COLUMNS)
CHOICES = (
    (0, 1), (1.5, -0.0, 0.0, float("nan"), None, -3.0),
    ("a", "b", "é", "a\0", "a\x01b", "a\x01", "", None), (True, False, None),
    (None, -5, 0, 2**63 - 1, -(2**63)),
)  # fmt: skip
ASKED: tuple[Expr, ...] = (
    least_by("MIN_BY", S, V), least_by("MAX_BY", V, S), least_by("MAX_BY", N, B),
    least_by("MIN_BY", B, N), joined(S, V, descending=True), joined(S, S, descending=False),
    joined(S, B, descending=True), collected(N, B, descending=True),
)  # fmt: skip


def odd_rows(seed: int, count: int = 24) -> Stream:
    rng, ts, arrivals = random.Random(seed), 0, []
    for _ in range(count):
        ts += rng.choice((0, 0, 1, 2))
        arrivals.append((ts, tuple(rng.choice(some) for some in CHOICES)))
    return Stream("S", COLUMNS, tuple(arrivals))


@pytest.mark.parametrize("strategy", Strategy)
@pytest.mark.parametrize(
    "window", [Range(3), Range(5, 2), Rows(3), Rows(2, ("k",)), Rows(4, slide=2), Unbounded()]
)
def test_pairs_of_odd_values_are_in_the_order_of_their_values(
    window: Window, strategy: Strategy
) -> None:
    items = tuple(Item(f"c{place}", e) for place, e in enumerate((K, COUNT_ALL, *ASKED)))
    block = Select(items, (Source("S", "X", window),), grouped=True, keys=(K,))
    program = Program((odd_rows(seed=7),), block, beyond=6)
    assert run(program, strategy=strategy).history == expected(program)


def test_first_and_last_are_by_the_time_of_the_stream_whatever_came_first() -> None:
    rows = [(1, "b", 1), (1, "a", 2), (2, "c", 3), (4, "d", None), (4, "c", 4)]
    asked = (
        "SELECT FIRST(x) AS f, LAST(x) AS l, LAST(y) AS n, STRING_AGG(x, '') AS s "
        "FROM s [RANGE 3 SECONDS];"
    )
    for order in (rows, [rows[1], rows[0], *rows[2:3], rows[4], rows[3]]):
        with windrow.connect() as connection:
            connection.execute("CREATE STREAM s (ts BIGINT, x STRING, y INT);")
            (query,) = connection.execute(asked)
            connection.push("s", [{"ts": t, "x": x, "y": y} for t, x, y in order])
            connection.advance(to=4)
            answer = [tuple(row.values()) for row in query.answer().to_pylist()]
            assert answer == [("c", "d", 4, "ccd")]


def test_what_ties_is_in_the_order_of_its_values_in_a_descending_order_too() -> None:
    with windrow.connect() as connection:
        connection.execute("CREATE STREAM s (ts BIGINT, x INT, y INT);")
        (query,) = connection.execute(
            "SELECT ARRAY_AGG(x ORDER BY y DESC) AS a, "
            "STRING_AGG(CAST(x AS STRING) ORDER BY y DESC) AS t FROM s [UNBOUNDED];"
        )
        rows = [(2, 5), (1, 5), (9, 7), (4, None), (3, None), (None, 5)]
        connection.push("s", [{"ts": 1, "x": x, "y": y} for x, y in rows])
        connection.advance(to=1)
        (found,) = query.answer().to_pylist()
    assert found == {"a": [9, 1, 2, None, 3, 4], "t": "9,1,2,3,4"}


def test_in_a_join_the_latest_time_orders_pairs() -> None:
    with windrow.connect() as connection:
        connection.execute(
            "CREATE STREAM s (ts BIGINT, x STRING); CREATE STREAM r (at_ BIGINT, y STRING)"
            " TIMESTAMP BY at_;"
        )
        (query,) = connection.execute(
            "SELECT STRING_AGG(x || y, ' ') AS s, LAST(x || y) AS l FROM s [RANGE 9], r [RANGE 9];"
        )
        connection.push("s", [{"ts": 1, "x": "z"}, {"ts": 3, "x": "a"}])
        connection.push("r", [{"at_": 2, "y": "1"}])
        connection.advance(to=3)
        assert query.answer().to_pylist() == [{"s": "z1 a1", "l": "a1"}]
