"""FROM: each table a plan under its name, all of them one left-deep join."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from windrow.core.errors import AnswerReadError, BindError, Span
from windrow.core.patterns import UpdatePattern
from windrow.core.schema import Field, Schema
from windrow.core.time import Clock
from windrow.cql.syntax_tree import Name, Query, Select, Table, Unnested, WindowClause
from windrow.plan.binder.restrictions import refuse_frozen_results
from windrow.plan.binder.scope import Context, Scope, clock_of, did_you_mean
from windrow.plan.binder.unnesting import array_of, bind_unnest, unnest
from windrow.plan.binder.value_rows import is_beside_values, join_values, rename_values
from windrow.plan.binder.window_ticks import window_spec
from windrow.plan.catalog import (
    QueryDeclaration,
    RelationDeclaration,
    StreamDeclaration,
    ViewDeclaration,
)
from windrow.plan.expressions import Column, Expression, Named, columns_of
from windrow.plan.nodes import (
    AppendOnly,
    ConstantRows,
    GroupBy,
    Join,
    LastingJoin,
    Negation,
    Node,
    Projection,
    RelationScan,
    Selection,
    StreamScan,
    Unary,
    Union,
    Unnest,
    Window,
    is_constant,
    is_nrr,
)
from windrow.plan.nodes.joins import join_of
from windrow.plan.nodes.relational import project
from windrow.plan.nodes.window_specs import RangeWindow, UnboundedWindow, WindowSpec


@dataclass(frozen=True)
class BoundTable:
    """A table of FROM; ``internal`` is None if it has no window of its own."""

    plan: Node
    name: str | None
    internal: bool | None
    span: Span

    @property
    def schema(self) -> Schema:
        return self.plan.schema.with_qualifier(self.name)


def bind_tables(select: Select, context: Context) -> tuple[BoundTable, ...]:
    """All tables of a FROM; BindError if there is none, or if two have the same name."""
    if not select.tables:
        raise BindError(
            span=select.span, expected="FROM and a stream, relation or view", found="none",
            remedy="name the source of the columns, or write VALUES (...) for constants alone",
        )  # fmt: skip
    bound: list[BoundTable] = []
    for table in select.tables:
        if isinstance(table.source, Unnested):
            fields = [field for earlier in bound for field in earlier.schema]
            entry = _bind_unnest(table.source, table, fields, context)
        else:
            entry = _bind_table(table, table.source, context)
        taken = [b.name.lower() for b in bound if b.name]
        if entry.name and entry.name.lower() in taken:
            raise BindError(
                f"two tables here are called {entry.name}", span=entry.span,
                remedy="give one of them another name with AS",
            )  # fmt: skip
        bound.append(entry)
    return tuple(bound)


def _bind_unnest(
    source: Unnested, table: Table, before: Sequence[Field], context: Context
) -> BoundTable:
    plan = bind_unnest(source, table, before, context)
    name = table.alias.text if table.alias else None
    return BoundTable(_with_table_name(plan, name), name, None, table.span)


def _bind_table(table: Table, source: Name | Query, context: Context) -> BoundTable:
    if isinstance(source, Name):
        plan = named_plan(source, context)
        name: str | None = source.text
    else:
        plan, name = context.bind_query(source, context), None
        if table.columns:
            plan = _rename(plan, table)
    name = table.alias.text if table.alias else name
    if table.time is not None:
        _check_time(table.time, source, plan, context)
    if table.window is not None:
        plan = _add_window(plan, table.window, table, context.catalog.clock)
    internal = table.window.internal if table.window else None
    return BoundTable(_with_table_name(plan, name), name, internal, table.span)


def _rename(plan: Node, table: Table) -> Node:
    """A sub-query whose columns are named after it: ``(...) AS t (a, b)``."""
    names = [column.text for column in table.columns]
    if len(names) != len(plan.schema):
        raise BindError(
            f"{table.alias.text if table.alias else 'a sub-query'} lists the wrong number of "
            "columns", span=table.columns[0].span, expected=f"{len(plan.schema)}",
            found=f"{len(names)}",
        )  # fmt: skip
    if isinstance(plan, ConstantRows):
        return rename_values(plan, names)
    columns = [Column(i, f.name, f.type) for i, f in enumerate(plan.schema)]
    return project(plan, tuple(map(Named, names, columns)), table.span)


def _check_time(time: Name, source: Name | Query, plan: Node, context: Context) -> None:
    """TUMBLE and its kin name the column that holds the time; a stream has just one."""
    Scope(plan.schema).resolve(time.text, None, time.span)
    found = context.catalog.find(source.text) if isinstance(source, Name) else None
    if isinstance(found, StreamDeclaration):
        column = found.schema[found.timestamp].name
        if column.lower() != time.text.lower():
            raise BindError(
                span=time.span, expected=f"{column}, which holds the time of {found.name}",
                found=time.text, remedy=f"write {column}",
            )  # fmt: skip


def named_plan(name: Name, context: Context) -> Node:
    """The plan that a name in FROM stands for."""
    if (defined := context.defined.get(name.text.lower())) is not None:
        return defined
    declaration = context.catalog.find(name.text)
    context.uses.add(name.text.lower())
    match declaration:
        case StreamDeclaration():
            return StreamScan(
                declaration.name, declaration.schema, declaration.clock, span=name.span
            )
        case RelationDeclaration():
            return RelationScan(
                declaration.name, declaration.schema, declaration.retroactive, span=name.span
            )
        case ViewDeclaration():
            return declaration.plan
        case QueryDeclaration():
            raise AnswerReadError(
                f"{name.text} is a query, which cannot be read", span=name.span,
                remedy=f"declare {name.text} with CREATE VIEW to read it here, or ask for its "
                "answer by one-time SQL",
            )  # fmt: skip
    readable = (StreamDeclaration, RelationDeclaration, ViewDeclaration)
    known = [d.name for d in context.catalog.declarations.values() if isinstance(d, readable)]
    known += context.defined
    raise BindError(
        f"there is no stream, relation or view called {name.text}", span=name.span,
        remedy=did_you_mean(name.text, known) or "declare it first",
    )  # fmt: skip


def _add_window(plan: Node, clause: WindowClause, table: Table, default: Clock) -> Node:
    what = table.source.text if isinstance(table.source, Name) else "this sub-query"
    if isinstance(plan, RelationScan):
        raise BindError(
            f"{what} is a relation, and only a stream takes a window", span=clause.span,
            remedy="remove the window",
        )  # fmt: skip
    if is_constant(plan):
        raise BindError(
            f"{what} reads VALUES only, whose rows have no time, and only a stream takes a window",
            span=clause.span, remedy="remove the window",
        )  # fmt: skip
    if isinstance(plan, GroupBy):
        raise BindError(
            f"{what} always holds the latest value of its aggregate and withdraws the one before "
            f"(its update pattern is {plan.pattern.name}), so it takes no window "
            "(Golab 2006, 3.4)",
            span=clause.span,
            remedy="make the window that it aggregates INTERNAL, so that its results stay",
        )
    if plan.pattern is not UpdatePattern.MONOTONIC:
        raise BindError(
            f"{what} withdraws results (its update pattern is {plan.pattern.name}), "
            "so it is a relation and takes no window",
            span=clause.span,
            remedy="remove the window, or make it a stream with ISTREAM(...)",
        )
    clock = clock_of(plan, table.span) or default
    called_here = [n.text for n in (table.alias, table.source) if isinstance(n, Name)]
    schema = plan.schema if called_here else plan.schema.with_qualifier(None)
    spec = window_spec(clause, clock, schema, called_here)
    if isinstance(spec, UnboundedWindow):
        return plan
    return Window(plan, spec, span=clause.span)


def join_tables(
    tables: Sequence[BoundTable], conditions: Sequence[Expression]
) -> tuple[Node, tuple[Expression, ...]]:
    """A left-deep join in the order of FROM, and the conditions that concern one table only."""
    return left_deep(tables[0].plan, tables[1:], conditions)


def left_deep(
    plan: Node, tables: Sequence[BoundTable], conditions: Sequence[Expression], start: int = 0
) -> tuple[Node, tuple[Expression, ...]]:
    """``plan`` joined with each table in turn, and the conditions that no join took.

    The columns of ``plan`` are those of FROM from ``start`` on.
    """
    rest = list(conditions)
    for table in tables:
        left, width = len(plan.schema), len(plan.schema) + len(table.plan.schema)
        usable = []
        for condition in list(rest):
            indexes = [c.index for c in columns_of(condition)]
            if indexes and max(indexes) < width and min(indexes) < left <= max(indexes):
                usable.append(condition)
                rest.remove(condition)
        if array_of(table.plan) is not None or array_of(plan) is not None:
            plan = unnest(plan, table.plan, usable, table.span, start)
        else:
            plan = _join_pair(plan, table.plan, usable, table.span)
        clock_of(plan, table.span)
    return plan, tuple(rest)


def _join_pair(left: Node, right: Node, conditions: Sequence[Expression], span: Span) -> Node:
    """The join; if one side is an NRR and the other a window that slides, inside the window.

    A tuple sees an NRR as it is when the tuple comes (Golab 2006, Definition 3.1), which is
    before the window moves to show it.
    """
    if is_beside_values(left, right):
        return join_values(left, right, conditions, span)
    for window, nrr in ((left, right), (right, left)):
        if is_nrr(nrr) and isinstance(window, Window) and _slides(window.spec):
            one = window.input if left is window else left
            other = window.input if right is window else right
            return replace(window, input=join_of(one, other, conditions, span))
    return join_of(left, right, conditions, span)


def _slides(spec: WindowSpec) -> bool:
    return isinstance(spec, RangeWindow) and spec.slide is not None


def mixes_internal_windows(tables: Sequence[BoundTable]) -> bool:
    """Whether some windows here are INTERNAL and some are not."""
    return {True, False} <= {t.internal for t in tables}


def append_only(plan: Node, tables: Sequence[BoundTable], span: Span) -> Node:
    """What INTERNAL windows make of a block that has no others."""
    if mixes_internal_windows(tables) or not any(t.internal for t in tables):
        return plan
    refuse_frozen_results(plan, "INTERNAL", "3.3.2", span)
    return AppendOnly(produce_every_time(plan), span=span)


def refuse_internal(tables: Sequence[BoundTable], construct: str, span: Span) -> None:
    """DISTINCT and negation have no monotonic form (Golab 2006, 3.3.2)."""
    if any(t.internal for t in tables):
        raise BindError(
            f"{construct} cannot work over INTERNAL windows: results that are never withdrawn "
            "would repeat, or go on after they stopped being true (Golab 2006, 3.3.2)",
            span=span,
            remedy="remove INTERNAL, or put its windows into a sub-query whose results stay",
        )


def produce_every_time(plan: Node) -> Node:
    """The plan with its topmost group-by producing a row whenever its input changes.

    An append-only result, and a window over results, see how often a value came: the sums of
    two consecutive chunks are two results even if they are equal (Golab 2006, 3.4).
    """
    if isinstance(plan, Selection | Projection):
        return replace(plan, input=produce_every_time(plan.input))
    return replace(plan, every_time=True) if isinstance(plan, GroupBy) else plan


def _with_table_name(plan: Node, name: str | None) -> Node:
    """The same plan with its columns under the table name ``name``."""
    match plan:
        case StreamScan() | RelationScan() | ConstantRows():
            return replace(plan, columns=plan.columns.with_qualifier(name))
        case Projection():
            columns = tuple(replace(c, qualifier=name) for c in plan.columns)
            return replace(plan, columns=columns)
        case Unnest():
            own = plan.columns.with_qualifier(name)
            return replace(plan, input=_with_table_name(plan.input, name), columns=own)
        case GroupBy():
            return replace(plan, keys=tuple(replace(k, qualifier=name) for k in plan.keys))
        case Join() | LastingJoin() | Negation():
            right = plan.right if isinstance(plan, Negation) else _with_table_name(plan.right, name)
            return replace(plan, left=_with_table_name(plan.left, name), right=right)
        case Union():
            return replace(
                plan, branches=(_with_table_name(plan.branches[0], name), *plan.branches[1:])
            )
        case Unary():
            return replace(plan, input=_with_table_name(plan.input, name))
    return plan
