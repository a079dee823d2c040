"""From a plan as it is bound to the cheapest equivalent that is found.

Some rewritings always pay: selections, projections and EVERY go down, columns that nobody needs
disappear. The others pay or not, depending on the data (Golab 2006, 3.5.3): where a negation
stands, where duplicates are eliminated, in which order joins are done, and whether several of
them are one. Those are tried one at a time, each result is estimated, and the search goes on
from the cheapest while that is worth it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from windrow.plan.costs.estimate import choose_edge_states, cost_by, model_for
from windrow.plan.costs.flows import Model, StreamStatistics
from windrow.plan.costs.join_order import best_order
from windrow.plan.costs.node_costs import windows_of
from windrow.plan.nodes import AppendOnly, LastingJoin, MultiJoin, Node, OutputWindow, Subscribe
from windrow.plan.nodes.rebuild import (
    LocalRule,
    map_inputs,
    remembered_rewriting,
    rewrite_anywhere,
)
from windrow.plan.rules.move_across_joins import (
    pull_up_negations,
    push_down_distinct,
    push_down_negations,
)
from windrow.plan.rules.prune_columns import merge_projections, prune_columns
from windrow.plan.rules.push_down_every import push_down_every
from windrow.plan.rules.push_down_selections import push_down_selections
from windrow.plan.rules.reshape_joins import flatten_joins, reorder_joins
from windrow.plan.strategy import Strategy

Rule = Callable[[Node], Node]
RULES: tuple[Rule, ...] = (
    push_down_selections,
    push_down_every,
    prune_columns,
    merge_projections,
)
CHOICES: dict[str, LocalRule] = {
    "negation pulled up": pull_up_negations,
    "negation pushed down": push_down_negations,
    "DISTINCT pushed down": push_down_distinct,
    "joins reordered": reorder_joins,
}
COUNTING = (AppendOnly, OutputWindow, LastingJoin)
"""These see how often a result is produced, not only whether it holds; so below them only joins
change, which produce each combination once in any order."""
WORTH = 0.99
"""A rewriting that saves less than one per cent is not worth a plan unlike the query."""
MOST = 200
"""No more plans than this are estimated for one query."""


@dataclass(frozen=True)
class Alternative:
    """A plan for a query, its cost in steps per second, and how it came about."""

    plan: Node
    cost: float
    rewriting: str


def simplify(plan: Node) -> Node:
    """The plan after the rules that always pay, applied until none of them changes it.

    It ends because predicates and EVERY only move down, and columns and projections only disappear.
    """
    while True:
        rewritten = plan
        for rule in RULES:
            rewritten = rule(rewritten)
        if rewritten == plan:
            return plan
        plan = rewritten


def optimise(
    plan: Node, statistics: StreamStatistics | None = None, strategy: Strategy = Strategy.UPA
) -> Node:
    """The cheapest equivalent of a bound plan."""
    return alternatives(plan, statistics, strategy)[0].plan


def alternatives(
    plan: Node, statistics: StreamStatistics | None = None, strategy: Strategy = Strategy.UPA
) -> tuple[Alternative, ...]:
    """The plans that were considered: the one that was chosen first, the others by cost."""
    if isinstance(plan, Subscribe):  # needs its whole input, whatever the plan of that is
        below = alternatives(plan.input, statistics, strategy)
        return tuple(replace(a, plan=replace(plan, input=a.plan)) for a in below)
    with remembered_rewriting():
        search = _Search(model_for(plan, statistics, strategy), known=statistics is not None)
        found, chosen = _search(plan, search)
    others = sorted((a for a in found.values() if a != chosen), key=lambda a: a.cost)
    if statistics is not None:
        chosen = replace(chosen, plan=choose_edge_states(chosen.plan, statistics, strategy))
    return (chosen, *others)


def _search(plan: Node, search: _Search) -> tuple[dict[Node, Alternative], Alternative]:
    """All plans that were estimated, and the cheapest that was found."""
    here, chosen = simplify(plan), search.estimate(simplify(plan), "as written")
    found = {chosen.plan: chosen}
    seen = {here}
    while len(found) < MOST:
        best = None
        for changed, name in _neighbours(here):
            if changed in seen or len(found) >= MOST:
                continue
            seen.add(changed)
            trail = name if chosen.rewriting == "as written" else f"{chosen.rewriting}, {name}"
            other = search.estimate(changed, trail)
            found.setdefault(other.plan, other)
            if best is None or other.cost < best[1].cost:
                best = changed, other
        if best is None or best[1].cost > WORTH * chosen.cost:
            break
        here, chosen = best
    return found, chosen


def _neighbours(plan: Node) -> Iterator[tuple[Node, str]]:
    for name, choice in CHOICES.items():
        above = () if choice is reorder_joins else COUNTING
        for changed in rewrite_anywhere(plan, choice, above):
            yield simplify(changed), name


@dataclass(frozen=True)
class _Search:
    model: Model
    known: bool
    """Whether anything is known of the streams."""

    def estimate(self, plan: Node, rewriting: str) -> Alternative:
        """The plan with its joins made n-way where that is cheaper."""
        spent = cost_by(self.model, plan)
        for flat in rewrite_anywhere(plan, flatten_joins):
            changed = simplify(self._order_joins(flat))
            cheaper = cost_by(self.model, changed)
            if cheaper <= spent:
                return self.estimate(changed, rewriting)
        return Alternative(plan, spent, rewriting)

    def _order_joins(self, plan: Node) -> Node:
        """N-way joins in the order of 5.3.2; as written if nothing is known of their streams."""
        if not self.known:
            return plan
        node = map_inputs(plan, self._order_joins)
        if not isinstance(node, MultiJoin):
            return node
        return replace(node, order=best_order(windows_of(node, self.model)))
