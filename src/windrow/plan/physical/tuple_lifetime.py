"""How long a tuple of an answer can live, which is what an archive of answers must have room for.

Exact for a single window; for joins it is the shortest window, which a pair of two tuples of the
same instant lives through. Lives that are moved to multiples of a period (``SLIDE``, ``EVERY``)
are as long as the next multiple.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from windrow.core.time import FOREVER
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
    StreamScan,
    Subscribe,
    TopK,
    ToStream,
    Unary,
    Union,
    Unnest,
    Window,
)
from windrow.plan.nodes.base import PerNode
from windrow.plan.nodes.window_specs import NowWindow, RangeWindow, WindowSpec


def longest_life(node: Node) -> int:
    """In ticks; FOREVER for what is not withdrawn by time, or not by time alone."""
    return LONGEST[node](node)


def _longest_in(spec: WindowSpec) -> int:
    match spec:
        case RangeWindow(length=length, slide=slide):
            return length if slide is None else _rounded_up(length, slide)
        case NowWindow():
            return 1
    return FOREVER


def _rounded_up(life: int, period: int) -> int:
    return life if life == FOREVER else -(-life // period) * period


def _forever(_node: Node) -> int:
    return FOREVER


def _as_input(node: Unary) -> int:
    return longest_life(node.input)


def _of_window(node: Window | OutputWindow) -> int:
    return _longest_in(node.spec)


def _shortest(node: Node) -> int:
    return min(map(longest_life, node.inputs))


LONGEST: PerNode[Callable[[Any], int]] = PerNode(
    "how long a tuple can live",
    {
        Window: _of_window,
        OutputWindow: _of_window,
        Every: lambda node: _rounded_up(longest_life(node.input), node.period),
        Join: _shortest,
        MultiJoin: _shortest,
        LastingJoin: lambda node: longest_life(node.left),
        JoinLengths: lambda node: longest_life(node.input),
        SharedGroupBy: lambda node: max(store.keep for store in node.synopses),
        SharedTop: lambda node: longest_life(node.input),
        SlidingGroupBy: lambda node: longest_life(node.logical),
        Union: lambda node: max(map(longest_life, node.inputs)),
        **dict.fromkeys(
            (
                DuplicateElimination,
                GroupBy,
                NegativeTuples,
                Projection,
                Routed,
                Selection,
                LookBack,
                Stamped,
                Subscribe,
                TopK,
                Unnest,
            ),
            _as_input,
        ),
        **dict.fromkeys(
            (
                AppendOnly,
                ConstantRows,
                MatchFlag,
                Negation,
                RelationScan,
                Retimed,
                StageInput,
                StreamScan,
                ToStream,
            ),
            _forever,
        ),
    },
)
