"""Policies of scheduling: which tasks there are, and which of them run jointly (Golab 2006, 8.4).

none          Algorithm 9 over sub-groups, the baseline of 8.5.1
aggressive    a group is one task with its shortest period (8.4.3)
conservative  Algorithm 10 (8.4.3)
hybrid        Algorithm 10 with the periods that cost least (8.4.4)
late          what is late runs jointly, however late it is (8.4.5)
late-pending  Algorithm 11 (8.4.5)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

from windrow.sharing.schedule.period_choice import choose_periods
from windrow.sharing.schedule.tasks import Task, merge_tasks


class SchedulePolicy(Protocol):
    """One of the techniques of 8.4; the local scheduler asks it and does the rest."""

    def arrange(self, sub_groups: Sequence[Task]) -> tuple[Task, ...]:
        """The tasks to schedule, made from sub-groups: merged, or with shorter periods."""
        ...

    def joins(self, until: int, lead: int, lowest: int) -> bool:
        """Whether a task runs jointly with the one that leads, of the same group.

        ``until`` is the task's time until its deadline, ``lead`` that of the leading task, and
        ``lowest`` that of the task, of any group, that is closest to its deadline or most
        past it.
        """
        ...


def by_group(tasks: Iterable[Task]) -> dict[int, list[Task]]:
    groups: dict[int, list[Task]] = {}
    for task in tasks:
        groups.setdefault(task.group, []).append(task)
    return groups


class NoSharing:
    """Earliest deadline first; each task is executed alone, also if others are due with it."""

    def arrange(self, sub_groups: Sequence[Task]) -> tuple[Task, ...]:
        return tuple(sub_groups)

    def joins(self, until: int, lead: int, lowest: int) -> bool:
        return False


class Aggressive:
    """All queries of a group run together whenever one of them is due."""

    def arrange(self, sub_groups: Sequence[Task]) -> tuple[Task, ...]:
        return tuple(
            merge_tasks(group, min(task.period for task in group))
            for group in by_group(sub_groups).values()
        )

    def joins(self, until: int, lead: int, lowest: int) -> bool:
        return False


class Conservative:
    """Queries keep their periods; those of a group that are due at the same update run jointly."""

    def arrange(self, sub_groups: Sequence[Task]) -> tuple[Task, ...]:
        return tuple(sub_groups)

    def joins(self, until: int, lead: int, lowest: int) -> bool:
        """Lines 7 and 8: V(T) is the set of tasks with the value of the leading one."""
        return until == lead


class Hybrid(Conservative):
    """Sub-groups may shorten their periods to run with others; those of one period are one task."""

    def arrange(self, sub_groups: Sequence[Task]) -> tuple[Task, ...]:
        arranged = []
        for group in by_group(sub_groups).values():
            periods = choose_periods([task.work for task in group], [task.period for task in group])
            arranged += [
                merge_tasks((t for t, p in zip(group, periods, strict=True) if p == period), period)
                for period in sorted(set(periods))
            ]
        return tuple(arranged)


class LateSharing:
    """Algorithm 11 with {d < 0} in line 9; ``base`` is the conservative or the hybrid policy."""

    def __init__(self, base: SchedulePolicy) -> None:
        self.base = base

    def arrange(self, sub_groups: Sequence[Task]) -> tuple[Task, ...]:
        return self.base.arrange(sub_groups)

    def joins(self, until: int, lead: int, lowest: int) -> bool:
        return until < 0 if lowest < 0 else until == lead


class LatePending:
    """If a task is late, the late and the pending ones of a group run jointly.

    A pending task would be late at the next update; taking it along costs little and clears the
    backlog. ``base`` is the conservative or the hybrid policy.
    """

    def __init__(self, base: SchedulePolicy) -> None:
        self.base = base

    def arrange(self, sub_groups: Sequence[Task]) -> tuple[Task, ...]:
        return self.base.arrange(sub_groups)

    def joins(self, until: int, lead: int, lowest: int) -> bool:
        """Lines 8 to 12: V(T) is {d <= 0} if the lowest d is below 0, else as in Algorithm 10."""
        return until <= 0 if lowest < 0 else until == lead


POLICIES: dict[str, Callable[[], SchedulePolicy]] = {
    "none": NoSharing,
    "aggressive": Aggressive,
    "conservative": Conservative,
    "hybrid": Hybrid,
    "late": lambda: LateSharing(Hybrid()),
    "late-pending": lambda: LatePending(Hybrid()),
}
"""``late-pending`` is the one to use."""
