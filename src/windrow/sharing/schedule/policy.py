"""What a schedule policy decides: which tasks there are, and which of them run jointly."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from windrow.sharing.schedule.tasks import Task


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
