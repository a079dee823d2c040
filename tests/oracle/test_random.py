"""Random programs over random streams: what Windrow says equals the definition at every instant."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from tests.oracle.blocks import Output
from tests.oracle.definition import bags, expected
from tests.oracle.programs import mixtures, programs
from tests.oracle.queries import Program
from tests.oracle.running import accumulated, run

pytestmark = pytest.mark.usefixtures("sizes")


def says_what_the_definition_says(program: Program) -> bool:
    """Compare at every instant; tell whether there was anything to compare."""
    should = expected(program)
    found = run(program)
    assert found.history == should
    if program.output is not Output.CHANGES:
        assert set(found.changes["change"].to_pylist()) <= {"+"}
    elif should:
        now = bags(program).get(program.horizon, {})
        assert found.final == now
        assert accumulated(found.history) == now
    return bool(should)


def test_every_program_says_at_every_instant_what_the_definition_says() -> None:
    spoke: list[bool] = []

    @settings(max_examples=80)
    @given(program=programs())
    def check(program: Program) -> None:
        spoke.append(says_what_the_definition_says(program))

    check()
    # A comparison of nothing with nothing shows little.
    assert sum(spoke) > 0.6 * len(spoke)


@settings(max_examples=40)
@given(program=mixtures())
def test_internal_windows_beside_others_take_no_result_back(program: Program) -> None:
    says_what_the_definition_says(program)


@pytest.mark.slow
@pytest.mark.timeout(1800)
@settings(max_examples=2_000)
@given(program=programs())
def test_many_more_programs_say_what_the_definition_says(program: Program) -> None:
    says_what_the_definition_says(program)
