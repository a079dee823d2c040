"""SS1: one synopsis for windows of all lengths n*s with n <= b (Golab 2006, 8.3.1)."""

from __future__ import annotations

from windrow.sharing.rules.periodic_query import PeriodicQuery
from windrow.sharing.rules.synopsis_shape import SynopsisShape


def serves_window(shape: SynopsisShape, query: PeriodicQuery) -> bool:
    """Whether a query over one window may use the synopsis for one of its aggregates.

    It may if the aggregate needs the data that each interval holds, over the same tuples, and the
    window is a multiple of s and no longer than b*s. A COUNT DISTINCT and a TOP k of one attribute
    need the same counters, so they share.
    """
    return fits_window(shape, query) and shape.predicate.is_equivalent(query.predicate)


def fits_window(shape: SynopsisShape, query: PeriodicQuery) -> bool:
    """The same but for the WHERE: what SS4 asks of each synopsis that it combines."""
    return (
        not shape.kind.is_over_join
        and shape.contents in query.needs
        and shape.has_tuples_of(query)
        and query.window <= shape.b * shape.s
    )
