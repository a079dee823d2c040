"""Ways to hand the same input over: where the pushes are cut, and when time is told to advance."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import strategies as st

from tests.oracle.queries import Program
from tests.oracle.running import Advance, Push, Step


@st.composite
def cuts(draw: st.DrawFn, program: Program) -> list[Step]:
    """Every feed in pieces, the pieces of all interleaved at will, time told when it is safe.

    It is safe to say that time has come to ``t`` once no row at or before ``t`` is still to come.
    """
    left: dict[str, list[Push]] = {}
    for feed in program.feeds:
        size = len(feed.stamps)
        points = draw(st.lists(st.integers(0, size), max_size=4).map(sorted))
        edges = [0, *points, size]
        left[feed.name] = [Push(feed.name, start, stop) for start, stop in pairwise(edges)]
    stamps = {feed.name: feed.stamps for feed in program.feeds}
    steps: list[Step] = []
    while any(left.values()):
        name = draw(st.sampled_from([name for name, pieces in left.items() if pieces]))
        steps.append(left[name].pop(0))
        if draw(st.integers(0, 2)) == 0:
            waiting = [
                ts
                for name, pieces in left.items()
                for ts in stamps[name][pieces[0].start if pieces else len(stamps[name]) :]
            ]
            safe = min(waiting, default=program.horizon + 1) - 1
            # Not always as far as it may go, and now and then into the past, which says nothing.
            steps.append(Advance(safe - draw(st.sampled_from([0, 0, 1, 6]))))
    return steps
