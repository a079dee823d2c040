"""CS2: one scan of a basic interval synopsis answers all its queries (Golab 2006, 8.3.1)."""

from __future__ import annotations

from windrow.sharing.rules.synopsis_shape import SynopsisAccess, SynopsisKind


def share_scan(one: SynopsisAccess, other: SynopsisAccess) -> bool:
    """Whether two queries that read one basic interval synopsis may run together: always.

    The scan goes from the youngest interval to the oldest; the shorter windows are on the way.
    """
    if one.is_combined or other.is_combined:
        return False
    return SynopsisKind.BASIC in one.common_kinds(other)
