"""SS3: one synopsis of a join for windows of several lengths (Golab 2006, 8.3.2)."""

from __future__ import annotations

from windrow.sharing.rules.periodic_query import PeriodicQuery
from windrow.sharing.rules.synopsis_shape import SynopsisShape


def serves_join(shape: SynopsisShape, query: PeriodicQuery) -> bool:
    """Whether an aggregate of the query over its (n1*s, n2*s)-join may use the synopsis.

    It may if n1 = n2 <= b, or if both are within the g oldest intervals: b - g <= n1, n2 <= b.
    """
    return fits_join(shape, query) and shape.predicate.is_equivalent(query.predicate)


def fits_join(shape: SynopsisShape, query: PeriodicQuery) -> bool:
    """The same but for the WHERE: what SS4 asks of each synopsis that it combines."""
    if not (
        shape.kind.is_over_join and shape.contents in query.needs and shape.has_tuples_of(query)
    ):
        return False
    shorter, longer = sorted(window // shape.s for window in query.windows)
    return longer <= shape.b and (shorter == longer or shorter >= shape.b - shape.g)
