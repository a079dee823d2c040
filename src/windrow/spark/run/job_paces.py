"""How fast the scheduled jobs of a pipeline are, micro-batch by micro-batch, and the log of it.

Which executions a micro-batch has depends on its time and on the pace that its tasks are given, and
on nothing else (``windrow.sharing.schedule.paced_schedule``). The pace is measured at the driver,
and written down before the micro-batch runs. Whoever repeats the micro-batch finds it there, so the
repetition has the same executions, and gives the same results.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from windrow.result_files.atomic_files import publish, read_record
from windrow.sharing.schedule import Pace, PaceMeter, QueryDelay
from windrow.spark.stage.stage_task import Report
from windrow.spark.stage.state_files import RETAINED

REMEDY = "restore it, or choose a new directory with --checkpoint"


class JobPaces:
    """Of the jobs in ``ticks``, by number, which has the ticks in a second of their clocks."""

    def __init__(self, directory: Path, ticks: Mapping[int, int]) -> None:
        self._directory, self._ticks = directory, ticks
        self._meters = {number: PaceMeter(per_second) for number, per_second in ticks.items()}
        self._now: dict[int, int] = {}
        self._begun = False
        self.delays: dict[int, dict[str, QueryDelay]] = {}
        """How late the queries of each job were after its last micro-batch."""

    def before(self, batch: int) -> dict[int, Pace]:
        """The paces that a micro-batch has, also if it is repeated."""
        if not self._meters:
            return {}
        if not self._begun:
            self._begun = True
            self._go_on(self._read(batch - 1) or {})
        logged = self._read(batch)
        if logged is None:
            logged = {number: meter.pace for number, meter in self._meters.items()}
            self._directory.mkdir(parents=True, exist_ok=True)
            told = {number: [pace.behind, pace.per_work] for number, pace in logged.items()}
            publish(self._path(batch), json.dumps(told))
            self._path(batch - RETAINED - 2).unlink(missing_ok=True)
        else:
            self._go_on(logged)
        return logged

    def _go_on(self, logged: Mapping[int, Pace]) -> None:
        """From the paces of an earlier micro-batch, if that is what is known."""
        for number in logged.keys() & self._meters.keys():
            self._meters[number].pace = logged[number]

    def note(
        self,
        seconds: float,
        found: Mapping[int, Sequence[Report]],
        schedules: Mapping[int, Mapping[str, Any]],
    ) -> None:
        """A micro-batch took so long, and this is what its tasks reported."""
        for number in found.keys() & schedules.keys() & self._meters.keys():
            now, told = max(report.now or 0 for report in found[number]), schedules[number]
            took = round(seconds * self._ticks[number])
            span = now - self._now[number] if number in self._now else took
            self._now[number] = now
            self._meters[number].note(seconds, span, told["work"])
            self.delays[number] = {n: QueryDelay(**delay) for n, delay in told["delays"].items()}

    def _read(self, batch: int) -> dict[int, Pace] | None:
        try:
            return read_record(
                self._path(batch),
                "the pace of a micro-batch",
                lambda told: {int(number): Pace(*pace) for number, pace in told.items()},
                remedy=REMEDY,
            )
        except FileNotFoundError:
            return None

    def _path(self, batch: int) -> Path:
        return self._directory / f"{batch}.json"
