"""Why a query that is answered periodically runs alone: one reason, for EXPLAIN.

Either it can be no member of any group (``shared_synopses.judge``), or nobody else is on its clock,
over its stream and by its keys.
"""

from __future__ import annotations

from collections.abc import Iterable

from windrow.plan.catalog import QueryDeclaration
from windrow.plan.expressions import render
from windrow.plan.sharing.shared_synopses import Shareable, judge


def reason_to_run_alone(query: QueryDeclaration, beside: Iterable[QueryDeclaration]) -> str | None:
    """Why a query shares nothing with those ``beside`` it; None if neither it nor one of them could
    share at all, or if it could with one of them.
    """
    own = judge(query)
    if own is None:
        return None
    others = (judge(other) for other in beside if other.name != query.name)
    periodic = (other for other in others if other is not None)
    if isinstance(own, str):
        return own if any(periodic) else None
    found = list(periodic)
    here = [m for m in found if isinstance(m, Shareable) and m.scan == own.scan]
    by = ", ".join(render(key, own.scan.schema) for key in own.keys)
    if not here:
        return f"no other query over {own.scan.name} can share synopses" if found else None
    alike = [m for m in here if m.keys == own.keys]
    if not alike:
        keys = f"by {by}" if by else "without keys"
        return f"no other query over {own.scan.name} is {keys}"
    if all(m.query.clock is not query.clock for m in alike):
        return f"no other query over {own.scan.name} is on its clock"
    return None
