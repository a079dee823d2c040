"""Which executions an interval of updates gets, given how long they take (Golab 2006, 8.4).

Synopses are updated at the multiples of their s, whatever happens. As long as whoever executes
keeps up, queries are answered at all multiples of their periods: their *grid*. If it falls behind
by more than a given delay, updates pass without executions, local schedulers choose what is
executed at the others, and so periods are stretched. What was answered late gets back to its grid
as soon as there is time.

An execution that begins at update u has to be over when the next one comes, at u + s, or later by
the delay that is allowed. So tasks are executed at u while less than s and that delay is behind;
each adds what its work takes, and time takes it off again. At the last update of an interval at
least one task is executed: overload stretches every period and stops none, as in Algorithm 9.

The choice depends on the interval and on the pace alone, and on no data: whoever repeats an
interval repeats its executions, and parts of one job that have the same time execute the same.

An interval of very many updates is a gap, or history that is read in bulk. Nobody waits for it, so
all of it is answered on the grid, and nothing is enumerated.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from windrow.core.thresholds import Threshold
from windrow.sharing.schedule.joint_cost import joint_work
from windrow.sharing.schedule.lateness import LatenessLog, QueryDelay
from windrow.sharing.schedule.local_scheduler import Execution, LocalScheduler
from windrow.sharing.schedule.policies import POLICIES
from windrow.sharing.schedule.tasks import Task

MOST_UPDATES = Threshold(65_536, least=3)
"""More updates than that in one interval are not scheduled one by one."""


@dataclass(frozen=True)
class Pace:
    """How far execution is behind time, and how long a unit of work takes, both in ticks."""

    behind: float = 0
    per_work: float = 0


@dataclass(frozen=True)
class GroupSchedule:
    """How the queries of a job are scheduled: by which policy, and their sub-groups by s.

    Without ``max_delay``, in ticks, nothing is ever late. ``names`` are those of the job's members
    by number.
    """

    policy: str
    max_delay: int | None
    sub_groups: tuple[tuple[int, tuple[Task, ...]], ...]
    names: tuple[str, ...]


class PacedSchedule:
    """The executions of a job's queries, interval by interval. Instants are multiples of s."""

    def __init__(self, group: GroupSchedule) -> None:
        self.max_delay = group.max_delay
        self.now: int | None = None
        """Up to where intervals were scheduled; None before the first."""
        self.work = 0.0
        """What the executions of the last interval took; of one that is not enumerated, 0."""
        self._schedulers = {
            s: LocalScheduler(tasks, POLICIES[group.policy]()) for s, tasks in group.sub_groups
        }
        self.tasks = {
            query.name: (s, place)
            for s, scheduler in self._schedulers.items()
            for place, task in enumerate(scheduler.tasks)
            for query in task.queries
        }
        """Where each query is: those of a task are always executed together."""

    def period(self, query: str) -> int:
        """The ticks between two executions on the grid."""
        s, place = self.tasks[query]
        return self._schedulers[s].tasks[place].period * s

    def last_instant(self, query: str) -> int | None:
        """The instant that a query was last answered for; None before the first interval."""
        if self.now is None:
            return None
        s, _ = self.tasks[query]
        return self._schedulers[s].answered_for(query) * s

    def executions(self, now: int, pace: Pace) -> dict[str, list[int]] | None:
        """The instants up to ``now`` at which queries are executed; None: all those of the grid."""
        before, limit, self.work = self.now, self.max_delay, 0.0
        if before is None or limit is None or self._has_many_updates(before, now):
            self._follow_grid(now)
            return None
        found = _Interval(self._schedulers, limit, before, now, pace)
        found.run()
        self.now, self.work = now, found.work
        return found.executions

    def _has_many_updates(self, before: int, now: int) -> bool:
        return (now - before) // min(self._schedulers) > MOST_UPDATES.value

    def _follow_grid(self, now: int) -> None:
        """All were executed whenever they were due."""
        before, self.now = self.now, now
        for s, scheduler in self._schedulers.items():
            answered: dict[str, int] = {}
            for task in scheduler.tasks:
                last = now // s // task.period * task.period
                if before is None or last * s > before:
                    answered |= {query.name: last for query in task.queries}
            scheduler.advance(now // s, now // s * s)
            scheduler.restore(answered, {})

    def begin(self, now: int) -> None:
        """Begin after a time without a schedule, when queries were answered as their SLIDE says."""
        self._follow_grid(now)
        for s, scheduler in self._schedulers.items():
            queries = [query for task in scheduler.tasks for query in task.queries]
            own = {query.name: now // s // query.period * query.period for query in queries}
            scheduler.restore(own, {})

    def delays(self) -> dict[str, QueryDelay]:
        """For each query how late it is and has been; nothing without a limit, or at first."""
        if self.now is None or self.max_delay is None:
            return {}
        return {
            found.name: found.in_ticks(s, scheduler.answered_for(found.name) * s)
            for s, scheduler in self._schedulers.items()
            for found in scheduler.lateness()
        }

    def adopt(self, other: PacedSchedule) -> None:
        """Go on where another one was, perhaps of fewer or other queries."""
        self.load(other.save())

    def save(self) -> dict[str, Any]:
        """All that the next executions depend on, as JSON."""
        queries = {
            query: [self.last_instant(query), *self._schedulers[s].log(query).counts]
            for query, (s, _) in self.tasks.items()
        }
        return {"now": self.now, "queries": queries}

    def load(self, saved: Mapping[str, Any]) -> None:
        """Go on where a schedule was that has been saved; queries that it has not are on time."""
        if saved["now"] is None:
            return
        self.now = None  # so that all are taken to have been answered
        self._follow_grid(saved["now"])
        known = {name: found for name, found in saved["queries"].items() if name in self.tasks}
        for s, scheduler in self._schedulers.items():
            own = {name: found for name, found in known.items() if self.tasks[name][0] == s}
            scheduler.restore(
                {name: answered // s for name, (answered, *_) in own.items()},
                {name: LatenessLog(*counts) for name, (_, *counts) in own.items()},
            )


class _Interval:
    """Schedulers that share their time, from one update to the next at which something is due."""

    def __init__(
        self,
        schedulers: Mapping[int, LocalScheduler],
        max_delay: int,
        before: int,
        now: int,
        pace: Pace,
    ) -> None:
        self._schedulers, self._max_delay = schedulers, max_delay
        self._before, self._now, self._at, self._pace = before, now, before, pace
        self._behind = pace.behind
        self.executions: dict[str, list[int]] = {}
        self.work = 0.0

    def run(self) -> None:
        while True:
            instant, s = min((self._next_instant(s), s) for s in self._schedulers)
            if instant > self._now:
                break
            self._pass_time(instant)
            scheduler = self._schedulers[s]
            scheduler.advance(instant // s, instant)
            while self._behind < s + self._max_delay:
                # Tasks get back to their grids when nothing is due.
                execution = scheduler.next_execution() or scheduler.next_return()
                if execution is None:
                    break
                self._execute(scheduler, execution)
        self._pass_time(self._now)
        for s, scheduler in self._schedulers.items():
            scheduler.advance(self._now // s, self._now // s * s)
        if not self.executions:
            self._execute_one()

    def _next_instant(self, s: int) -> int:
        """When a scheduler has something to do next, and time for it."""
        scheduler = self._schedulers[s]
        following = scheduler.next_update()
        if scheduler.leading_deadline is not None:  # it is late: as soon as there is time
            following = scheduler.updates + 1
        if following is None:
            return self._now + 1
        in_time = (self._at + self._behind - s - self._max_delay) // s + 1
        return int(max(following, in_time)) * s

    def _pass_time(self, instant: int) -> None:
        self._behind = max(0.0, self._behind - (instant - self._at))
        self._at = instant

    def _execute(self, scheduler: LocalScheduler, execution: Execution) -> None:
        scheduler.finish(execution)
        for query in execution.queries:
            self.executions.setdefault(query.name, []).append(execution.instant)
        work = joint_work(task.work for task in execution.tasks).cost
        self.work += work
        self._behind += work * self._pace.per_work

    def _execute_one(self) -> None:
        """Whatever the delay is: what has waited longest, if there was an update."""
        due = [
            (deadline * s, s)
            for s, scheduler in self._schedulers.items()
            if (deadline := scheduler.leading_deadline) is not None
            and scheduler.instant > self._before
        ]
        if due:
            scheduler = self._schedulers[min(due)[1]]
            execution = scheduler.next_execution()
            assert execution is not None
            self._execute(scheduler, execution)


class PaceMeter:
    """Measures the pace of a job: how long its intervals take, against the time that they span.

    Execution is behind by what intervals took beyond their span; what waits for input is not
    behind. The time of a unit of work is that of all that was done per unit of work that was, so if
    other things take long, executions are taken to be dear, and fewer of them are planned.
    """

    def __init__(self, ticks_per_second: int) -> None:
        self._ticks_per_second = ticks_per_second
        self.pace = Pace()
        self._spent = 0.0

    def note(self, seconds: float, span: int, work: float) -> None:
        """An interval of ``span`` ticks took so many seconds, and executions with that work."""
        took = seconds * self._ticks_per_second
        behind = max(0.0, self.pace.behind + took - span)
        self._spent += took
        per_work = self.pace.per_work
        if work:
            rate = self._spent / work
            per_work = (per_work + rate) / 2 if per_work else rate
            self._spent = 0.0
        self.pace = Pace(behind, per_work)
