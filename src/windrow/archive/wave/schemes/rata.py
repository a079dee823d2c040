"""RATA: as WATA, but the oldest constituent is replaced each day by one without what expired."""

from __future__ import annotations

from dataclasses import dataclass

from windrow.archive.wave.schemes.operations import (
    Add,
    Build,
    Copy,
    Days,
    Operation,
    Rename,
    Step,
)
from windrow.archive.wave.schemes.scheme import (
    Chunk,
    State,
    build_constituents,
    check,
    due_today,
    flatten,
    make_step,
    require_next,
)
from windrow.archive.wave.schemes.wata import wait_clusters


@dataclass(frozen=True)
class Rata:
    """Reindex and throw away: Shivakumar, Garcia-Molina 1997, 3.6 and Table 7.

    A hard window at WATA's transition time. ``Td`` is the temporary index that takes the
    oldest constituent's place on day d: the days of it that have not expired by then.

    The temporaries of the next cluster are indexed a day at a time while the one before it
    expires, so at most two days are indexed on any day; with ``spread`` off, all of them on
    the day before the first is needed, as the paper's table has it. With n = 2 they always
    are: the next cluster is complete only then.
    """

    spread: bool = True
    name = "RATA"
    hard = True
    fewest = 2

    def start(self, window: int, n: int, first_day: int = 1) -> tuple[State, Step]:
        check(self, window, n)
        days = range(first_day, first_day + window)
        parts = wait_clusters(days, n)
        return make_step(
            State(window, days[-1], ()),
            days[-1],
            build_constituents(parts),
            after=flatten(_replacements(parts[0], window)),
        )

    def advance(self, state: State, day: int) -> tuple[State, Step]:
        expired = require_next(self, state, day) - state.window
        oldest, newest = state.holder(expired), state.holder(state.day)
        used_up = state.indexes[oldest] == (expired,)
        transition: tuple[Operation, ...] = (Build(oldest, (day,)),)
        if not used_up:
            transition = (Add(newest, (day,)), Rename(f"T{day}", oldest))
        following_cluster = state.holder(state.indexes[oldest][-1] + 1)
        if following_cluster == newest and not used_up:  # it still grows
            return make_step(state, day, transition)
        days = state.indexes[following_cluster]
        chunks = _replacements(days, state.window)
        if not self.spread:
            after = flatten(chunks) if used_up else ()
            return make_step(state, day, transition, after=after)
        first = days[0] + state.window
        done = len(state.indexes.get(f"T{first}", ()))
        return make_step(state, day, transition, before=due_today(chunks, done, first - day))


def _replacements(days: Days, window: int) -> list[Chunk]:
    """The cluster without its first day, without its first two, and so on.

    The largest of them, needed first, grows from the cluster's last day backwards; before
    each growth it is copied to the one that is needed a day earlier than the copy before.
    """
    largest = f"T{days[0] + window}"
    chunks: list[Chunk] = []
    for i, added in enumerate(reversed(days[1:])):
        if i == 0:
            chunks.append((Build(largest, (added,)),))
        else:
            copy = f"T{days[-i] + window - 1}"
            chunks.append((Copy(largest, copy), Add(largest, (added,))))
    return chunks
