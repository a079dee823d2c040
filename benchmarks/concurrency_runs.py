"""A query manager on one processor, in virtual time, for one window length (Golab 2006, 7.5.1).

The schedulers are Windrow's, and every one of their decisions is made and timed. A read costs what
a real scan of that sub-window has cost (measured once, so that all schedulers pay the same),
plus the processor time that the scheduler has just taken. Virtual time is processor time, times
``slowness``: how much slower the machine is supposed to be. Processor time, because other programs
run beside this one.

Periodic groups are executed round-robin, one after the other; one-time queries have priority.
Updates fall due every ``seconds``; they are carried out between two reads, or when the scheduler
lets them.
"""

from __future__ import annotations

import gc
import time
from collections import deque
from dataclasses import dataclass, field
from statistics import fmean

import numpy as np

from benchmarks.concurrency_workload import Workload
from windrow.sharing.transactions.latest_window import LatestWindow
from windrow.sharing.transactions.scheduler import ReadTransaction, Scheduler, Verdict
from windrow.sharing.transactions.serial import Serial
from windrow.sharing.transactions.stored_windows import SubWindows
from windrow.sharing.transactions.time_to_update import TimeToUpdate
from windrow.sharing.transactions.window_serial import WindowSerial

KINDS = (Serial, WindowSerial, LatestWindow, TimeToUpdate)
NAMES = tuple(kind.name for kind in KINDS)


@dataclass
class Reports:
    """What was seen of the queries of one class, in virtual seconds.

    Staleness is the time from the last update that an answer reflects to the report: from when that
    update was due (its data was complete), and from when it was carried out.
    """

    staleness: list[float] = field(default_factory=list)
    staleness_applied: list[float] = field(default_factory=list)
    response: list[float] = field(default_factory=list)
    between: list[float] = field(default_factory=list)
    aborts: int = 0
    last: float = 0.0

    @property
    def runs(self) -> int:
        return len(self.staleness) + self.aborts

    def means(self) -> dict[str, float]:
        """Not a number, where no query has ended, or none twice."""
        return {
            "staleness": _mean(self.staleness),
            "staleness_applied": _mean(self.staleness_applied),
            "response": _mean(self.response),
            "between": _mean(self.between),
            "throughput": len(self.staleness) / self.last if self.last else 0.0,
            "aborted": 100 * self.aborts / self.runs,
        }


def _mean(values: list[float]) -> float:
    return fmean(values) if values else float("nan")


@dataclass
class _Execution:
    costs: np.ndarray
    answer_cost: float
    begin: float
    group: int | None
    versions: list[int] = field(default_factory=list)


class Run:
    """One scheduler over one workload; ``one_time`` are the times at which such queries come."""

    def __init__(
        self,
        kind: type[Scheduler],
        workload: Workload,
        slowness: float,
        one_time: list[tuple[float, int]],
    ) -> None:
        self.workload, self.slowness = workload, slowness
        n = workload.n
        self.scheduler = kind(n, n - 1)
        self.window = SubWindows(workload.packets[:n])
        self.clock, self.end = 0.0, float(n * workload.seconds)
        self.applied: dict[int, float] = {n - 1: 0.0}
        self.due = deque(enumerate(workload.packets[n:], start=1))
        self.one_time = deque(one_time)
        self.running: dict[str, _Execution] = {}
        self.turn = 0
        self.last_report: dict[int, float] = {}
        self.reports = {"periodic": Reports(), "one-time": Reports()}

    def go(self) -> dict[str, dict[str, float]]:
        gc.collect()
        gc.disable()
        try:
            while self.clock < self.end:
                self._updates()
                self._arrivals()
                self._step()
        finally:
            gc.enable()
        return {name: reports.means() for name, reports in self.reports.items() if reports.runs}

    def _updates(self) -> None:
        scheduler, period = self.scheduler, self.workload.seconds
        while self.due and self.due[0][0] * period <= self.clock and scheduler.may_update():
            begin = time.thread_time_ns()
            update = scheduler.update()
            self.window.install(self.due.popleft()[1])
            self.window.drop_before(scheduler.oldest_needed())
            self._pass(time.thread_time_ns() - begin)
            self.applied[update.number] = self.clock
            for name in update.aborted:
                self._reports_of(self.running[name]).aborts += 1
                self.running[name].versions.clear()

    def _arrivals(self) -> None:
        workload = self.workload
        while self.one_time and self.one_time[0][0] <= self.clock:
            at, length = self.one_time.popleft()
            name = f"once{at}"
            self.running[name] = _Execution(workload.one_time_costs, 0.0, at, None)
            self.scheduler.submit(ReadTransaction(name, length, priority=1))
        if not any(execution.group is not None for execution in self.running.values()):
            at = self.turn % len(workload.groups)
            group = workload.groups[at]
            name = f"group{self.turn}"
            costs = workload.periodic_costs[group.column, group.weighted]
            self.running[name] = _Execution(costs, workload.answer_costs[at], self.clock, at)
            self.scheduler.submit(ReadTransaction(name, group.length))
            self.turn += 1

    def _step(self) -> None:
        scheduler = self.scheduler
        begin = time.thread_time_ns()
        read = scheduler.next_read()
        self.window.read(read.version)
        verdict, as_of = scheduler.acknowledge(read)
        taken = time.thread_time_ns() - begin
        execution = self.running[read.query]
        execution.versions.append(read.version)
        self._pass(taken, execution.costs[read.version])
        if verdict is Verdict.COMMITS:
            self._pass(0, execution.answer_cost)
            self._report(read.query, as_of)

    def _pass(self, nanoseconds: int, seconds: float = 0.0) -> None:
        self.clock += self.slowness * (nanoseconds / 1e9 + float(seconds))

    def _report(self, name: str, as_of: int) -> None:
        execution = self.running.pop(name)
        length = len(execution.versions)
        assert sorted(execution.versions) == list(range(as_of - length + 1, as_of + 1))
        reports = self._reports_of(execution)
        due = (as_of - self.workload.n + 1) * self.workload.seconds
        reports.staleness.append(self.clock - due)
        reports.staleness_applied.append(self.clock - self.applied[as_of])
        reports.response.append(self.clock - execution.begin)
        reports.last = self.clock
        if execution.group is not None:
            if execution.group in self.last_report:
                reports.between.append(self.clock - self.last_report[execution.group])
            self.last_report[execution.group] = self.clock

    def _reports_of(self, execution: _Execution) -> Reports:
        return self.reports["one-time" if execution.group is None else "periodic"]


def one_time_queries(workload: Workload, seed: int) -> list[tuple[float, int]]:
    """Five in a sub-window of five seconds: about one per second, over random windows."""
    random = np.random.default_rng(seed)
    times = np.cumsum(random.exponential(workload.seconds / 5, 5 * workload.n))
    lengths = random.integers(1, workload.n + 1, times.size)
    return [(float(at), int(length)) for at, length in zip(times, lengths, strict=True)]
