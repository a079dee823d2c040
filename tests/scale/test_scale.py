"""A fair part of ``python -m tests.scale``: each case in two ways, other ones for the next."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.scale.cases import CASES
from tests.scale.oracle import Oracle
from tests.scale.trials import SMALL, attempt, few_ways


@pytest.fixture(scope="module")
def oracle() -> Iterator[Oracle]:
    with Oracle(SMALL) as found:
        yield found


@pytest.mark.parametrize("name", CASES)
def test_the_answers_are_those_of_duckdb(name: str, oracle: Oracle) -> None:
    for way in few_ways(list(CASES).index(name)):
        assert attempt(CASES[name], way, oracle).failure is None, way
