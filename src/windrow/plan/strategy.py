"""How expiries are handled: by negative tuples, by looking for them, or by update pattern."""

from __future__ import annotations

from enum import Enum

from windrow.core.errors import InputError
from windrow.core.patterns import UpdatePattern
from windrow.plan.nodes import Join, NegativeTuples, Node, Window, is_nrr
from windrow.plan.nodes.rebuild import map_inputs


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
            return cls(name)
        except ValueError:
            raise InputError(
                where="strategy",
                expected=f"one of {', '.join(s.value for s in cls)}",
                found=repr(name),
            ) from None


def apply_strategy(plan: Node, strategy: Strategy) -> Node:
    """The plan as the strategy wants it: NT has a node above each window that can expire."""
    if strategy is not Strategy.NT or isinstance(plan, NegativeTuples):
        return plan  # below such a node everything is as NT wants it already
    if isinstance(plan, Join) and (is_nrr(plan.left) or is_nrr(plan.right)):
        # The NRR may have changed since a tuple met it, so its expiry is announced behind the join.
        return NegativeTuples(plan) if _expires(plan) else plan
    changed = map_inputs(plan, lambda child: apply_strategy(child, strategy))
    return NegativeTuples(changed) if isinstance(changed, Window) and _expires(changed) else changed


def _expires(plan: Node) -> bool:
    return plan.pattern in (UpdatePattern.WEAKEST, UpdatePattern.WEAK)
