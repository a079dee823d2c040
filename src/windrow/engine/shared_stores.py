"""The stores of a ``SharedGroupBy``: which predicates share one, and what it has of each."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa

from windrow.columns.arrays import Int64s
from windrow.columns.byte_forms import is_bytes
from windrow.columns.types import ARROW
from windrow.operators.aggregates.decimal_summaries import DecimalSummary
from windrow.operators.aggregates.decimal_sums import DecimalSum
from windrow.operators.aggregates.decimal_variance import DecimalVariance
from windrow.operators.aggregates.extreme_summaries import ExtremeSummary
from windrow.operators.aggregates.long_extreme_summaries import LongExtremeSummary
from windrow.operators.aggregates.rank_summaries import RankSummaries
from windrow.operators.aggregates.sum_summaries import DoubleSumSummary, IntegerSumSummary
from windrow.operators.aggregates.summaries import CountSummary, Summary
from windrow.operators.aggregates.value_counts import ValueCounts
from windrow.operators.aggregates.variance_summaries import VarianceSummary
from windrow.operators.state.predicate_store import CellsByValue, PredicateStore
from windrow.operators.state.store_arrangement import Together
from windrow.operators.summarise_rows import has_tiers
from windrow.plan.expressions import Expression
from windrow.plan.nodes import sub_window_groups as plan
from windrow.plan.nodes.sub_window_groups import KeptContent, PredicateSynopses
from windrow.plan.physical.sliding_state import EXTREMES, summaries_of_synopses
from windrow.sharing.rules.synopsis_shape import SynopsisKind

Content = tuple[str, Expression]
"""What a summary is of: a function and its argument."""


def summary_for(function: str, kind: pa.DataType) -> Summary | None:
    """What is kept of the values of one sub-window and group."""
    match function:
        case "COUNT":
            return CountSummary()
        case "SUM" | "AVG" if pa.types.is_floating(kind):
            return DoubleSumSummary(kind, mean=function == "AVG")
        case "SUM" | "AVG" if pa.types.is_decimal(kind):
            return DecimalSummary(DecimalSum(kind, mean=function == "AVG"))
        case "SUM" | "AVG":
            return IntegerSumSummary(kind, mean=function == "AVG")
        case "MIN" | "MAX" if is_bytes(kind):
            return LongExtremeSummary(kind, largest=function == "MAX")
        case "MIN" | "MAX":
            return ExtremeSummary(kind, largest=function == "MAX")
        case "VAR" | "STDDEV" if pa.types.is_decimal(kind):
            return DecimalSummary(DecimalVariance(kind, root=function == "STDDEV"))
        case "VAR" | "STDDEV":
            return VarianceSummary(kind, root=function == "STDDEV")
    return None


def count_values(content: KeptContent) -> CellsByValue:
    return ValueCounts(ARROW[content.argument.type], [])


def keep_values(content: KeptContent) -> CellsByValue:
    """What is kept by value where queries are answered."""
    match content.function:
        case plan.SKETCHES:
            from windrow.operators.aggregates.sketch_cells import SketchCells  # noqa: PLC0415

            return SketchCells()
        case plan.RANKS:
            return RankSummaries(ARROW[content.argument.type], [])
    return count_values(content)


def store_of(
    several: Sequence[PredicateSynopses],
    arguments: tuple[Expression, ...],
    keep: Callable[[KeptContent], CellsByValue] = keep_values,
) -> PredicateStore:
    """The store of one predicate, or of several."""
    layout = StoreLayout(several, arguments)
    by_value = {
        (c.function, arguments.index(c.argument)): keep(c)
        for c in several[0].contents
        if c.function in plan.BY_VALUE
    }
    longest = max(synopses.keep for synopses in several)
    return PredicateStore(
        several[0].s, longest, layout.sums, layout.extremes, list(layout.synopses), by_value,
        several=len(several) > 1,
    )  # fmt: skip


class StoreLayout:
    """Which summaries a store has, by what they are of, and which synopses over extremes."""

    def __init__(
        self, several: Sequence[PredicateSynopses], arguments: tuple[Expression, ...]
    ) -> None:
        kept: dict[Content, Summary] = {}
        for content in (c for synopses in several for c in summaries_of_synopses(synopses)):
            if content_of(content) not in kept:
                kept[content_of(content)] = _summary_of(content)
        order = sorted(kept, key=lambda content: content[0] in EXTREMES)
        self.summaries = {content: kept[content] for content in order}
        self.places: dict[Content, int] = {}
        """The first column of each summary; before them is how many tuples it is of."""
        self.width = 1
        for own in order:
            self.places[own] = self.width
            self.width += kept[own].width
        pairs = [(content, (kept[content], arguments.index(content[1]))) for content in order]
        self.sums = [pair for (function, _), pair in pairs if function not in EXTREMES]
        self.extremes = [pair for (function, _), pair in pairs if function in EXTREMES]
        self._numbers = [content for content in order if content[0] in EXTREMES]
        self.synopses: dict[tuple[int, bool], int] = {}
        """The extreme and whether it is scanned: the number of the synopsis."""
        for content in (c for synopses in several for c in summaries_of_synopses(synopses)):
            if content.function in EXTREMES:
                self.synopses.setdefault(self.synopsis(content), len(self.synopses))

    def synopsis(self, content: KeptContent) -> tuple[int, bool]:
        """The number of an extreme, and whether it is scanned."""
        return self._numbers.index(content_of(content)), content.kind is SynopsisKind.BASIC

    def columns(self, several: Sequence[PredicateSynopses]) -> Int64s:
        """For each predicate, which integers of its summaries are those of the store's; -1: none
        is."""
        found = np.full((len(several), self.width), -1, np.int64)
        found[:, 0] = 0
        for line, synopses in zip(found, several, strict=True):
            at = 1
            for own in map(content_of, summaries_of_synopses(synopses)):
                size, first = self.summaries[own].width, self.places[own]
                line[first : first + size] = np.arange(at, at + size)
                at += size
        return found


def content_of(content: KeptContent) -> Content:
    return content.function, content.argument


def predicates_together(synopses: Sequence[PredicateSynopses], known: Together = ()) -> Together:
    """Which predicates share a store; those that do already, still do."""
    placed = {number for numbers in known for number in numbers}
    found: dict[object, list[int]] = {}
    for number, each in enumerate(synopses):
        if number not in placed:
            found.setdefault(_likeness(number, each), []).append(number)
    return (*known, *map(tuple, found.values()))


def _likeness(number: int, synopses: PredicateSynopses) -> object:
    """Equal for predicates that may share a store. Sub-windows are kept up to four times as long
    then as one of them needs. Sums of doubles tell summaries of a group apart."""
    if not all(map(_is_in_summaries, synopses.contents)):
        return number
    kept = summaries_of_synopses(synopses)
    tiers = {content_of(c) for c in kept if has_tiers(_summary_of(c))}
    return synopses.s, (synopses.keep // synopses.s).bit_length() // 2, frozenset(tiers)


def _is_in_summaries(content: KeptContent) -> bool:
    """Whether the integers of summaries are all that is kept."""
    kind = ARROW[content.argument.type]
    numbers = (pa.types.is_integer, pa.types.is_floating, pa.types.is_temporal)
    return content.function not in plan.BY_VALUE and any(of(kind) for of in numbers)


def _summary_of(content: KeptContent) -> Summary:
    summary = summary_for(content.function, ARROW[content.argument.type])
    assert summary is not None
    return summary
