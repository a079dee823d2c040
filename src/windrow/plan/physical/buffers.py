"""What this version can run, and which buffer each piece of state is kept in."""

from __future__ import annotations

from windrow.core.patterns import UpdatePattern
from windrow.plan.nodes import (
    DuplicateElimination,
    Every,
    GroupBy,
    Join,
    LastingJoin,
    MultiJoin,
    Negation,
    NegationForm,
    NegativeTuples,
    Node,
    OutputWindow,
    Stamped,
    StreamKind,
    TopK,
    ToStream,
    Window,
    is_nrr,
)
from windrow.plan.nodes.window_specs import RangeWindow, RowsWindow
from windrow.plan.strategy import Strategy

BUFFERS = {
    UpdatePattern.MONOTONIC: "list",
    UpdatePattern.WEAKEST: "FIFO of basic windows",
    UpdatePattern.WEAK: "calendar queue by expiry",
    UpdatePattern.STRICT: "hash on the tuple",
}
"""The state buffer of an input by its update pattern (Golab 2006, 3.5.2)."""
GROUPS = "array by group"
MATCHES = "count of matches by tuple"
PAST = "what left it and is in a result"
LAST_ROWS = "ring of the last rows"
SCANNED = "list, scanned for what expired"
LENGTHENED = "and again with lives up to the next report"
WAITING = "what came since the last report"


def buffer_for(consumer: Node, position: int, strategy: Strategy = Strategy.UPA) -> str | None:
    """How ``consumer`` keeps its input number ``position``; None if it keeps nothing of it."""
    source = consumer.inputs[position]
    by_pattern = _by_pattern(source.pattern, strategy)
    monotonic = source.pattern is UpdatePattern.MONOTONIC
    match consumer:
        case Join():
            # An NRR's tuples meet the other side as it passes by, so that side is not kept.
            return None if is_nrr(consumer.inputs[1 - position]) else by_pattern
        case LastingJoin():
            strict = consumer.left.pattern is UpdatePattern.STRICT
            return f"{by_pattern}, {PAST}" if position and strict else by_pattern
        case Negation() if consumer.residual is not None:
            return by_pattern if position else f"{by_pattern}, {MATCHES}"
        case Negation():
            keys_only = position == 1 and consumer.form is not NegationForm.EXCEPT
            return f"{by_pattern} of keys, counts by key" if keys_only else by_pattern
        case DuplicateElimination():
            return _distinct(source.pattern, strategy)
        case GroupBy():
            return GROUPS if monotonic else f"{by_pattern}, {GROUPS}"
        case Window(spec=RowsWindow()) | OutputWindow(spec=RowsWindow()):
            return LAST_ROWS
        case Window(spec=RangeWindow(slide=slide)) | OutputWindow(spec=RangeWindow(slide=slide)):
            return WAITING if slide is not None else None
        case Every():
            return WAITING
        case ToStream(kind=StreamKind.RSTREAM_RESTORE) if not monotonic:
            return f"{by_pattern}, {LENGTHENED}"
        case ToStream(kind=StreamKind.ISTREAM_RESTORE):
            return WAITING if monotonic else f"{by_pattern}, {WAITING}"
        case Stamped() | ToStream(kind=StreamKind.ISTREAM | StreamKind.DSTREAM):
            return None if monotonic else by_pattern
        case MultiJoin() | TopK() | ToStream() | NegativeTuples():
            return None if monotonic and isinstance(consumer, NegativeTuples) else by_pattern
    return None


def changes_buffer(plan: Node, strategy: Strategy = Strategy.UPA) -> str | None:
    """How a query's live result is kept, so that what expires can be shown as a change."""
    if plan.pattern is UpdatePattern.MONOTONIC:
        return None
    return _by_pattern(plan.pattern, strategy)


def _by_pattern(pattern: UpdatePattern, strategy: Strategy) -> str:
    """DIRECT scans what does not expire in the order in which it came; a FIFO it has as well."""
    if strategy is not Strategy.DIRECT or pattern <= UpdatePattern.WEAKEST:
        return BUFFERS[pattern]
    strict = pattern is UpdatePattern.STRICT
    return f"{SCANNED}, {BUFFERS[pattern]}" if strict else SCANNED


def _distinct(pattern: UpdatePattern, strategy: Strategy) -> str:
    """The two implementations of 3.5.2, by whether tuples may expire before their time."""
    match pattern:
        case UpdatePattern.WEAKEST | UpdatePattern.WEAK if strategy is Strategy.DIRECT:
            return f"{BUFFERS[pattern]}, output by value, {SCANNED}"
        case UpdatePattern.MONOTONIC:
            return "output by value"
        case UpdatePattern.STRICT:
            return f"counts by value, {BUFFERS[pattern]}"
        case _:
            return f"output and auxiliary output by value, {BUFFERS[UpdatePattern.WEAK]}"
