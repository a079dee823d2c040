"""DEL: the day that expires is deleted from its constituent, the new one added there."""

from __future__ import annotations

from windrow.archive.schemes.base import State, check, clusters, constituent, following, stepped
from windrow.archive.schemes.operations import Add, Build, Delete, Step


class Del:
    """Shivakumar, Garcia-Molina 1997, 3.1 and Table 1.

    A hard window. Needs an index that can delete entries one by one, unless packed shadows
    are used. Each day: one day deleted, one added, in one constituent of W/n days.
    """

    name = "DEL"
    hard = True
    fewest = 1

    def start(self, window: int, n: int, first_day: int = 1) -> tuple[State, Step]:
        check(self, window, n)
        days = range(first_day, first_day + window)
        builds = tuple(
            Build(constituent(j), part) for j, part in enumerate(clusters(days, n), start=1)
        )
        return stepped(State(window, days[-1], ()), days[-1], builds)

    def advance(self, state: State, day: int) -> tuple[State, Step]:
        expired = following(self, state, day) - state.window
        target = state.holder(expired)
        if state.indexes[target] == (expired,):
            return stepped(state, day, (Build(target, (day,)),))
        return stepped(state, day, (Add(target, (day,)),), before=(Delete(target, (expired,)),))
