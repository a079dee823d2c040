"""Which rows of its streams a plan looks at.

A selection stands right above the leaves, with projections between at most, wherever the rules
may push it there. A row that fails it is in no answer, so a reader need not hand it on once its
time is known. Only conditions count that cannot fail, are the same whenever they are asked, and
cost next to nothing: comparisons of columns with constants and with each other, under AND, OR, NOT.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from windrow.core.thresholds import Threshold
from windrow.plan.expressions import (
    Call,
    Column,
    Expression,
    Literal,
    columns_of,
    conjunction,
    conjuncts,
    connect,
    replace_columns,
)
from windrow.plan.nodes import Node, Projection, Selection, StreamScan

PLAIN = frozenset((
    "eq", "ne", "lt", "le", "gt", "ge", "and", "or", "not", "is_null", "in", "like",
))  # fmt: skip
"""Functions that have a cheap value for all rows."""
FEW = Threshold(4, least=1)
"""Different conditions of plans on one stream, up to which it pays to ask all of them twice."""


def rows_read(plans: Iterable[Node]) -> dict[str, Expression]:
    """A condition on the columns of each stream, in lower case, without which no plan looks at a
    row; streams are left out of which all rows count.
    """
    conditions: dict[str, dict[Expression | None, None]] = {}
    for plan in plans:
        for scan, condition in _scans(plan, ()):
            conditions.setdefault(scan.name.lower(), {})[condition] = None
    return {
        name: connect("or", tuple(c for c in found if c is not None))
        for name, found in conditions.items()
        if None not in found and len(found) <= FEW.value
    }


def _scans(
    node: Node, above: tuple[Expression, ...]
) -> Iterator[tuple[StreamScan, Expression | None]]:
    """The streams of a plan, each with what selections over it ask of its columns."""
    match node:
        case StreamScan():
            plain = all(_is_plain(part) and any(columns_of(part)) for part in above)
            yield node, conjunction(above) if plain else None
        case Selection():
            yield from _scans(node.input, (*above, *conjuncts(node.predicate)))
        case Projection():
            below = [named.expression for named in node.columns]
            passed = (replace_columns(part, lambda c: below[c.index]) for part in above)
            yield from _scans(node.input, tuple(passed))
        case _:
            for child in node.inputs:
                yield from _scans(child, ())


def _is_plain(expression: Expression) -> bool:
    if isinstance(expression, Call):
        return expression.function in PLAIN and all(map(_is_plain, expression.args))
    return isinstance(expression, Column | Literal)
