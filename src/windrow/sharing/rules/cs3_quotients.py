"""CS3: SUM, COUNT and AVG over one window run together (Golab 2006, 8.3.1)."""

from __future__ import annotations

from itertools import product

from windrow.sharing.rules.ss2_averages import serves_average
from windrow.sharing.rules.synopsis_shape import SynopsisAccess


def share_quotient(one: SynopsisAccess, other: SynopsisAccess) -> bool:
    """Whether an AVG may divide what the other query computes, or the other way round.

    SS2 holds for the one, the other reads the sums or the counts, and the windows are equal. SUM
    and COUNT are computed first and then divided.
    """
    return one.query.windows == other.query.windows and (
        _divides(one, other) or _divides(other, one)
    )


def _divides(average: SynopsisAccess, other: SynopsisAccess) -> bool:
    return any(
        serves_average(sums, counts, average.query)
        for sums, counts in product(average.shapes, repeat=2)
        if sums in other.shapes or counts in other.shapes
    )
