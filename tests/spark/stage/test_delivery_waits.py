"""Whatever a task has hidden is on the disk before it reports, whether it is large or small."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from windrow.spark.stage.level_task import SMALL, JobFailedError, LevelTask


class NotingStage:
    """The last stage of a job, which notes what it is asked for; if ``told``, it hides nothing."""

    def __init__(self, job: int, log: list[tuple[str, int]], *, told: bool = False) -> None:
        self.job, self.log, self.told = job, log, told
        self.fails = False

    def deliver(self, _answers: Any) -> int:
        self.log.append(("deliver", self.job))
        return self.job

    def tells(self, _answers: Any) -> bool:
        return self.told

    def sync(self, report: int) -> None:
        self.log.append(("sync", report))
        if self.fails:
            raise ValueError("what this job has hidden is gone")


def answers_of(*sizes: int) -> dict[int, Any]:
    return {
        job: [(None, SimpleNamespace(delta=SimpleNamespace(nbytes=size)))]
        for job, size in enumerate(sizes)
    }


def level(stages: list[NotingStage]) -> LevelTask:
    return LevelTask("run", 0, "state", tuple(stages))  # type: ignore[arg-type]


LARGE = SMALL.usual + 1


@pytest.mark.usefixtures("sizes")
@pytest.mark.parametrize(
    "sizes_of_answers", [(1,), (LARGE,), (1, 1, 1), (1, LARGE, 1, LARGE), (LARGE, LARGE)]
)
def test_all_is_synced_before_a_task_reports(sizes_of_answers) -> None:
    log: list[tuple[str, int]] = []
    stages = [NotingStage(job, log) for job in range(len(sizes_of_answers))]
    found = level(stages)._deliver(answers_of(*sizes_of_answers))
    jobs = list(range(len(stages)))
    assert [*found] == jobs
    assert sorted(job for step, job in log if step == "sync") == jobs
    assert all(log.index(("deliver", job)) < log.index(("sync", job)) for job in jobs)


def test_small_answers_are_written_before_the_first_is_waited_for() -> None:
    log: list[tuple[str, int]] = []
    level([NotingStage(job, log) for job in range(3)])._deliver(answers_of(1, 1, 1))
    assert [step for step, _ in log] == ["deliver"] * 3 + ["sync"] * 3


def test_what_is_told_waits_for_no_disk() -> None:
    log: list[tuple[str, int]] = []
    level([NotingStage(0, log, told=True), NotingStage(1, log)])._deliver(answers_of(1, 1))
    assert [job for step, job in log if step == "sync"] == [1]


@pytest.mark.parametrize("size", [1, LARGE])
@pytest.mark.parametrize("failing", [0, 2])
def test_a_job_whose_answers_do_not_get_to_the_disk_fails_alone(size: int, failing: int) -> None:
    log: list[tuple[str, int]] = []
    stages = [NotingStage(job, log) for job in range(3)]
    stages[failing].fails = True
    with pytest.raises(JobFailedError) as error:
        level(stages)._deliver(answers_of(size, size, size))
    assert error.value.job == failing
