"""REINDEX++: the constituents of the coming days stand ready, each short of one day."""

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
    due_today,
    flatten,
    make_step,
    require_next,
    start_evenly,
)


@dataclass(frozen=True)
class ReindexPlusPlus:
    """Shivakumar, Garcia-Molina 1997, 3.4 and Table 5.

    When a cluster of c days begins to expire there is a ladder of temporary indexes: ``Tk``
    holds its last k days, for k from 0 to c - 1. Each day the highest rung takes the new day
    and becomes the constituent; then the rungs below it take the new day as well. So the new
    data waits for one day's indexing only.

    The ladder of the next cluster is indexed a day at a time while this one is in use, under
    the names ``Next1``, ``Next2``...; with ``spread`` off, all of it once this one is used up,
    as the paper's table has it. With n = 1 there is no spreading: the next cluster is complete
    only when it begins to expire.
    """

    spread: bool = True
    name = "REINDEX++"
    hard = True
    fewest = 1

    def start(self, window: int, n: int, first_day: int = 1) -> tuple[State, Step]:
        state, _ = start_evenly(self, window, n, first_day)
        ladder = flatten(_ladder("T", state.constituents[0][1]))
        return start_evenly(self, window, n, first_day, after=(Build("T0", ()), *ladder))

    def advance(self, state: State, day: int) -> tuple[State, Step]:
        expired = require_next(self, state, day) - state.window
        target = state.holder(expired)
        old = sum(1 for name, _ in state.temporaries if name.startswith("T")) - 1
        transition = (Add(f"T{old}", (day,)), Rename(f"T{old}", target))
        after: tuple[Operation, ...] = tuple(Add(f"T{k}", (day,)) for k in reversed(range(old)))
        before: tuple[Operation, ...] = ()
        next_day = expired + old + 1  # the first of the cluster that expires after this one
        if self.spread and len(state.constituents) > 1:
            chunks = _ladder("Next", state.indexes[state.holder(next_day)])
            done = sum(1 for name, _ in state.temporaries if name.startswith("Next"))
            before = due_today(chunks, done, next_day + state.window - day)
            if old == 0:
                renames = (Rename(f"Next{k + 1}", f"T{k + 1}") for k in range(len(chunks)))
                after = (Build("T0", ()), *renames)
        elif old == 0:
            then, _ = make_step(state, day, transition)
            ladder = flatten(_ladder("T", then.indexes[then.holder(next_day)]))
            after = (Build("T0", ()), *ladder)
        return make_step(state, day, transition, before=before, after=after)


def _ladder(prefix: str, days: Days) -> list[Chunk]:
    """The rungs of a cluster from the lowest but T0 up; each indexes one day."""
    rungs: list[Chunk] = []
    for k, added in enumerate(reversed(days[1:]), start=1):
        rung = f"{prefix}{k}"
        if k == 1:
            rungs.append((Build(rung, (added,)),))
        else:
            rungs.append((Copy(f"{prefix}{k - 1}", rung), Add(rung, (added,))))
    return rungs
