"""How the queries that share synopses are scheduled, as users say it and as a plan has it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from windrow.core.errors import InputError
from windrow.plan.sharing.shared_synopses import SharedSynopses
from windrow.sharing.rules import PeriodicQuery, SharingPlan
from windrow.sharing.schedule import POLICIES, CostModel, GroupSchedule, sub_groups

DEFAULT_POLICY = "late-pending"


def _one_answer(_: PeriodicQuery) -> float:
    return 1


COSTS = CostModel(finish=_one_answer)
"""To finish an answer takes about as long as to merge two intervals, so no execution is free."""


@dataclass(frozen=True)
class ScheduleOptions:
    """A policy, and by how many seconds execution may be behind before periods are stretched.

    Without ``max_delay`` nothing is ever late.
    """

    policy: str = DEFAULT_POLICY
    max_delay: float | None = None

    @classmethod
    def of(
        cls, schedule: str | None, max_delay: float | None, where: str = "connect"
    ) -> ScheduleOptions | None:
        """What was asked for; None if nothing was: every query runs whenever it is due."""
        if schedule is None and max_delay is None:
            return None
        if schedule is not None and schedule not in POLICIES:
            raise InputError(
                where=f"{where}, schedule", expected=", ".join(POLICIES), found=repr(schedule)
            )
        if max_delay is not None and not (max_delay >= 0 and math.isfinite(max_delay)):
            raise InputError(
                where=f"{where}, max_delay", expected="seconds, 0 or more", found=repr(max_delay)
            )
        return cls(schedule or DEFAULT_POLICY, max_delay)


def with_schedule(
    group: SharedSynopses, options: ScheduleOptions | None, names: Sequence[str] = ()
) -> SharedSynopses:
    """The group with its queries scheduled so; ``names`` are those of members by number, if some
    have gone.
    """
    if options is None:
        return group
    per_second = group.queries[0].clock.ticks_per_second
    delay = None if options.max_delay is None else round(options.max_delay * per_second)
    return _scheduled(group, options.policy, delay, names)


def schedule_again(group: SharedSynopses, names: Sequence[str] = ()) -> SharedSynopses:
    """The group scheduled as it was, if it was, after queries have come or gone; ``names`` as
    above."""
    known = group.plan.schedule
    return group if known is None else _scheduled(group, known.policy, known.max_delay, names)


def _scheduled(
    group: SharedSynopses, policy: str, delay: int | None, names: Sequence[str] = ()
) -> SharedSynopses:
    found = sub_groups(_with_priorities(group), COSTS)
    names = tuple(names or (query.name for query in group.queries))
    schedule = GroupSchedule(policy, delay, tuple(sorted(found.items())), names)
    return replace(group, plan=replace(group.plan, schedule=schedule))


def _with_priorities(group: SharedSynopses) -> SharingPlan:
    """What was planned, with the priorities that queries have now."""
    priorities = {query.name: query.priority for query in group.present.values()}
    members = (
        replace(m, query=replace(m.query, priority=priorities.get(m.query.name, 0)))
        for m in group.sharing.members
    )
    return replace(group.sharing, members=tuple(members))
