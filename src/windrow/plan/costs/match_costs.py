"""What negations and flags of matches cost, and what comes out of them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import exp

from windrow.plan.costs.flows import Cost, Flow, Model, combined_values, present
from windrow.plan.nodes import MatchFlag, Negation, NegationForm


@dataclass(frozen=True)
class _Matches:
    """The share of left tuples that are alone; how many per second cease to be, and as many become
    so again; and the steps per second that all this takes."""

    share: float
    touched: float
    work: float


def negation(node: Negation, model: Model) -> Cost:
    """Left tuples that are alone."""
    mine, matches = model.of(node.left).flow, _matches(node, model)
    share, touched = matches.share, matches.touched
    out = Flow(
        mine.inserts * share + touched,
        mine.negatives * share + touched,
        mine.size * share,
        tuple(present(d, mine.size * share) for d in mine.distinct),
    )
    if node.form is NegationForm.EXCEPT:  # every change of a count is announced
        changes = mine.inserts * share + touched
        out = replace(out, inserts=changes, negatives=changes)
    return _with_inputs(node, out, matches, model)


def match_flag(node: MatchFlag, model: Model) -> Cost:
    """All left tuples; one whose flag changes is withdrawn and comes again."""
    mine, matches = model.of(node.left).flow, _matches(node, model)
    changed = 2 * matches.touched
    out = Flow(mine.inserts + changed, mine.negatives + changed, mine.size, (*mine.distinct, 2.0))
    return _with_inputs(node, out, matches, model)


def _with_inputs(node: Negation | MatchFlag, out: Flow, matches: _Matches, model: Model) -> Cost:
    left, right = model.of(node.left), model.of(node.right)
    kept = model.upkeep_of(node.left, left.flow) + model.upkeep_of(node.right, right.flow)
    return Cost(out, left.total + right.total + matches.work + out.tuples + kept)


def _matches(node: Negation | MatchFlag, model: Model) -> _Matches:
    """What has been seen of the keys says how many left tuples are alone, and how often a right
    tuple comes to one; otherwise values are taken for contained in one another, evenly spread."""
    mine, theirs = model.of(node.left).flow, model.of(node.right).flow
    values_left = combined_values(node.left_keys, mine)
    values_right = combined_values(node.right_keys, theirs)
    copies = theirs.size / values_right
    compared = 0.0
    if node.residual is not None:  # tuples of one key are compared one by one
        compared = 2 * theirs.tuples * mine.size / values_left + mine.tuples * copies
        copies *= model.statistics.selectivity(node.residual, node.left.schema + node.right.schema)
    absent = exp(-copies)
    covered = min(values_right / values_left, 1.0)
    share = max(1 - covered * (1 - absent), 0.01)
    # A value closes when its first right tuple comes, and opens when its last one goes.
    flips = theirs.inserts * absent
    touched = flips * covered * mine.size / values_left
    if len(node.left_keys) == 1 and node.residual is None:
        keys = (node.left_keys[0], node.left), (node.right_keys[0], node.right)
        seen = model.overlap_of(*keys)
        if seen is not None:
            alone = [(f, g, exp(-theirs.size * f)) for f, g in seen]
            share = max(sum(g * a for _, g, a in alone), 0.01)
            touched = theirs.inserts * mine.size * sum(f * g * a for f, g, a in alone)
    return _Matches(share, touched, mine.tuples + 2 * theirs.tuples + 2 * touched + compared)
