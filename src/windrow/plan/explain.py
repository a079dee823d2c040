"""EXPLAIN: the tree of operators, and on each edge what is known about the tuples on it.

An edge is described where it leaves its operator, below the operator that it leads to: its update
pattern (Golab 2006, 3.5.1), then the key by which the receiving operator keeps it, the window
that decides when its tuples expire, the buffer that they are kept in, and the index over it
(Golab et al. 2004, 3).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from windrow.core.time import Clock
from windrow.plan.binder import ExplainRequest
from windrow.plan.catalog import QueryDeclaration
from windrow.plan.describe import duration, instant_text, key_text, node_text, window
from windrow.plan.expressions import render
from windrow.plan.nodes import Node, Window
from windrow.plan.nodes.window_specs import PARTITIONED
from windrow.plan.optimiser import Alternative
from windrow.plan.physical.announced_ends import expires_never
from windrow.plan.physical.buffers import buffer_for, changes_buffer
from windrow.plan.physical.classification import index_for
from windrow.plan.sharing.lone_queries import reason_to_run_alone
from windrow.plan.sharing.shared_joins import SharedJoin
from windrow.plan.sharing.shared_selection import SharedSelection
from windrow.plan.sharing.shared_synopses import SharedSynopses
from windrow.plan.strategy import Strategy, apply_strategy
from windrow.sharing.rules import describe_member

SHOWN = 8
"""How many of the plans considered EXPLAIN COST prints."""


def explain(
    subject: QueryDeclaration | ExplainRequest,
    strategy: Strategy = Strategy.UPA,
    shared: Sequence[SharedSelection | SharedSynopses | SharedJoin] = (),
    beside: Sequence[QueryDeclaration] = (),
) -> str:
    """A text of one line per operator and one per edge, the result first.

    The plan is drawn as the strategy runs it. EXPLAIN COST adds the plans that were considered.
    A query of a ``shared`` group is drawn as if alone, which is what it answers. Why another one
    shares nothing with those ``beside`` it is said if it looks as if it could.
    """
    query = subject.query if isinstance(subject, ExplainRequest) else subject
    plan = apply_strategy(query.plan, strategy)
    kept = changes_buffer(plan, strategy)
    early = _early(plan)
    lines = [
        _headline(query, strategy),
        ", ".join(filter(None, (f"↑ {plan.pattern.name}", early, kept and f"state {kept}"))),
    ]
    groups = [group for group in shared if query.name in group.names]
    lines[1:1] = [line for group in groups for line in _sharing(group, query)]
    members = [q for g in shared if isinstance(g, SharedSynopses) for q in g.present.values()]
    alone = None if groups else reason_to_run_alone(query, [*beside, *members])
    if alone is not None:
        lines.insert(1, f"it shares no synopsis: {alone}")
    lines += _tree(plan, query.clock, "", strategy)
    if isinstance(subject, ExplainRequest) and subject.cost:
        lines += ["", *_alternatives(subject.considered, query.clock)]
    return "\n".join(lines)


def _sharing(
    group: SharedSelection | SharedSynopses | SharedJoin, query: QueryDeclaration
) -> Iterator[str]:
    if isinstance(group, SharedSynopses):
        others = len(group.names) - 1
        job = f"one job with {_others(others)}, over shared" if others else "a job over its own"
        yield f"it is {job} synopses:"
        lines = describe_member(
            group.sharing,
            query.name,
            partial(instant_text, clock=query.clock),
            partial(duration, clock=query.clock),
        )
        yield from (f"  {line}" for line in lines)
        return
    if isinstance(group, SharedJoin):
        s, b = duration(group.groups.s, query.clock), group.groups.b
        yield f"it is one job with {_others(len(group.names) - 1)}, over one join:"
        yield f"  results by expiry, basic-interval-join synopsis (s = {s}, b = {b:,}) (SS3)"
        yield "  windows of all lengths in one scan (CS5)"
        return
    routed = group.routed_node
    asked = ", ".join(render(a.expression, routed.input.schema) for a in routed.attributes)
    yield f"it shares its selection with {_others(len(group.names) - 1)}, indexed on {asked}"


def _others(count: int) -> str:
    return f"{count:,} other {'query' if count == 1 else 'queries'}"


def _alternatives(found: Sequence[Alternative], clock: Clock) -> Iterator[str]:
    yield f"plans considered: {len(found)} (cost in steps per second; → is the one above)"
    width = max(len(f"{a.cost:,.0f}") for a in found[:SHOWN])
    for number, alternative in enumerate(found[:SHOWN]):
        mark = " " if number else "→"
        yield f"{mark} {alternative.cost:>{width},.0f}  {alternative.rewriting}"
        if number:
            yield from (f"    {line}" for line in compact(alternative.plan, clock).splitlines())
    if len(found) > SHOWN:
        yield f"  and {len(found) - SHOWN} more expensive ones"


def compact(plan: Node, clock: Clock, depth: int = 0) -> str:
    """The operators alone, indented; what the fixtures of the rules compare."""
    lines = ["  " * depth + node_text(plan, clock)]
    lines += [compact(child, clock, depth + 1) for child in plan.inputs]
    return "\n".join(lines)


def _headline(query: QueryDeclaration, strategy: Strategy) -> str:
    columns = ", ".join(query.plan.schema.unique_names())
    into = f", into '{query.into.path}' as {query.into.format}" if query.into else ""
    return f"{query.name} ({columns}), {query.clock.value} clock, strategy {strategy.name}{into}"


def _tree(node: Node, clock: Clock, margin: str, strategy: Strategy) -> Iterator[str]:
    yield node_text(node, clock)
    for position, child in enumerate(node.inputs):
        last = position == len(node.inputs) - 1
        yield f"{margin}│  ↑ {_edge(node, position, clock, strategy)}"
        deeper = margin + ("   " if last else "│  ")
        branch = _tree(child, clock, deeper, strategy)
        yield f"{margin}{'└─ ' if last else '├─ '}{next(branch)}"
        yield from branch


def _early(node: Node) -> str | None:
    """How many of its tuples are expected to be withdrawn before they expire."""
    chosen = node.edge
    if chosen is None or chosen.premature is None or expires_never(node):
        return None
    return f"{chosen.premature:.0%} expected to expire early"


def _edge(node: Node, position: int, clock: Clock, strategy: Strategy) -> str:
    child = node.inputs[position]
    parts = [child.pattern.name]
    key = key_text(node, position)
    if key is not None:
        parts.append(f"key {key}")
    if child.lifetime is not None:
        parts.append(f"window {window(child.lifetime, clock)}")
    elif isinstance(child, Window) and isinstance(child.spec, PARTITIONED):
        parts.append(f"window {window(child.spec, clock, child.schema)}")
    parts += filter(None, [_early(child)])
    buffer = buffer_for(node, position, strategy)
    if buffer is not None:
        parts.append(f"state {buffer}")
    index = index_for(node, position, strategy)
    if index is not None:
        parts.append(f"index {index.value}")
    return ", ".join(parts)
