"""The local scheduler: earliest deadline first, over tasks that a policy joins (Golab 2006, 8.4.2).

It is told when the synopses have been updated and when an execution has ended, and says what to
execute next and which update the answer is true for. It reads no clock and runs nothing itself.

An execution may be late, or early if the caller has time to spare. That changes when an answer is
reported and for which update it holds. It never changes what the answer of an update is, and every
``Execution`` says its instant. Under overload all periods grow by about the same number of updates,
and nothing is dropped: the queries most past their deadlines come first. A late execution is not
made up for: the next one is due a whole period after it.

A priority of p is worth p updates: among due tasks the one with the lowest d(T) - p leads. So equal
deadlines are decided by priority, as the text has it, and no query waits for ever for others.

Deadlines are numbers of updates and do not change with time (8.5.1), so an update touches only the
tasks that become due, and a choice costs O(log tasks) and the size of the group.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush

from windrow.sharing.schedule.lateness import LatenessLog, QueryLateness
from windrow.sharing.schedule.policy import SchedulePolicy
from windrow.sharing.schedule.tasks import Task, TimedQuery, check_tasks


@dataclass(frozen=True)
class Execution:
    """Tasks to execute jointly; their answers hold at ``instant``, the update number ``update``."""

    tasks: tuple[Task, ...]
    instant: int
    update: int
    places: tuple[int, ...] = ()
    """Where the scheduler has the tasks."""

    @property
    def queries(self) -> tuple[TimedQuery, ...]:
        return tuple(query for task in self.tasks for query in task.queries)


class LocalScheduler:
    """Tasks over synopses that are updated together."""

    def __init__(
        self, sub_groups: Iterable[Task], policy: SchedulePolicy, instant: int = 0
    ) -> None:
        self.policy = policy
        self.instant, self.updates = instant, 0
        self._answered: dict[str, int] = {}
        """The update that each query was last answered for."""
        self._logs: dict[str, LatenessLog] = {}
        self._running: set[int] = set()
        self.replace_queries(sub_groups)

    def replace_queries(self, sub_groups: Iterable[Task]) -> None:
        """Queries came or went: new tasks; those that stay keep their deadlines.

        A new query is due for the first time after a period. Between executions only.
        """
        assert not self._running, "queries change between executions"
        self.tasks = self.policy.arrange(tuple(sub_groups))
        check_tasks(self.tasks)
        names = [query.name for task in self.tasks for query in task.queries]
        self._answered = {name: self._answered.get(name, self.updates) for name in names}
        self._logs = {name: self._logs.get(name) or LatenessLog() for name in names}
        self._groups: dict[int, list[int]] = defaultdict(list)
        for place, task in enumerate(self.tasks):
            self._groups[task.group].append(place)
        self._deadlines = [0] * len(self.tasks)
        self._upcoming: dict[int, list[int]] = defaultdict(list)
        self._due: list[tuple[int, int, int]] = []
        """A heap of deadline less priority, place and deadline; an entry counts while it is so."""
        self._due_by_deadline: list[tuple[int, int]] = []
        for place in range(len(self.tasks)):
            self._set_deadline(place)

    def update(self, instant: int) -> None:
        """The synopses have been updated and hold what there was up to ``instant``."""
        self.instant = instant
        self.updates += 1
        for place in self._upcoming.pop(self.updates, ()):
            if self._deadlines[place] == self.updates:
                self._push(place)

    def until_deadline(self, task: Task) -> int:
        """d(T): updates until the task is due; negative if it is late."""
        return self._deadlines[self.tasks.index(task)] - self.updates

    def next_execution(self, *, early: bool = False) -> Execution | None:
        """What to execute now; None if nothing is due.

        With ``early``, for time to spare, the task that will be due first is executed if nothing is
        due, unless it has been answered for this update already.
        """
        lead = self._lead()
        if lead is None and early:
            lead = self._earliest()
        if lead is None:
            return None
        lowest = self._lowest(lead)
        mine = self._deadlines[lead] - self.updates
        places = [
            place
            for place in self._groups[self.tasks[lead].group]
            if place == lead
            or (
                place not in self._running
                and self.policy.joins(self._deadlines[place] - self.updates, mine, lowest)
            )
        ]
        self._running.update(places)
        tasks = tuple(self.tasks[place] for place in places)
        return Execution(tasks, self.instant, self.updates, tuple(places))

    def finish(self, execution: Execution) -> None:
        """The execution has ended: its tasks are due a period after the update that it answered."""
        for place in execution.places:
            self._running.remove(place)
            for query in self.tasks[place].queries:
                waited = execution.update - self._answered[query.name]
                self._logs[query.name].add(waited - query.period)
                self._answered[query.name] = execution.update
            self._set_deadline(place)

    def lateness(self) -> tuple[QueryLateness, ...]:
        """For each query how late it has been, and is."""
        return tuple(
            QueryLateness(
                query.name,
                query.period,
                log.executions,
                log.late,
                log.total,
                log.greatest,
                max(0, self.updates - self._answered[query.name] - query.period),
            )
            for task in self.tasks
            for query in task.queries
            for log in (self._logs[query.name],)
        )

    def _set_deadline(self, place: int) -> None:
        task = self.tasks[place]
        answered = min(self._answered[query.name] for query in task.queries)
        self._deadlines[place] = answered + task.period
        if self._deadlines[place] <= self.updates:
            self._push(place)
        else:
            self._upcoming[self._deadlines[place]].append(place)

    def _push(self, place: int) -> None:
        deadline = self._deadlines[place]
        heappush(self._due, (deadline - self.tasks[place].priority, place, deadline))
        heappush(self._due_by_deadline, (deadline, place))

    def _stands(self, place: int, deadline: int) -> bool:
        return place not in self._running and self._deadlines[place] == deadline

    def _lead(self) -> int | None:
        while self._due and not self._stands(self._due[0][1], self._due[0][2]):
            heappop(self._due)
        return self._due[0][1] if self._due else None

    def _lowest(self, lead: int) -> int:
        heap = self._due_by_deadline
        while heap and not self._stands(heap[0][1], heap[0][0]):
            heappop(heap)
        return (heap[0][0] if heap else self._deadlines[lead]) - self.updates

    def _earliest(self) -> int | None:
        waiting: Sequence[int] = [
            place
            for place, task in enumerate(self.tasks)
            if place not in self._running and self._deadlines[place] < self.updates + task.period
        ]
        return min(
            waiting,
            key=lambda p: (self._deadlines[p], -self.tasks[p].priority, p),
            default=None,
        )
