"""A run that is killed comes to the results of one that is not; see ``tests.faults`` for more."""

from __future__ import annotations

import time

import pytest

from tests.faults.comparison import differences
from tests.faults.plan import SCRIPT
from tests.faults.trial import Trial
from tests.faults.undisturbed import run_undisturbed
from windrow.plan.program import compile_script

pytestmark = [pytest.mark.spark, pytest.mark.slow]


@pytest.mark.timeout(1_800)  # four starts of Spark
def test_a_run_whose_source_virtual_machine_and_driver_are_killed_ends_as_any_other(tmp_path):
    trial = Trial(tmp_path / "disturbed", 3, seed=7, kinds=("source", "jvm", "driver"))
    done = trial.run(time.monotonic() + 900, lambda _: None)
    assert [kill.outcome for kill in done if not kill.passed] == []
    assert (len(done), trial.problem) == (3, "")
    run_undisturbed(tmp_path / "undisturbed", trial.input.steps, seed=7, runner="embedded")
    wrong = differences(compile_script(SCRIPT).catalog, tmp_path / "undisturbed", trial.directory)
    assert {name: words for name, words in wrong.items() if words} == {}
