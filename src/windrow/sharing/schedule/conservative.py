"""Conservative scheduling: Algorithm 10 (Golab 2006, 8.4.3)."""

from __future__ import annotations

from collections.abc import Sequence

from windrow.sharing.schedule.tasks import Task


class Conservative:
    """Queries keep their periods; those of a group that are due at the same update run jointly."""

    def arrange(self, sub_groups: Sequence[Task]) -> tuple[Task, ...]:
        return tuple(sub_groups)

    def joins(self, until: int, lead: int, lowest: int) -> bool:
        """Lines 7 and 8: V(T) is the set of tasks with the value of the leading one."""
        return until == lead
