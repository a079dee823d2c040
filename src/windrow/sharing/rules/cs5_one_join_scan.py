"""CS5: one scan of a BIJ synopsis answers all its queries (Golab 2006, 8.3.2)."""

from __future__ import annotations

from windrow.sharing.rules.synopsis_shape import SynopsisAccess, SynopsisKind


def share_join_scan(one: SynopsisAccess, other: SynopsisAccess) -> bool:
    """Whether two queries that read one BIJ synopsis may run together: CS2 for joins."""
    if one.is_combined or other.is_combined:
        return False
    return SynopsisKind.BIJ in one.common_kinds(other)
