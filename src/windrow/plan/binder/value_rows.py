"""VALUES: rows that a script writes down, alone or beside streams and relations in FROM.

They are a leaf of the plan (``ConstantRows``), there from the first instant on, and nothing ever
comes or goes there. So a join with n such rows is a union of n projections of the other side, each
with the constants of one row in its columns, and a selection by the conditions of the join. A LEFT
JOIN has one branch more: the tuples for which no row meets them. So the update pattern is that of
the other side: a stream stays a stream. Where rows of VALUES may stand alone in the answer (in set
operations, on the side that an outer join keeps) the leaf stays, and is joined as any relation is.

Cost: the other side of a join is there once for each row, which is why rows are few.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from windrow.core.errors import BindError, Span
from windrow.core.schema import Field, Schema, Type
from windrow.cql.positions import span_of
from windrow.cql.syntax_tree import Values
from windrow.plan.binder.literals import coerce, fit_constants
from windrow.plan.binder.scalars import ExpressionBinder
from windrow.plan.binder.scope import Context, Scope
from windrow.plan.expressions import (
    Call,
    Column,
    Expression,
    Literal,
    Named,
    conjunction,
    connect,
    replace_columns,
)
from windrow.plan.functions import common
from windrow.plan.nodes import (
    ConstantRows,
    Join,
    LastingJoin,
    Negation,
    Node,
    Projection,
    Selection,
    StreamKind,
    Union,
)
from windrow.plan.nodes.relational import columns_of_row

MOST_ROWS = 100
"""More belong into a file."""
IN_A_FILE = (
    "put the rows into a file, and declare it: CREATE RELATION name (column type, ...) "
    "FROM 'rows.csv'"
)


def bind_values(query: Values, context: Context) -> ConstantRows:
    """The rows as a relation, whose columns are called col1, col2, ..."""
    binder = ExpressionBinder(Scope(Schema(())), context.source, "VALUES")
    widths = {len(row) for row in query.rows}
    if len(widths) > 1:
        first = len(query.rows[0])
        place, other = next((p, len(r)) for p, r in enumerate(query.rows) if len(r) != first)
        raise BindError(
            "the rows of VALUES differ in length", span=query.span,
            expected=f"{_count(first)} in each row, as in the first",
            found=f"{_count(other)} in row {place + 1}", remedy="write NULL for what is not there",
        )  # fmt: skip
    if len(query.rows) > MOST_ROWS:
        raise BindError(
            span=query.span, expected=f"at most {MOST_ROWS} rows in VALUES",
            found=f"{len(query.rows)}", remedy=IN_A_FILE,
        )  # fmt: skip
    columns = []
    for place in range(widths.pop()):
        nodes = [row[place] for row in query.rows]
        spans = [span_of(node, context.source) for node in nodes]
        bound = fit_constants([binder.bind(node) for node in nodes], spans)
        kind = common([value.type for value in bound])
        if kind is None:
            raise BindError(
                span=query.span, expected=f"values of one type in column {place + 1} of VALUES",
                found=" and ".join(dict.fromkeys(value.type.value for value in bound)),
            )  # fmt: skip
        columns.append([coerce(v, kind, s) for v, s in zip(bound, spans, strict=True)])
    fields = (Field(f"col{place + 1}", column[0].type) for place, column in enumerate(columns))
    rows = tuple(zip(*columns, strict=True))
    return ConstantRows(Schema(tuple(fields)), rows, span=query.span)


def _count(values: int) -> str:
    return "1 value" if values == 1 else f"{values} values"


def rename_values(values: ConstantRows, names: Sequence[str]) -> ConstantRows:
    """The rows under other names of columns."""
    fields = (Field(name, f.type) for name, f in zip(names, values.columns, strict=True))
    return replace(values, columns=Schema(tuple(fields)))


def is_beside_values(left: Node, right: Node) -> bool:
    """Whether just one of two plans is VALUES, so that the other one can carry its constants."""
    return isinstance(left, ConstantRows) is not isinstance(right, ConstantRows)


def join_values(
    left: Node, right: Node, conditions: Sequence[Expression], span: Span | None
) -> Node:
    """The join of two plans, one of which is VALUES."""
    branches = _pairs(left, right, conditions, span)
    return branches[0] if len(branches) == 1 else Union(tuple(branches), span=span)


def _pairs(
    left: Node, right: Node, conditions: Sequence[Expression], span: Span | None
) -> list[Node]:
    """The tuples of the side that is no VALUES beside each of the rows that they meet."""
    constant = left if isinstance(left, ConstantRows) else right
    other = right if constant is left else left
    assert isinstance(constant, ConstantRows)
    own, predicate = columns_of_row(other.schema), conjunction(tuple(conditions))
    branches: list[Node] = []
    for row in constant.rows:
        constants = tuple(
            Named(field.name, value, field.qualifier)
            for field, value in zip(constant.schema, row, strict=True)
        )
        columns = (*own, *constants) if constant is right else (*constants, *own)
        plan: Node = Projection(other, columns, span=span)
        branches.append(plan if predicate is None else Selection(plan, predicate, span=span))
    return branches


def outer_join_values(
    kind: str, left: Node, right: Node, conditions: Sequence[Expression], span: Span | None
) -> Node | None:
    """LEFT JOIN VALUES, or VALUES RIGHT JOIN: also the tuples that no row meets, beside NULLs.

    None if VALUES is no side of the join, or one whose rows are kept also if no tuple meets them.
    """
    constant, other = (right, left) if kind == "LEFT" else (left, right)
    if kind == "FULL" or not isinstance(constant, ConstantRows) or isinstance(other, ConstantRows):
        return None
    branches = _pairs(left, right, conditions, span)
    start = len(left.schema) if kind == "LEFT" else 0
    shift = 0 if kind == "LEFT" else len(left.schema)
    met: list[Expression] = []
    predicate = conjunction(tuple(conditions)) or Literal(True, Type.BOOLEAN)
    for row in constant.rows:

        def value(column: Column, row: tuple[Expression, ...] = row) -> Expression:
            if start <= column.index < start + len(row):
                return row[column.index - start]
            return replace(column, index=column.index - shift)

        test = replace_columns(predicate, value)
        met.append(Call("coalesce", (test, Literal(False, Type.BOOLEAN)), Type.BOOLEAN))
    alone = Selection(other, Call("not", (connect("or", tuple(met)),), Type.BOOLEAN), span=span)
    nulls = tuple(Named(f.name, Literal(None, f.type), f.qualifier) for f in constant.schema)
    own = columns_of_row(other.schema)
    columns = (*own, *nulls) if kind == "LEFT" else (*nulls, *own)
    return Union((*branches, Projection(alone, columns, span=span)), span=span)


def refuse_repetition(plan: Node, kind: StreamKind, span: Span) -> None:
    """BindError if a form that says its answer again and again has one that VALUES alone gives."""
    if _answers_by_constants(plan):
        raise BindError(
            f"{kind.value} would repeat rows of VALUES from the beginning of time", span=span,
            expected="streams and relations, or VALUES beside them in FROM", found="VALUES alone",
            remedy="write ISTREAM, or leave it out",
        )  # fmt: skip


def _answers_by_constants(plan: Node) -> bool:
    """Whether there may be tuples before a stream or a relation has any."""
    match plan:
        case ConstantRows():
            return True
        case Join() | LastingJoin():
            return all(map(_answers_by_constants, plan.inputs))
        case Negation():
            return _answers_by_constants(plan.left)
    return any(map(_answers_by_constants, plan.inputs))
