"""The edges between the stages of a plan: who sends tuples where, by which key.

A *fragment* is the part of a plan that is in the stage being built. When its tuples have to be
elsewhere it is closed, as a stage, and an open leaf stands for its output; when somebody asks for a
place, open leaves become edges. What is sent twice alike is one edge.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from windrow.core.patterns import UpdatePattern
from windrow.core.schema import Schema
from windrow.plan.expressions import (
    Column,
    Expression,
    columns_of,
    replace_columns,
)
from windrow.plan.nodes import (
    ConstantRows,
    Node,
    Projection,
    RelationScan,
    Selection,
    SharedGroupBy,
    SlidingGroupBy,
    StageInput,
    Stamped,
    StreamScan,
    Subscribe,
    arrives_in_order,
    is_nrr,
)
from windrow.plan.nodes.rebuild import map_inputs
from windrow.plan.nodes.window_specs import WindowSpec
from windrow.plan.physical.announced_ends import expires_always, expires_never
from windrow.plan.physical.sliding_state import schema_of_summaries
from windrow.plan.physical.stages import (
    Hashed,
    Key,
    Keys,
    Stage,
    StageEdge,
    Thinning,
    Where,
    computable,
    plain,
)


@dataclass(frozen=True)
class _OpenLeaf(Node):
    """A leaf whose place is not decided yet; no plan has one when its stages are cut."""

    source: str | int
    pre: Node
    summed: SlidingGroupBy | SharedGroupBy | None = None
    thinned: Thinning | None = None

    @property
    def schema(self) -> Schema:
        return self.pre.schema if self.summed is None else schema_of_summaries(self.summed)

    @property
    def pattern(self) -> UpdatePattern:
        return self.pre.pattern

    @property
    def lifetime(self) -> WindowSpec | None:
        return self.pre.lifetime


OpenLeaf = _OpenLeaf
"""For the other file of the cut; to everybody else it is no kind of node."""


_Sent = tuple[str | int, Node, Key, Node | None, Thinning | None]
"""By whom what is sent, and by which key."""


@dataclass(frozen=True)
class Fragment:
    """The part of a plan that is in the stage being built, and where its output is."""

    plan: Node
    placed: Where | Keys


class StageEdges:
    """The stages and edges of one plan, as they are found from the leaves upwards."""

    def __init__(self) -> None:
        self._stages: list[Stage] = []
        self._edges: dict[_Sent, StageEdge] = {}

    def _together(self, below: Fragment, keys: tuple[Expression, ...]) -> Fragment:
        """``below`` such that tuples with equal ``keys`` share a bucket (no keys: all tuples)."""
        if below.placed is Where.SINGLE:
            return below
        if not keys:
            return self._place(below, None)
        known = frozenset(plain(k) for k in keys)
        if isinstance(below.placed, tuple) and all(
            any(computable(e, known) for e in same) for same in below.placed
        ):
            return below
        return self._place(below, keys)

    def _place(self, below: Fragment, key: Hashed) -> Fragment:
        """Spread tuples by ``key``; those that have a place leave it as the output of a stage."""
        plan = below.plan if below.placed is Where.FREE else self._close(below)
        placed = Where.SINGLE if key is None else tuple(frozenset({plain(e)}) for e in key)
        return Fragment(self._send(plan, key), placed)

    def _by_row(self, below: Fragment) -> Fragment:
        """Spread the tuples of ``below`` evenly: by all columns of its leaves."""
        return Fragment(self._send(below.plan, ()), Where.HIDDEN)

    def _close(self, fragment: Fragment) -> OpenLeaf:
        """Make the fragment a stage, and return a leaf that stands for its output."""
        number = len(self._stages)
        named = {e.name: e for e in self._edges.values()}
        names = dict.fromkeys(_leaves(fragment.plan))
        self._stages.append(Stage(number, fragment.plan, tuple(named[n] for n in names)))
        plan = fragment.plan
        ordered = False  # buckets work side by side, so what they put out has no order
        leaf = StageInput(
            f"stage{number}", plan.schema, plan.pattern, plan.lifetime, ordered,
            announced=expires_never(plan), foreseen=expires_always(plan), edge=plan.edge,
        )  # fmt: skip
        return OpenLeaf(number, leaf)

    def _send(self, node: Node, key: Hashed) -> Node:
        """The plan with its open leaves made edges; ``key`` is over the node's output."""
        if isinstance(node, OpenLeaf):
            if key == ():
                key = tuple(column_at(node.schema, i) for i in range(len(node.schema))) or None
            edge = self._edge(node, key)
            ordered, nrr = arrives_in_order(edge.pre), is_nrr(edge.pre)
            ends = expires_never(node.pre), expires_always(node.pre)
            return StageInput(
                edge.name, node.schema, node.pattern, node.lifetime, ordered, nrr, *ends,
                edge=node.pre.edge,
            )  # fmt: skip
        if isinstance(node, Projection) and key:
            columns = node.columns
            key = tuple(replace_columns(e, lambda c: columns[c.index].expression) for e in key)
        if isinstance(node, Stamped) and key:
            own = len(node.input.schema)  # equal tuples are together, whenever they came
            key = tuple(e for e in key if all(c.index < own for c in columns_of(e)))
        return map_inputs(node, lambda i: self._send(i, key))

    def _edge(self, leaf: OpenLeaf, key: Key, post: Subscribe | None = None) -> StageEdge:
        same = (
            leaf.source,
            _without_qualifiers(leaf.pre),
            key,
            leaf.summed,
            leaf.thinned,
        )  # two aliases of a stream are one edge
        if same not in self._edges:
            source = leaf.source if isinstance(leaf.source, str) else f"stage{leaf.source}"
            name = f"{source}#{len(self._edges)}"
            self._edges[same] = StageEdge(
                name, leaf.source, leaf.pre, key, post, leaf.summed, leaf.thinned
            )
        return self._edges[same]


def _without_qualifiers(pre: Node) -> Node:
    """What a sender does, whatever the query calls the sender."""
    match pre:
        case StreamScan() | RelationScan() | ConstantRows():
            return replace(pre, columns=pre.columns.with_qualifier(None))
        case Projection():
            columns = tuple(replace(c, qualifier=None) for c in pre.columns)
            return replace(pre, input=_without_qualifiers(pre.input), columns=columns)
        case Selection():
            return replace(pre, input=_without_qualifiers(pre.input))
        case _:
            return pre


def _leaves(node: Node) -> list[str]:
    if isinstance(node, StageInput):
        return [node.name]
    return [name for i in node.inputs for name in _leaves(i)]


def column_at(schema: Schema, index: int) -> Column:
    return Column(index, schema[index].name, schema[index].type)


def keys_of(fragment: Fragment) -> Keys:
    assert isinstance(fragment.placed, tuple)
    return fragment.placed
