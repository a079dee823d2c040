"""What a query may not combine, each with the reason that Golab 2006 gives for it."""

from __future__ import annotations

from collections.abc import Iterator

from windrow.core.errors import BindError, Span
from windrow.core.patterns import UpdatePattern
from windrow.plan.nodes import (
    AppendOnly,
    DuplicateElimination,
    GroupBy,
    Join,
    Negation,
    Node,
    OutputWindow,
    Projection,
    RelationScan,
    Selection,
    ToStream,
    is_nrr,
)

STREAMS = (ToStream, AppendOnly, OutputWindow)
"""Nodes whose results stand for themselves, whatever becomes of what they came from."""


def refuse_frozen_results(plan: Node, construct: str, section: str, span: Span) -> None:
    """DISTINCT and negation have no append-only form, so neither INTERNAL nor WSTREAM fit them."""
    for node in _results(plan):
        if isinstance(node, DuplicateElimination | Negation):
            name = "DISTINCT" if isinstance(node, DuplicateElimination) else node.form.value
            reason = "repeat" if name == "DISTINCT" else "go on after they stopped being true"
            raise BindError(
                f"{construct} does not fit {name}: results that are never withdrawn would "
                f"{reason} (Golab 2006, {section})",
                span=span,
                remedy=f"remove {construct}, or use ISTREAM to get the insertions",
            )


def _results(plan: Node) -> Iterator[Node]:
    """The operators whose own tuples are in the result; aggregates and streams make new ones."""
    yield plan
    if not isinstance(plan, (GroupBy, *STREAMS)):
        children = plan.inputs[:1] if isinstance(plan, Negation) else plan.inputs
        for child in children:
            yield from _results(child)


def check_nrrs(plan: Node, span: Span | None) -> None:
    """An NRR only serves the tuples of a stream, each by its state when the tuple came (3.3.1)."""
    found = _nrr(plan)
    if found is not None:
        raise BindError(
            f"the NRR {found.name} is read alone, but its updates change no earlier result, so "
            "it has no answer of its own (Golab 2006, 3.3.1)",
            span=found.span or span, expected="a join with a stream", found="none",
            remedy=f"join {found.name} with a stream, or declare it with CREATE RELATION",
        )  # fmt: skip
    _check_joins(plan, span)


def _check_joins(plan: Node, span: Span | None) -> None:
    for position, child in enumerate(plan.inputs):
        nrr = _nrr(child)
        if nrr is None:
            _check_joins(child, span)
            continue
        place = nrr.span or span
        if not isinstance(plan, Join):
            raise BindError(
                f"the NRR {nrr.name} is an input of {_words(plan)}, where its updates would have "
                "to reach earlier results (Golab 2006, 3.3.1)",
                span=place, expected="a join with a stream", found=_words(plan),
                remedy=f"join {nrr.name} with a stream, or declare it with CREATE RELATION",
            )  # fmt: skip
        other = plan.inputs[1 - position]
        if is_nrr(other) or other.pattern is UpdatePattern.STRICT:
            what = "another NRR" if is_nrr(other) else "STRICT input"
            raise BindError(
                f"the NRR {nrr.name} is joined with {what}: such a join cannot process negative "
                "tuples, because the row that a withdrawn tuple met may be gone "
                "(Golab 2006, 3.5.3)",
                span=place, expected="a stream, or a time window over one", found=what,
                remedy=f"join {nrr.name} below what withdraws results (in a sub-query, say), or "
                "declare it with CREATE RELATION",
            )  # fmt: skip


def _nrr(plan: Node) -> RelationScan | None:
    if not is_nrr(plan):
        return None
    while isinstance(plan, Selection | Projection):
        plan = plan.input
    assert isinstance(plan, RelationScan)
    return plan


def _words(node: Node) -> str:
    match node:
        case Negation():
            return node.form.value
        case DuplicateElimination():
            return "DISTINCT (or UNION, EXCEPT, INTERSECT, EXISTS or IN)"
        case GroupBy():
            return "an aggregate"
        case ToStream():
            return node.kind.value
    return type(node).__name__.upper()
