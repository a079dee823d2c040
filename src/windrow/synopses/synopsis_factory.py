"""A synopsis and its buffer from the description that the rules of sharing speak of.

``windrow.sharing.rules`` decide, from frozen descriptions, which synopses there are and whom they
serve; here a description becomes what holds state. What the rules promise a query (SS1 to SS3 of
Golab 2006, 8.3), the synopsis answers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from windrow.sharing.rules.interval_contents import Contents, Kept
from windrow.sharing.rules.synopsis_shape import SynopsisKind, SynopsisShape
from windrow.synopses.aggregate_uses import content_for
from windrow.synopses.base import Synopsis
from windrow.synopses.basic_interval_synopsis import BasicIntervalSynopsis
from windrow.synopses.interval_buffer import RowBuffer, TimeBuffer
from windrow.synopses.interval_content import Content
from windrow.synopses.interval_synopsis import IntervalSynopsis
from windrow.synopses.join_buffer import JoinBuffer
from windrow.synopses.join_synopsis import JoinSynopsis
from windrow.synopses.running_synopsis import RunningSynopsis

KINDS: dict[SynopsisKind, type[Synopsis[Any]]] = {
    SynopsisKind.RUNNING: RunningSynopsis,
    SynopsisKind.INTERVAL: IntervalSynopsis,
    SynopsisKind.BASIC: BasicIntervalSynopsis,
    SynopsisKind.RJ: RunningSynopsis,
    SynopsisKind.IJ: IntervalSynopsis,
    SynopsisKind.BIJ: BasicIntervalSynopsis,
}
CONTENTS: dict[Kept, Callable[[], Content[Any]]] = {
    Kept.SUM: lambda: content_for("SUM"),
    Kept.COUNT: lambda: content_for("COUNT"),
    Kept.MIN: lambda: content_for("MIN"),
    Kept.MAX: lambda: content_for("MAX"),
    Kept.COUNTERS: lambda: content_for("TOP"),
    Kept.DISTINCT_SKETCH: lambda: content_for("COUNT DISTINCT", approximate=True),
    Kept.QUANTILE_SKETCH: lambda: content_for("QUANTILE", approximate=True),
    Kept.FREQUENT_SKETCH: lambda: content_for("TOP", approximate=True),
}


def make_content(contents: Contents) -> Content[Any]:
    """f of a description."""
    return CONTENTS[contents.kept]()


def make_synopsis(
    shape: SynopsisShape, *, from_start: bool = True
) -> Synopsis[Any] | JoinSynopsis[Any]:
    """An empty synopsis as described; an interval synopsis gets the next power of two as its b.

    >>> from windrow.sharing.rules.interval_contents import Contents, Kept
    >>> from windrow.sharing.rules.synopsis_shape import SynopsisKind, SynopsisShape
    >>> most = Contents(Kept.MAX, "bytes")
    >>> synopsis = make_synopsis(SynopsisShape(SynopsisKind.INTERVAL, "flows", most, s=60, b=10))
    >>> synopsis.kind, synopsis.b
    ('interval synopsis', 16)
    """
    kind = KINDS[shape.kind]
    b = 1 << (shape.b - 1).bit_length() if kind is IntervalSynopsis else shape.b
    synopsis = kind(make_content(shape.contents), shape.s, b, from_start=from_start)
    return JoinSynopsis(synopsis, shape.g) if shape.kind.is_over_join else synopsis


def make_buffer(
    shape: SynopsisShape, *, by_rows: bool = False
) -> TimeBuffer[Any] | RowBuffer[Any] | JoinBuffer[Any]:
    """The buffer before it; a description does not say whether ``s`` counts ticks or rows."""
    content = make_content(shape.contents)
    if shape.kind.is_over_join:
        return JoinBuffer(content, shape.s, shape.g)
    return RowBuffer(content, shape.s) if by_rows else TimeBuffer(content, shape.s)
