"""Where the end of every tuple is announced by a negative tuple.

A tuple's end is known when it comes, or it is announced when it happens (Golab 2006, 3.1). A
group's row, or one of the first k, ends when another takes its place, which nobody knows before:
such operators send a negative tuple for each, and let none expire. What reads them to show changes
need not remember what there is.

A group's old and new row differ, and rows of different groups do: at no instant is there anything
to cancel, as long as all columns are kept.
"""

from __future__ import annotations

from windrow.core.patterns import UpdatePattern
from windrow.plan.expressions import Column
from windrow.plan.nodes import (
    DuplicateElimination,
    GroupBy,
    Join,
    JoinLengths,
    MatchFlag,
    MultiJoin,
    Negation,
    NegationForm,
    NegativeTuples,
    Node,
    Projection,
    RelationScan,
    Selection,
    SharedGroupBy,
    SharedTop,
    SlidingGroupBy,
    StageInput,
    TopK,
    Union,
    Unnest,
    Window,
)
from windrow.plan.nodes.relational import ROW_NUMBER
from windrow.plan.nodes.window_specs import NowWindow, RangeWindow, RowsWindow


def announces_ends(node: Node) -> bool:
    """Whether no tuple of ``node`` ends without a negative tuple."""
    match node:
        case GroupBy() | JoinLengths() | SharedGroupBy() | SharedTop() | SlidingGroupBy() | TopK():
            return True
        case NegativeTuples():
            return True
        case Selection(input=below) | Projection(input=below) | Unnest(input=below):
            return announces_ends(below)
        case _:
            return False


def expires_never(node: Node) -> bool:
    """Whether no tuple of ``node`` expires by itself: it stays, or a negative tuple ends it.

    So it is with everything over count-based windows, relations and groups, and with NT (3.5.2).
    """
    if node.pattern is UpdatePattern.MONOTONIC or announces_ends(node):
        return True
    match node:
        case RelationScan() | Window(spec=RowsWindow()):
            return True
        case StageInput(announced=announced):
            return announced
        case DuplicateElimination(input=below):  # of STRICT input: it counts, and says so
            return below.pattern is UpdatePattern.STRICT
        case Selection(input=below) | Projection(input=below) | Unnest(input=below):
            return expires_never(below)
        case Negation(form=NegationForm.EXCEPT):
            return True
        case Negation(left=left) | MatchFlag(left=left):
            return expires_never(left)
        case Join() | MultiJoin() | Union():
            return all(map(expires_never, node.inputs))
        case _:
            return False


def expires_always(node: Node) -> bool:
    """Whether every tuple of ``node`` has an expiry, even if a negative tuple may end it earlier.

    A calendar finds such tuples by their expiry; others are in no calendar.
    """
    match node:
        case Window(spec=RangeWindow() | NowWindow()):
            return True
        case StageInput(foreseen=foreseen):
            return foreseen
        case Selection(input=below) | Projection(input=below) | Unnest(input=below):
            return expires_always(below)
        case DuplicateElimination(input=below):
            return below.pattern is not UpdatePattern.STRICT and expires_always(below)
        case Negation(form=form, left=left):
            return form is not NegationForm.EXCEPT and expires_always(left)
        case MatchFlag(left=left):
            return expires_always(left)
        case Join() | MultiJoin():
            return any(map(expires_always, node.inputs))
        case Union():
            return all(map(expires_always, node.inputs))
        case _:
            return False


def grows(node: TopK) -> bool:
    """Whether the first rows of groups are asked for, of which rows are pushed out and none leaves:
    a row that goes is behind all that are there then, so none of them is equal to it."""
    only_rows = node.function == ROW_NUMBER and not node.numbered
    return node.in_groups and only_rows and node.input.pattern is UpdatePattern.MONOTONIC


def holds_answer(node: Node) -> bool:
    """Whether the operator of ``node`` holds what it gives, so that nobody else need keep it."""
    match node:
        case TopK():
            return grows(node)
        case Window(spec=RowsWindow(partition_by=keys)):
            return bool(keys)
        case _:
            return False


def sends_net_changes(node: Node) -> bool:
    """Whether ``node`` sends every change of its relation as such, in order, and never a tuple and
    its counterpart at one instant."""
    match node:
        case GroupBy(every_time=again) | SlidingGroupBy(every_time=again):
            return not again
        case JoinLengths():
            return True
        case TopK():
            return grows(node)
        case SharedGroupBy(keys=keys, members=members):
            shown = ({c.index for c in m.columns if isinstance(c, Column)} for m in members if m)
            return all(columns.issuperset(range(len(keys))) for columns in shown)
        case Selection(input=below):
            return sends_net_changes(below)
        case Projection(input=below, columns=columns):
            plain = {c.expression.index for c in columns if isinstance(c.expression, Column)}
            return plain >= set(range(len(below.schema))) and sends_net_changes(below)
        case _:
            return False
