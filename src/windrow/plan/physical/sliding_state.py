"""What a group-by over sub-windows keeps: how many of them, and summaries or counts of values."""

from __future__ import annotations

from windrow.core.schema import Type
from windrow.plan.nodes import Aggregate
from windrow.plan.nodes.sliding_groups import SlidingGroupBy
from windrow.plan.nodes.window_specs import RangeWindow
from windrow.plan.physical.state_kinds import Kept, SubWindowKind

EXTREMES = frozenset({"MIN", "MAX"})
HOLISTIC = frozenset({"MEDIAN", "QUANTILE"})


def sub_windows_of(spec: RangeWindow) -> int:
    """How many sub-windows are in the window at one time.

    Where the slide does not divide the length there are two between two multiples of it, of which
    the later one outlives the other by a slide.

    >>> [sub_windows_of(RangeWindow(*w)) for w in ((100, 10), (25, 10), (3, 5))]
    [10, 5, 1]
    """
    assert spec.slide is not None
    whole, rest = divmod(spec.length, spec.slide)
    return 2 * whole + 1 if rest else whole


def counts_values(aggregate: Aggregate) -> bool:
    """Whether an aggregate needs the different values, each with how often it occurs."""
    textual = aggregate.argument is not None and aggregate.argument.type is Type.STRING
    extreme = aggregate.function in EXTREMES
    return aggregate.distinct or aggregate.function in HOLISTIC or (extreme and textual)


def kept_in_sub_windows(node: SlidingGroupBy) -> Kept:
    """What is kept, in the words of EXPLAIN."""
    count = sub_windows_of(node.spec)
    summaries = SubWindowKind(count, "summaries by group")
    if not any(map(counts_values, node.aggregates)):
        return (summaries,)
    return (summaries, SubWindowKind(count, "counts by group and value"))
