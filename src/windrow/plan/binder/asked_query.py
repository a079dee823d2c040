"""What a condition asks of a sub-query: [NOT] EXISTS (query), or value [NOT] IN (query)."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import expressions as exp

from windrow.core.errors import Span
from windrow.cql.positions import span_of
from windrow.plan.binder.within import Within, within_of

QUERIES = (exp.Exists, exp.Subquery, exp.Select, exp.SetOperation)


@dataclass(frozen=True)
class AskedQuery:
    """A condition that is [NOT] EXISTS (query), or value [NOT] IN (query)."""

    query: exp.Expr
    value: exp.Expr | None
    negated: bool
    span: Span
    within: Within | None

    @property
    def kind(self) -> str:
        return "EXISTS" if self.value is None else "IN"

    @property
    def words(self) -> str:
        return ("NOT " if self.negated else "") + self.kind


def asked_query(part: exp.Expr, source: str) -> AskedQuery | None:
    """What is asked of a sub-query, if the condition is nothing else."""
    span, negated = span_of(part, source), False
    while isinstance(part, exp.Paren | exp.Not):
        negated ^= isinstance(part, exp.Not)
        part = part.this
    if isinstance(part, exp.Exists):
        return AskedQuery(part.this, None, negated, span, within_of(part))
    if isinstance(part, exp.In) and part.args.get("query") is not None:
        return AskedQuery(part.args["query"], part.this, negated, span, within_of(part))
    return None


def has_query(node: exp.Expr) -> bool:
    """Whether a sub-query stands anywhere in the condition."""
    return node.find(*QUERIES) is not None
