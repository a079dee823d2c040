"""Tasks: the sub-groups of queries that a local scheduler executes (Golab 2006, 8.4.2, 8.4.3)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from windrow.core.errors import WindrowError
from windrow.sharing.rules.cs8_output_streams import output_leaders
from windrow.sharing.rules.sharing_plan import Member, SharingPlan
from windrow.sharing.schedule.joint_cost import CostModel, Work, joint_work


@dataclass(frozen=True)
class TimedQuery:
    """A query as a scheduler sees it; its period is what it asks for, in updates of synopses."""

    name: str
    period: int
    priority: int = 0


@dataclass(frozen=True)
class Task:
    """Queries of one group that are always executed together, every ``period`` updates.

    Tasks of the same ``group`` may be executed jointly. The period is the shortest that a query of
    the task asks for, or a shorter one that a policy has chosen.
    """

    group: int
    period: int
    queries: tuple[TimedQuery, ...]
    work: Work = field(default_factory=Work, compare=False)

    @property
    def priority(self) -> int:
        return max(query.priority for query in self.queries)


def merge_tasks(tasks: Iterable[Task], period: int) -> Task:
    """One task for the queries of several of one group."""
    merged = tuple(tasks)
    queries = tuple(query for task in merged for query in task.queries)
    return Task(merged[0].group, period, queries, joint_work(task.work for task in merged))


def sub_groups(plan: SharingPlan, costs: CostModel | None = None) -> dict[int, tuple[Task, ...]]:
    """The sub-groups of a plan's groups, by the s of their synopses.

    Synopses with one s are updated together; their queries are the business of one local scheduler.
    A query that shares another's output (CS8) is with that one, and costs nothing.
    """
    costs = costs or CostModel()
    tasks: dict[int, list[Task]] = {}
    for number, group in enumerate(plan.groups, 1):
        (s,) = {plan.synopsis(n).shape.s for member in group for n in member.numbers}
        leaders = output_leaders(member.query for member in group)
        slides = {member.query.name: member.query.slide for member in group}
        by_slide: dict[int, list[Member]] = {}
        for member in group:
            leader = leaders.get(member.query.name, member.query.name)
            by_slide.setdefault(slides[leader], []).append(member)
        for slide, members in sorted(by_slide.items()):
            queries = tuple(
                TimedQuery(m.query.name, m.query.period(s), m.query.priority) for m in members
            )
            work = joint_work(
                costs.work(plan, member) for member in members if member.query.name not in leaders
            )
            tasks.setdefault(s, []).append(Task(number, slide // s, queries, work))
    return {s: tuple(found) for s, found in tasks.items()}


def check_tasks(tasks: Iterable[Task]) -> None:
    """Every query is in one task, and no task is slower than its queries ask."""
    seen: set[str] = set()
    for task in tasks:
        for query in task.queries:
            if query.name in seen or not 1 <= task.period <= query.period:
                raise WindrowError(
                    where=f"query {query.name}",
                    expected=f"one task, with a period of 1 to {query.period} updates",
                    found=f"a period of {task.period}" if query.name not in seen else "two tasks",
                )
            seen.add(query.name)
