"""Late sharing: what is late runs jointly, however late it is (Golab 2006, 8.4.5)."""

from __future__ import annotations

from collections.abc import Sequence

from windrow.sharing.schedule.policy import SchedulePolicy
from windrow.sharing.schedule.tasks import Task


class LateSharing:
    """Algorithm 11 with {d < 0} in line 9; ``base`` is the conservative or the hybrid policy."""

    def __init__(self, base: SchedulePolicy) -> None:
        self.base = base

    def arrange(self, sub_groups: Sequence[Task]) -> tuple[Task, ...]:
        return self.base.arrange(sub_groups)

    def joins(self, until: int, lead: int, lowest: int) -> bool:
        return until < 0 if lowest < 0 else until == lead
