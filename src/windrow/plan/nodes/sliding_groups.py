"""GROUP BY over a window that slides, as one node: what keeps summaries needs no tuples."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from windrow.core.patterns import UpdatePattern
from windrow.core.schema import Schema
from windrow.plan.expressions import Expression, Named
from windrow.plan.nodes.base import STRICT, Node, Unary
from windrow.plan.nodes.relational import Aggregate, GroupBy, Selection, TopLists
from windrow.plan.nodes.stream_relation import Window
from windrow.plan.nodes.window_specs import RangeWindow, RowsWindow


@dataclass(frozen=True)
class SlidingGroupBy(Unary):
    """A GROUP BY over the window ``spec`` of its input, which is MONOTONIC; ``spec`` has a slide.

    The UPA strategy makes it of a GROUP BY and the window below it
    (``windrow.plan.rules.use_sub_windows``). With ``merges`` its input are summaries that senders
    made of the tuples, and its keys are their first columns. ``where`` chooses among the tuples of
    a window of rows, which counts all of them.
    """

    keys: tuple[Named, ...]
    aggregates: tuple[Aggregate, ...]
    spec: RangeWindow | RowsWindow
    every_time: bool = False
    merges: bool = False
    where: Expression | None = None
    lists: TopLists | None = None

    @cached_property
    def logical(self) -> GroupBy:
        """The nodes that it stands for."""
        below: Node = Window(self.input, self.spec, span=self.span)
        if self.where is not None:
            below = Selection(below, self.where, span=self.span)
        return GroupBy(
            below, self.keys, self.aggregates, self.every_time, self.lists, span=self.span
        )

    @cached_property
    def schema(self) -> Schema:
        return self.logical.schema

    @property
    def pattern(self) -> UpdatePattern:
        return STRICT
