"""What each operator keeps of its inputs, by node, update pattern and strategy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from windrow.core.patterns import UpdatePattern
from windrow.core.schema import Type
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
    StreamKind,
    StreamScan,
    StrictState,
    Subscribe,
    TopK,
    ToStream,
    Union,
    Unnest,
    Window,
    is_nrr,
)
from windrow.plan.nodes.base import PerNode
from windrow.plan.nodes.window_specs import RangeWindow, RowsWindow, SessionWindow, WindowSpec
from windrow.plan.physical.announced_ends import (
    announces_ends,
    expires_always,
    expires_never,
    holds_answer,
)
from windrow.plan.physical.sliding_state import kept_by_expiry, kept_for_many, kept_in_sub_windows
from windrow.plan.physical.state_kinds import (
    HASH,
    BucketKind,
    BufferKind,
    CalendarKind,
    Expiry,
    Kept,
    Structure,
    buffer_kind,
)
from windrow.plan.strategy import Strategy

NOTHING: Kept = ()
NEEDING_TUPLES = frozenset({"MEDIAN", "QUANTILE", "STRING_AGG", "ARRAY_AGG"})
"""Aggregates that go back to tuples also where none ever leaves."""
DIGITS_OF_64_BITS = 18
"""Decimals of so many digits are integers of 64 bits, of their last places."""


def kept_of(consumer: Node, position: int, strategy: Strategy = Strategy.UPA) -> Kept:
    """What ``consumer`` keeps of its input number ``position``."""
    return KEPT[consumer](consumer, position, strategy is Strategy.DIRECT)


def buffer_for(consumer: Node, position: int, strategy: Strategy = Strategy.UPA) -> str | None:
    """What ``consumer`` keeps of its input number ``position``, in words; None if nothing."""
    return _text(kept_of(consumer, position, strategy))


def changes_buffer(plan: Node, strategy: Strategy = Strategy.UPA) -> str | None:
    """How a query's live result is kept, so that what expires can be shown as a change; None if
    it is not, or by the operator that gives it."""
    return None if holds_answer(plan) else _text(_changes(plan, strategy is Strategy.DIRECT))


def edge_buffer(node: Node, scan: bool = False) -> BufferKind:
    """The buffer that keeps what leaves ``node``."""
    if node.pattern is UpdatePattern.STRICT and expires_never(node):
        return HASH
    chosen = node.edge
    if chosen is not None and not expires_always(node):
        chosen = replace(chosen, strict=StrictState.HASHED)
    return buffer_kind(node.pattern, scan, chosen)


def needs_tuples(node: GroupBy) -> bool:
    """Whether a group-by needs some of its tuples, or all, for another time."""
    if node.input.pattern is not UpdatePattern.MONOTONIC:
        return True
    return any(
        a.function in NEEDING_TUPLES
        or (a.function in ("MIN", "MAX") and a.argument is not None and _is_long(a.argument.type))
        for a in node.aggregates
    )


def _is_long(kind: Type) -> bool:
    """Whether values do not fit into 64 bits, in which they would be in the order of integers."""
    long_decimal = kind.is_decimal and kind.precision > DIGITS_OF_64_BITS
    return kind is Type.STRING or kind.is_nested or long_decimal


def _text(kept: Kept) -> str | None:
    return ", ".join(map(str, kept)) or None


def _changes(node: Node, scan: bool) -> Kept:
    return NOTHING if node.pattern is UpdatePattern.MONOTONIC else (edge_buffer(node, scan),)


def _live(consumer: Node, position: int, scan: bool) -> Kept:
    return (edge_buffer(consumer.inputs[position], scan),)


def _nothing(_consumer: Node, _position: int, _scan: bool) -> Kept:
    return NOTHING


def _pending(_consumer: Node, _position: int, _scan: bool) -> Kept:
    return (Structure.PENDING,)


def _join(node: Join, position: int, scan: bool) -> Kept:
    """An NRR's tuples meet the other side as it passes by, so that side is not kept."""
    if is_nrr(node.inputs[1 - position]):
        return NOTHING
    if is_nrr(node.inputs[position]):
        return (HASH,)
    return _joined(node, position, scan)


def _joined(node: Join | MultiJoin, position: int, scan: bool) -> Kept:
    live = _live(node, position, scan)
    return (*live, BucketKind(node.buckets)) if node.buckets else live


def _lasting_join(node: LastingJoin, position: int, scan: bool) -> Kept:
    live = _live(node, position, scan)
    if position and node.left.pattern is UpdatePattern.STRICT:
        return (*live, Structure.PAST, buffer_kind(UpdatePattern.WEAK, scan))
    return live


