"""The policies by name."""

from __future__ import annotations

from collections.abc import Callable

from windrow.sharing.schedule.aggressive import Aggressive
from windrow.sharing.schedule.conservative import Conservative
from windrow.sharing.schedule.hybrid import Hybrid
from windrow.sharing.schedule.late_pending import LatePending
from windrow.sharing.schedule.late_sharing import LateSharing
from windrow.sharing.schedule.no_sharing import NoSharing
from windrow.sharing.schedule.policy import SchedulePolicy

POLICIES: dict[str, Callable[[], SchedulePolicy]] = {
    "none": NoSharing,
    "aggressive": Aggressive,
    "conservative": Conservative,
    "hybrid": Hybrid,
    "late": lambda: LateSharing(Hybrid()),
    "late-pending": lambda: LatePending(Hybrid()),
}
"""``late-pending`` is the one to use."""
