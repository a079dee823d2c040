"""What a plan as written says about the script: parts of it that can never do anything."""

from __future__ import annotations

from collections.abc import Iterator

from windrow.core.patterns import UpdatePattern
from windrow.core.warnings import ScriptWarning
from windrow.plan.binder import ExplainRequest
from windrow.plan.catalog import Declaration
from windrow.plan.nodes import Node, StreamKind, ToStream, walk


def warnings_of(bound: Declaration | ExplainRequest, source: str) -> Iterator[ScriptWarning]:
    """The warnings that one statement deserves; ``source`` is the text of its script.

    A view of an earlier script has no place in this one, and was warned of there.
    """
    declared = bound.query if isinstance(bound, ExplainRequest) else bound
    plan: Node | None = getattr(declared, "plan", None)
    for node in walk(plan) if plan is not None else ():
        if isinstance(node, ToStream) and node.span is not None and _is_silent(node):
            yield ScriptWarning(
                "DSTREAM can never speak here, because nothing is ever withdrawn from an "
                "unbounded stream",
                span=node.span,
                source=source,
                remedy="bound a stream in FROM with a window, as in [RANGE 1 MINUTE]",
            )


def _is_silent(node: ToStream) -> bool:
    never_withdraws = node.input.pattern is UpdatePattern.MONOTONIC
    return node.kind is StreamKind.DSTREAM and never_withdraws
