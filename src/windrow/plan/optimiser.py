"""Rewrite rules, applied until none of them changes the plan."""

from __future__ import annotations

from collections.abc import Callable

from windrow.plan.nodes import Node
from windrow.plan.rules.merge_projections import merge_projections
from windrow.plan.rules.prune_columns import prune_columns
from windrow.plan.rules.push_down_selections import push_down_selections

Rule = Callable[[Node], Node]
RULES: tuple[Rule, ...] = (push_down_selections, prune_columns, merge_projections)


def optimise(plan: Node) -> Node:
    """An equivalent plan that keeps less state and moves fewer bytes.

    It ends because predicates only move down, and columns and projections only disappear.
    """
    while True:
        rewritten = plan
        for rule in RULES:
            rewritten = rule(rewritten)
        if rewritten == plan:
            return plan
        plan = rewritten
