"""REINDEX+: what was indexed since the cluster began to expire is kept, not indexed again."""

from __future__ import annotations

from windrow.archive.wave.schemes.operations import Add, Build, Copy, Rename, Step
from windrow.archive.wave.schemes.scheme import State, make_step, require_next, start_evenly

TEMP = "Temp"


class ReindexPlus:
    """Shivakumar, Garcia-Molina 1997, 3.3 and Table 4.

    ``Temp`` collects the new days of the cluster that is expiring; each day the constituent
    becomes a copy of it, to which the days that have not expired yet are added. While a
    cluster of c days expires, (c + 1)/2 days a day are indexed, half of what REINDEX does,
    all of them between the arrival of the new data and its being queryable.
    """

    name = "REINDEX+"
    hard = True
    fewest = 1

    def start(self, window: int, n: int, first_day: int = 1) -> tuple[State, Step]:
        return start_evenly(self, window, n, first_day, after=(Build(TEMP, ()),))

    def advance(self, state: State, day: int) -> tuple[State, Step]:
        expired = require_next(self, state, day) - state.window
        target = state.holder(expired)
        old = set(state.indexes[target]) - set(state.indexes[TEMP]) - {expired}
        new = Add(TEMP, (day,))
        if not old:
            return make_step(state, day, (new, Rename(TEMP, target)), after=(Build(TEMP, ()),))
        return make_step(state, day, (new, Copy(TEMP, target), Add(target, tuple(sorted(old)))))
