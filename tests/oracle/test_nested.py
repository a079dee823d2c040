"""Random nested queries: any operator over any other says what the same words mean in SQL."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.oracle.random_scripts import KINDS, RELATIONAL, scripts
from tests.oracle.scripts import Script, fed, meant, said
from windrow.plan.strategy import Strategy

pytestmark = pytest.mark.usefixtures("sizes")

PIECES = st.sampled_from([None, 1, 3, 7])


RIVALS = st.sampled_from([Strategy.NT, Strategy.DIRECT])


def says_what_its_words_mean(
    script: Script, seed: int, rows: int | None, strategies: Iterable[Strategy] = Strategy
) -> bool:
    """Compare at every instant, by the strategies; tell whether there was anything to compare."""
    feeds = fed(seed)
    expected = meant(script, feeds)
    for strategy in strategies:
        assert said(script, feeds, rows=rows, strategy=strategy) == expected, strategy
    return bool(expected)


def test_every_nested_query_says_what_its_words_mean() -> None:
    spoke: list[bool] = []

    @settings(max_examples=20)
    @given(script=scripts(), seed=st.integers(0, 30), rows=PIECES, rival=RIVALS)
    def check(script: Script, seed: int, rows: int | None, rival: Strategy) -> None:
        spoke.append(says_what_its_words_mean(script, seed, rows, (Strategy.UPA, rival)))

    check()
    # A comparison of nothing with nothing shows little.
    assert sum(spoke) > 0.5 * len(spoke)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("strategy", Strategy)
@settings(max_examples=334)
@given(script=scripts(RELATIONAL * 2 + KINDS), seed=st.integers(0, 30), rows=PIECES)
def test_much_more_of_what_sql_has_says_what_its_words_mean(
    strategy: Strategy, script: Script, seed: int, rows: int | None
) -> None:
    """Two thousand scripts: so many for each of three strategies, and with small thresholds too."""
    says_what_its_words_mean(script, seed, rows, (strategy,))


@pytest.mark.slow
@pytest.mark.timeout(1800)
@settings(max_examples=300)
@given(script=scripts(), seed=st.integers(0, 30), rows=PIECES)
def test_many_more_nested_queries_say_what_their_words_mean(
    script: Script, seed: int, rows: int | None
) -> None:
    says_what_its_words_mean(script, seed, rows)
