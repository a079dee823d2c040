"""GROUP BY over a window that slides by summaries of sub-windows (Golab 2006, 2.3.4).

A group-by directly over such a window, but for selections and projections, needs no tuples: those
of a sub-window come and go together. Selections and projections move below a window of time, where
they see the same tuples. A window of rows counts also those that are not selected, so there they
become a part of the group-by. Over anything else (a join of windows, a window without SLIDE) the
tuples are needed one by one, and the plan stays as it is.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from windrow.plan.expressions import Column, Expression, conjunction, replace_columns
from windrow.plan.nodes import GroupBy, Node, Projection, Selection, TupleWise, Window
from windrow.plan.nodes.rebuild import map_inputs, remember
from windrow.plan.nodes.sub_window_groups import SlidingGroupBy
from windrow.plan.nodes.window_specs import RangeWindow, RowsWindow


@remember
def use_sub_windows(plan: Node, exact_too: bool = True) -> Node:
    """The plan with a SlidingGroupBy wherever one can stand.

    Without ``exact_too`` only where the answer is kept in bounded space, and tuples will not do.
    """
    node = map_inputs(plan, lambda below: use_sub_windows(below, exact_too))
    if not isinstance(node, GroupBy) or (node.exact and not exact_too):
        return node
    return _over_time(node) or _over_rows(node) or node


def slides_below(node: Node) -> bool:
    """Whether a group-by over ``node`` can use sub-windows."""
    return _below_window(node) is not None or _chosen_rows(node) is not None


def _over_time(node: GroupBy) -> SlidingGroupBy | None:
    found = _below_window(node.input)
    if found is None:
        return None
    below, spec = found
    return SlidingGroupBy(
        below, node.keys, node.aggregates, spec, node.every_time, lists=node.lists, span=node.span
    )


def _below_window(node: Node) -> tuple[Node, RangeWindow] | None:
    """What is below a sliding window, under the selections and projections above it."""
    match node:
        case Window(spec=RangeWindow(slide=slide) as spec) if slide is not None:
            return node.input, spec
        case TupleWise():
            found = _below_window(node.input)
            return None if found is None else (replace(node, input=found[0]), found[1])
    return None


@dataclass(frozen=True)
class _Chosen:
    """Tuples of a window of rows: their columns, and what was asked of them, over its input."""

    below: Node
    spec: RowsWindow
    columns: tuple[Expression, ...]
    asked: tuple[Expression, ...] = ()

    def resolve(self, expression: Expression) -> Expression:
        return replace_columns(expression, lambda column: self.columns[column.index])


def _over_rows(node: GroupBy) -> SlidingGroupBy | None:
    found = _chosen_rows(node.input)
    if found is None:
        return None
    keys = tuple(replace(k, expression=found.resolve(k.expression)) for k in node.keys)
    aggregates = tuple(
        a if a.argument is None else replace(a, argument=found.resolve(a.argument))
        for a in node.aggregates
    )
    return SlidingGroupBy(
        found.below, keys, aggregates, found.spec, node.every_time,
        where=conjunction(found.asked), lists=node.lists, span=node.span,
    )  # fmt: skip


def _chosen_rows(node: Node) -> _Chosen | None:
    match node:
        case Window(spec=RowsWindow(slide=slide) as spec) if slide is not None:
            row = tuple(Column(i, f.name, f.type) for i, f in enumerate(node.schema))
            return _Chosen(node.input, spec, row)
        case Selection():
            found = _chosen_rows(node.input)
            return found and replace(found, asked=(*found.asked, found.resolve(node.predicate)))
        case Projection():
            found = _chosen_rows(node.input)
            columns = [c.expression for c in node.columns]
            return found and replace(found, columns=tuple(map(found.resolve, columns)))
    return None
