"""Which columns of its streams a plan looks at.

Columns that nobody needs are dropped right above the leaves (``windrow.plan.rules.prune_columns``):
what the projection over a scan does not use, nobody sees, so a reader need not make it. Under any
other operator all columns of a scan are looked at.
"""

from __future__ import annotations

from collections.abc import Iterable

from windrow.plan.expressions import columns_of
from windrow.plan.nodes import Node, Projection, StreamScan, walk


def columns_read(plans: Iterable[Node]) -> dict[str, frozenset[int]]:
    """The positions of the columns that any of the plans looks at, by stream in lower case."""
    found: dict[str, frozenset[int]] = {}
    for plan in plans:
        if isinstance(plan, StreamScan):
            found[plan.name.lower()] = frozenset(range(len(plan.schema)))
        for node in walk(plan):
            for scan in node.inputs:
                if isinstance(scan, StreamScan):
                    name = scan.name.lower()
                    found[name] = found.get(name, frozenset()) | _used(node, scan)
    return found


def _used(node: Node, scan: StreamScan) -> frozenset[int]:
    if isinstance(node, Projection):
        return frozenset(c.index for named in node.columns for c in columns_of(named.expression))
    return frozenset(range(len(scan.schema)))
