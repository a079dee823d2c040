"""JOIN ... ON and USING, inner and outer, and the OPTION of a block that says how joins are done.

The conditions of inner joins are conditions of the whole FROM, like those of WHERE: which of them
becomes the key of which join is decided later. Outer joins are done in the order in which they are
written, since there ON says what has a partner and WHERE what is in the answer: LEFT JOIN is the
join and, with NULLs beside them, the left tuples without a partner, which a negation finds (Golab
2006, 2.2.2). So its update pattern is STRICT: a tuple with NULLs leaves when its partner comes, and
comes back when the last one is gone.

Cost: that of a join and of a NOT EXISTS, two of them for FULL; each keeps both of its inputs.

``OPTION (HASH JOIN n)`` and ``OPTION (NESTED LOOPS)`` of a block, noted on its joins.

The option concerns the joins that the block itself makes of its FROM and WHERE, sub-queries of
WHERE included; what it reads (views, sub-queries in FROM) was bound with an option of its own. A
join with an NRR keeps one side only, one with INTERNAL windows beside others keeps a third store,
and one without an equality has nothing to hash: these stay as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sqlglot import expressions as exp

from windrow.core.errors import BindError, Span
from windrow.core.schema import Schema
from windrow.cql.positions import span_of
from windrow.cql.syntax_tree import JoinOption, Name, Table
from windrow.plan.binder.calls import typed_call
from windrow.plan.binder.from_clause import BoundTable, left_deep, refuse_internal
from windrow.plan.binder.scalars import ExpressionBinder, operands_of
from windrow.plan.binder.scope import Context, MergedColumn, Scope, did_you_mean
from windrow.plan.binder.unnesting import array_of, outer_unnest
from windrow.plan.binder.value_rows import outer_join_values
from windrow.plan.expressions import (
    Expression,
    Literal,
    Named,
    columns_of,
    conjunction,
    replace_columns,
    shift_columns,
)
from windrow.plan.nodes import (
    Join,
    Negation,
    NegationForm,
    Node,
    Projection,
    Selection,
    Union,
    is_nrr,
    walk,
)
from windrow.plan.nodes.joins import join_of, side_of
from windrow.plan.nodes.rebuild import with_inputs
from windrow.plan.nodes.relational import columns_of_row

OUTER = ("LEFT", "RIGHT", "FULL")


@dataclass(frozen=True)
class JoinedTables:
    """What is left of FROM for WHERE: tables to be joined, and the conditions of inner joins.

    What outer joins connect is one of ``tables``; ``equalities`` are those of USING.
    """

    tables: tuple[BoundTable, ...]
    scope: Scope
    equalities: tuple[Expression, ...]
    parts: tuple[exp.Expr, ...]


def bind_joins(
    tables: Sequence[Table], bound: Sequence[BoundTable], context: Context
) -> JoinedTables:
    """The joins of a FROM; ``bound`` are its tables in order."""
    return _Joins(tables, bound, context).bind()


class _Joins:
    def __init__(
        self, tables: Sequence[Table], bound: Sequence[BoundTable], context: Context
    ) -> None:
        self.tables, self.bound, self.context = tables, bound, context
        fields = [field for table in bound for field in table.schema]
        self.scope = Scope(Schema(tuple(fields)), context=context)
        self.starts = [0]
        for table in bound:
            self.starts.append(self.starts[-1] + len(table.plan.schema))

    def bind(self) -> JoinedTables:
        found: list[BoundTable] = []
        equalities: list[Expression] = []
        parts: list[exp.Expr] = []
        commas = [i for i, table in enumerate(self.tables) if table.join == ","]
        for first, end in zip(commas, [*commas[1:], len(self.tables)], strict=True):
            if any(table.join in OUTER for table in self.tables[first:end]):
                found.append(self._in_order(first, end))
                continue
            for place in range(first, end):
                found.append(self.bound[place])
                equalities += self._using(first, place)
                if (on := self.tables[place].on) is not None:
                    parts += operands_of(on, exp.And)
        return JoinedTables(tuple(found), self.scope, tuple(equalities), tuple(parts))

    def _in_order(self, first: int, end: int) -> BoundTable:
        """The tables up to the next comma, joined one after another."""
        plan, start = self.bound[first].plan, self.starts[first]
        for place in range(first + 1, end):
            table, right = self.tables[place], self.bound[place]
            conditions = [*self._using(first, place), *self._on(first, place)]
            conditions = [shift_columns(c, -start) for c in conditions]
            if table.join in OUTER:
                kind = f"{table.join} JOIN"
                self._check_outer(table, plan, right)
                refuse_internal(self.bound, kind, table.span)
                if array_of(right.plan) is not None:
                    plan = outer_unnest(table.join, plan, right.plan, conditions, table.span, start)
                else:
                    plan = outer_join(table.join, plan, right.plan, conditions, table.span)
            else:
                plan, rest = left_deep(plan, [right], conditions, start)
                predicate = conjunction(rest)
                plan = plan if predicate is None else Selection(plan, predicate, span=table.span)
        return BoundTable(plan, None, None, self.tables[first].span)

    def _check_outer(self, table: Table, left: Node, right: BoundTable) -> None:
        if table.on is None and not table.using and not table.natural:
            raise BindError(
                span=table.span, expected=f"ON or USING after {table.join} JOIN", found="none",
                remedy="say what a partner is, for example ON a.k = b.k",
            )  # fmt: skip
        if is_nrr(left) or is_nrr(right.plan):
            raise BindError(
                f"{table.join} JOIN needs to know when a partner comes or leaves, but updates of "
                "an NRR change no earlier result (Golab 2006, 3.3.1)",
                span=table.span, expected="a stream or a relation", found="an NRR",
                remedy="declare it with CREATE RELATION, or write an inner join",
            )  # fmt: skip

    def _on(self, first: int, place: int) -> list[Expression]:
        """The conditions of a join that is done in order; they may speak of its tables only."""
        node = self.tables[place].on
        if node is None:
            return []
        binder = ExpressionBinder(self.scope, self.context.source, "ON")
        found = [binder.condition(part) for part in operands_of(node, exp.And)]
        for condition in found:
            for column in columns_of(condition):
                if not self.starts[first] <= column.index < self.starts[place + 1]:
                    raise BindError(
                        f"ON speaks of {self.scope.schema[column.index]}, which is not one of the "
                        "tables that are joined here",
                        span=span_of(node, self.context.source),
                        remedy="move the condition to WHERE",
                    )
        return found

    def _using(self, first: int, place: int) -> list[Expression]:
        """The equalities of USING; from here on each of its columns is one."""
        table = self.tables[place]
        found = []
        for name in self._common(first, place) if table.natural else table.using:
            left, places = self._left_column(name, first, place)
            right = self.scope.column(self._place(name, place, place + 1))
            found.append(typed_call("eq", [left, right], [name.span] * 2, name.span))
            if table.join == "FULL":
                kept = typed_call("coalesce", [left, right], [name.span] * 2, name.span)
            else:
                kept = right if table.join == "RIGHT" else left
            merged = MergedColumn(name.text.lower(), kept, places | {right.index})
            others = tuple(m for m in self.scope.merged if not m.places <= merged.places)
            self.scope = replace(self.scope, merged=(*others, merged))
        return found

    def _common(self, first: int, place: int) -> list[Name]:
        """The columns of NATURAL JOIN: those of the same name on both sides."""
        table = self.tables[place]
        left = {f.name.lower() for f in self.scope.schema.fields[
            self.starts[first] : self.starts[place]
        ]}  # fmt: skip
        names = [f.name for f in self.bound[place].schema if f.name.lower() in left]
        if not names:
            raise BindError(
                "the sides of NATURAL JOIN have no column of the same name", span=table.span,
                remedy="write JOIN ... ON, or CROSS JOIN for all pairs",
            )  # fmt: skip
        return [Name(name, table.span) for name in names]

    def _left_column(self, name: Name, first: int, place: int) -> tuple[Expression, frozenset[int]]:
        for column in self.scope.merged:
            if column.name == name.text.lower() and min(column.places) >= self.starts[first]:
                return column.expression, column.places
        index = self._place(name, first, place)
        return self.scope.column(index), frozenset({index})

    def _place(self, name: Name, first: int, end: int) -> int:
        """The one column of the name in some tables of FROM."""
        within = range(self.starts[first], self.starts[end])
        found = [i for i in self.scope.find(name.text) if i in within]
        if len(found) == 1:
            return found[0]
        side = "right" if end == first + 1 and first > 0 else "left"
        if not found:
            raise BindError(
                f"there is no column {name.text} on the {side} of this JOIN", span=name.span,
                remedy=did_you_mean(name.text, (self.scope.schema[i].name for i in within)),
            )  # fmt: skip
        raise BindError(
            f"the column {name.text} is ambiguous on the {side} of this JOIN", span=name.span,
            remedy="write the equality after ON",
        )  # fmt: skip


def outer_join(
    kind: str, left: Node, right: Node, conditions: Sequence[Expression], span: Span | None
) -> Node:
    """LEFT, RIGHT or FULL: the pairs, and what has no partner with NULLs in its place."""
    width = len(left.schema)
    beside_values = outer_join_values(kind, left, right, conditions, span)
    if beside_values is not None:
        return beside_values
    rest = []
    for condition in conditions:
        side = side_of(condition, width)
        # What the inner side must be like by itself decides who can be a partner at all.
        if kind == "LEFT" and side.right and not side.left:
            right = Selection(right, shift_columns(condition, -width), span=span)
        elif kind == "RIGHT" and side.left and not side.right:
            left = Selection(left, condition, span=span)
        else:
            rest.append(condition)
    join = join_of(left, right, rest, span)
    branches: list[Node] = [join]
    if kind != "RIGHT":
        alone = Negation(
            left, right, join.left_keys, join.right_keys, NegationForm.NOT_EXISTS, join.residual,
            span=span,
        )  # fmt: skip
        branches.append(_beside_nulls(alone, join, 0))
    if kind != "LEFT":
        alone = Negation(
            right, left, join.right_keys, join.left_keys, NegationForm.NOT_EXISTS,
            _swap_sides(join), span=span,
        )  # fmt: skip
        branches.append(_beside_nulls(alone, join, width))
    return Union(tuple(branches), span=span)


def _swap_sides(join: Join) -> Expression | None:
    """The residual over a right and a left tuple side by side."""
    if join.residual is None:
        return None
    left, right = len(join.left.schema), len(join.right.schema)
    return replace_columns(
        join.residual, lambda c: replace(c, index=c.index + (right if c.index < left else -left))
    )


def _beside_nulls(alone: Node, join: Join, start: int) -> Node:
    """Tuples without a partner in the columns of the join, their own from ``start`` on."""
    own = columns_of_row(alone.schema)
    columns = []
    for place, field in enumerate(join.schema):
        mine = start <= place < start + len(own)
        value = own[place - start].expression if mine else Literal(None, field.type)
        columns.append(Named(field.name, value, field.qualifier))
    return Projection(alone, tuple(columns), span=alone.span)


def use_buckets(plan: Node, tables: Sequence[Node], option: JoinOption) -> Node:
    """``plan`` with the option on every join above ``tables`` that can follow it."""
    changed = _use_buckets(plan, {id(node) for table in tables for node in walk(table)}, option)
    if changed is plan:
        raise BindError(
            "OPTION says how joins of windows find partners by equal values", span=option.span,
            expected="such a join in FROM and WHERE", found="none", remedy="leave OPTION out",
        )  # fmt: skip
    return changed


def _use_buckets(plan: Node, read: set[int], option: JoinOption) -> Node:
    if id(plan) in read:
        return plan
    inputs = [_use_buckets(child, read, option) for child in plan.inputs]
    if any(new is not old for new, old in zip(inputs, plan.inputs, strict=True)):
        plan = with_inputs(plan, inputs)
    if isinstance(plan, Join) and plan.left_keys and not (is_nrr(plan.left) or is_nrr(plan.right)):
        plan = replace(plan, buckets=option.buckets)
    return plan
