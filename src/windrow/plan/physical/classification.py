"""Operators by mode and incrementality, and the index that each needs (Golab et al. 2004, 3).

*Mode* says whether an operator looks at tuples again after they came (windowed input), and
whether its results leave again (windowed output); results of a MONOTONIC node never do.
*Incrementality* says what it needs in order not to go through its whole window for each answer:
nothing, a histogram of values and their counts, or the tuples themselves by value. From that the
index follows:

    nothing               no index
    a histogram           H-INDEX; T-INDEX where the order of values matters
    tuples by value       H-INDEX with DB rings; without an equality there is no value to look up

The paper counts variance among what is not incremental. It is here: sums of powers are partial
aggregates like any other, and ``windrow.operators.aggregates.variance`` keeps them exactly.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any

from windrow.core.patterns import UpdatePattern
from windrow.plan.nodes import (
    AppendOnly,
    ConstantRows,
    DuplicateElimination,
    Every,
    GroupBy,
    Join,
    JoinLengths,
    LastingJoin,
    LookBack,
    MatchFlag,
    MultiJoin,
    Negation,
    NegationForm,
    NegativeTuples,
    Node,
    OutputWindow,
    Projection,
    RelationScan,
    Retimed,
    Routed,
    Selection,
    SharedGroupBy,
    SharedTop,
    SlidingGroupBy,
    StageInput,
    Stamped,
    StreamScan,
    Subscribe,
    TopK,
    ToStream,
    Union,
    Unnest,
    Window,
    is_nrr,
)
from windrow.plan.nodes.base import PerNode
from windrow.plan.strategy import Strategy

HOLISTIC = frozenset({"MEDIAN", "QUANTILE"})
"""Aggregates that need all values in order."""


class Mode(Enum):
    """The four evaluation modes of 3.1."""

    ON_THE_FLY = 1
    """Neither input nor output is windowed: a selection over a stream."""
    WINDOWED_INPUT = 2
    """New results as tuples come: a join of INTERNAL windows."""
    WINDOWED_OUTPUT = 3
    """The output is a window, tuples being consumed as they come: a selection over a window."""
    WINDOWED = 4
    """Both: a join of windows whose results expire."""


class Incrementality(Enum):
    """What an operator needs besides the tuples that come and go (3.2)."""

    INCREMENTAL = "nothing"
    WITH_HISTOGRAM = "a histogram"
    NEEDS_TUPLES = "tuples by value"


class WindowIndex(Enum):
    """The indexes of ``windrow.windows`` that the engine's operators keep."""

    VALUES = "H-INDEX"
    ORDERED = "T-INDEX"
    RINGS = "H-INDEX with DB rings"


@dataclass(frozen=True)
class Classification:
    """How an operator treats one of its inputs.

    ``by_value``: it looks for equal values; ``ordered``: it needs them in order.
    """

    mode: Mode
    incrementality: Incrementality
    by_value: bool = False
    ordered: bool = False


def classify(node: Node, position: int = 0, strategy: Strategy = Strategy.UPA) -> Classification:
    """The classification of a node with regard to its input number ``position``."""
    return CLASSES[node](node, position, strategy)


def index_for(
    node: Node, position: int = 0, strategy: Strategy = Strategy.UPA
) -> WindowIndex | None:
    """The index over a node's input number ``position``; None if it does without."""
    found = classify(node, position, strategy)
    match found.incrementality:
        case Incrementality.INCREMENTAL:
            return None
        case Incrementality.WITH_HISTOGRAM:
            return WindowIndex.ORDERED if found.ordered else WindowIndex.VALUES
        case Incrementality.NEEDS_TUPLES:
            return WindowIndex.RINGS if found.by_value else None


def _mode(node: Node, again: bool) -> Mode:
    """``again``: whether the node goes back to tuples of its input after they came."""
    output = node.pattern is not UpdatePattern.MONOTONIC
    if again:
        return Mode.WINDOWED if output else Mode.WINDOWED_INPUT
    return Mode.WINDOWED_OUTPUT if output else Mode.ON_THE_FLY


def _leaves_again(node: Node, position: int) -> bool:
    return node.inputs[position].pattern is not UpdatePattern.MONOTONIC


def _one_by_one(node: Node, _position: int, _strategy: Strategy) -> Classification:
    return Classification(_mode(node, again=False), Incrementality.INCREMENTAL)


