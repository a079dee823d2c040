"""VALUES: a relation whose rows stand in the query.

They are there before every tuple of a stream, and nothing ever changes them. So nothing of them is
ever withdrawn: the update pattern is MONOTONIC, by the definition of Golab 2006, 3.2.
"""

from __future__ import annotations

from dataclasses import dataclass

from windrow.core.patterns import UpdatePattern
from windrow.core.schema import Schema
from windrow.plan.expressions import Expression
from windrow.plan.nodes.base import MONOTONIC, Node, walk

Rows = tuple[tuple[Expression, ...], ...]


@dataclass(frozen=True)
class ConstantRows(Node):
    """Rows of constants, which are in the relation from the first instant on."""

    columns: Schema
    rows: Rows

    @property
    def schema(self) -> Schema:
        return self.columns

    @property
    def pattern(self) -> UpdatePattern:
        return MONOTONIC


def is_constant(plan: Node) -> bool:
    """Whether a plan reads nothing but rows of VALUES, so that its answer is always the same."""
    return all(node.inputs or isinstance(node, ConstantRows) for node in walk(plan))
