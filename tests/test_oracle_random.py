"""Random programs over random streams: what Windrow says equals the definition at every instant."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from tests.oracle.blocks import Output
from tests.oracle.definition import bags, expected
from tests.oracle.programs import programs
from tests.oracle.queries import Program
from tests.oracle.running import accumulated, run


@settings(max_examples=250)
@given(program=programs())
def test_every_program_says_at_every_instant_what_the_definition_says(program: Program) -> None:
    assert run(program).history == expected(program)


@given(program=programs((Output.CHANGES,)))
def test_the_answer_is_the_bag_at_the_last_instant_and_the_sum_of_all_changes(
    program: Program,
) -> None:
    found = run(program)
    now = bags(program).get(program.horizon, {})
    assert found.final == now
    assert accumulated(found.history) == now


@given(program=programs((Output.ISTREAM, Output.DSTREAM, Output.RSTREAM)))
def test_a_stream_of_results_takes_nothing_back(program: Program) -> None:
    assert set(run(program).changes["change"].to_pylist()) <= {"+"}


@pytest.mark.slow
@settings(max_examples=3_000)
@given(program=programs())
def test_many_more_programs_say_what_the_definition_says(program: Program) -> None:
    assert run(program).history == expected(program)
