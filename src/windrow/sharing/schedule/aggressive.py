"""Aggressive scheduling: a group is one task with its shortest period (Golab 2006, 8.4.3)."""

from __future__ import annotations

from collections.abc import Sequence

from windrow.sharing.schedule.policy import by_group
from windrow.sharing.schedule.tasks import Task, merge_tasks


class Aggressive:
    """All queries of a group run together whenever one of them is due."""

    def arrange(self, sub_groups: Sequence[Task]) -> tuple[Task, ...]:
        return tuple(
            merge_tasks(group, min(task.period for task in group))
            for group in by_group(sub_groups).values()
        )

    def joins(self, until: int, lead: int, lowest: int) -> bool:
        return False
