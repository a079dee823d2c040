"""Which runs of a touched sub-index are rewritten.

Rebuild rewrites all of them. NoRebuild writes what is new as a further run, and keeps the
number of runs and of dead records within bounds as it goes, where the paper leaves both to a
compaction that it does not measure (Golab et al. 2006b, 4.1):

- a new run takes in the youngest older ones for as long as those are less than twice as large
  as it has become, so that when it is written the next older one is at least twice as large,
  and the number of runs grows with the logarithm of the sub-index's size only;
- a run more than half of which is dead is rewritten, so files hold at most two records for
  each live one. Each rewriting is paid for by the dead that it removes.
"""

from __future__ import annotations

from collections.abc import Sequence

from windrow.archive.lifetimes.partition_grid import Technique
from windrow.archive.lifetimes.state import RunState


def runs_to_merge(
    technique: Technique, runs: Sequence[RunState], fresh: int, over: int, dying: bool
) -> tuple[RunState, ...]:
    """The runs (oldest first) that give way to one new run, which holds their live records
    and ``fresh`` new ones. Without fresh records and with none to merge, nothing is written.

    ``dying`` says that records of this sub-index die in this update. Runs that are wholly dead
    are never merged: they are dropped by name.
    """
    alive = [run for run in runs if run.live(over)]
    if technique is Technique.REBUILD:
        return tuple(alive) if fresh or dying else ()
    chosen = [run for run in alive if 2 * run.live(over) < run.total]
    size = fresh + sum(run.live(over) for run in chosen)
    for run in reversed([run for run in alive if run not in chosen]):
        if run.live(over) >= 2 * size:
            break
        chosen.append(run)
        size += run.live(over)
    return tuple(run for run in alive if run in chosen)
