"""Selections move towards the leaves, so that less is kept in state.

A predicate passes every operator with which it commutes at every instant. It stays above a
count-based window, which counts tuples before they are filtered (unless the predicate decides
whole partitions), above TOP k and WSTREAM, which choose among tuples, and above an aggregate that
it asks about. A condition over both inputs of a join becomes part of the join.
"""

from __future__ import annotations

from dataclasses import replace

from windrow.plan.expressions import (
    Column,
    Expression,
    columns_of,
    conjunction,
    conjuncts,
    replace_columns,
    shift_columns,
)
from windrow.plan.nodes import (
    AppendOnly,
    DuplicateElimination,
    Every,
    GroupBy,
    Join,
    LastingJoin,
    MatchFlag,
    MultiJoin,
    Negation,
    NegationForm,
    Node,
    Projection,
    RelationScan,
    Retimed,
    Selection,
    Stamped,
    StreamKind,
    ToStream,
    Union,
    Unnest,
    Window,
)
from windrow.plan.nodes.joins import conditions_of, join_of, lasting_join_of, side_of
from windrow.plan.nodes.rebuild import itself_if_equal, map_inputs, remember
from windrow.plan.nodes.window_specs import RowsWindow, SessionWindow

Parts = tuple[Expression, ...]
COMMUTING_STREAMS = (StreamKind.ISTREAM, StreamKind.DSTREAM, StreamKind.RSTREAM)


def push_down_selections(plan: Node) -> Node:
    """The plan with every predicate as far down as it can go."""
    return _push(plan, ())


@remember
def _push(node: Node, parts: Parts) -> Node:
    """``node`` filtered by all ``parts``, which are over its row."""
    return itself_if_equal(node, _push_below(node, parts))


def _push_below(node: Node, parts: Parts) -> Node:
    match node:
        case Selection():
            return _push(node.input, conjuncts(node.predicate) + parts)
        case Projection():
            below = tuple(replace_columns(p, lambda c: _computed_column(node, c)) for p in parts)
            return replace(node, input=_push(node.input, below))
        case Union():
            return replace(node, branches=tuple(_push(b, parts) for b in node.branches))
        case Join() | LastingJoin():
            return _push_into_join(node, parts)
        case MultiJoin():
            return _push_into_multi_join(node, parts)
        case Negation():
            return _push_into_negation(node, parts)
        case MatchFlag():
            width = len(node.left.schema)
            own = tuple(p for p in parts if not side_of(p, width).right)
            flagged = replace(node, left=_push(node.left, own), right=_push(node.right, ()))
            return _filter(flagged, tuple(p for p in parts if p not in own))
        case Window(spec=RowsWindow(partition_by=keys) | SessionWindow(partition_by=keys)):
            passing = tuple(p for p in parts if _uses_only(p, keys))
        case GroupBy():
            return _push_into_groups(node, parts)
        case Stamped() | Unnest():
            came = len(node.input.schema)
            passing = tuple(p for p in parts if all(c.index < came for c in columns_of(p)))
        case Window() | DuplicateElimination() | Every() | AppendOnly() | Retimed():
            passing = parts
        case ToStream():
            passing = parts if node.kind in COMMUTING_STREAMS else ()
        case _:
            passing = ()
    rest = tuple(p for p in parts if p not in passing)
    return _filter(map_inputs(node, lambda child: _push(child, passing)), rest)


def _filter(node: Node, parts: Parts) -> Node:
    predicate = conjunction(tuple(dict.fromkeys(parts)))
    return node if predicate is None else Selection(node, predicate, span=node.span)


def _computed_column(node: Projection, column: Column) -> Expression:
    return node.columns[column.index].expression


def _uses_only(part: Expression, indexes: tuple[int, ...]) -> bool:
    used = {c.index for c in columns_of(part)}
    return bool(used) and used <= set(indexes)


def _push_into_join(node: Join | LastingJoin, parts: Parts) -> Node:
    width = len(node.left.schema)
    left: list[Expression] = []
    right: list[Expression] = []
    both: list[Expression] = []
    above: list[Expression] = []
    for part in (*conditions_of(node), *parts):
        side = side_of(part, width)
        # An NRR must stay a direct input: only so is the join's answer not retroactive.
        if side.left and not side.right and not _is_nrr(node.left):
            left.append(part)
        elif side.right and not side.left and not _is_nrr(node.right):
            right.append(shift_columns(part, -width))
        elif side.left or side.right:
            both.append(part)
        else:
            above.append(part)
    sides = _push(node.left, tuple(left)), _push(node.right, tuple(right))
    join: Node
    if isinstance(node, LastingJoin):
        join = lasting_join_of(*sides, both, node.stamps, node.span)
    else:
        join = join_of(*sides, both, node.span, node.buckets)
    return _filter(join, tuple(above))


def _push_into_multi_join(node: MultiJoin, parts: Parts) -> Node:
    starts = [0]
    for branch in node.branches:
        starts.append(starts[-1] + len(branch.schema))
    own: list[list[Expression]] = [[] for _ in node.branches]
    rest: list[Expression] = []
    for part in (*(conjuncts(node.residual) if node.residual is not None else ()), *parts):
        used = [c.index for c in columns_of(part)]
        homes = {max(b for b in range(len(own)) if starts[b] <= index) for index in used}
        if len(homes) == 1:
            home = homes.pop()
            own[home].append(shift_columns(part, -starts[home]))
        else:
            rest.append(part)
    branches = tuple(_push(b, tuple(p)) for b, p in zip(node.branches, own, strict=True))
    return replace(node, branches=branches, residual=conjunction(tuple(dict.fromkeys(rest))))


def _is_nrr(node: Node) -> bool:
    return isinstance(node, RelationScan) and not node.retroactive


def _push_into_negation(node: Negation, parts: Parts) -> Node:
    """What a negation puts out are tuples of its left input, each kept or dropped as a whole.

    EXCEPT matches whole tuples, so there the right input needs no others either.
    """
    right = parts if node.form is NegationForm.EXCEPT else ()
    return replace(node, left=_push(node.left, parts), right=_push(node.right, right))


def _push_into_groups(node: GroupBy, parts: Parts) -> Node:
    """A predicate over keys keeps or drops whole groups; which are on a list it would change."""
    keys = tuple(range(len(node.keys))) if node.lists is None else ()
    passing = tuple(p for p in parts if _uses_only(p, keys))
    rest = tuple(p for p in parts if p not in passing)
    below = tuple(replace_columns(p, lambda c: node.keys[c.index].expression) for p in passing)
    return _filter(replace(node, input=_push(node.input, below)), rest)
