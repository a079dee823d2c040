"""Before/after pairs of plans, in text files.

A file holds cases that begin with ``# what is true``; then comes the query, then the plan as it
is bound below ``-- before``, then the rewritten plan below ``-- after``. Running this module as a
program prints a file anew from its queries, to be read before it is kept:
``python -m tests.plan.fixture_files push_down_selections``.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.plan.scripts import bound
from windrow.core.time import Clock
from windrow.plan.explain import compact
from windrow.plan.nodes import Node, StreamScan, walk
from windrow.plan.nodes.rebuild import LocalRule, rewrite_anywhere
from windrow.plan.optimiser import optimise, simplify
from windrow.plan.rules.move_across_joins import (
    pull_up_negations,
    push_down_distinct,
    push_down_negations,
)
from windrow.plan.rules.prune_columns import merge_projections, prune_columns
from windrow.plan.rules.push_down_every import push_down_every
from windrow.plan.rules.push_down_selections import push_down_selections
from windrow.plan.rules.reshape_joins import flatten_joins, reorder_joins

DIRECTORY = Path(__file__).parent / "fixtures"


def once(local: LocalRule) -> Callable[[Node], Node]:
    """The first alternative that a choice has anywhere in a plan, tidied up."""

    def rule(plan: Node) -> Node:
        return next((simplify(p) for p in rewrite_anywhere(simplify(plan), local)), plan)

    return rule


RULES: dict[str, Callable[[Node], Node]] = {
    "push_down_selections": push_down_selections,
    "push_down_every": push_down_every,
    "prune_columns": prune_columns,
    "merge_projections": merge_projections,
    "optimise": optimise,
}
CHOICES: dict[str, Callable[[Node], Node]] = {
    "flatten_joins": once(flatten_joins),
    "reorder_joins": once(reorder_joins),
    "pull_up_negations": once(pull_up_negations),
    "push_down_negations": once(push_down_negations),
    "push_down_distinct": once(push_down_distinct),
}
"""Rewritings that are taken only if they pay: one step, after the rules that always do."""


@dataclass(frozen=True)
class Case:
    """One pair; ``title`` says what is true of it."""

    title: str
    query: str
    before: str
    after: str


def drawn(plan: Node) -> str:
    clocks = {n.clock for n in walk(plan) if isinstance(n, StreamScan)}
    return compact(plan, clocks.pop() if clocks else Clock.INTEGER)


def cases(name: str) -> list[Case]:
    found = []
    for block in (DIRECTORY / f"{name}.txt").read_text("utf-8").split("\n# ")[1:]:
        title, rest = block.split("\n", 1)
        query, plans = (
            rest.split("\n-- before\n") if "-- before" in rest else (rest, "\n-- after\n")
        )
        before, after = plans.split("\n-- after\n")
        found.append(Case(title, query.strip(), before.strip("\n"), after.strip("\n")))
    return found


def main() -> None:
    name = sys.argv[1]
    head = (DIRECTORY / f"{name}.txt").read_text("utf-8").split("\n# ")[0]
    print(head)
    for case in cases(name):
        plan = bound(case.query)
        print(f"\n# {case.title}\n{case.query}")
        print(f"-- before\n{drawn(plan)}\n-- after\n{drawn({**RULES, **CHOICES}[name](plan))}")


if __name__ == "__main__":
    main()
