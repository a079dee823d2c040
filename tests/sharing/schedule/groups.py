"""The group of 8.4.3, as tasks."""

from __future__ import annotations

from tests.sharing.rules.queries import SEVEN
from windrow.sharing.rules import plan_queries
from windrow.sharing.schedule import Execution, Task, TimedQuery, Work, sub_groups


def seven_queries() -> tuple[Task, ...]:
    """G1,1, G1,2 and G1,3."""
    return sub_groups(plan_queries(SEVEN))[1]


def task(group: int, period: int, name: str, priority: int = 0, cost: float = 1) -> Task:
    return Task(group, period, (TimedQuery(name, period, priority),), Work({f"scan {group}": cost}))


def names(execution: Execution) -> str:
    return " ".join(sorted(query.name for query in execution.queries))
