"""The row of a relation by its PRIMARY KEY, where a sub-query in parentheses stands for a value.

A declared key says what is meant; updates are not held to it. So the plan counts the rows of each
key, and a tuple that meets two of them stops the query, as other systems do when a scalar
sub-query has two rows, with an error that names the key. What no tuple asks for is
not looked at.
"""

from __future__ import annotations

from collections.abc import Sequence

from windrow.core.errors import Span
from windrow.core.schema import Type
from windrow.plan.binder.scope import Context
from windrow.plan.catalog import RelationDeclaration
from windrow.plan.expressions import Call, Column, Expression, Literal, Named, conjuncts
from windrow.plan.functions import aggregate_type
from windrow.plan.nodes import Aggregate, GroupBy, Node, RelationScan, Selection


def row_by_key(
    tuples: Node, keys: Sequence[Named], item: Expression, context: Context, span: Span
) -> tuple[GroupBy, Expression] | None:
    """Groups of at most one tuple by ``keys``, and the item in them as a value of their row.

    None if the tuples are not those of a relation by its whole key: each column of it is one of
    ``keys``, or equal to a constant.
    """
    plan, fixed = tuples, dict[int, Expression]()
    for place, key in enumerate(keys):
        found = _column(key.expression)
        if found is not None:
            fixed[found.index] = Column(place, key.name, key.expression.type)
    while isinstance(plan, Selection):
        fixed |= dict(_constants(plan.predicate))
        plan = plan.input
    declared = context.catalog.find(plan.name) if isinstance(plan, RelationScan) else None
    kind = aggregate_type("MIN", item.type)
    if not isinstance(declared, RelationDeclaration) or kind is None:
        return None
    if not declared.primary_key or not fixed.keys() >= set(declared.primary_key):
        return None
    value, rows = (
        Aggregate("MIN", item, "value", kind),
        Aggregate("COUNT", None, "rows", Type.BIGINT),
    )
    groups = GroupBy(tuples, tuple(keys), (value, rows), span=span)
    named: list[Expression] = [_text(declared.name)]
    for place in declared.primary_key:
        named += [_text(declared.schema[place].name), fixed[place]]
    row = [Column(len(keys) + i, a.name, a.type) for i, a in enumerate((value, rows))]
    return groups, Call("single_row", (*row, *named), kind)


def _column(expression: Expression) -> Column | None:
    """The column that the expression is, in this type or in another."""
    if isinstance(expression, Call) and expression.function == "cast":
        expression = expression.args[0]
    return expression if isinstance(expression, Column) else None


def _constants(predicate: Expression) -> list[tuple[int, Expression]]:
    """The columns that a predicate compares with constants by ``=``."""
    found: list[tuple[int, Expression]] = []
    for part in conjuncts(predicate):
        if isinstance(part, Call) and part.function == "eq":
            for one, other in (part.args, part.args[::-1]):
                column = _column(one)
                if column is not None and isinstance(other, Literal):
                    found.append((column.index, other))
    return found


def _text(value: str) -> Literal:
    return Literal(value, Type.STRING)
