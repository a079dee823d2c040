"""Updates that break a relation's rules are put aside, and nothing else changes."""

from __future__ import annotations

from typing import Any

import pytest

import windrow

pytestmark = pytest.mark.usefixtures("sizes")

DECLARATIONS = """
CREATE STREAM s (ts BIGINT, k INT);
CREATE RELATION r (k INT, w INT);
CREATE NRR n (k INT, w INT);
CREATE NRR keyed (k INT, w INT, PRIMARY KEY (k));
"""


def joined(name: str, updates: list[tuple[int, str, int, int]]) -> tuple[list[Any], int]:
    """A tuple at each instant joined with the relation, and how many updates were refused."""
    with windrow.connect() as connection:
        connection.execute(DECLARATIONS)
        text = f"SELECT s.ts, m.w FROM s [NOW], {name} AS m WHERE s.k = m.k;"
        (query,) = connection.execute(f"ISTREAM({text[:-1]});")
        connection.push("s", {"ts": list(range(1, 10)), "k": [1] * 9})
        names = ("instant", "change", "k", "w")
        columns = dict(zip(names, map(list, zip(*updates, strict=True)), strict=True))
        connection.push(name, columns)
        connection.advance(to=9)
        rows = query.changes().to_pylist()
        return [(row["ts"], row["w"]) for row in rows], connection.count_rejected(name)


COMES_AGAIN = [(1, "+", 1, 7), (3, "-", 1, 7), (6, "+", 1, 7)]


def test_a_row_may_come_back_to_a_relation() -> None:
    assert joined("r", COMES_AGAIN) == ([(t, 7) for t in (1, 2, 6, 7, 8, 9)], 0)


@pytest.mark.parametrize("name", ["n", "keyed"])
def test_a_row_may_not_come_back_to_an_nrr(name: str) -> None:
    assert joined(name, COMES_AGAIN) == ([(1, 7), (2, 7)], 1)


def test_the_key_of_an_nrr_is_what_may_not_come_back() -> None:
    other_row = [(1, "+", 1, 7), (3, "-", 1, 7), (6, "+", 1, 8)]
    assert joined("n", other_row) == ([(1, 7), (2, 7), *((t, 8) for t in (6, 7, 8, 9))], 0)
    assert joined("keyed", other_row) == ([(1, 7), (2, 7)], 1)


@pytest.mark.parametrize("name", ["r", "n"])
def test_what_is_not_there_cannot_leave(name: str) -> None:
    updates = [(1, "+", 1, 7), (2, "-", 1, 8), (8, "-", 1, 7)]
    assert joined(name, updates) == ([(t, 7) for t in range(1, 8)], 1)
