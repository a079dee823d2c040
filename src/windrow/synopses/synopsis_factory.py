"""A synopsis and its buffer from the description that the rules of sharing speak of.

``windrow.sharing.rules`` decide, from frozen descriptions, which synopses there are and whom they
serve; here a description becomes what holds state. What the rules promise a query (SS1 to SS3 of
Golab 2006, 8.3), the synopsis answers.

Which aggregate may use which synopsis (2.3.4), and what it is kept as:

=============================  ============  ===========================  ===================
aggregate                      class         synopses                     kept per interval
=============================  ============  ===========================  ===================
SUM, COUNT                     subtractable  running, interval, basic     a value
MIN, MAX                       distributive  interval, basic              a value
AVG                            algebraic     those of SUM and COUNT       two values
QUANTILE, TOP, COUNT DISTINCT  holistic      interval, basic              counters or a sketch
=============================  ============  ===========================  ===================
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

from windrow.sharing.rules.periodic_query import Contents, Kept
from windrow.sharing.rules.synopsis_shape import SynopsisKind, SynopsisShape
from windrow.synopses.base import Synopsis
from windrow.synopses.basic_interval_synopsis import BasicIntervalSynopsis
from windrow.synopses.errors import SynopsisError, UnsuitableSynopsisError
from windrow.synopses.grouped_table import GroupedTable
from windrow.synopses.interval_content import AggregateClass, Content
from windrow.synopses.interval_synopsis import IntervalSynopsis
from windrow.synopses.interval_values import Counts, Extremes, Sums, group_batch, mean_column
from windrow.synopses.join_synopsis import JoinSynopsis
from windrow.synopses.running_synopsis import RunningSynopsis
from windrow.synopses.synopsis_buffers import JoinBuffer, RowBuffer, TimeBuffer
from windrow.synopses.value_counters import Counters

CLASSES = {
    "SUM": AggregateClass.SUBTRACTABLE,
    "COUNT": AggregateClass.SUBTRACTABLE,
    "MIN": AggregateClass.DISTRIBUTIVE,
    "MAX": AggregateClass.DISTRIBUTIVE,
    "AVG": AggregateClass.ALGEBRAIC,
    "QUANTILE": AggregateClass.HOLISTIC,
    "TOP": AggregateClass.HOLISTIC,
    "COUNT DISTINCT": AggregateClass.HOLISTIC,
}
MERGING = (IntervalSynopsis, BasicIntervalSynopsis)
SUITABLE: dict[AggregateClass, tuple[type[Synopsis[Any]], ...]] = {
    AggregateClass.SUBTRACTABLE: (RunningSynopsis, *MERGING),
    AggregateClass.DISTRIBUTIVE: MERGING,
    AggregateClass.ALGEBRAIC: (),
    AggregateClass.HOLISTIC: MERGING,
}
"""The kinds of synopsis for each class, the quickest to probe first."""


def aggregate_class(function: str) -> AggregateClass:
    """The class of an aggregate, by its name in CQL.

    >>> from windrow.synopses import aggregate_class
    >>> aggregate_class("QUANTILE").value
    'holistic'
    """
    if function not in CLASSES:
        raise SynopsisError(
            where=function, expected=" or ".join(CLASSES), found=function,
            remedy="other aggregates have no synopsis",
        )  # fmt: skip
    return CLASSES[function]


def suitable_synopses(function: str) -> tuple[type[Synopsis[Any]], ...]:
    """The kinds of synopsis that can hold an aggregate, the quickest to probe first.

    >>> from windrow.synopses import suitable_synopses
    >>> [kind.kind for kind in suitable_synopses("MAX")]
    ['interval synopsis', 'basic interval synopsis']
    """
    return SUITABLE[aggregate_class(function)]


def content_for(function: str, *, approximate: bool = False) -> Content[Any]:
    """What a synopsis keeps per interval for an aggregate; sketches if ``approximate``.

    >>> from windrow.synopses import content_for
    >>> content_for("TOP").name, content_for("TOP", approximate=True).name
    ('counters', 'frequent items sketches')
    """
    kind = aggregate_class(function)
    if kind is AggregateClass.ALGEBRAIC:
        raise UnsuitableSynopsisError(
            "it is computed from two distributive ones", where=function,
            expected="an aggregate that one synopsis can hold", found="an algebraic one",
            remedy="keep a synopsis of SUM and one of COUNT, and read them with average()",
        )  # fmt: skip
    if kind is AggregateClass.HOLISTIC:
        if not approximate:
            return Counters()
        # The library is large, and most synopses are exact.
        from windrow.synopses.sketches import sketches_for  # noqa: PLC0415

        return sketches_for(function)
    if approximate:
        raise SynopsisError(
            where=function, expected="QUANTILE, TOP or COUNT DISTINCT", found=function,
            remedy="leave approximate out: the exact value takes no more space",
        )  # fmt: skip
    return Counts() if function == "COUNT" else Sums() if function == "SUM" else Extremes(function)


def average(sums: Synopsis[GroupedTable], counts: Synopsis[GroupedTable], n: int) -> pa.RecordBatch:
    """AVG over ``n`` sub-windows from a synopsis of sums and one of counts (rule SS2 of 8.3.1).

    >>> import numpy as np
    >>> from windrow.synopses import RowBuffer, RunningSynopsis, average, content_for
    >>> sums, counts = (RunningSynopsis(content_for(f), s=2, b=4) for f in ("SUM", "COUNT"))
    >>> for synopsis in (sums, counts):
    ...     synopsis.follow(RowBuffer(synopsis.f, s=2).feed(np.array([1, 2, 3, 5])))
    >>> average(sums, counts, 2)["value"].to_pylist()
    [2.75]
    """
    if not isinstance(sums.f, Sums) or not isinstance(counts.f, Counts):
        raise UnsuitableSynopsisError(
            where="AVG", expected="a synopsis of SUM and one of COUNT",
            found=f"{sums.f.name} and {counts.f.name}", remedy="give them in this order",
        )  # fmt: skip
    if (sums.s, sums.number) != (counts.s, counts.number):
        raise SynopsisError(
            where="AVG", expected="synopses that are updated together (rule SS2)",
            found=f"s = {sums.s} at update {sums.number}, s = {counts.s} at {counts.number}",
            remedy="feed both from the same rows before asking",
        )  # fmt: skip
    total, count = sums.probe(n), counts.probe(n)
    if not np.array_equal(total.keys[0], count.keys[0]):
        raise SynopsisError(
            where="AVG", expected="the same groups in both synopses", found="different ones",
            remedy="feed both from the same rows",
        )  # fmt: skip
    return group_batch(total, mean_column(total, count.rows))


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

    >>> from windrow.sharing.rules.periodic_query import Contents, Kept
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
