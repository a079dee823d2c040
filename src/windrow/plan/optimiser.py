"""Rewrite rules, applied until none of them changes the plan."""

from __future__ import annotations

from collections.abc import Callable

from windrow.plan.nodes import Node

Rule = Callable[[Node], Node]
RULES: tuple[Rule, ...] = ()


def optimise(plan: Node) -> Node:
    """An equivalent plan that is cheaper to run."""
    while True:
        rewritten = plan
        for rule in RULES:
            rewritten = rule(rewritten)
        if rewritten == plan:
            return plan
        plan = rewritten
