"""Operators that bring two or more inputs together."""

from __future__ import annotations

from dataclasses import replace
from math import exp

from windrow.plan.costs.flows import Cost, Flow, Model, combined_values, present, values_of
from windrow.plan.costs.join_order import WindowedStream, joined_size, origin_cost
from windrow.plan.expressions import Column
from windrow.plan.nodes import (
    Join,
    LastingJoin,
    MultiJoin,
    Negation,
    NegationForm,
    Union,
    is_nrr,
)


def union(node: Union, model: Model) -> Cost:
    parts = [model.of(branch) for branch in node.branches]
    flows = [part.flow for part in parts]
    flow = Flow(
        sum(f.inserts for f in flows),
        sum(f.negatives for f in flows),
        sum(f.size for f in flows),
        tuple(max(same) for same in zip(*(f.distinct for f in flows), strict=True)),
    )
    return Cost(flow, sum(part.total for part in parts))


def join(node: Join, model: Model) -> Cost:
    """Each tuple looks through one bucket of the other side and forms what it finds there."""
    left, right = model.of(node.left), model.of(node.right)
    share, buckets = 1.0, (1.0, 1.0)
    for one, other in zip(node.left_keys, node.right_keys, strict=True):
        values = (max(values_of(one, left.flow), 1.0), max(values_of(other, right.flow), 1.0))
        share /= max(values)
        buckets = (buckets[0] * values[0], buckets[1] * values[1])
    sizes = (left.flow.size, right.flow.size)
    scanned = [max(s / b, 1.0) for s, b in zip(sizes, buckets, strict=True)]
    found = share
    if node.residual is not None:
        found *= model.statistics.selectivity(node.residual, node.schema)
    work = left.flow.tuples * scanned[1] + right.flow.tuples * scanned[0]
    matched = share * (left.flow.tuples * sizes[1] + right.flow.tuples * sizes[0])
    total = left.total + right.total + work + matched
    size = sizes[0] * sizes[1] * found
    distinct = _joined_values(node, left.flow, right.flow, size)
    for nrr, mine, theirs in ((node.right, left, right), (node.left, right, left)):
        if is_nrr(nrr):  # it alone is kept; the other side passes by
            out = mine.flow.sample(theirs.flow.size * found).with_columns(distinct)
            return Cost(out, total + model.upkeep_of(nrr, theirs.flow))
    out = Flow(
        found * (left.flow.inserts * sizes[1] + right.flow.inserts * sizes[0]),
        found * (left.flow.negatives * sizes[1] + right.flow.negatives * sizes[0]),
        size,
        distinct,
    )
    kept = model.upkeep_of(node.left, left.flow) + model.upkeep_of(node.right, right.flow)
    return Cost(out, total + kept)


def lasting_join(node: LastingJoin, model: Model) -> Cost:
    """The cost of the join; but results leave with their left tuples only.

    So there are as many as are made while a left tuple lives, and those that are withdrawn come
    from negative tuples of the left.
    """
    plain = Join(node.left, node.right, node.left_keys, node.right_keys, node.residual)
    made = join(plain, model)
    left = model.of(node.left).flow
    size = max(made.flow.size, made.flow.inserts * left.size / max(left.inserts, 1e-9))
    negatives = made.flow.inserts * min(left.negatives / max(left.inserts, 1e-9), 1.0)
    return Cost(replace(made.flow, size=size, negatives=negatives), made.total)


def _joined_values(node: Join, left: Flow, right: Flow, size: float) -> tuple[float, ...]:
    """Columns that are keys have the values that both sides have in common (5.3.1)."""
    distinct = [*left.distinct, *right.distinct]
    for one, other in zip(node.left_keys, node.right_keys, strict=True):
        common = min(values_of(one, left), values_of(other, right))
        if isinstance(one, Column):
            distinct[one.index] = common
        if isinstance(other, Column):
            distinct[len(left.distinct) + other.index] = common
    return tuple(min(d, size) for d in distinct)


def windows_of(node: MultiJoin, model: Model) -> list[WindowedStream]:
    """The branches of an n-way join as the formulae of 5.3.1 want them, kept as hash tables."""
    streams = []
    for branch, keys in zip(node.branches, node.keys, strict=True):
        flow = model.of(branch).flow
        values, rate = combined_values(keys, flow), max(flow.inserts, 1e-9)
        streams.append(WindowedStream(rate, flow.size / rate, values, values))
    return streams


def multi_join(node: MultiJoin, model: Model) -> Cost:
    parts = [model.of(branch) for branch in node.branches]
    streams = windows_of(node, model)
    everyone = tuple(range(len(streams)))
    combinations = joined_size(streams, everyone)
    share = 1.0
    if node.residual is not None:
        share = model.statistics.selectivity(node.residual, node.schema)
    total = sum(part.total for part in parts)
    inserts = negatives = 0.0
    for origin, (part, branch) in enumerate(zip(parts, node.branches, strict=True)):
        flow, stream = part.flow, streams[origin]
        again = flow.tuples / stream.rate
        total += again * origin_cost(streams, node.order, origin)
        each = combinations / max(stream.size, 1e-9)
        total += flow.tuples * each + model.upkeep_of(branch, flow)
        inserts += flow.inserts * each * share
        negatives += flow.negatives * each * share
    size = combinations * share
    distinct = tuple(min(d, size) for part in parts for d in part.flow.distinct)
    return Cost(Flow(inserts, negatives, size, distinct), total)


def negation(node: Negation, model: Model) -> Cost:
    left, right = model.of(node.left), model.of(node.right)
    mine, theirs = left.flow, right.flow
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
    out = Flow(
        mine.inserts * share + touched,
        mine.negatives * share + touched,
        mine.size * share,
        tuple(present(d, mine.size * share) for d in mine.distinct),
    )
    if node.form is NegationForm.EXCEPT:  # every change of a count is announced
        changes = mine.inserts * share + touched
        out = replace(out, inserts=changes, negatives=changes)
    work = mine.tuples + 2 * theirs.tuples + 2 * touched + out.tuples + compared
    kept = model.upkeep_of(node.left, mine) + model.upkeep_of(node.right, theirs)
    return Cost(out, left.total + right.total + work + kept)
