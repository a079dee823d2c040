"""How expiries are handled: by negative tuples, by looking for them, or by update pattern."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Any

from windrow.core.errors import InputError
from windrow.core.patterns import UpdatePattern
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
    Union,
    Unnest,
    Window,
    is_nrr,
)
from windrow.plan.nodes.base import PerNode
from windrow.plan.nodes.rebuild import map_inputs, remember
from windrow.plan.rules.use_sub_windows import use_sub_windows


class Strategy(Enum):
    """The three query processors of Golab 2006, 2.3.3 and 3.5; they give the same answers.

    NT lets every window announce every expiry by a negative tuple, and keeps state in hash
    tables. DIRECT sends none where expiries are foreseeable, and finds what has expired by
    scanning its state. UPA keeps state in structures that fit its update pattern.
    """

    NT = "nt"
    DIRECT = "direct"
    UPA = "upa"

    @classmethod
    def from_name(cls, name: str | Strategy) -> Strategy:
        """The strategy that is called so."""
        try:
            return cls(name.lower() if isinstance(name, str) else name)
        except ValueError:
            raise InputError(
                where="strategy",
                expected=f"one of {', '.join(s.value for s in cls)}",
                found=repr(name),
            ) from None


def apply_strategy(plan: Node, strategy: Strategy) -> Node:
    """The plan as the strategy wants it.

    NT has a node above each window that can expire; UPA has group-bys over sub-windows. What is
    kept in bounded space is kept by sub-windows under all of them.
    """
    match strategy:
        case Strategy.NT:
            return _announce(use_sub_windows(plan, exact_too=False))
        case Strategy.UPA:
            return use_sub_windows(plan)
        case Strategy.DIRECT:
            return use_sub_windows(plan, exact_too=False)


@remember
def _announce(plan: Node) -> Node:
    return ANNOUNCE[plan](plan)


def _in_inputs(plan: Node) -> Node:
    return map_inputs(plan, _announce)


def _above_window(plan: Window) -> Node:
    changed = _in_inputs(plan)
    return NegativeTuples(changed) if _expires(changed) else changed


def _above_nrr(plan: Join) -> Node:
    """The NRR may have changed since a tuple met it, so its expiry is announced behind the join."""
    if is_nrr(plan.left) or is_nrr(plan.right):
        return NegativeTuples(plan) if _expires(plan) else plan
    return _in_inputs(plan)


def _already(plan: NegativeTuples) -> Node:
    """Below such a node everything is as NT wants it."""
    return plan


def _expires(plan: Node) -> bool:
    return plan.pattern in (UpdatePattern.WEAKEST, UpdatePattern.WEAK)


ANNOUNCE: PerNode[Callable[[Any], Node]] = PerNode(
    "where the NT strategy announces expiries",
    {
        Window: _above_window,
        Join: _above_nrr,
        JoinLengths: _already,  # it goes by expiries, and is made for UPA only
        NegativeTuples: _already,
        **dict.fromkeys(
            (
                AppendOnly,
                ConstantRows,
                DuplicateElimination,
                Every,
                GroupBy,
                LastingJoin,
                LookBack,
                MatchFlag,
                Retimed,
                MultiJoin,
                Negation,
                OutputWindow,
                Projection,
                RelationScan,
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
                Union,
                Unnest,
            ),
            _in_inputs,
        ),
    },
)
