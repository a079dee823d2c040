"""NT, DIRECT and UPA: three ways to one answer (Golab 2006, 2.3.3 and 3.5)."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.oracle.all_samples import SAMPLES
from tests.oracle.cuts import cuts
from tests.oracle.definition import expected
from tests.oracle.programs import programs
from tests.oracle.queries import Program
from tests.oracle.running import run
from windrow.plan.strategy import Strategy

pytestmark = pytest.mark.usefixtures("sizes")

RIVALS = (Strategy.NT, Strategy.DIRECT)


@settings(max_examples=40)
@given(data=st.data(), program=programs(), rival=st.sampled_from(RIVALS))
def test_all_strategies_say_the_same_of_every_program(
    data: st.DataObject, program: Program, rival: Strategy
) -> None:
    steps = data.draw(cuts(program), label="steps")
    assert run(program, steps, strategy=rival).history == run(program, steps).history


@pytest.mark.parametrize("name", SAMPLES)
def test_each_strategy_says_what_the_definition_says(name: str, sizes: str) -> None:
    """Each sample by both rivals, by one of them with thresholds at their least."""
    place = list(SAMPLES).index(name) + (sizes == "least")
    program, strategy = SAMPLES[name], RIVALS[place % len(RIVALS)]
    assert run(program, strategy=strategy).history == expected(program), strategy


@pytest.mark.slow
@pytest.mark.parametrize("strategy", RIVALS)
@pytest.mark.parametrize("name", SAMPLES)
def test_each_strategy_says_so_at_all_thresholds(name: str, strategy: Strategy) -> None:
    assert run(SAMPLES[name], strategy=strategy).history == expected(SAMPLES[name])


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("strategy", RIVALS)
@settings(max_examples=1_000)
@given(program=programs())
def test_each_strategy_says_what_the_definition_says_of_many_programs(
    strategy: Strategy, program: Program
) -> None:
    assert run(program, strategy=strategy).history == expected(program)
