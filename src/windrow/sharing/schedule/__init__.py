"""When queries run: deadlines, policies and their costs (Golab 2006, 8.4)."""

from windrow.sharing.schedule.joint_cost import CostModel, Work
from windrow.sharing.schedule.lateness import QueryDelay, QueryLateness
from windrow.sharing.schedule.local_scheduler import Execution, LocalScheduler
from windrow.sharing.schedule.paced_schedule import (
    GroupSchedule,
    Pace,
    PacedSchedule,
    PaceMeter,
)
from windrow.sharing.schedule.policies import (
    POLICIES,
    Aggressive,
    Conservative,
    Hybrid,
    LatePending,
    LateSharing,
    NoSharing,
    SchedulePolicy,
)
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
