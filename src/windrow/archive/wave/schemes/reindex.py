"""REINDEX: the constituent that loses a day is built anew, with the new day in its place."""

from __future__ import annotations

from windrow.archive.wave.schemes.operations import Build, Step
from windrow.archive.wave.schemes.scheme import State, make_step, require_next, start_evenly


class Reindex:
    """Shivakumar, Garcia-Molina 1997, 3.2 and Table 2.

    A hard window, always packed, and nothing is ever deleted from an index. Each day W/n
    days are indexed, so it suits small windows and many constituents.
    """

    name = "REINDEX"
    hard = True
    fewest = 1

    def start(self, window: int, n: int, first_day: int = 1) -> tuple[State, Step]:
        return start_evenly(self, window, n, first_day)

    def advance(self, state: State, day: int) -> tuple[State, Step]:
        expired = require_next(self, state, day) - state.window
        target = state.holder(expired)
        kept = tuple(d for d in state.indexes[target] if d != expired)
        return make_step(state, day, (Build(target, (*kept, day)),))
