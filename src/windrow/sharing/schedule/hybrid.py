"""Hybrid scheduling: Algorithm 10 with the periods that cost least (Golab 2006, 8.4.4)."""

from __future__ import annotations

from collections.abc import Sequence

from windrow.sharing.schedule.conservative import Conservative
from windrow.sharing.schedule.period_choice import choose_periods
from windrow.sharing.schedule.policy import by_group
from windrow.sharing.schedule.tasks import Task, merge_tasks


class Hybrid(Conservative):
    """Sub-groups may shorten their periods to run with others; those of one period are one task."""

    def arrange(self, sub_groups: Sequence[Task]) -> tuple[Task, ...]:
        arranged = []
        for group in by_group(sub_groups).values():
            periods = choose_periods([task.work for task in group], [task.period for task in group])
            arranged += [
                merge_tasks((t for t, p in zip(group, periods, strict=True) if p == period), period)
                for period in sorted(set(periods))
            ]
        return tuple(arranged)
