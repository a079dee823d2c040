"""SS2: an average from a running synopsis of sums and one of counts (Golab 2006, 8.3.1)."""

from __future__ import annotations

from windrow.sharing.rules.periodic_query import Aggregate, Contents, Function, Kept, PeriodicQuery
from windrow.sharing.rules.ss1_window_lengths import serves_window
from windrow.sharing.rules.synopsis_shape import SynopsisKind, SynopsisShape


def serves_average(sums: SynopsisShape, counts: SynopsisShape, query: PeriodicQuery) -> bool:
    """Whether an AVG of the query may be the quotient of these two.

    They must be updated at the same instants, or sum and count would be of different windows:
    s is equal (updates are at multiples of s), and the window fits into both.
    """
    argument = sums.contents.argument
    return (
        Aggregate(Function.AVG, argument) in query.aggregates
        and sums.contents == Contents(Kept.SUM, argument)
        and counts.contents == Contents(Kept.COUNT, argument)
        and sums.kind is counts.kind is SynopsisKind.RUNNING
        and sums.s == counts.s
        and serves_window(sums, query)
        and serves_window(counts, query)
    )
