"""What an update brings: entries sorted out by sub-index, and counted by expiry period.

Entries that are dead when they come are left out; one that would live longer than the index
keeps records is refused with all the others, since its column would be emptied too early.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from windrow.archive.format.layout import EXPIRY
from windrow.archive.lifetimes.partition_grid import Grid
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
            where=f"insertion at {periods.label(now)}",
            expected=f"expiries up to {periods.label(now + periods.longest)}: lifetimes of at most "
            f"{periods.count} periods",
            found=periods.label(latest),
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


def in_ticks(
    expiries: pa.Array | pa.ChunkedArray | Sequence[Any], periods: Periods, now: int
) -> pa.Array:
    """Expiries as whole numbers: times of whatever unit in microseconds, numbers as they are."""
    if not isinstance(expiries, pa.Array | pa.ChunkedArray):
        expiries = pa.array(expiries)
    kind = expiries.type
    if pa.types.is_integer(kind) or pa.types.is_null(kind):
        wanted = pa.int64()
    elif periods.timestamps and (pa.types.is_timestamp(kind) or pa.types.is_date(kind)):
        wanted = pa.timestamp("us", kind.tz if pa.types.is_timestamp(kind) else None)
    else:
        wanted = None
    try:
        if wanted is not None:
            return expiries.cast(wanted).cast(pa.int64())
    except pa.ArrowInvalid:  # of a finer unit, or out of range
        pass
    raise LifetimeError(
        where=f"insertion at {now}",
        expected="expiries that are times in whole microseconds, or 64-bit integers"
        if periods.timestamps
        else "expiries that are 64-bit integers, in ticks as instants are here",
        found=str(kind),
        remedy="cast them first",
    )


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
