"""CS1: queries over windows of one length share a probe (Golab 2006, 8.3.1)."""

from __future__ import annotations

from windrow.sharing.rules.synopsis_shape import SynopsisAccess, SynopsisKind


def share_probe(one: SynopsisAccess, other: SynopsisAccess) -> bool:
    """Whether two queries that read one running or interval synopsis may run together.

    Another length needs another pair of running values, or other intervals, so only queries of the
    same window do. The probe is made once; each query then works on its result by itself. (The
    text's example has an interval synopsis subtract; it merges about log b intervals instead.)
    """
    if one.is_combined or other.is_combined or one.query.windows != other.query.windows:
        return False
    kinds = one.common_kinds(other)
    return any(kind in (SynopsisKind.RUNNING, SynopsisKind.INTERVAL) for kind in kinds)
