"""One SELECT block: FROM, WHERE, GROUP BY, HAVING, the select list, DISTINCT, ORDER BY, TOP.

The plan is built in that order, from the leaves up; INTERNAL windows close it with AppendOnly.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from sqlglot import expressions as exp

from windrow.core.errors import BindError
from windrow.core.schema import Schema
from windrow.cql.tree import Item, Select
from windrow.plan.binder.aggregates import Aggregates, Grouping, has_aggregates
from windrow.plan.binder.context import Context, projected
from windrow.plan.binder.expressions import ExpressionBinder
from windrow.plan.binder.negation import bind_negation, negated_query, split
from windrow.plan.binder.ordering import ordered
from windrow.plan.binder.scope import Scope, did_you_mean
from windrow.plan.binder.tables import (
    BoundTable,
    append_only,
    bind_tables,
    join_tables,
    refuse_internal,
)
from windrow.plan.expressions import Column, Expression, Named, conjunction
from windrow.plan.nodes import DuplicateElimination, GroupBy, Node, Selection


def bind_select(select: Select, context: Context) -> Node:
    """The plan of one block."""
    if not select.tables:
        raise BindError(
            span=select.span, expected="FROM and a stream, relation or view", found="none",
            remedy="say where the columns come from",
        )  # fmt: skip
    tables = bind_tables(select.tables, context)
    scope = Scope(_row(tables))
    plan = _filtered(select, tables, scope, context)
    block = _Block(select, scope, context, Aggregates())
    plan, columns = block.grouped(plan)
    if select.distinct:
        refuse_internal(tables, "DISTINCT", select.span)
        plan = DuplicateElimination(projected(plan, columns, select.span), span=select.span)
        columns = tuple(
            Named(c.name, Column(i, c.name, c.expression.type), c.qualifier)
            for i, c in enumerate(columns)
        )
    if select.order_by or select.limit:
        plan = ordered(plan, columns, block.order_keys(columns), select)
    else:
        plan = projected(plan, columns, select.span)
    return append_only(plan, tables, select.span)


def _row(tables: tuple[BoundTable, ...]) -> Schema:
    schema = tables[0].schema
    for table in tables[1:]:
        schema = schema + table.schema
    return schema


def _filtered(
    select: Select, tables: tuple[BoundTable, ...], scope: Scope, context: Context
) -> Node:
    """The joined tables for which WHERE and every ON are true."""
    binder = ExpressionBinder(scope, context.source, "WHERE")
    negated, conditions = [], []
    for node in (*(t.on for t in select.tables), select.where):
        for part in split(node) if node is not None else ():
            inner = negated_query(part, context.source)
            if inner is not None:
                negated.append(inner)
            else:
                conditions.append(binder.condition(part))
    plan, rest = join_tables(tables, conditions)
    predicate = conjunction(rest)
    if predicate is not None:
        plan = Selection(plan, predicate, span=binder.span(select.where or select.tables[-1].on))  # type: ignore[arg-type]
    for inner in negated:
        refuse_internal(tables, "negation", inner.span)
        plan = bind_negation(plan, scope, inner, context)
    return plan


@dataclass
class _Block:
    """The part of a block after WHERE, where aggregates may stand."""

    select: Select
    scope: Scope
    context: Context
    aggregates: Aggregates
    grouping: Grouping | None = None
    binder: ExpressionBinder | None = None

    def grouped(self, plan: Node) -> tuple[Node, tuple[Named, ...]]:
        """The input of the select list, and the list over that input."""
        select = self.select
        binder = ExpressionBinder(
            self.scope, self.context.source, "the select list", self.aggregates
        )
        self.binder = binder
        items = [n for i, item in enumerate(select.items) for n in self._named(item, i, binder)]
        having = None
        if select.having is not None:
            binder.clause = "HAVING"
            having = binder.condition(self._unaliased(select.having, items))
        for entry in select.order_by:  # an aggregate may occur in ORDER BY alone
            binder.clause = "ORDER BY"
            if self._alias_of(entry.expression, items) is None:
                binder.bind(entry.expression)
        if not self.aggregates.found and not select.group_by:
            if having is not None:
                raise BindError(
                    span=binder.span(select.having), expected="GROUP BY or an aggregate with HAVING",  # type: ignore[arg-type]
                    found="neither", remedy="use WHERE to filter tuples",
                )  # fmt: skip
            return plan, tuple(items)
        keys = self._keys(items)
        self.grouping = Grouping(keys, tuple(self.aggregates.found))
        plan = GroupBy(plan, keys, self.grouping.aggregates, span=select.span)
        if having is not None:
            predicate = self.grouping.over_groups(having, binder.seen)
            plan = Selection(plan, predicate, span=binder.span(select.having))  # type: ignore[arg-type]
        return plan, tuple(self._over_groups(n) for n in items)

    def _over_groups(self, named: Named) -> Named:
        assert self.grouping is not None
        assert self.binder is not None
        return replace(
            named, expression=self.grouping.over_groups(named.expression, self.binder.seen)
        )

    def _keys(self, items: list[Named]) -> tuple[Named, ...]:
        keys = []
        binder = ExpressionBinder(self.scope, self.context.source, "GROUP BY")
        for position, node in enumerate(self.select.group_by):
            alias = self._alias_of(node, items)
            if alias is not None and not has_aggregates(items[alias].expression):
                keys.append(items[alias])
                continue
            bound = binder.bind(node)
            match = next((n for n in items if n.expression == bound), None)
            if match is not None:
                keys.append(match)
            elif isinstance(bound, Column):
                field = self.scope.schema[bound.index]
                keys.append(Named(field.name, bound, field.qualifier))
            else:
                keys.append(Named(f"key{position + 1}", bound))
        return tuple(dict.fromkeys(keys))

    def _alias_of(self, node: exp.Expr, items: list[Named]) -> int | None:
        """The item that a bare name means by its alias, unless a column has that name."""
        if not isinstance(node, exp.Column) or node.table or self.scope.find(node.name):
            return None
        names = [n.name.lower() for n in items]
        return names.index(node.name.lower()) if node.name.lower() in names else None

    def _unaliased(self, node: exp.Expr, items: list[Named]) -> exp.Expr:
        """HAVING may name an item of the select list by its alias."""
        aliases = {i.alias.text.lower(): i.expression for i in self.select.items if i.alias}

        def swap(part: exp.Expr) -> exp.Expr:
            if self._alias_of(part, items) is not None and part.name.lower() in aliases:
                return exp.Paren(this=aliases[part.name.lower()].copy())
            return part

        return node.copy().transform(swap)

    def _named(self, item: Item, position: int, binder: ExpressionBinder) -> list[Named]:
        node = item.expression
        if isinstance(node, exp.Star):
            return self._star(None, item)
        if isinstance(node, exp.Column) and isinstance(node.this, exp.Star):
            return self._star(node.table, item)
        bound = binder.bind(node)
        if item.alias is not None:
            return [Named(item.alias.text, bound)]
        if isinstance(bound, Column) and bound.index >= 0:
            return [Named(bound.name, bound, self.scope.schema[bound.index].qualifier)]
        name = bound.name if isinstance(bound, Column) else f"column{position + 1}"
        return [Named(name, bound)]

    def _star(self, qualifier: str | None, item: Item) -> list[Named]:
        columns = [
            Named(f.name, Column(i, f.name, f.type), f.qualifier)
            for i, f in enumerate(self.scope.schema)
            if qualifier is None or (f.qualifier or "").lower() == qualifier.lower()
        ]
        if not columns:
            raise BindError(
                f"no table here is called {qualifier}", span=item.span,
                remedy=did_you_mean(qualifier or "", self.scope.qualifiers()),
            )  # fmt: skip
        assert self.binder is not None
        self.binder.seen.update({n.expression.index: item.span for n in columns})  # type: ignore[union-attr]
        return columns

    def order_keys(self, columns: tuple[Named, ...]) -> list[tuple[Expression, bool]]:
        """ORDER BY over the input of the select list, or TOP's own order: by the first aggregate."""
        assert self.binder is not None
        keys = []
        for entry in self.select.order_by:
            alias = self._alias_of(entry.expression, list(columns))
            if alias is not None:
                keys.append((columns[alias].expression, entry.descending))
                continue
            bound = self.binder.bind(entry.expression)
            if self.grouping is not None:
                bound = self.grouping.over_groups(bound, self.binder.seen)
            keys.append((bound, entry.descending))
        if not keys and self.grouping is not None:
            least = len(self.grouping.keys)
            for column in columns:
                inner = column.expression
                if isinstance(inner, Column) and inner.index >= least:
                    return [(inner, True)]
        return keys