def _negation(node: Negation | MatchFlag, position: int, scan: bool) -> Kept:
    (live,) = buffers = _live(node, position, scan)
    if isinstance(node, Negation) and node.form is NegationForm.EXCEPT:
        return buffers
    if node.residual is not None:
        return buffers if position else (live, Structure.MATCHES)
    if position == 0:
        return buffers
    assert isinstance(live, BufferKind)
    return (replace(live, of="keys"), Structure.KEY_COUNTS)


def _groups(node: GroupBy, _position: int, scan: bool) -> Kept:
    pattern = node.input.pattern
    if pattern is not UpdatePattern.MONOTONIC:
        return (edge_buffer(node.input, scan), Structure.GROUPS)
    if needs_tuples(node):
        return (BufferKind(Expiry.NEVER, of="what aggregates need"), Structure.GROUPS)
    distinct = any(a.distinct for a in node.aggregates)
    return (Structure.VALUES, Structure.GROUPS) if distinct else (Structure.GROUPS,)


def _distinct(node: DuplicateElimination, _position: int, scan: bool) -> Kept:
    """The two implementations of 3.5.2, by whether tuples may expire before their time."""
    match node.input.pattern:
        case UpdatePattern.MONOTONIC:
            return (Structure.OUTPUT,)
        case UpdatePattern.STRICT:
            return (edge_buffer(node.input, scan), Structure.GROUPS)
        case pattern if scan:
            return (buffer_kind(pattern), Structure.OUTPUT, buffer_kind(UpdatePattern.WEAK, scan))
        case _:
            return (Structure.AUXILIARY, calendar_of(node))


def calendar_of(node: DuplicateElimination) -> CalendarKind:
    """When the values that duplicate elimination shows expire."""
    kind = buffer_kind(UpdatePattern.WEAK, chosen=node.edge)
    return CalendarKind(kind.partitions)


def _window(node: Window | OutputWindow, _position: int, _scan: bool) -> Kept:
    spec: WindowSpec = node.spec
    match spec:
        case RowsWindow(partition_by=keys):
            return (Structure.LAST_ROWS_BY_KEY if keys else Structure.LAST_ROWS,)
        case SessionWindow():
            return (Structure.SESSIONS,)
        case RangeWindow(slide=slide) if slide is not None:
            return (Structure.PENDING,)
        case _:
            return NOTHING


def _to_stream(node: ToStream, _position: int, scan: bool) -> Kept:
    pattern = node.input.pattern
    match node.kind:
        case StreamKind.ISTREAM | StreamKind.DSTREAM:
            return NOTHING if announces_ends(node.input) else _changes(node.input, scan)
        case StreamKind.RSTREAM:
            return (edge_buffer(node.input, scan),)
        case StreamKind.ISTREAM_RESTORE:
            return (*_changes(node.input, scan=False), Structure.PENDING)
        case StreamKind.RSTREAM_RESTORE:
            stays = pattern is UpdatePattern.MONOTONIC
            again = buffer_kind(pattern) if stays else HASH
            return (*_changes(node.input, scan=False), Structure.PENDING, again)


def _stamped(node: Stamped, _position: int, scan: bool) -> Kept:
    changes = _changes(node.input, scan)
    return (*changes, HASH) if changes else NOTHING


def _negative_tuples(node: NegativeTuples, _position: int, _scan: bool) -> Kept:
    return _changes(node.input, scan=False)


KEPT: PerNode[Callable[[Any, int, bool], Kept]] = PerNode(
    "what an operator keeps of its input",
    {
        Selection: _nothing,
        Projection: _nothing,
        Union: _nothing,
        Unnest: _nothing,
        AppendOnly: _nothing,
        Routed: _nothing,
        Subscribe: _nothing,
        Window: _window,
        OutputWindow: _window,
        Every: _pending,
        Join: _join,
        LastingJoin: _lasting_join,
        MultiJoin: _joined,
        Negation: _negation,
        MatchFlag: _negation,
        GroupBy: _groups,
        JoinLengths: lambda node, _, __: kept_by_expiry(node),
        SharedGroupBy: lambda node, _, __: kept_for_many(node),
        SlidingGroupBy: lambda node, _, __: kept_in_sub_windows(node),
        DuplicateElimination: _distinct,
        TopK: _live,
        SharedTop: _live,
        Stamped: _stamped,
        LookBack: lambda _, __, ___: (Structure.LAST_ROWS_BY_KEY,),
        Retimed: lambda _, __, ___: (Structure.WAITING,),
        NegativeTuples: _negative_tuples,
        ToStream: _to_stream,
    },
    absent=dict.fromkeys((StreamScan, RelationScan, ConstantRows, StageInput), "it has no input"),
)
