"""DEL: the day that expires is deleted from its constituent, the new one added there."""

from __future__ import annotations

from windrow.archive.wave.schemes.operations import Add, Delete, Step
from windrow.archive.wave.schemes.scheme import State, make_step, require_next, start_evenly


class Del:
    """Shivakumar, Garcia-Molina 1997, 3.1 and Table 1.

    A hard window. Needs an index that can delete entries one by one, unless packed shadows
    are used. Each day: one day deleted, one added, in one constituent of W/n days.
    """

    name = "DEL"
    hard = True
    fewest = 1

    def start(self, window: int, n: int, first_day: int = 1) -> tuple[State, Step]:
        return start_evenly(self, window, n, first_day)

    def advance(self, state: State, day: int) -> tuple[State, Step]:
        expired = require_next(self, state, day) - state.window
        target = state.holder(expired)
        return make_step(state, day, (Add(target, (day,)),), before=(Delete(target, (expired,)),))
