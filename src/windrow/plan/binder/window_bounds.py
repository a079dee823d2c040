"""window_start() and window_end(): where the window that a block looks at begins and ends.

All tuples that a window with SLIDE shows at an instant are of one window, (start, end], and its end
is the last multiple of the slide. So the bounds are columns of the answer and not of its tuples:
the block is evaluated without them, and at each multiple of the slide its rows are said again, with
the new bounds, for the length of one slide:

    Stamped RSTREAM(block) EVERY slide    [RANGE slide]

where the stamp is the end. Groups are kept by sub-windows as they would be without bounds; what is
added is a copy of the answer. Patterns: WEAKEST, since rows leave as they came, slide by slide.

A session begins with its first tuple and ends a silence after its last one, so its bounds are two
more aggregates of its tuples, which are stamped for that. They are of one session where the groups
are those that the window is partitioned by, and no condition leaves tuples out.

In the table functions TUMBLE, HOP and SESSION the bounds are columns, called window_start and
window_end.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NoReturn

from sqlglot import expressions as exp

from windrow.core.errors import BindError, Span
from windrow.core.schema import Field, Schema, Type
from windrow.core.time import Clock
from windrow.cql.positions import span_of
from windrow.cql.syntax_tree import Name, Select
from windrow.plan.binder.aggregates import Grouping
from windrow.plan.binder.from_clause import BoundTable
from windrow.plan.binder.scope import Context, clock_of
from windrow.plan.expressions import Call, Column, Expression, Literal, Named, columns_of
from windrow.plan.functions import AGGREGATES
from windrow.plan.nodes import (
    Aggregate,
    Node,
    Projection,
    Stamped,
    StreamKind,
    ToStream,
    Window,
    is_nrr,
)
from windrow.plan.nodes.relational import columns_of_row
from windrow.plan.nodes.window_specs import RangeWindow, RowsWindow, SessionWindow

START, END = "window_start", "window_end"
BOTH = (START, END)
REMEDY = "select the bounds in a sub-query in FROM, and ask about them outside of it"


@dataclass(frozen=True)
class WindowBounds:
    """The bounds of a block: the window they are of, and what their columns are called in it."""

    spec: RangeWindow | SessionWindow
    clock: Clock
    names: tuple[str, str]
    table: str | None = None

    @property
    def columns(self) -> Schema:
        kind = Type.TIMESTAMP if self.clock is Clock.TIMESTAMP else Type.BIGINT
        return Schema(tuple(Field(name, kind, self.table) for name in self.names))

    def add_to(self, plan: Node, span: Span) -> Node:
        """The rows of ``plan``, which move with the window, and behind their columns the bounds."""
        assert isinstance(self.spec, RangeWindow)
        assert self.spec.slide is not None
        said = ToStream(plan, StreamKind.RSTREAM, self.spec.slide, span=span)
        shown = Window(Stamped(said, span=span), RangeWindow(self.spec.slide), span=span)
        end = Column(len(plan.schema), "came", Type.BIGINT)
        length = Literal(self.spec.length, Type.BIGINT)
        bounds = self.as_columns(Call("subtract", (end, length), Type.BIGINT), end)
        return Projection(shown, (*columns_of_row(plan.schema), *bounds), span=span)

    def as_columns(self, *ticks: Expression) -> tuple[Named, ...]:
        """Expressions for the bounds in ticks as their columns."""
        return tuple(
            Named(field.name, _as_type(value, field.type), field.qualifier)
            for field, value in zip(self.columns, ticks, strict=True)
        )


def _as_type(ticks: Expression, kind: Type) -> Expression:
    return ticks if ticks.type is kind else Call("cast", (ticks,), kind)


def find_bounds(
    select: Select, tables: Sequence[BoundTable], context: Context
) -> tuple[Select, WindowBounds | None]:
    """The block with its calls of window_start() and window_end() as columns, and their window."""
    functions = [
        bound for table, bound in zip(select.tables, tables, strict=True) if table.time is not None
    ]
    nodes = [*(i.expression for i in select.items), *select.group_by]
    nodes += [o.expression for o in select.order_by]
    nodes += [select.having] if select.having is not None else []
    called = next((c for node in nodes for c in node.find_all(exp.Anonymous) if _is_call(c)), None)
    where = select.where
    if where is not None:
        for node in where.find_all(exp.Anonymous, exp.Column):
            if _is_call(node) or (functions and node.name.lower() in BOTH):
                _refuse("WHERE chooses tuples, before there are bounds", node, context)
    read = any(
        isinstance(node, exp.Star) or c.name.lower() in (*BOTH, "*")
        for node in nodes
        for c in (node, *node.find_all(exp.Column))
    )
    if called is None and not (functions and read):
        return select, None
    span = span_of(called, context.source) if called is not None else functions[0].span
    calls = [c.name.lower() for node in nodes for c in node.find_all(exp.Anonymous)]
    grouped = bool(select.group_by) or any(name in AGGREGATES for name in calls)
    spec = _session(select, tables, span, grouped) or _common_window(select, tables, span)
    clock = clock_of(tables[0].plan, span) or context.catalog.clock
    names = BOTH if functions else (f"{START}()", f"{END}()")
    select = _with_columns(select, names)
    if grouped:
        select = _add_to_groups(select, names)
    table = functions[0].name if functions else None
    return select, WindowBounds(spec, clock, names, table)


def _is_call(node: exp.Expr) -> bool:
    return isinstance(node, exp.Anonymous) and node.name.lower() in BOTH and not node.expressions


def _session(
    select: Select, tables: Sequence[BoundTable], span: Span, grouped: bool
) -> SessionWindow | None:
    """The session window of a block, if it has one."""
    specs = [t.plan.spec for t in tables if isinstance(t.plan, Window)]
    spec = next((s for s in specs if isinstance(s, SessionWindow)), None)
    if spec is not None and (len(tables) > 1 or select.where is not None or not grouped):
        raise BindError(
            "a session ends after its last tuple, so its bounds are aggregates of all its tuples",
            span=span, expected="GROUP BY over one SESSION window, without WHERE",
            found="something else",
            remedy="filter before the window, as in FROM (SELECT ... WHERE ...) [SESSION ...]",
        )  # fmt: skip
    return spec


def _common_window(select: Select, tables: Sequence[BoundTable], span: Span) -> RangeWindow:
    """The one window of all tables: then nothing changes between two multiples of its slide."""
    specs = set()
    for table in tables:
        if is_nrr(table.plan):
            continue
        spec = table.plan.spec if isinstance(table.plan, Window) else None
        if isinstance(spec, RowsWindow):
            raise BindError(
                f"a window of rows has no bounds in time, so no {START}() and {END}()", span=span,
                expected="a window [RANGE ... SLIDE ...] or [SESSION ...] in FROM",
                found=str(spec), remedy="for the times of its rows write MIN and MAX of their time",
            )  # fmt: skip
        if not isinstance(spec, RangeWindow) or spec.slide is None or spec.internal:
            raise BindError(
                f"{START}() and {END}() are those of a window that moves by a SLIDE", span=span,
                expected="windows with RANGE and SLIDE, all the same and none INTERNAL, in FROM",
                found=(table.name or "a sub-query")
                + (", INTERNAL" if spec is not None and spec.internal else " without SLIDE"),
                remedy="write for example [RANGE 10 MINUTES SLIDE 10 MINUTES] or TUMBLE(...)",
            )  # fmt: skip
        specs.add(spec)
    if len(specs) != 1:
        raise BindError(
            f"{START}() and {END}() are those of one window", span=span,
            expected="the same window for all tables", found=f"{len(specs)} windows",
            remedy="make them equal",
        )  # fmt: skip
    if select.where is not None and select.where.find(exp.Exists, exp.Subquery, exp.Select):
        raise BindError(
            "a sub-query in WHERE can change an answer while its window rests", span=span,
            expected=f"no sub-query beside {START}() and {END}()", found="one", remedy=REMEDY,
        )  # fmt: skip
    return specs.pop()


def _with_columns(select: Select, names: tuple[str, str]) -> Select:
    """Calls as columns; an item that is one of them is called by its name."""

    def swap(node: exp.Expr) -> exp.Expr:
        if not _is_call(node):
            return node
        column = exp.Column(this=exp.to_identifier(names[BOTH.index(node.name.lower())]))
        column.meta.update(node.meta)
        return column

    change: Callable[[exp.Expr], exp.Expr] = lambda node: node.copy().transform(swap)  # noqa: E731
    items = []
    for item in select.items:
        alias = item.alias
        if _is_call(item.expression) and alias is None:
            alias = Name(item.expression.name.lower(), item.span)
        items.append(replace(item, expression=change(item.expression), alias=alias))
    return replace(
        select,
        items=tuple(items),
        group_by=tuple(change(node) for node in select.group_by),
        having=change(select.having) if select.having is not None else None,
        order_by=tuple(replace(o, expression=change(o.expression)) for o in select.order_by),
    )


def group_with_bounds(
    plan: Node, grouping: Grouping, bounds: WindowBounds, select: Select
) -> tuple[Node, Grouping, Callable[[Node], Node]]:
    """What is grouped, the grouping without the bounds, and what puts them back among the keys."""
    width = len(plan.schema)
    own = tuple(k for k in grouping.keys if not _mentions(k.expression, width))
    for key in grouping.keys:
        if key not in own and not isinstance(key.expression, Column):
            _refuse_expression(select, key.name)
    for aggregate in grouping.aggregates:
        if aggregate.argument is not None and _mentions(aggregate.argument, width):
            _refuse_expression(select, aggregate.name)
    inner, width_of_groups = Grouping(own, grouping.aggregates), len(own) + len(grouping.aggregates)
    if isinstance(bounds.spec, SessionWindow):
        plan, inner = _stamp_session(plan, inner, bounds.spec, select)

    def restore(groups: Node) -> Node:
        if isinstance(bounds.spec, SessionWindow):
            shown = _bounds_of_session(groups, bounds, bounds.spec, select)
        else:
            shown = bounds.add_to(groups, select.span)
        row = columns_of_row(shown.schema)
        places = []
        for key in grouping.keys:
            if key in own:
                places.append(own.index(key))
            else:
                assert isinstance(key.expression, Column)
                places.append(width_of_groups + key.expression.index - width)
        places += range(len(own), width_of_groups)
        return Projection(shown, tuple(row[i] for i in places), span=select.span)

    return plan, inner, restore


def _stamp_session(
    plan: Node, grouping: Grouping, spec: SessionWindow, select: Select
) -> tuple[Node, Grouping]:
    """The window over tuples that say when they came, and two more aggregates of that."""
    columns = [k.expression.index for k in grouping.keys if isinstance(k.expression, Column)]
    if sorted(columns) != sorted(set(spec.partition_by)) or len(columns) < len(grouping.keys):
        names = ", ".join(plan.schema[i].name for i in spec.partition_by) or "nothing else"
        raise BindError(
            "the bounds of a session are those of one key", span=select.span,
            expected=f"GROUP BY what SESSION is partitioned by: {names}", found="another GROUP BY",
            remedy="group by the same columns, or leave the bounds out",
        )  # fmt: skip
    assert isinstance(plan, Window)
    came = Column(len(plan.schema), "came", Type.BIGINT)
    plan = replace(plan, input=Stamped(plan.input, span=select.span))
    ends = (
        Aggregate("MIN", came, "first", Type.BIGINT),
        Aggregate("MAX", came, "last", Type.BIGINT),
    )
    return plan, Grouping(grouping.keys, (*grouping.aggregates, *ends))


def _bounds_of_session(
    groups: Node, bounds: WindowBounds, spec: SessionWindow, select: Select
) -> Node:
    """Groups with their bounds in place of when their first and last tuples came."""
    row = columns_of_row(groups.schema)
    first, last = (named.expression for named in row[-2:])
    end = Call("add", (last, Literal(spec.gap, Type.BIGINT)), Type.BIGINT)
    return Projection(groups, (*row[:-2], *bounds.as_columns(first, end)), span=select.span)


def _add_to_groups(select: Select, names: tuple[str, str]) -> Select:
    """Of a block that groups: the bounds are the same for all groups, so they may be keys too."""
    columns = [exp.Column(this=exp.to_identifier(name)) for name in names]
    named = {node.name for node in select.group_by if isinstance(node, exp.Column)}
    more = tuple(column for column in columns if column.name not in named)
    return replace(select, group_by=(*select.group_by, *more))


def _mentions(expression: Expression, width: int) -> bool:
    return any(column.index >= width for column in columns_of(expression))


def _refuse_expression(select: Select, name: str) -> NoReturn:
    raise BindError(
        f"{START}() and {END}() are the same for all groups", span=select.span,
        expected="each by itself in GROUP BY, and neither in an aggregate", found=name,
        remedy=REMEDY,
    )  # fmt: skip


def _refuse(reason: str, node: exp.Expr, context: Context) -> NoReturn:
    raise BindError(
        reason, span=span_of(node, context.source),
        expected=f"{START}() and {END}() in the select list, GROUP BY, HAVING or ORDER BY",
        found="one in WHERE", remedy=REMEDY,
    )  # fmt: skip
