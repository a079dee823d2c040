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

from dataclasses import dataclass
from enum import Enum

from windrow.core.patterns import UpdatePattern
from windrow.plan.nodes import (
    DuplicateElimination,
    GroupBy,
    Join,
    LastingJoin,
    MultiJoin,
    Negation,
    NegationForm,
    Node,
    TopK,
    ToStream,
    is_nrr,
)
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


class Index(Enum):
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
    mode = _mode(node, position)
    match node:
        case Join() | LastingJoin():
            if isinstance(node, Join) and is_nrr(node.inputs[1 - position]):
                return Classification(mode, Incrementality.INCREMENTAL)
            return Classification(mode, Incrementality.NEEDS_TUPLES, by_value=bool(node.left_keys))
        case MultiJoin():
            return Classification(mode, Incrementality.NEEDS_TUPLES, by_value=True)
        case Negation():
            return _negation(node, position, mode)
        case DuplicateElimination():
            return _distinct(node, mode, strategy)
        case GroupBy():
            return _grouping(node, mode)
        case TopK():
            return Classification(mode, Incrementality.NEEDS_TUPLES, ordered=True)
        case _:
            return Classification(mode, Incrementality.INCREMENTAL)


def index_for(node: Node, position: int = 0, strategy: Strategy = Strategy.UPA) -> Index | None:
    """The index over a node's input number ``position``; None if it does without."""
    found = classify(node, position, strategy)
    match found.incrementality:
        case Incrementality.INCREMENTAL:
            return None
        case Incrementality.WITH_HISTOGRAM:
            return Index.ORDERED if found.ordered else Index.VALUES
        case Incrementality.NEEDS_TUPLES:
            return Index.RINGS if found.by_value else None


def _mode(node: Node, position: int) -> Mode:
    output = node.pattern is not UpdatePattern.MONOTONIC
    if _looks_again(node, position):
        return Mode.WINDOWED if output else Mode.WINDOWED_INPUT
    return Mode.WINDOWED_OUTPUT if output else Mode.ON_THE_FLY


def _looks_again(node: Node, position: int) -> bool:
    """Whether the node goes back to tuples of this input after they came."""
    match node:
        case Join():
            return not is_nrr(node.inputs[1 - position])
        case LastingJoin() | MultiJoin() | Negation():
            return True
        case DuplicateElimination() | GroupBy() | TopK() | ToStream():
            return node.inputs[position].pattern is not UpdatePattern.MONOTONIC
        case _:
            return False


def _negation(node: Negation, position: int, mode: Mode) -> Classification:
    """EXCEPT counts on both sides; NOT EXISTS counts the right side and shows left tuples."""
    if node.form is NegationForm.EXCEPT:
        return Classification(mode, Incrementality.WITH_HISTOGRAM, by_value=True)
    equality = bool(node.left_keys)
    if node.residual is None and position == 1:
        return Classification(mode, Incrementality.WITH_HISTOGRAM, by_value=equality)
    return Classification(mode, Incrementality.NEEDS_TUPLES, by_value=equality)


def _distinct(node: DuplicateElimination, mode: Mode, strategy: Strategy) -> Classification:
    """A count per value is enough, unless the whole input is kept and asked for a successor."""
    foreseeable = node.input.pattern in (UpdatePattern.WEAKEST, UpdatePattern.WEAK)
    if strategy is Strategy.DIRECT and foreseeable:
        return Classification(mode, Incrementality.NEEDS_TUPLES, by_value=True)
    return Classification(mode, Incrementality.WITH_HISTOGRAM, by_value=True)


def _grouping(node: GroupBy, mode: Mode) -> Classification:
    """As demanding as the most demanding of its aggregates."""
    ordered = any(a.function in HOLISTIC for a in node.aggregates)
    if ordered or any(a.distinct for a in node.aggregates):
        return Classification(mode, Incrementality.WITH_HISTOGRAM, by_value=True, ordered=ordered)
    return Classification(mode, Incrementality.INCREMENTAL)