def _to_stream(node: ToStream, position: int, _strategy: Strategy) -> Classification:
    mode = _mode(node, _leaves_again(node, position))
    return Classification(mode, Incrementality.INCREMENTAL)


def _join(node: Join, position: int, _strategy: Strategy) -> Classification:
    if is_nrr(node.inputs[1 - position]):
        return Classification(_mode(node, again=False), Incrementality.INCREMENTAL)
    by_value = bool(node.left_keys) and not node.buckets  # which mix values
    return Classification(_mode(node, again=True), Incrementality.NEEDS_TUPLES, by_value)


def _lasting_join(node: LastingJoin, _position: int, _strategy: Strategy) -> Classification:
    by_value = bool(node.left_keys)
    return Classification(_mode(node, again=True), Incrementality.NEEDS_TUPLES, by_value)


def _multi_join(node: MultiJoin, _position: int, _strategy: Strategy) -> Classification:
    mode, by_value = _mode(node, again=True), not node.buckets
    return Classification(mode, Incrementality.NEEDS_TUPLES, by_value)


def _top(node: TopK | SharedTop, position: int, _strategy: Strategy) -> Classification:
    mode = _mode(node, _leaves_again(node, position))
    return Classification(mode, Incrementality.NEEDS_TUPLES, ordered=True)


def _negation(node: Negation | MatchFlag, position: int, _strategy: Strategy) -> Classification:
    """EXCEPT counts on both sides; the others count the right side and show left tuples."""
    mode = _mode(node, again=True)
    if isinstance(node, Negation) and node.form is NegationForm.EXCEPT:
        return Classification(mode, Incrementality.WITH_HISTOGRAM, by_value=True)
    equality = bool(node.left_keys)
    if node.residual is None and position == 1:
        return Classification(mode, Incrementality.WITH_HISTOGRAM, by_value=equality)
    return Classification(mode, Incrementality.NEEDS_TUPLES, by_value=equality)


def _distinct(node: DuplicateElimination, position: int, strategy: Strategy) -> Classification:
    """A count per value is enough, unless the whole input is kept and asked for a successor."""
    mode = _mode(node, _leaves_again(node, position))
    foreseeable = node.input.pattern in (UpdatePattern.WEAKEST, UpdatePattern.WEAK)
    if strategy is Strategy.DIRECT and foreseeable:
        return Classification(mode, Incrementality.NEEDS_TUPLES, by_value=True)
    return Classification(mode, Incrementality.WITH_HISTOGRAM, by_value=True)


def _grouping(node: GroupBy, position: int, _strategy: Strategy) -> Classification:
    """As demanding as the most demanding of its aggregates."""
    mode = _mode(node, _leaves_again(node, position))
    ordered = any(a.function in HOLISTIC for a in node.aggregates)
    if ordered or any(a.distinct and a.exact for a in node.aggregates):
        return Classification(mode, Incrementality.WITH_HISTOGRAM, by_value=True, ordered=ordered)
    return Classification(mode, Incrementality.INCREMENTAL)


CLASSES: PerNode[Callable[[Any, int, Strategy], Classification]] = PerNode(
    "the class of an operator",
    {
        Join: _join,
        LastingJoin: _lasting_join,
        MultiJoin: _multi_join,
        Negation: _negation,
        MatchFlag: _negation,
        DuplicateElimination: _distinct,
        GroupBy: _grouping,
        JoinLengths: lambda node, _, __: Classification(
            _mode(node, True), Incrementality.INCREMENTAL
        ),
        SharedGroupBy: lambda node, _, __: Classification(
            _mode(node, True), Incrementality.INCREMENTAL
        ),
        SlidingGroupBy: lambda node, at, strategy: _grouping(node.logical, at, strategy),
        TopK: _top,
        SharedTop: _top,
        ToStream: _to_stream,
        **dict.fromkeys(
            (
                AppendOnly,
                Every,
                LookBack,
                Retimed,
                NegativeTuples,
                OutputWindow,
                Projection,
                Routed,
                Selection,
                Stamped,
                Subscribe,
                Union,
                Unnest,
                Window,
            ),
            _one_by_one,
        ),
    },
    absent=dict.fromkeys((StreamScan, RelationScan, ConstantRows, StageInput), "it has no input"),
)
