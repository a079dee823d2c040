"""Tuples that a sender leaves out, because the duplicate elimination that gets them needs others.

Of equal tuples in a cell of time it needs the first and the last, or one of them
(``windrow.plan.physical.stages.Thinning`` says which and why). So of a value that comes a hundred
times in a micro-batch two tuples travel. Where most tuples differ, which the first of them tell,
all are sent as they are.

Cost: a pass over the tuples to number their values, and one over the numbers.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from windrow.columns.arrays import Int64s
from windrow.columns.delta import Delta
from windrow.columns.interner import Interner
from windrow.columns.kernels import flags_out, int64, ints, ints_out, kernel, void
from windrow.core.thresholds import Threshold
from windrow.plan.physical.stages import Thinning

LOOKED_AT = Threshold(4_096, least=1)
"""Tuples by which it is guessed how many are alike."""
ALIKE = Threshold(4, least=0)
"""Tuples of a value and cell, on average, from which it pays to look for them."""


@kernel(void, ints, ints, ints_out, ints_out)
def _mark_ends(place, ts, first, last):  # type: ignore[no-untyped-def]
    """The numbers of the first and the last tuple in time of each place; of those of one instant,
    any."""
    for i in range(len(place)):
        p = place[i]
        if first[p] < 0 or ts[i] < ts[first[p]]:
            first[p] = i
        if last[p] < 0 or ts[i] > ts[last[p]]:
            last[p] = i


@kernel(int64, ints, flags_out)
def _keep(numbers, kept):  # type: ignore[no-untyped-def]
    count = 0
    for n in numbers:
        if n >= 0 and not kept[n]:
            kept[n] = True
            count += 1
    return count


def thin_out(tuples: Delta, thinning: Thinning) -> Delta:
    """The tuples without those that change no answer, in the order in which they stand."""
    size, looked_at = len(tuples), LOOKED_AT.value
    if size > looked_at and not _pays(tuples.slice(0, looked_at), thinning):
        return tuples
    place, places = _places(tuples, thinning)
    if ALIKE.value * places > size:
        return tuples
    first, last = np.full(places, -1, np.int64), np.full(places, -1, np.int64)
    _mark_ends(place, tuples.ts, first, last)
    kept = np.zeros(size, np.bool_)
    if thinning.first:
        _keep(first, kept)
    if thinning.last:
        _keep(last, kept)
    return tuples.filter(kept)


def _pays(some: Delta, thinning: Thinning) -> bool:
    return ALIKE.value * _places(some, thinning)[1] <= len(some)


def _places(tuples: Delta, thinning: Thinning) -> tuple[Int64s, int]:
    """A number for each value and cell, and how many numbers there may be."""
    columns: list[pa.Array] = tuples.rows.columns
    values = Interner(tuples.rows.schema.types)
    codes = values.codes(columns, len(tuples))
    if thinning.cell is None or not len(tuples):
        return codes, len(values)
    cells = -(-tuples.ts // thinning.cell)
    low = cells.min()
    count = int(cells.max() - low) + 1
    if count == 1:
        return codes, len(values)
    return codes * count + (cells - low), len(values) * count
