"""EXPLAIN: the tree of operators, and on each edge what is known about the tuples on it.

An edge is described where it leaves its operator, below the operator that it leads to: its update
pattern (Golab 2006, 3.5.1), then the key by which the receiving operator keeps it, the window
that decides when its tuples expire, and the buffer that they are kept in.
"""

from __future__ import annotations

from collections.abc import Iterator

from windrow.core.time import Clock
from windrow.plan.catalog import QueryDeclaration
from windrow.plan.describe import key_text, node_text, window
from windrow.plan.nodes import Node, Window
from windrow.plan.physical import buffer_for, not_executable
from windrow.plan.windows import RowsWindow


def explain(query: QueryDeclaration) -> str:
    """A text of one line per operator and one per edge, the result first."""
    lines = [_headline(query), f"↑ {query.plan.pattern.name}"]
    lines += _tree(query.plan, query.clock, "")
    missing = not_executable(query.plan)
    if missing is not None:
        lines += ["", str(missing)]
    return "\n".join(lines)


def compact(plan: Node, clock: Clock, depth: int = 0) -> str:
    """The operators alone, indented; what the fixtures of the rules compare."""
    lines = ["  " * depth + node_text(plan, clock)]
    lines += [compact(child, clock, depth + 1) for child in plan.inputs]
    return "\n".join(lines)


def _headline(query: QueryDeclaration) -> str:
    columns = ", ".join(query.plan.schema.unique_names())
    into = f", into '{query.into.path}' as {query.into.format}" if query.into else ""
    return f"{query.name} ({columns}), {query.clock.value} clock{into}"


def _tree(node: Node, clock: Clock, margin: str) -> Iterator[str]:
    yield node_text(node, clock)
    for position, child in enumerate(node.inputs):
        last = position == len(node.inputs) - 1
        yield f"{margin}│  ↑ {_edge(node, position, clock)}"
        deeper = margin + ("   " if last else "│  ")
        branch = _tree(child, clock, deeper)
        yield f"{margin}{'└─ ' if last else '├─ '}{next(branch)}"
        yield from branch


def _edge(node: Node, position: int, clock: Clock) -> str:
    child = node.inputs[position]
    parts = [child.pattern.name]
    key = key_text(node, position)
    if key is not None:
        parts.append(f"key {key}")
    if child.lifetime is not None:
        parts.append(f"window {window(child.lifetime, clock)}")
    elif isinstance(child, Window) and isinstance(child.spec, RowsWindow):
        parts.append(f"window {window(child.spec, clock, child.schema)}")
    buffer = buffer_for(node, position)
    if buffer is not None:
        parts.append(f"state {buffer}")
    return ", ".join(parts)
