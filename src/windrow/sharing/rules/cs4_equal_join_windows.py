"""CS4: queries over joins of equal windows share a probe (Golab 2006, 8.3.2)."""

from __future__ import annotations

from windrow.sharing.rules.synopsis_shape import SynopsisAccess, SynopsisKind


def share_join_probe(one: SynopsisAccess, other: SynopsisAccess) -> bool:
    """Whether two queries that read one RJ or IJ synopsis may run together: CS1 for joins.

    Both windows must be equal: a (7s, 8s)-join and an (8s, 7s)-join leave out different results.
    """
    if one.is_combined or other.is_combined or one.query.windows != other.query.windows:
        return False
    return any(kind in (SynopsisKind.RJ, SynopsisKind.IJ) for kind in one.common_kinds(other))
