"""An n-way join that goes on from a checkpoint probes in the order that was last observed.

Its plan has the order of the first rows; each bucket has chosen another since, which its state
holds. Stages run without Spark, from the files of their state.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.operators.test_multi_join import interval, plan
from tests.spark.staged import Staged, netted
from windrow.operators.multi_join import MultiwayJoin
from windrow.plan.strategy import Strategy

PLANNED = (2, 0, 1)
STEPS, STOPPED = 60, 40


def test_a_restart_goes_on_in_the_order_that_was_observed_with_the_same_answers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    probed: list[tuple[int, ...]] = []
    real = MultiwayJoin.process

    def process(self, inputs, now):
        probed.append(self.order)
        return real(self, inputs, now)

    monkeypatch.setattr(MultiwayJoin, "process", process)
    rng = np.random.default_rng(3)
    parts = [interval(rng, step * 10, (120, 6, 6)) for step in range(STEPS)]
    whole, first, second = (Staged(plan(PLANNED), Strategy.UPA, name) for name in "abc")
    second.tasks = [replace(task, state=str(first.state)) for task in second.tasks]
    second.state, second.found = first.state, first.found
    for step, part in enumerate(parts):
        time = dict.fromkeys(part, (step * 10 + 9, False))
        whole.step(step, part, time)
        probed.clear()
        (first if step < STOPPED else second).step(step, part, time)
        if step in (0, STOPPED):
            assert (set(probed) == {PLANNED}) == (step == 0)
    assert netted(whole.found) == netted(second.found)
