"""A periodic aggregate that runs alone, as a group that others may join (Golab 2006, 8.2).

Alone it keeps summaries of its own sub-windows, which takes less than a synopsis does. When a
second query comes that could share, these summaries are what a synopsis of the same s has: s is the
SLIDE, which divides the window. Where it does not, sub-windows are longer than the s that fits, and
where values are approximated other things are kept than for many; such a query stays alone.
"""

from __future__ import annotations

from dataclasses import replace

from windrow.core.time import Clock
from windrow.plan.catalog import QueryDeclaration
from windrow.plan.expressions import Expression
from windrow.plan.nodes import StreamScan
from windrow.plan.sharing.shared_synopses import SharedSynopses, shareable, shared_synopses

Family = tuple[Clock, StreamScan, tuple[Expression, ...]]
"""What queries have in common that share synopses: clock, stream and keys."""


def family_of(query: QueryDeclaration) -> Family | None:
    """That of a query; None if it has to run alone."""
    member = shareable(query)
    return None if member is None else (query.clock, member.scan, member.keys)


def family_of_group(group: SharedSynopses) -> Family:
    source, keys = group.plan.input, tuple(key.expression for key in group.plan.keys)
    assert isinstance(source, StreamScan)
    return group.queries[0].clock, source, keys


def group_of_one(
    query: QueryDeclaration, missed: int | None, complete_from: int | None
) -> SharedSynopses | None:
    """The group of a query that runs alone; None if what it keeps is of no use to others.

    If it came late, it has ``missed`` tuples up to an instant, and is complete from another one on.
    """
    groups = shared_synopses([query], fewest=1)
    if not groups:
        return None
    (group,) = groups
    (member,) = group.sharing.members
    described = member.query
    if described.slide != described.grain or any(a.approximate for a in described.aggregates):
        return None
    s = described.slide
    since = None if missed is None else -(-missed // s) * s
    sharing = replace(
        group.sharing,
        synopses=tuple(replace(synopsis, since=since) for synopsis in group.sharing.synopses),
        members=(replace(member, complete_from=complete_from),),
    )
    return replace(group, sharing=sharing)
