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

A task is on its *grid* while it is answered at multiples of its period. A late execution takes it
off the grid, and ``next_return`` brings it back, early, when there is time for it.

Deadlines are numbers of updates and do not change with time (8.5.1), so an update touches only the
tasks that become due, and a choice costs O(log tasks) and the size of the group.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush

from windrow.sharing.schedule.lateness import LatenessLog, QueryLateness
from windrow.sharing.schedule.policies import SchedulePolicy
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
        self,
        sub_groups: Iterable[Task],
        policy: SchedulePolicy,
        instant: int = 0,
        updates: int = 0,
    ) -> None:
        self.policy = policy
        self.instant, self.updates = instant, updates
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
        self._set_deadlines()

    def update(self, instant: int) -> None:
        """The synopses have been updated and hold what there was up to ``instant``."""
        self.advance(self.updates + 1, instant)

    def advance(self, updates: int, instant: int) -> None:
        """So many updates have been made, the last one at ``instant``."""
        self.instant, self.updates = instant, updates
        while self._upcoming and self._upcoming[0][0] <= updates:
            deadline, place = heappop(self._upcoming)
            if self._deadlines[place] == deadline:
                self._push(place)

    def next_update(self) -> int | None:
        """The next update at which a task is due, or may return to its grid; None if none is."""
        while self._upcoming and self._deadlines[self._upcoming[0][1]] != self._upcoming[0][0]:
            heappop(self._upcoming)
        found = [self._upcoming[0][0]] if self._upcoming else []
        periods = (self.tasks[place].period for place in self._off_grid)
        return min([*found, *((self.updates // p + 1) * p for p in periods)], default=None)

    @property
    def leading_deadline(self) -> int | None:
        """The update for which the task was due that is to be executed next; None if none is."""
        lead = self._lead()
        return None if lead is None else self._deadlines[lead]

    def answered_for(self, query: str) -> int:
        """The update that a query was last answered for."""
        return self._answered[query]

    def restore(self, answered: Mapping[str, int], logs: Mapping[str, LatenessLog]) -> None:
        """Queries were answered for these updates already, and as late as ``logs`` say."""
        self._answered |= {name: at for name, at in answered.items() if name in self._answered}
        self._logs |= {name: log for name, log in logs.items() if name in self._logs}
        self._set_deadlines()

    def log(self, query: str) -> LatenessLog:
        return self._logs[query]

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
        return self._begin(
            place
            for place in self._groups[self.tasks[lead].group]
            if place == lead
            or (
                place not in self._running
                and self.policy.joins(self._deadlines[place] - self.updates, mine, lowest)
            )
        )

    def next_return(self) -> Execution | None:
        """Tasks of one group that are off their grids and get back to them at this update; None if
        there are none. They are not due, so it is for when nothing is and time is left.
        """
        at = [
            place
            for place in sorted(self._off_grid - self._running)
            if self.updates % self.tasks[place].period == 0
        ]
        if not at:
            return None
        group = self.tasks[at[0]].group
        return self._begin(place for place in at if self.tasks[place].group == group)

    def _begin(self, chosen: Iterable[int]) -> Execution:
        places = tuple(chosen)
        self._running.update(places)
        tasks = tuple(self.tasks[place] for place in places)
        return Execution(tasks, self.instant, self.updates, places)

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

    def _set_deadlines(self) -> None:
        self._deadlines = [0] * len(self.tasks)
        self._upcoming: list[tuple[int, int]] = []
        """A heap of deadlines and places; an entry counts while it is so."""
        self._off_grid: set[int] = set()
        self._due: list[tuple[int, int, int]] = []
        """A heap of deadline less priority, place and deadline; an entry counts while it is so."""
        self._due_by_deadline: list[tuple[int, int]] = []
        for place in range(len(self.tasks)):
            self._set_deadline(place)

    def _set_deadline(self, place: int) -> None:
        task = self.tasks[place]
        answered = min(self._answered[query.name] for query in task.queries)
        self._deadlines[place] = answered + task.period
        (self._off_grid.add if answered % task.period else self._off_grid.discard)(place)
        if self._deadlines[place] <= self.updates:
            self._push(place)
        else:
            heappush(self._upcoming, (self._deadlines[place], place))

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
