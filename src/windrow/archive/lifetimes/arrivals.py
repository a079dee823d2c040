"""What an update brings: entries sorted out by sub-index, and counted by expiry period.

Entries that are dead when they come are left out; one that would live longer than the index
keeps records is refused with all the others, since its column would be emptied too early.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from windrow.archive.layout import EXPIRY
from windrow.archive.lifetimes.grid import Grid
from windrow.archive.lifetimes.periods import LifetimeError, Periods
from windrow.columns.arrays import Int64s


@dataclass(frozen=True)
class Arrivals:
    """``counts`` by expiry period, ``entries`` by sub-index; ``dead`` were left out."""

    counts: dict[int, int]
    entries: dict[int, pa.Table]
    dead: int


NOTHING = Arrivals({}, {}, 0)


def sort_out(grid: Grid, periods: Periods, now: int, entries: pa.Table) -> Arrivals:
    """Linear in the entries, and one copy of them."""
    expiries = entries.column(EXPIRY).to_numpy()
    if len(expiries) and (latest := int(expiries.max())) > now + periods.longest:
        raise LifetimeError(
            where=f"insertion at {now}",
            expected=f"expiries up to {now + periods.longest}: lifetimes of at most "
            f"{periods.longest}",
            found=str(latest),
            remedy="shorten the lifetime, or make an index for longer ones",
        )
    live = expiries > now
    dead = len(expiries) - int(live.sum())
    if dead:
        entries, expiries = entries.filter(pa.array(live)), expiries[live]
    ends = expiry_periods(periods, expiries)
    found, position, counts = np.unique(ends, return_inverse=True, return_counts=True)
    numbers = [grid.subindex(periods.of(now), period, periods) for period in found.tolist()]
    place = np.array(numbers, np.int64)[position]
    counted = dict(zip(found.tolist(), counts.tolist(), strict=True))
    return Arrivals(counted, by_subindex(entries, place), dead)


def expiry_periods(periods: Periods, expiries: Int64s) -> Int64s:
    """The period in which each expiry lies."""
    return -((periods.origin - expiries) // periods.interval)


def by_subindex(entries: pa.Table, place: Int64s) -> dict[int, pa.Table]:
    """Entries by the number of their sub-index; not copied if there is but one."""
    numbers = np.unique(place).tolist()
    return {
        number: entries if len(numbers) == 1 else entries.filter(pa.array(place == number))
        for number in numbers
    }
