"""``OPTION (HASH JOIN n)`` and ``OPTION (NESTED LOOPS)`` of a block, noted on its joins.

The option concerns the joins that the block itself makes of its FROM and WHERE, sub-queries of
WHERE included; what it reads (views, sub-queries in FROM) was bound with an option of its own. A
join with an NRR keeps one side only, one with INTERNAL windows beside others keeps a third store,
and one without an equality has nothing to hash: these stay as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from windrow.core.errors import BindError
from windrow.cql.syntax_tree import JoinOption
from windrow.plan.nodes import Join, Node, is_nrr, walk
from windrow.plan.nodes.rebuild import with_inputs


def use_buckets(plan: Node, tables: Sequence[Node], option: JoinOption) -> Node:
    """``plan`` with the option on every join above ``tables`` that can follow it."""
    changed = _use_buckets(plan, {id(node) for table in tables for node in walk(table)}, option)
    if changed is plan:
        raise BindError(
            "OPTION says how joins of windows find partners by equal values", span=option.span,
            expected="such a join in FROM and WHERE", found="none", remedy="leave OPTION out",
        )  # fmt: skip
    return changed


def _use_buckets(plan: Node, read: set[int], option: JoinOption) -> Node:
    if id(plan) in read:
        return plan
    inputs = [_use_buckets(child, read, option) for child in plan.inputs]
    if any(new is not old for new, old in zip(inputs, plan.inputs, strict=True)):
        plan = with_inputs(plan, inputs)
    if isinstance(plan, Join) and plan.left_keys and not (is_nrr(plan.left) or is_nrr(plan.right)):
        plan = replace(plan, buckets=option.buckets)
    return plan
