"""When queries run: deadlines, policies and their costs (Golab 2006, 8.4)."""

from windrow.sharing.schedule.aggressive import Aggressive
from windrow.sharing.schedule.conservative import Conservative
from windrow.sharing.schedule.hybrid import Hybrid
from windrow.sharing.schedule.joint_cost import CostModel, Work
from windrow.sharing.schedule.late_pending import LatePending
from windrow.sharing.schedule.late_sharing import LateSharing
from windrow.sharing.schedule.lateness import QueryDelay, QueryLateness
from windrow.sharing.schedule.local_scheduler import Execution, LocalScheduler
from windrow.sharing.schedule.no_sharing import NoSharing
from windrow.sharing.schedule.paced_schedule import (
    GroupSchedule,
    Pace,
    PacedSchedule,
    PaceMeter,
)
from windrow.sharing.schedule.policies import POLICIES
from windrow.sharing.schedule.policy import SchedulePolicy
from windrow.sharing.schedule.tasks import Task, TimedQuery, sub_groups

__all__ = [
    "POLICIES",
    "Aggressive",
    "Conservative",
    "CostModel",
    "Execution",
    "GroupSchedule",
    "Hybrid",
    "LatePending",
    "LateSharing",
    "LocalScheduler",
    "NoSharing",
    "Pace",
    "PaceMeter",
    "PacedSchedule",
    "QueryDelay",
    "QueryLateness",
    "SchedulePolicy",
    "Task",
    "TimedQuery",
    "Work",
    "sub_groups",
]
