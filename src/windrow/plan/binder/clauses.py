"""The clauses after WHERE, bound over the row of FROM: select list, GROUP BY, HAVING, ORDER BY."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field, replace

from sqlglot import expressions as exp

from windrow.core.errors import BindError, Span
from windrow.cql.call_spellings import APPROXIMATE
from windrow.cql.positions import span_of
from windrow.cql.syntax_tree import Item, Select
from windrow.plan.binder.aggregates import (
    ENDS,
    Aggregates,
    Grouping,
    has_aggregates,
    is_aggregate,
    read_bound,
)
from windrow.plan.binder.scalars import ExpressionBinder
from windrow.plan.binder.scope import Context, Scope, did_you_mean
from windrow.plan.expressions import Call, Column, Expression, Literal, Named

Order = tuple[Expression, bool]
"""An expression, and whether its greatest values come first."""


@dataclass(frozen=True)
class Clauses:
    """Bound clauses; ``grouping`` is None if tuples are neither grouped nor aggregated."""

    items: tuple[Named, ...]
    having: Expression | None
    order: tuple[Order, ...]
    grouping: Grouping | None
    ranking: tuple[Order, ...] = ()
    """The order of ROW_NUMBER()."""
    ranked_in: tuple[Expression, ...] = ()
    """Its PARTITION BY."""


def bind_clauses(select: Select, scope: Scope, context: Context) -> Clauses:
    """Over the row of FROM or, if there is a grouping, over the row of its groups."""
    return _Binder(select, scope, context).bind()


@dataclass
class _Binder:
    select: Select
    scope: Scope
    context: Context
    aggregates: Aggregates = field(init=False)
    seen: dict[int, Span] = field(default_factory=dict)

    def __post_init__(self) -> None:
        limit = self.select.limit
        by_lists = limit is not None and limit.frequent
        self.aggregates = Aggregates(by_lists=by_lists, times=self.scope.times)

    def bind(self) -> Clauses:
        select = self.select
        binder = self._expressions("the select list")
        items = [
            n for i, item in enumerate(select.items) for n in self._named_item(item, i, binder)
        ]
        having = None
        if select.having is not None:
            unaliased = self._resolve_aliases(select.having, items)
            having = self._expressions("HAVING").condition(unaliased)
        order = [self._order(e.expression, e.descending, items) for e in select.order_by]
        ranking, ranked_in = self._ranking(items)
        if not self.aggregates.found and not select.group_by:
            if select.having is not None:
                raise BindError(
                    span=binder.span(select.having), expected="an aggregate or GROUP BY",
                    found="HAVING without either", remedy="use WHERE to filter tuples",
                )  # fmt: skip
            return Clauses(tuple(items), None, tuple(order), None, ranking, ranked_in)
        self._name_aggregates(items)
        shown = [n.expression for n in items] + [e for e, _ in (*order, *ranking)] + [*ranked_in]
        keys = self._keys(items, shown if having is None else [*shown, having])
        grouping = Grouping(keys, tuple(self.aggregates.found))
        return Clauses(
            tuple(
                replace(n, expression=grouping.over_groups(n.expression, self.seen)) for n in items
            ),
            None if having is None else grouping.over_groups(having, self.seen),
            tuple((grouping.over_groups(e, self.seen), descending) for e, descending in order),
            grouping,
            tuple((grouping.over_groups(e, self.seen), descending) for e, descending in ranking),
            tuple(grouping.over_groups(e, self.seen) for e in ranked_in),
        )

    def _ranking(self, items: list[Named]) -> tuple[tuple[Order, ...], tuple[Expression, ...]]:
        """What stands in OVER, where names mean what they mean in ORDER BY."""
        asked = self.select.ranking
        if asked is None:
            return (), ()
        order = tuple(self._order(o.expression, o.descending, items) for o in asked.order_by)
        return order, tuple(self._order(node, False, items)[0] for node in asked.partition_by)

    def _expressions(self, clause: str) -> ExpressionBinder:
        """All clauses share one set of aggregates."""
        return ExpressionBinder(self.scope, self.context.source, clause, self.aggregates, self.seen)

    def _named_item(self, item: Item, position: int, binder: ExpressionBinder) -> list[Named]:
        node = item.expression
        star = node.this if isinstance(node, exp.Column) else node
        if isinstance(star, exp.Star):
            binder.refuse_changes_of_star(star, item.span)
            named = self._star(node.table if isinstance(node, exp.Column) else None, item)
            return self._without(named, star.args.get("except_") or [])
        bound = binder.bind(node)
        value = isinstance(bound, Column) and bound.index >= self.scope.table_width
        if isinstance(bound, Column) and bound.index >= 0 and item.alias is None and not value:
            return [Named(bound.name, bound, self.scope.schema[bound.index].qualifier)]
        name = f"column{position + 1}"
        if isinstance(bound, Column) and not value:
            name = bound.name
        if isinstance(node, exp.Column) and not value:
            name = node.name
        if item.alias is not None:
            name = item.alias.text
        bounds = self.aggregates.bounds(bound) if is_aggregate(bound) else ()
        return [Named(name, bound), *(Named(name + end, each) for end, each in bounds)]

    def _star(self, qualifier: str | None, item: Item) -> list[Named]:
        columns = []
        merged = self.scope.merged if qualifier is None else ()
        for one in merged:  # once, before the others
            columns.append(Named(one.name, one.expression))
            self.seen.update(dict.fromkeys(one.places, item.span))
        left_out = {place for one in merged for place in one.places}
        for index, column in enumerate(self.scope.schema):
            asked_for = index < self.scope.table_width and not column.name.endswith("()")
            if index in left_out or not asked_for:  # of a sub-query or a window, by name only
                continue
            if qualifier is None or (column.qualifier or "").lower() == qualifier.lower():
                columns.append(Named(column.name, self.scope.column(index), column.qualifier))
                self.seen[index] = item.span
        if not columns:
            raise BindError(
                f"no table here is called {qualifier}", span=item.span,
                remedy=did_you_mean(qualifier or "", self.scope.qualifiers()),
            )  # fmt: skip
        return columns

    def _without(self, named: list[Named], left_out: list[exp.Expr]) -> list[Named]:
        """What a star stands for without the columns that follow EXCEPT or EXCLUDE."""
        names = [column.name.lower() for column in named]
        for node in left_out:
            if node.name.lower() not in names:
                raise BindError(
                    f"there is no column {node.name} to leave out",
                    span=span_of(node, self.context.source),
                    remedy=did_you_mean(node.name, (column.name for column in named)),
                )
        gone = {node.name.lower() for node in left_out}
        rest = [column for column in named if column.name.lower() not in gone]
        if not rest:
            raise BindError(
                "nothing is left of *", span=span_of(left_out[0], self.context.source),
                remedy="leave out fewer columns",
            )  # fmt: skip
        return rest

    def _alias_of(self, node: exp.Expr, items: list[Named]) -> int | None:
        """The item that a bare name means by its alias, unless a column has that name."""
        if not isinstance(node, exp.Column) or node.table or self.scope.find(node.name):
            return None
        names = [n.name.lower() for n in items]
        return names.index(node.name.lower()) if node.name.lower() in names else None

    def _resolve_aliases(self, node: exp.Expr, items: list[Named]) -> exp.Expr:
        """HAVING may name an item of the select list by its alias."""
        aliases = {i.alias.text.lower(): i.expression for i in self.select.items if i.alias}
        for alias, expression in list(aliases.items()):
            if APPROXIMATE in expression.meta:
                aliases |= {alias + end: read_bound(expression, r) for end, r in ENDS}

        def swap(part: exp.Expr) -> exp.Expr:
            if self._alias_of(part, items) is not None and part.name.lower() in aliases:
                return exp.Paren(this=aliases[part.name.lower()].copy())
            return part

        return node.copy().transform(swap)

    def _order(self, node: exp.Expr, descending: bool, items: list[Named]) -> Order:
        """ORDER BY speaks of the answer: a bare name is one of the select list, if it has it."""
        if isinstance(node, exp.Column) and not node.table:
            for item in items:
                if item.name.lower() == node.name.lower():
                    return item.expression, descending
        counted = self._item_at(node, items, "ORDER BY")
        if counted is not None:
            return counted.expression, descending
        bound = self._expressions("ORDER BY").bind(node)
        self._refuse_constant(bound, node, "ORDER BY")
        return bound, descending

    def _item_at(self, node: exp.Expr, items: list[Named], clause: str) -> Named | None:
        """The item of the select list that a whole number means: the first is 1, as in SQL."""
        if not isinstance(node, exp.Literal) or not node.is_int:
            return None
        if 1 <= int(node.this) <= len(items):
            return items[int(node.this) - 1]
        raise BindError(
            span=span_of(node, self.context.source),
            expected=f"a number from 1 to {len(items)} in {clause}: which item of the select list",
            found=node.this,
        )

    def _refuse_constant(self, bound: Expression, node: exp.Expr, clause: str) -> None:
        """What is the same for all tuples orders and groups nothing, and was not meant."""
        if isinstance(bound, Literal):
            raise BindError(
                span=span_of(node, self.context.source),
                expected=f"a column or an expression in {clause}",
                found="a constant",
                remedy="write a column without quotes, or the number of an item",
            )

    def _name_aggregates(self, items: list[Named]) -> None:
        """An aggregate is called what its item is called, so that no projection has to rename."""
        for item in reversed(items):
            if isinstance(item.expression, Column) and item.expression.index < 0:
                self.aggregates.rename(-1 - item.expression.index, item.name)

    def _keys(self, items: list[Named], shown: list[Expression]) -> tuple[Named, ...]:
        """GROUP BY, and the sub-queries that ``shown`` reads outside of these and of aggregates."""
        keys = []
        binder = ExpressionBinder(self.scope, self.context.source, "GROUP BY")
        for position, node in enumerate(self.select.group_by):
            alias = self._alias_of(node, items)
            if alias is not None and not has_aggregates(items[alias].expression):
                keys.append(items[alias])
                continue
            counted = self._item_at(node, items, "GROUP BY")
            if counted is not None:
                if has_aggregates(counted.expression):
                    raise BindError(
                        f"item {node.this} of the select list is an aggregate",
                        span=span_of(node, self.context.source),
                        remedy="group by another item",
                    )
                keys.append(counted)
                continue
            bound = binder.bind(node)
            self._refuse_constant(bound, node, "GROUP BY")
            match = next((n for n in items if n.expression == bound), None)
            if match is not None:
                keys.append(match)
            elif isinstance(bound, Column):
                column = self.scope.schema[bound.index]
                keys.append(Named(column.name, bound, column.qualifier))
            else:
                keys.append(Named(f"key{position + 1}", bound))
        # A sub-query is the same for all tuples of a group at an instant, so it divides none.
        grouped = {key.expression for key in keys}
        read = {c.index for e in shown for c in _columns_beside(e, grouped)}
        values = (self.scope.column(i) for i in sorted(read) if i >= self.scope.table_width)
        return tuple(dict.fromkeys([*keys, *(Named(v.name, v) for v in values)]))


def _columns_beside(expression: Expression, keys: Collection[Expression]) -> Iterator[Column]:
    """The columns of an expression but for those inside of a key."""
    if expression in keys:
        return
    if isinstance(expression, Column):
        yield expression
    elif isinstance(expression, Call):
        for argument in expression.args:
            yield from _columns_beside(argument, keys)
