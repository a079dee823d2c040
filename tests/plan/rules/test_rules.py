"""Each rule turns the plans of its fixture file into what the file says, and stops there."""

from __future__ import annotations

import pytest

from tests.plan.fixture_files import CHOICES, RULES, Case, cases, drawn
from tests.plan.scripts import bound

ALL = [(name, case) for name in RULES for case in cases(name)]


@pytest.mark.parametrize(("name", "case"), ALL, ids=[f"{n}: {c.title}" for n, c in ALL])
def test_before_becomes_after(name: str, case: Case) -> None:
    plan = bound(case.query)
    assert drawn(plan) == case.before
    assert drawn(RULES[name](plan)) == case.after


@pytest.mark.parametrize(("name", "case"), ALL, ids=[f"{n}: {c.title}" for n, c in ALL])
def test_a_rule_has_nothing_left_to_do_after_itself(name: str, case: Case) -> None:
    once = RULES[name](bound(case.query))
    assert RULES[name](once) == once


@pytest.mark.parametrize(("name", "case"), ALL, ids=[f"{n}: {c.title}" for n, c in ALL])
def test_a_rule_keeps_the_columns_of_the_answer(name: str, case: Case) -> None:
    plan = bound(case.query)
    assert RULES[name](plan).schema == plan.schema


@pytest.mark.parametrize("name", RULES)
def test_every_rule_has_cases(name: str) -> None:
    assert len(cases(name)) >= 3


STEPS = [(name, case) for name in CHOICES for case in cases(name)]


@pytest.mark.parametrize(("name", "case"), STEPS, ids=[f"{n}: {c.title}" for n, c in STEPS])
def test_one_step_of_a_choice_becomes_after_with_the_same_columns(name: str, case: Case) -> None:
    plan = bound(case.query)
    assert drawn(plan) == case.before
    after = CHOICES[name](plan)
    assert drawn(after) == case.after
    assert after.schema == plan.schema


@pytest.mark.parametrize("name", CHOICES)
def test_every_choice_has_cases_that_change_and_cases_that_do_not(name: str) -> None:
    changed = {case.before != case.after for case in cases(name)}
    assert changed == {True, False}
