"""A fair part of ``python -m tests.scale``: each case in two ways, other ones for the next.

One of the two is slow: for every other case the one embedded, for the rest the one in buckets.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.scale.cases import CASES
from tests.scale.oracle import Oracle
from tests.scale.trials import SMALL, Way, attempt, few_ways


@pytest.fixture(scope="module")
def oracle() -> Iterator[Oracle]:
    with Oracle(SMALL) as found:
        yield found


def ways_in_turn() -> list[Any]:
    """All cases in two ways, of which one is slow."""
    return [
        pytest.param(
            name, way, marks=[pytest.mark.slow] * ((place + turn) % 2), id=f"{name}, {way}"
        )
        for place, name in enumerate(CASES)
        for turn, way in enumerate(few_ways(place))
    ]


@pytest.mark.parametrize(("name", "way"), ways_in_turn())
def test_the_answers_are_those_of_duckdb(name: str, way: Way, oracle: Oracle) -> None:
    assert attempt(CASES[name], way, oracle).failure is None
