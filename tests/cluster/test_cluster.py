"""A standalone cluster whose workers share nothing with the driver but a directory."""

from __future__ import annotations

import os

import pytest

from tests.cluster.demo_run import DemoRun, compare_with_embedded
from tests.cluster.standalone import standalone_cluster

pytestmark = [pytest.mark.slow, pytest.mark.spark, pytest.mark.timeout(600)]

ROWS = 60_000


def test_a_worker_that_dies_in_the_middle_of_a_stage_changes_no_answer(tmp_path):
    with standalone_cluster(tmp_path / "cluster") as cluster:
        run = DemoRun(cluster, ROWS)
        try:
            kill = run.kill_busy_worker()
            assert run.finish() == 0, run.said
        finally:
            run.stop()
        left = [host for address, host in cluster.workers.items() if address != kill.address]
        assert [host.process.poll() for host in left] == [None], "nobody restarted anything"
        processes = [p for host in cluster.workers.values() for p in host.processes()]
    answers = compare_with_embedded(run.directory, ROWS)
    assert not answers.differing
    assert all(answers.instants.values())
    for process in processes:
        with pytest.raises(ProcessLookupError):
            os.kill(process, 0)
