"""No sharing: Algorithm 9 over sub-groups, the baseline of 8.5.1 (Golab 2006)."""

from __future__ import annotations

from collections.abc import Sequence

from windrow.sharing.schedule.tasks import Task


class NoSharing:
    """Earliest deadline first; each task is executed alone, also if others are due with it."""

    def arrange(self, sub_groups: Sequence[Task]) -> tuple[Task, ...]:
        return tuple(sub_groups)

    def joins(self, until: int, lead: int, lowest: int) -> bool:
        return False
