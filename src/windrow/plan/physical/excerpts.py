"""What of its streams a script looks at: columns, and rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from windrow.plan.expressions import Expression
from windrow.plan.nodes import Node
from windrow.plan.physical.columns_read import columns_read
from windrow.plan.physical.rows_read import rows_read


@dataclass(frozen=True)
class Excerpt:
    """The columns that anybody looks at (None: all), and a condition (None: none) without which
    nobody looks at a row.
    """

    columns: frozenset[int] | None = None
    condition: Expression | None = None


EVERYTHING = Excerpt()


def excerpts(plans: Sequence[Node]) -> dict[str, Excerpt]:
    """What these plans look at, by stream in lower case."""
    columns, rows = columns_read(plans), rows_read(plans)
    return {name: Excerpt(seen, rows.get(name)) for name, seen in columns.items()}
