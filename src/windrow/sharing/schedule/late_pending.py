"""Late-pending sharing: Algorithm 11 (Golab 2006, 8.4.5)."""

from __future__ import annotations

from collections.abc import Sequence

from windrow.sharing.schedule.policy import SchedulePolicy
from windrow.sharing.schedule.tasks import Task


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
