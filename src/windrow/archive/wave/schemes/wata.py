"""WATA: nothing is deleted; a constituent is thrown away once all its days have expired."""

from __future__ import annotations

from windrow.archive.wave.schemes.operations import Add, Build, Days, Drop, Step
from windrow.archive.wave.schemes.scheme import (
    State,
    build_constituents,
    check,
    clusters,
    make_step,
    require_next,
)


class Wata:
    """Wait and throw away: Shivakumar, Garcia-Molina 1997, 3.5 and Table 3.

    A soft window: expired days stay visible until the whole constituent goes. The start
    leaves the last constituent a single day and spreads the W - 1 others evenly; that is the
    optimal lazy deletion: at most W + ceil((W - 1)/(n - 1)) - 1 days are held, where other
    splits (Table 6) hold more. Each day one day is indexed and nothing else happens.
    """

    name = "WATA"
    hard = False
    fewest = 2

    def start(self, window: int, n: int, first_day: int = 1) -> tuple[State, Step]:
        check(self, window, n)
        days = range(first_day, first_day + window)
        return make_step(
            State(window, days[-1], ()), days[-1], build_constituents(wait_clusters(days, n))
        )

    def advance(self, state: State, day: int) -> tuple[State, Step]:
        expired = require_next(self, state, day) - state.window
        oldest = state.holder(expired)
        if state.indexes[oldest][-1] == expired:
            return make_step(state, day, (Drop(oldest), Build(oldest, ()), Add(oldest, (day,))))
        return make_step(state, day, (Add(state.holder(state.day), (day,)),))


def wait_clusters(days: range, n: int) -> list[Days]:
    """The first window as WATA and RATA cut it: all but the last day in n - 1 parts, then that."""
    return [*clusters(days[:-1], n - 1), (days[-1],)]
