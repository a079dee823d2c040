"""CS7: a query over several basic interval synopses runs with all that scan them (8.3.3)."""

from __future__ import annotations

from windrow.sharing.rules.synopsis_shape import SynopsisAccess


def reuse_prefixes(one: SynopsisAccess, other: SynopsisAccess) -> bool:
    """Whether a query that SS4 combines may run with a candidate that scans.

    On basic interval and BIJ synopses, whatever the windows: the candidate's scan passes the length
    that the query needs, and the value there is saved. If MAX over 10s scans two synopses and a MAX
    of both over 8s is due as well, the two maxima at 8s are kept (Golab 2006, 8.4.3).
    """
    if not (one.is_combined or other.is_combined):
        return False
    return any(kind.is_basic for kind in one.common_kinds(other))
