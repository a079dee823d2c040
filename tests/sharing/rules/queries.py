"""Short ways to write descriptions of queries and synopses."""

from __future__ import annotations

from windrow.sharing.rules import (
    EVERYTHING,
    Aggregate,
    Atom,
    Attribute,
    Function,
    Order,
    PeriodicQuery,
    Predicate,
    SynopsisKind,
    SynopsisShape,
    any_of,
)
from windrow.sharing.rules.synopsis_shape import Reading, SynopsisAccess

PROTOCOL = Attribute("protocol", Order.UNORDERED)
USER = Attribute("user", Order.UNORDERED)
TCP, UDP = (any_of(Atom(PROTOCOL, "=", name)) for name in ("TCP", "UDP"))
OF_U = any_of(Atom(USER, "=", "U"))


def query(
    name: str,
    function: Function = Function.MAX,
    window: int | tuple[int, int] = 10,
    slide: int = 1,
    where: Predicate = EVERYTHING,
    argument: str = "length",
    priority: int = 0,
) -> PeriodicQuery:
    windows = window if isinstance(window, tuple) else (window,)
    source = "S" if len(windows) == 1 else "R join S"
    aggregates = (Aggregate(function, argument),)
    return PeriodicQuery(name, source, aggregates, windows, slide, where, priority=priority)


def shape(
    kind: SynopsisKind,
    like: PeriodicQuery,
    b: int,
    s: int = 1,
    g: int = 0,
    needed: int = 0,
) -> SynopsisShape:
    """A synopsis for a query, with as many intervals."""
    return SynopsisShape(kind, like.source, like.needs[needed], s, b, g, like.predicate)


def access(reader: PeriodicQuery, *shapes: SynopsisShape) -> SynopsisAccess:
    """A query that reads these for its contents, in order, or combines them for the only one."""
    if len(reader.needs) == len(shapes):
        pairs = zip(reader.needs, shapes, strict=True)
        readings = tuple(Reading(contents, (one,)) for contents, one in pairs)
    else:
        readings = (Reading(reader.needs[0], shapes),)
    return SynopsisAccess(reader, readings)


SIX = (
    query("Q1", Function.SUM, where=TCP),
    query("Q2", Function.SUM, where=UDP),
    query("Q3", Function.SUM, where=TCP.or_also(UDP)),
    query("Q4", Function.MAX, where=TCP),
    query("Q5", Function.MAX, where=OF_U),
    query("Q6", Function.MAX, where=TCP.or_also(OF_U)),
)
"""The six queries of 8.3.3."""
SEVEN = tuple(
    query(f"Q{i}", Function.MAX, window, slide)
    for i, (window, slide) in enumerate(
        [(10, 2), (5, 2), (6, 2), (15, 3), (12, 3), (20, 5), (30, 5)], 1
    )
)
"""The group G1 of 8.4.3."""
