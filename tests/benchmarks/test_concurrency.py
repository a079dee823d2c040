"""The benchmark of concurrency control at a tiny size: schedulers do what they promise."""

from __future__ import annotations

import pytest

from benchmarks.concurrency_runs import KINDS, Run, one_time_queries
from benchmarks.concurrency_threads import check_threads
from benchmarks.concurrency_workload import Workload

pytestmark = pytest.mark.slow


def test_a_run_lasts_a_window_and_only_algorithm_7_aborts():
    workload = Workload(20, 5, 40, seed=0)
    slowness = 0.25 * 5 / workload.mean_execution
    found = {
        kind.name: Run(kind, workload, slowness, one_time_queries(workload, 0)).go()
        for kind in KINDS
    }
    assert {name: means["periodic"]["aborted"] > 0 for name, means in found.items()} == {
        "Serial": False,
        "WS": False,
        "LWS": True,
        "TTU": False,
    }
    for means in found.values():
        assert means["one-time"]["staleness"] > 0
        assert means["periodic"]["staleness"] >= means["periodic"]["staleness_applied"]


def test_answers_in_threads_are_right():
    for name, run in check_threads(quick=True).items():
        assert (run.wrong, run.answers) == (0, 30)
        assert run.isolation.window_serialisable
        assert run.isolation.latest_window_serialisable or name == "WS"
