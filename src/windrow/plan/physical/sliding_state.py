"""What a group-by over sub-windows keeps: how many of them, and summaries or counts of values."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TypeVar

from windrow.core.schema import Field, Schema, Type
from windrow.plan.expressions import Column, Expression, Named
from windrow.plan.nodes import Aggregate, JoinLengths, Node
from windrow.plan.nodes.sub_window_groups import (
    BY_VALUE,
    COUNTERS,
    SKETCHES,
    KeptContent,
    PredicateSynopses,
    SharedGroupBy,
    SlidingGroupBy,
)
from windrow.plan.nodes.sub_window_groups import RANKS as RANKED
from windrow.plan.nodes.window_specs import RangeWindow, RowsWindow
from windrow.plan.physical.state_kinds import Kept, State, SubWindowKind

Merging = TypeVar("Merging", SlidingGroupBy, SharedGroupBy)
EXTREMES = frozenset({"MIN", "MAX"})
HOLISTIC = frozenset({"MEDIAN", "QUANTILE", "STRING_AGG", "ARRAY_AGG"})
MOST_OF_INTEGERS = 18
"""Digits of decimals that are 64-bit integers."""


SUMMARY = "summary"
"""What the integers of a summary are called, with a number."""
RANKS = 100
"""How many values stand for those of a group in a sub-window; the least and the greatest do."""


RANK_ERROR = "wrong by at most 1 % of the ranks"
SKETCH_ERROR = "within 3 % in 95 of 100 cases"


def sub_windows_of(spec: RangeWindow | RowsWindow) -> int:
    """How many sub-windows are in the window at one time.

    Where the slide does not divide the length there are two between two multiples of it, of which
    the later one outlives the other by a slide.

    >>> [sub_windows_of(RangeWindow(*w)) for w in ((100, 10), (25, 10), (3, 5))]
    [10, 5, 1]
    """
    assert spec.slide is not None
    length = spec.length if isinstance(spec, RangeWindow) else spec.count
    whole, rest = divmod(length, spec.slide)
    return 2 * whole + 1 if rest else whole


def counts_values(aggregate: Aggregate) -> bool:
    """Whether an aggregate needs the different values, each with how often it occurs."""
    if not aggregate.exact:
        return False
    distinct = aggregate.distinct and aggregate.function not in EXTREMES
    return distinct or aggregate.function in HOLISTIC


def is_long_extreme(function: str, argument: Expression | None) -> bool:
    """Whether an aggregate is a value that has no place in an integer of a summary."""
    if function not in EXTREMES or argument is None:
        return False
    return argument.type is Type.STRING or argument.type.precision > MOST_OF_INTEGERS


def ranks_values(aggregate: Aggregate) -> bool:
    """Whether an aggregate is approximated by values at known ranks."""
    return not aggregate.exact and aggregate.function in HOLISTIC


def hashes_values(aggregate: Aggregate) -> bool:
    """Whether an aggregate is approximated by a sketch of hashes."""
    return not aggregate.exact and aggregate.distinct


def summary_width(aggregate: Aggregate) -> int:
    """How many integers a summary has for an aggregate that does not count values."""
    kind = Type.BIGINT if aggregate.argument is None else aggregate.argument.type
    match aggregate.function:
        case _ if aggregate.argument is None:
            return 0  # every summary begins with the number of its tuples
        case "COUNT":
            return 1
        case "SUM" | "AVG":
            return 6 if kind.is_floating else 5 if kind.is_decimal else 3
        case "VAR" | "STDDEV":
            return 13 if kind.is_decimal else 14
    return 3


def schema_of_summaries(node: SlidingGroupBy | SharedGroupBy) -> Schema:
    """What a sender makes of tuples: the keys, the number of tuples, what aggregates need, and the
    extremes that are texts or long decimals.
    """
    if isinstance(node, SharedGroupBy):
        return _schema_of_shared_summaries(node)
    keys = tuple(Field(k.name, k.expression.type, k.qualifier) for k in node.keys)
    width = 1 + sum(map(summary_width, node.aggregates))
    parts = tuple(Field(f"{SUMMARY}{i}", Type.BIGINT) for i in range(width))
    long = (a.argument for a in node.aggregates if is_long_extreme(a.function, a.argument))
    return Schema((*keys, *parts, *_long_fields(a for a in long if a is not None)))


def _long_fields(arguments: Iterable[Expression]) -> tuple[Field, ...]:
    return tuple(Field(f"extreme{i}", argument.type) for i, argument in enumerate(arguments))


def summaries_of_synopses(store: PredicateSynopses) -> tuple[KeptContent, ...]:
    """What a summary of one predicate's tuples has after their number: sums, then extremes.

    How many values are not NULL is part of their sum, if that is kept too.
    """
    summed = {c.argument for c in store.contents if c.function == "SUM"}
    own = [c for c in store.contents if c.function != "COUNT" or c.argument not in summed]
    own = [c for c in own if c.function not in BY_VALUE]
    return tuple(sorted(own, key=lambda content: content.function in EXTREMES))


def _width(content: KeptContent) -> int:
    aggregate = Aggregate(content.function, content.argument, "", Type.BIGINT)
    return summary_width(aggregate)


def _schema_of_shared_summaries(node: SharedGroupBy) -> Schema:
    """What a sender makes of tuples: the keys, which synopses it is for, and the summary, extremes
    that are texts or long decimals in columns of their own; or a counter, which is how often there
    is a value, and the value in the column of its argument.
    """
    keys = tuple(Field(k.name, k.expression.type) for k in node.keys)
    width = max(1 + sum(map(_width, summaries_of_synopses(s))) for s in node.synopses)
    parts = tuple(Field(f"{SUMMARY}{i}", Type.BIGINT) for i in range(width))
    values = tuple(
        Field(f"value{i}", argument.type) for i, argument in enumerate(node.counted_arguments)
    )
    long = _long_fields(argument for _, argument in long_extremes(node))
    return Schema((*keys, Field("synopses", Type.BIGINT), *parts, *values, *long))


def long_extremes(node: SharedGroupBy) -> list[tuple[str, Expression]]:
    """Those of its extremes that are texts or long decimals."""
    return [each for each in node.extremes if is_long_extreme(*each)]


def kept_for_many(node: SharedGroupBy) -> Kept:
    """What is kept for many queries, in the words of EXPLAIN: the most of any predicate."""
    count = max((-(-store.keep // store.s) for store in node.synopses), default=1)
    beside = " and extreme values" if long_extremes(node) else ""
    kept = [SubWindowKind(count, f"summaries{beside} by predicate and group")]
    contents = {c.function for store in node.synopses for c in store.contents}
    if COUNTERS in contents:
        kept.append(SubWindowKind(count, "counts by predicate, group and value"))
    if RANKED in contents:
        kept.append(SubWindowKind(count, f"{RANKS} ranks by predicate and group", RANK_ERROR))
    if SKETCHES in contents:
        kept.append(SubWindowKind(count, "CPC sketches by predicate and group", SKETCH_ERROR))
    return tuple(kept)


def kept_by_expiry(node: JoinLengths) -> Kept:
    """What is kept of a join for windows of several lengths, in the words of EXPLAIN."""
    return (SubWindowKind(node.b, "values of results by group, by expiry (BIJ)"),)


def merging(node: Merging, summaries: Node) -> Merging:
    """The node over ``summaries`` in place of tuples."""
    keys = tuple(
        Named(k.name, Column(i, k.name, k.expression.type), k.qualifier)
        for i, k in enumerate(node.keys)
    )
    return replace(node, input=summaries, keys=keys, merges=True)


def kept_in_sub_windows(node: SlidingGroupBy) -> Kept:
    """What is kept, in the words of EXPLAIN."""
    count = sub_windows_of(node.spec)
    if node.lists is not None:
        size = node.lists.size
        most = f"at most {size * count:,} counters, and those of the open sub-window"
        return (SubWindowKind(count, f"lists of the {size:,} most frequent groups", most),)
    long = any(is_long_extreme(a.function, a.argument) for a in node.aggregates)
    beside = " and extreme values" if long else ""
    kept: list[State] = [SubWindowKind(count, f"summaries{beside} by group")]
    if any(map(counts_values, node.aggregates)):
        kept.append(SubWindowKind(count, "counts by group and value"))
    if any(map(ranks_values, node.aggregates)):
        kept.append(SubWindowKind(count, f"{RANKS} ranks by group", RANK_ERROR))
    if any(map(hashes_values, node.aggregates)):
        kept.append(SubWindowKind(count, "CPC sketches by group", SKETCH_ERROR))
    return tuple(kept)
