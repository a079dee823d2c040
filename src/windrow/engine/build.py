"""Plan nodes to operators: the one place where a frozen description becomes a mutable operator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa

from windrow.columns.types import ARROW, arrow_schema
from windrow.core.patterns import UpdatePattern
from windrow.core.schema import Type
from windrow.engine.build_group_by import grouped_aggregation, sliding_aggregation, stored_input
from windrow.engine.build_shared import (
    shared_aggregation,
    shared_top,
)
from windrow.engine.routing import Routing
from windrow.operators import look_back
from windrow.operators.base import Operator
from windrow.operators.changelog import AnnounceExpiry, Changelog
from windrow.operators.count_windows import InOrder, LastRows, OutputRows, PartitionWindow
from windrow.operators.difference import BagDifference
from windrow.operators.distinct_auxiliary import DistinctAuxiliary
from windrow.operators.distinct_direct import DistinctDirect
from windrow.operators.group_by import GroupedAggregation
from windrow.operators.join import WindowJoin
from windrow.operators.join_group_by import JoinLengthsAggregation
from windrow.operators.lasting_join import LastingPairs
from windrow.operators.multi_join import MultiwayJoin
from windrow.operators.negation import Unmatched
from windrow.operators.nrr_join import NonRetroactiveJoin
from windrow.operators.periodic_output import RelationStream, RestoredInsertions, RestoredRelation
from windrow.operators.retime import Retime
from windrow.operators.session_windows import OpenSessions
from windrow.operators.snap import Snap
from windrow.operators.stamp import Stamp, StampRows
from windrow.operators.state.buffer import StateBuffer
from windrow.operators.stateless import (
    Append,
    Merge,
    Project,
    SelectRows,
    TimeWindow,
    UnnestRows,
)
from windrow.operators.theta_negation import UnmatchedTheta
from windrow.operators.top_k import FirstK
from windrow.operators.top_k_groups import FirstOfGroups
from windrow.operators.top_k_growing import FirstOfGrowingGroups
from windrow.plan.expressions import Call, Column, Literal
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
    Subscribe,
    TopK,
    ToStream,
    Union,
    Unnest,
    Window,
    arrives_in_order,
    is_nrr,
)
from windrow.plan.nodes.base import PerNode
from windrow.plan.nodes.window_specs import (
    NowWindow,
    RangeWindow,
    RowsWindow,
    SessionWindow,
    WindowSpec,
)
from windrow.plan.physical.announced_ends import announces_ends, grows, sends_net_changes
from windrow.plan.physical.buffers import calendar_of, edge_buffer
from windrow.plan.physical.classification import WindowIndex, index_for
from windrow.plan.physical.evaluation_period import evaluation_period
from windrow.plan.physical.sliding_state import kept_by_expiry
from windrow.plan.physical.state_kinds import BufferKind, buffer_kind
from windrow.plan.strategy import Strategy
from windrow.subscriptions.script_subscriptions import MatchSubscriptions, load

SIGNS = {StreamKind.ISTREAM: (1,), StreamKind.DSTREAM: (-1,)}


def operator_for(node: Node, strategy: Strategy = Strategy.UPA) -> Operator:
    """A fresh operator that does what the node says."""
    return BUILDERS[node](node, arrow_schema(node.schema), strategy is Strategy.DIRECT)


def changes_of(
    node: Node,
    strategy: Strategy = Strategy.UPA,
    *,
    answers: bool = True,
    below: Operator | None = None,
) -> Changelog:
    """What turns a query's result into the changes that are shown, and keeps it for ``answers``,
    unless the operator ``below`` has it."""
    held = _answer_of(below) if answers else None
    keeps = answers or not announces_ends(node)
    kind = edge_buffer(node, strategy is Strategy.DIRECT)
    keeps = keeps and not isinstance(node, SharedGroupBy | SharedTop)  # which compute answers
    net = sends_net_changes(node)
    return Changelog(arrow_schema(node.schema), node.pattern, (1, -1), kind, keeps, net, held)


def _answer_of(operator: Operator | None) -> StateBuffer | None:
    """The relation that an operator gives, if that is what it holds (``holds_answer``)."""
    match operator:
        case InOrder(window=window):
            return _answer_of(window)
        case FirstOfGrowingGroups(buffer=buffer) | PartitionWindow(buffer=buffer):
            return buffer
        case _:
            return None


def _kinds(node: Node, scan: bool) -> tuple[BufferKind, ...]:
    """The buffers of all inputs."""
    return tuple(edge_buffer(child, scan) for child in node.inputs)


def _window(spec: WindowSpec, source: Node, schema: pa.Schema) -> Operator:
    match spec:
        case RangeWindow(length=length, slide=None):
            return TimeWindow(length)
        case RangeWindow(length=length, slide=slide) if slide is not None:
            return Snap(schema, slide, length)
        case NowWindow():
            return TimeWindow(1)
        case RowsWindow(count=count, partition_by=keys, slide=slide):
            last = LastRows(schema, count, slide or 1)
            window = PartitionWindow(schema, keys, count) if keys else last
            return window if arrives_in_order(source) else InOrder(window)
        case SessionWindow(gap=gap, partition_by=keys):
            return OpenSessions(schema, keys, gap)
        case _:
            return Append()


def _top(node: TopK, schema: pa.Schema, scan: bool) -> Operator:
    pattern, kind = node.input.pattern, edge_buffer(node.input, scan)
    if not node.in_groups:
        return FirstK(schema, pattern, node.keys, node.count, kind)
    if grows(node):
        return FirstOfGrowingGroups(schema, node.groups, node.keys, node.count, kind)
    rows = arrow_schema(node.input.schema)
    return FirstOfGroups(
        schema, rows, pattern, node.groups, node.keys, node.count, kind, node.function
    )


def _join(node: Join, schema: pa.Schema, scan: bool) -> Operator:
    kinds = [ARROW[k.type] for k in node.left_keys]
    for number, side in enumerate((node.left, node.right)):
        if is_nrr(side):
            keys = (node.left_keys, node.right_keys)
            relation = arrow_schema(side.schema)
            return NonRetroactiveJoin(number, relation, keys, kinds, node.residual, schema)
    return WindowJoin(
        schemas=(arrow_schema(node.left.schema), arrow_schema(node.right.schema)),
        patterns=(node.left.pattern, node.right.pattern),
        keys=(node.left_keys, node.right_keys),
        kinds=kinds,
        residual=node.residual,
        schema=schema,
        buffers=_kinds(node, scan),
        buckets=node.buckets,
        period=evaluation_period(node),
    )


def _lasting_join(node: LastingJoin, schema: pa.Schema, scan: bool) -> Operator:
    return LastingPairs(
        schemas=(arrow_schema(node.left.schema), arrow_schema(node.right.schema)),
        patterns=(node.left.pattern, node.right.pattern),
        keys=(node.left_keys, node.right_keys),
        kinds=[ARROW[k.type] for k in node.left_keys],
        residual=node.residual,
        schema=schema,
        buffers=_kinds(node, scan),
        past=buffer_kind(UpdatePattern.WEAK, scan),
    )


def _multi_join(node: MultiJoin, schema: pa.Schema, scan: bool) -> Operator:
    return MultiwayJoin(
        schemas=[arrow_schema(branch.schema) for branch in node.branches],
        patterns=[branch.pattern for branch in node.branches],
        keys=node.keys,
        kinds=[ARROW[k.type] for k in node.keys[0]],
        residual=node.residual,
        order=node.order,
        schema=schema,
        buffers=_kinds(node, scan),
        buckets=node.buckets,
        period=evaluation_period(node),
    )


def _negation(node: Negation, schema: pa.Schema, scan: bool) -> Operator:
    patterns, buffers = (node.left.pattern, node.right.pattern), _kinds(node, scan)
    if node.form is NegationForm.EXCEPT:
        return BagDifference(schema, patterns, buffers)
    kinds = [ARROW[k.type] for k in node.left_keys]
    keys = (node.left_keys, node.right_keys)
    null_aware = node.form is NegationForm.NOT_IN
    if node.residual is not None:
        schemas = (schema, arrow_schema(node.right.schema))
        # NOT IN asks for more than that nothing is equal: nothing may be unknown either.
        unknown = Call("coalesce", (node.residual, Literal(True, Type.BOOLEAN)), Type.BOOLEAN)
        condition = unknown if null_aware else node.residual
        return UnmatchedTheta(schemas, patterns, keys, kinds, condition, buffers)
    return Unmatched(schema, patterns, keys, kinds, null_aware, buffers)


def _match_flag(node: MatchFlag, schema: pa.Schema, scan: bool) -> Operator:
    left, right = arrow_schema(node.left.schema), arrow_schema(node.right.schema)
    patterns, buffers = (node.left.pattern, node.right.pattern), _kinds(node, scan)
    keys, kinds = (node.left_keys, node.right_keys), [ARROW[k.type] for k in node.left_keys]
    if node.residual is None:
        return Unmatched(left, patterns, keys, kinds, False, buffers, schema)
    return UnmatchedTheta((left, right), patterns, keys, kinds, node.residual, buffers, schema)


def _distinct(node: DuplicateElimination, schema: pa.Schema, scan: bool) -> Operator:
    pattern = node.input.pattern
    strategy = Strategy.DIRECT if scan else Strategy.UPA
    if index_for(node, strategy=strategy) is WindowIndex.RINGS:
        return DistinctDirect(schema, pattern)
    if pattern is not UpdatePattern.STRICT:
        return DistinctAuxiliary(schema, pattern, calendar_of(node))
    keys = [Column(i, f.name, f.type) for i, f in enumerate(node.schema)]
    kind = edge_buffer(node.input, scan)
    return GroupedAggregation(keys, [], [], pattern, stored_input(list(keys)), schema, kind)


def _look_back(node: LookBack, schema: pa.Schema, _scan: bool) -> Operator:
    operator = look_back.LookBack(schema, arrow_schema(node.input.schema), node.keys, node.looks)
    return operator if arrives_in_order(node.input) else InOrder(operator)


def _add_stamps(node: Stamped, schema: pa.Schema, scan: bool) -> Operator:
    if node.pattern is UpdatePattern.MONOTONIC:
        return Stamp(schema)
    kind = edge_buffer(node.input, scan)
    return StampRows(arrow_schema(node.input.schema), node.input.pattern, schema, kind)


def _to_stream(node: ToStream, schema: pa.Schema, scan: bool) -> Operator:
    pattern = node.input.pattern
    match node.kind:
        case StreamKind.RSTREAM:
            return RelationStream(schema, pattern, node.every, edge_buffer(node.input, scan))
        case StreamKind.ISTREAM_RESTORE:
            return RestoredInsertions(schema, pattern, node.every, edge_buffer(node.input))
        case StreamKind.RSTREAM_RESTORE:
            return RestoredRelation(schema, pattern, node.every, edge_buffer(node.input))
        case kind:
            keeps = not announces_ends(node.input)
            return Changelog(schema, pattern, SIGNS[kind], edge_buffer(node.input, scan), keeps)


Build = Callable[[Any, pa.Schema, bool], Operator]


def _join_lengths(node: JoinLengths, schema: pa.Schema, _scan: bool) -> Operator:
    keys, lengths = [key.expression for key in node.keys], [n // node.s for n in node.lengths]
    kept = kept_by_expiry(node)
    return JoinLengthsAggregation(keys, node.aggregates, node.s, node.b, lengths, schema, kept)


BUILDERS: PerNode[Build] = PerNode(
    "the operator of a node",
    {
        Selection: lambda node, _, __: SelectRows(node.predicate),
        Projection: lambda node, schema, _: Project([c.expression for c in node.columns], schema),
        Union: lambda _, schema, __: Merge(schema),
        Unnest: lambda node, schema, _: UnnestRows(node.array, schema, node.outer),
        Window: lambda node, schema, _: _window(node.spec, node.input, schema),
        Join: _join,
        LastingJoin: _lasting_join,
        MultiJoin: _multi_join,
        Negation: _negation,
        MatchFlag: _match_flag,
        GroupBy: grouped_aggregation,
        JoinLengths: _join_lengths,
        SharedGroupBy: lambda node, schema, _: shared_aggregation(node, schema),
        SharedTop: shared_top,
        SlidingGroupBy: sliding_aggregation,
        DuplicateElimination: _distinct,
        TopK: _top,
        Every: lambda node, schema, _: Snap(schema, node.period),
        AppendOnly: lambda _, __, ___: Append(),
        NegativeTuples: lambda node, schema, _: AnnounceExpiry(
            schema, node.input.pattern, edge_buffer(node.input)
        ),
        OutputWindow: lambda node, schema, _: OutputRows(_window(node.spec, node.input, schema)),
        Stamped: _add_stamps,
        LookBack: _look_back,
        Retimed: lambda node, schema, _: Retime(schema, node.time, node.schema[node.time].name),
        ToStream: _to_stream,
        Routed: lambda node, schema, _: Routing(node, schema),
        Subscribe: lambda node, schema, _: MatchSubscriptions(
            load(node.source, node.attributes, node.clock), node.columns, schema
        ),
    },
    absent={
        **dict.fromkeys((StreamScan, RelationScan, StageInput), "its tuples are brought to it"),
        ConstantRows: "its tuples are in the plan",
    },
)
"""Which operator does what each kind of node says, given the node, its schema, and whether
expired state is found by scanning."""
