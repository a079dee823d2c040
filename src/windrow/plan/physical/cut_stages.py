"""Cutting a plan into stages: runs of operators that agree on where a tuple is to be.

A parallel runner spreads the tuples of a stage over buckets, and an operator sees one bucket only.
So what an operator has to see together must be in one bucket: the partners of a join, the members
of a group, the copies of a tuple whose duplicates are eliminated. The plan is walked from its
leaves upwards, and by which expressions the tuples are spread is noted at each node:

    FREE     nothing has asked for a place yet; whoever asks first decides it, at the leaves
    keys     equal values of these expressions of the output are in one bucket
    HIDDEN   spread by something that the output no longer shows
    SINGLE   everything is in one bucket

A node that can live with the place its input has stays in the input's stage; otherwise the input
becomes a stage of its own and its output travels to new buckets. Selections and projections that
stand directly on a stream belong to no stage: they are ``StageEdge.pre``, done while the stream
is packed, so that what no one needs is never sent.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from windrow.core.patterns import UpdatePattern
from windrow.core.schema import Type
from windrow.plan.expressions import (
    Expression,
    Literal,
    shift_columns,
)
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
    Unary,
    Union,
    Unnest,
    Window,
    walk,
)
from windrow.plan.nodes.base import PerNode
from windrow.plan.nodes.rebuild import map_inputs, with_inputs, without_spans
from windrow.plan.nodes.routed import Ranges
from windrow.plan.nodes.window_specs import PARTITIONED, RowsWindow
from windrow.plan.physical.sliding_state import counts_values, merging
from windrow.plan.physical.stage_edges import Fragment, OpenLeaf, StageEdges, column_at, keys_of
from windrow.plan.physical.stages import (
    IN_THE_PLAN,
    Keys,
    RangeKey,
    Stage,
    Thinning,
    Where,
    comparable,
    positions_of,
    shared_keys,
    shown_by,
)
from windrow.plan.strategy import Strategy, apply_strategy


def cut_into_stages(plan: Node, strategy: Strategy = Strategy.UPA) -> tuple[Stage, ...]:
    """The stages of a plan, each after those that it reads; the last one gives the answer.

    What the strategy changes in a plan it changes before the cut: a stage must know of negative
    tuples that another one sends.
    """
    return _StageBuilder().cut(plan_of_stages(plan, strategy))


def plan_of_stages(plan: Node, strategy: Strategy = Strategy.UPA) -> Node:
    """The plan that is cut."""
    return apply_strategy(_lower_below_windows(plan), strategy)


class _StageBuilder(StageEdges):
    """A method for each way to place a node."""

    def __init__(self) -> None:
        super().__init__()
        self._one_stream = False

    def cut(self, plan: Node) -> tuple[Stage, ...]:
        leaves = {n for n in walk(plan) if isinstance(n, StreamScan | RelationScan)}
        self._one_stream = all(isinstance(n, StreamScan) for n in leaves) and len(leaves) == 1
        root = self._fragment(plan)
        if root.placed is Where.FREE:
            root = self._by_row(root)
        self._close(root)
        return tuple(self._stages)

    def _fragment(self, node: Node) -> Fragment:
        return FRAGMENTS[node](self, node)

    def scan(self, node: StreamScan | RelationScan) -> Fragment:
        return Fragment(OpenLeaf(node.name, node), Where.FREE)

    def constant_rows(self, node: ConstantRows) -> Fragment:
        """Each bucket knows them all, and takes those that are its own."""
        return Fragment(OpenLeaf(IN_THE_PLAN, node), Where.FREE)

    def subscribe(self, node: Subscribe) -> Fragment:
        return self.stateless(node) if node.cut is None else self._in_parts(node, node.cut)

    def in_place(self, node: Unary) -> Fragment:
        """``node`` sees each tuple wherever it is."""
        return self._over(node, self._fragment(node.input))

    def unnest(self, node: Unnest) -> Fragment:
        """Wherever a tuple is; senders know no value of its array, so it has to be somewhere."""
        below = self._fragment(node.input)
        return self._over(node, self._by_row(below) if below.placed is Where.FREE else below)

    def whole_row(self, node: Unary) -> Fragment:
        """``node`` sees all copies of a tuple together."""
        row = tuple(column_at(node.schema, i) for i in range(len(node.input.schema)))
        return self._over(node, self._together(self._fragment(node.input), row))

    def distinct(self, node: DuplicateElimination) -> Fragment:
        """As above. Directly on a stream, the senders may leave out what it does not need.

        A tuple stands for others that come later, so none of them may be late for this query alone:
        it reads no other stream.
        """
        below = self._fragment(node.input)
        window = below.plan if isinstance(below.plan, Window) else None
        leaf = below.plan if window is None else window.input
        thinned = Thinning.for_window(None if window is None else window.spec)
        if self._one_stream and isinstance(leaf, OpenLeaf) and isinstance(leaf.source, str):
            sent = replace(leaf, thinned=thinned)
            below = replace(below, plan=sent if window is None else replace(window, input=sent))
        row = tuple(column_at(node.schema, i) for i in range(len(node.input.schema)))
        return self._over(node, self._together(below, row))

    def window(self, node: Window) -> Fragment:
        if not isinstance(node.spec, PARTITIONED):
            return self.in_place(node)
        parts = tuple(column_at(node.schema, i) for i in node.spec.partition_by)
        return self._over(node, self._together(self._fragment(node.input), parts))

    def to_stream(self, node: ToStream) -> Fragment:
        """All but RSTREAM net changes of equal rows."""
        return (self.in_place if node.kind is StreamKind.RSTREAM else self.whole_row)(node)

    def stamp(self, node: Stamped) -> Fragment:
        stays = node.pattern is UpdatePattern.MONOTONIC
        return (self.in_place if stays else self.whole_row)(node)

    def look_back(self, node: LookBack) -> Fragment:
        keys = tuple(column_at(node.schema, i) for i in node.keys)
        return self._over(node, self._together(self._fragment(node.input), keys))

    def top(self, node: TopK) -> Fragment:
        """All tuples that are ranked together."""
        if not node.groups:
            return self.alone(node)
        return self._over(node, self._together(self._fragment(node.input), node.groups))

    def group_by(self, node: GroupBy) -> Fragment:
        return self._grouped(node, self._fragment(node.input))

    def sliding_group_by(self, node: SlidingGroupBy) -> Fragment:
        """Directly on a stream, the senders make summaries of what they send: groups travel.

        A summary has one instant in place of those of its tuples. So the query must not know of
        late tuples that its stream does not know of: it reads no other stream.
        """
        if isinstance(node.spec, RowsWindow) or node.lists is not None:
            return self.alone(node)  # rows are counted, and groups compared, all together
        below = self._fragment(node.input)
        leaf, by_value = below.plan, any(counts_values(a) or not a.exact for a in node.aggregates)
        if by_value or not self._one_stream or not isinstance(leaf, OpenLeaf):
            return self._grouped(node, below)
        columns = leaf.schema.with_qualifier(None)
        tuples = StageInput("tuples", columns, UpdatePattern.MONOTONIC)
        summed = without_spans(replace(node, input=tuples))
        assert isinstance(summed, SlidingGroupBy)
        summaries = replace(leaf, summed=summed)
        return self._grouped(merging(node, summaries), replace(below, plan=summaries))

    def shared_group_by(self, node: SharedGroupBy) -> Fragment:
        """Groups travel as above, in summaries for all queries; no member shows all keys."""
        below = self._fragment(node.input)
        leaf = below.plan
        if self._one_stream and isinstance(leaf, OpenLeaf):
            columns = leaf.schema.with_qualifier(None)
            tuples = StageInput("tuples", columns, UpdatePattern.MONOTONIC)
            leaf = replace(leaf, summed=replace(node, input=tuples))
            node, below = merging(node, leaf), replace(below, plan=leaf)
        below = self._together(below, tuple(k.expression for k in node.keys))
        return Fragment(replace(node, input=below.plan), Where.HIDDEN)

    def join_lengths(self, node: JoinLengths) -> Fragment:
        """Results of a group are together; no member shows all keys."""
        keys = tuple(key.expression for key in node.keys)
        below = self._together(self._fragment(node.input), keys)
        return Fragment(replace(node, input=below.plan), Where.HIDDEN)

    def shared_top(self, node: SharedTop) -> Fragment:
        """The rows of a member are together; no member shows its number."""
        below = self._together(self._fragment(node.input), (node.member,))
        return Fragment(replace(node, input=below.plan), Where.HIDDEN)

    def _grouped(self, node: GroupBy | SlidingGroupBy, below: Fragment) -> Fragment:
        keys = tuple(k.expression for k in node.keys)
        below = self._together(below, keys)
        return Fragment(replace(node, input=below.plan), shown_by(below.placed, keys))

    def join(self, node: Join | LastingJoin | MatchFlag | Negation) -> Fragment:
        if not node.left_keys:
            return self.alone(node)
        return self._meeting(node, (node.left_keys, node.right_keys))

    def negation(self, node: Negation) -> Fragment:
        """One NULL on the right of NOT IN concerns every tuple."""
        return self.alone(node) if node.form is NegationForm.NOT_IN else self.join(node)

    def multi_join(self, node: MultiJoin) -> Fragment:
        return self._meeting(node, node.keys) if node.keys[0] else self.alone(node)

    def alone(self, node: Node) -> Fragment:
        """``node`` sees all of its input in one place."""
        below = [self._together(self._fragment(i), ()) for i in node.inputs]
        return Fragment(with_inputs(node, [b.plan for b in below]), Where.SINGLE)

    def _over(self, node: Node, below: Fragment) -> Fragment:
        """``node`` in the stage of its input, whose columns it keeps as they are."""
        return Fragment(with_inputs(node, [below.plan]), below.placed)

    def stateless(self, node: Selection | Projection | Subscribe | Routed) -> Fragment:
        below = self._fragment(node.input)
        if isinstance(below.plan, OpenLeaf):
            return replace(below, plan=replace(below.plan, pre=replace(node, input=below.plan.pre)))
        if isinstance(node, Selection):
            return self._over(node, below)
        if isinstance(node, Subscribe | Routed):
            places = tuple(column_at(node.input.schema, i) for i in range(len(node.input.schema)))
            first = Literal(None, Type.STRING)  # whose tuple it is, which no key can be
            return Fragment(
                replace(node, input=below.plan), shown_by(below.placed, (first, *places))
            )
        shown = shown_by(below.placed, tuple(c.expression for c in node.columns))
        return Fragment(replace(node, input=below.plan), shown)

    def _in_parts(self, node: Subscribe, cut: Ranges) -> Fragment:
        """Matches where the part of the index is that a tuple falls into."""
        below = self._fragment(node.input)
        leaf = below.plan
        if not isinstance(leaf, OpenLeaf):
            leaf = self._close(self._by_row(below) if below.placed is Where.FREE else below)
        key = RangeKey(column_at(leaf.schema, node.columns[cut.place]), cut.starts)
        edge = self._edge(leaf, key, node)
        matches = StageInput(edge.name, node.schema, node.pattern)
        return Fragment(matches, Where.HIDDEN)

    def union(self, node: Union) -> Fragment:
        parts = [self._fragment(b) for b in node.branches]
        fixed = [p.placed for p in parts if p.placed is not Where.FREE]
        if not fixed:
            return Fragment(with_inputs(node, [p.plan for p in parts]), Where.FREE)
        placed: Where | Keys = Where.HIDDEN
        if all(p is Where.SINGLE for p in fixed):
            placed = Where.SINGLE
            parts = [self._together(p, ()) for p in parts]
        elif (shared := shared_keys(fixed)) is not None:
            placed = shared
            key = tuple(min(same, key=repr) for same in shared)
            parts = [self._place(p, key) if p.placed is Where.FREE else p for p in parts]
        else:
            parts = [self._by_row(p) if p.placed is Where.FREE else p for p in parts]
        return Fragment(with_inputs(node, [p.plan for p in parts]), placed)

    def _meeting(self, node: Node, keys: Sequence[tuple[Expression, ...]]) -> Fragment:
        """``node`` over inputs of which tuples with equal ``keys`` (those of each input) meet."""
        parts = [self._fragment(i) for i in node.inputs]
        if all(p.placed is Where.SINGLE for p in parts):
            return Fragment(with_inputs(node, [p.plan for p in parts]), Where.SINGLE)
        columns = [comparable(same) for same in zip(*keys, strict=True)]
        hashed = [tuple(c[i] for c in columns) for i in range(len(parts))]
        known = [positions_of(p.placed, k) for p, k in zip(parts, hashed, strict=True)]
        chosen = next((k for k in known if k is not None), tuple(range(len(columns))))
        parts = [
            p if at == chosen else self._place(p, tuple(k[i] for i in chosen))
            for p, k, at in zip(parts, hashed, known, strict=True)
        ]
        shown = 1 if isinstance(node, MatchFlag | Negation) else len(parts)
        placed: Keys = tuple(frozenset() for _ in chosen)
        offset = 0
        for part, below in list(zip(parts, node.inputs, strict=True))[:shown]:
            moved = [frozenset(shift_columns(e, offset) for e in same) for same in keys_of(part)]
            placed = tuple(a | b for a, b in zip(placed, moved, strict=True))
            offset += len(below.schema)
        return Fragment(with_inputs(node, [p.plan for p in parts]), placed)


FRAGMENTS: PerNode[Callable[[_StageBuilder, Any], Fragment]] = PerNode(
    "where the tuples of a node have to be",
    {
        StreamScan: _StageBuilder.scan,
        RelationScan: _StageBuilder.scan,
        ConstantRows: _StageBuilder.constant_rows,
        Selection: _StageBuilder.stateless,
        Projection: _StageBuilder.stateless,
        Routed: _StageBuilder.stateless,
        Subscribe: _StageBuilder.subscribe,
        Window: _StageBuilder.window,
        AppendOnly: _StageBuilder.in_place,
        Unnest: _StageBuilder.unnest,
        NegativeTuples: _StageBuilder.in_place,
        Every: _StageBuilder.in_place,
        ToStream: _StageBuilder.to_stream,
        Stamped: _StageBuilder.stamp,
        LookBack: _StageBuilder.look_back,
        Retimed: _StageBuilder.in_place,
        DuplicateElimination: _StageBuilder.distinct,
        GroupBy: _StageBuilder.group_by,
        JoinLengths: _StageBuilder.join_lengths,
        SharedGroupBy: _StageBuilder.shared_group_by,
        SharedTop: _StageBuilder.shared_top,
        SlidingGroupBy: _StageBuilder.sliding_group_by,
        Union: _StageBuilder.union,
        Join: _StageBuilder.join,
        LastingJoin: _StageBuilder.join,
        MatchFlag: _StageBuilder.join,
        Negation: _StageBuilder.negation,
        MultiJoin: _StageBuilder.multi_join,
        TopK: _StageBuilder.top,
        OutputWindow: _StageBuilder.alone,
    },
    absent={StageInput: "it is what the cut leaves in place of an edge"},
)


def _lower_below_windows(node: Node) -> Node:
    """Selections and projections moved below time windows, where they can be done in packing."""
    node = map_inputs(node, _lower_below_windows)
    if isinstance(node, Selection | Projection):
        window = node.input
        if isinstance(window, Window) and not isinstance(window.spec, PARTITIONED):
            return replace(window, input=_lower_below_windows(replace(node, input=window.input)))
    return node
