"""A scheduler against the clock: updates every unit of time, executions that take time.

What the goldens and the properties of schedules are checked with, and a way to see what a policy
would do with a workload before it runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from windrow.sharing.schedule.local_scheduler import Execution, LocalScheduler


@dataclass(frozen=True)
class Ran:
    """An execution with the time at which it began and ended."""

    begin: float
    end: float
    execution: Execution


def simulate(
    scheduler: LocalScheduler,
    updates: int,
    cost: Callable[[Execution], float],
    *,
    early: bool = False,
) -> Iterator[Ran]:
    """Executions until the last update, in isolation: updates wait for the one that runs (8.4.2).

    Update k is due at time k. ``cost`` is how long an execution takes in such units.
    """
    time = 0.0
    while True:
        while scheduler.updates < updates and scheduler.updates + 1 <= time + 1e-9:
            scheduler.update(scheduler.updates + 1)
        execution = scheduler.next_execution(early=early) if scheduler.updates else None
        if execution is not None:
            begin, time = time, time + cost(execution)
            scheduler.finish(execution)
            yield Ran(begin, time, execution)
        elif scheduler.updates == updates:
            return
        else:
            time = max(time, scheduler.updates + 1.0)
