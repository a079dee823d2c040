"""An index that takes an update in: planned for each of its partitionings, and carried out.

New records go to the present partitioning. Those that drain only forget; one that has nothing left
is no longer mentioned.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from windrow.archive.format.run_ref import RunRef
from windrow.archive.lifetimes.arrivals import Arrivals
from windrow.archive.lifetimes.carry import Carrier
from windrow.archive.lifetimes.index_contents import Contents
from windrow.archive.lifetimes.partition import Partition
from windrow.archive.lifetimes.state import IndexState
from windrow.archive.lifetimes.update import Step
from windrow.archive.runs.run import Run


@dataclass(frozen=True)
class Taken:
    """What an update makes of an index. ``step`` is that of the present partitioning."""

    contents: Contents
    encodings: Mapping[str, str]
    step: Step
    bytes_written: int


def take(
    before: Contents,
    now: int,
    arrivals: Arrivals,
    carrier: Carrier,
    opened: Callable[[RunRef], Run],
    encodings: Mapping[str, str],
) -> Taken:
    """The index after an update at ``now``, its runs written but nothing published."""
    empty = IndexState.empty(before.grid.size, before.periods.over(now))
    present = Partition(before.grid, before.periods, before.state or empty)
    after, number, counts = [], before.next_run, arrivals.counts
    runs, steps, size = dict(before.runs), [], 0
    for held in (present, *before.draining):
        part, step = held.updated(now, counts, number)
        alive_from = part.periods.last(part.state.over) + 1
        written, encodings = carrier.carry_out(
            step, lambda n: opened(runs[n]), arrivals.entries, encodings, alive_from
        )
        runs.update(written)
        size += sum(ref.bytes for ref in written.values())
        number, counts = part.state.next_run, {}
        after.append(part)
        steps.append(step)
    present, *others = after
    draining = tuple(part for part in others if part.live)
    kept = {n for part in after for n in part.state.run_numbers()}
    contents = replace(
        before,
        now=now,
        # Numbers that a draining partitioning has used up are used up for all.
        state=replace(present.state, next_run=number),
        runs={n: ref for n, ref in runs.items() if n in kept},
        draining=draining,
    )
    return Taken(contents, encodings, steps[0], size)
