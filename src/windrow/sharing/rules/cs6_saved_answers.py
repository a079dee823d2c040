"""CS6: a query over several synopses runs after those that read them (Golab 2006, 8.3.3)."""

from __future__ import annotations

from windrow.sharing.rules.synopsis_shape import SynopsisAccess


def reuse_answers(one: SynopsisAccess, other: SynopsisAccess) -> bool:
    """Whether a query that SS4 combines may take over the answers of a candidate.

    On running, interval, RJ and IJ synopses an answer is of one window, so the windows must be
    equal. The candidate runs first, and its answer is saved.
    """
    if not (one.is_combined or other.is_combined) or one.query.windows != other.query.windows:
        return False
    return any(not kind.is_basic for kind in one.common_kinds(other))
