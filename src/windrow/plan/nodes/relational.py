"""Nodes of the relational algebra but for joins: selections, projections, unions, groups, ranks.

Beside them is what makes projections that pass columns on as they are, or cast them; a column that
is NULL and nothing else takes the type that its neighbours have.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from itertools import takewhile
from typing import ClassVar

from windrow.core.errors import Span
from windrow.core.patterns import UpdatePattern
from windrow.core.schema import Field, Schema, Type
from windrow.plan.expressions import Call, Column, Expression, Literal, Named
from windrow.plan.nodes.base import MONOTONIC, STRICT, WEAK, WEAKEST, Node, Unary
from windrow.plan.nodes.constant_rows import ConstantRows
from windrow.plan.nodes.stream_relation import StageInput, StreamScan
from windrow.plan.nodes.window_specs import WindowSpec


@dataclass(frozen=True)
class TupleWise(Unary):
    """What looks at each tuple by itself: lifetimes and order stay (rule 1)."""

    keeps_order: ClassVar[bool] = True

    @property
    def lifetime(self) -> WindowSpec | None:
        return self.input.lifetime


@dataclass(frozen=True)
class Selection(TupleWise):
    """The tuples for which ``predicate`` is true (neither false nor NULL)."""

    predicate: Expression


@dataclass(frozen=True)
class Projection(TupleWise):
    """One output column per expression."""

    columns: tuple[Named, ...]

    @cached_property
    def schema(self) -> Schema:
        return Schema(tuple(Field(c.name, c.expression.type, c.qualifier) for c in self.columns))


@dataclass(frozen=True)
class Union(Node):
    """All tuples of all inputs, as a bag.

    Rule 2 calls the union of two WEAKEST inputs WEAKEST; that holds only if their windows
    are equally long, so windows of different lengths make it WEAK here.
    """

    branches: tuple[Node, ...]

    @property
    def inputs(self) -> tuple[Node, ...]:
        return self.branches

    @cached_property
    def schema(self) -> Schema:
        return self.branches[0].schema

    @cached_property
    def pattern(self) -> UpdatePattern:
        worst = max(b.pattern for b in self.branches)
        return WEAK if worst is WEAKEST and self.lifetime is None else worst

    @property
    def lifetime(self) -> WindowSpec | None:
        lifetimes = {b.lifetime for b in self.branches}
        return lifetimes.pop() if len(lifetimes) == 1 else None


@dataclass(frozen=True)
class Stamped(Unary):
    """The tuples, and behind their own columns the instant at which each came.

    A LastingJoin has to tell equal tuples apart by their history. Of equal rows of a relation
    the one that came first leaves first, so the answer does not depend on how they are kept.
    """

    keeps_order: ClassVar[bool] = True

    @cached_property
    def schema(self) -> Schema:
        return self.input.schema + Schema((Field("came", Type.BIGINT),))

    @cached_property
    def pattern(self) -> UpdatePattern:
        return MONOTONIC if self.input.pattern is MONOTONIC else STRICT


@dataclass(frozen=True)
class Retimed(Unary):
    """The tuples of a stream, each at the time that its column ``time`` holds."""

    time: int


@dataclass(frozen=True)
class LookBack(Unary):
    """The tuples of a stream, and behind their columns values of earlier tuples of the same key.

    ``keys`` are columns, ``looks`` a column each and how many tuples back it is looked up; NULL if
    there are not so many. Tuples stand as those of a count-based window do.
    """

    keys: tuple[int, ...]
    looks: tuple[tuple[int, int], ...]

    @cached_property
    def schema(self) -> Schema:
        found = ((self.input.schema[column], distance) for column, distance in self.looks)
        return self.input.schema + Schema(
            tuple(Field(f"lag{distance}_{f.name}", f.type) for f, distance in found)
        )


@dataclass(frozen=True)
class Unnest(Unary):
    """Each tuple once for each value of its ``array``, which stands behind its columns.

    ``columns`` are the value and, if it is asked for, its place from 1. With ``outer`` a tuple
    without values comes once too, beside NULLs. Copies live as long as their tuple, and a negative
    tuple withdraws all of them; those of one instant are in no order.
    """

    array: Expression
    columns: Schema
    outer: bool = False

    @cached_property
    def schema(self) -> Schema:
        return self.input.schema + self.columns

    @property
    def lifetime(self) -> WindowSpec | None:
        return self.input.lifetime


@dataclass(frozen=True)
class NegativeTuples(Unary):
    """Announces every expiry of its input by a negative tuple: the NT strategy (2.3.3)."""

    @property
    def pattern(self) -> UpdatePattern:
        return MONOTONIC if self.input.pattern is MONOTONIC else STRICT


def arrives_in_order(node: Node) -> bool:
    """Whether tuples of one instant stand in the order in which a base stream brought them."""
    while isinstance(node, Unary) and node.keeps_order:
        node = node.input
    if isinstance(node, Union):
        return all(arrives_in_order(branch) for branch in node.branches)
    if isinstance(node, StageInput):
        return node.ordered
    return isinstance(node, StreamScan)


class Reading(Enum):
    """What is read of an aggregate: its value or, of one in bounded space, an end of its bounds."""

    EXACT = "exact"
    ESTIMATE = "estimate"
    LOWER = "lower bound"
    UPPER = "upper bound"


@dataclass(frozen=True)
class Joining:
    """How STRING_AGG joins its texts, and ARRAY_AGG its values, which have no separator.

    If ``paired``, what orders a value stands before it in the argument.
    """

    separator: str
    descending: bool = False
    paired: bool = True

    def __str__(self) -> str:
        return f"'{self.separator}'{' DESC' if self.descending else ''}"


@dataclass(frozen=True)
class Aggregate:
    """One aggregate of a GROUP BY; ``argument`` is None for COUNT(*).

    Those of APPROXIMATE are three: the estimate and its bounds, which one sketch answers.
    """

    function: str  # SUM COUNT AVG MIN MAX MEDIAN QUANTILE VAR STDDEV STRING_AGG ARRAY_AGG
    argument: Expression | None
    name: str
    type: Type
    distinct: bool = False
    parameter: float | Joining | None = None
    span: Span | None = field(default=None, compare=False, repr=False)
    reading: Reading = Reading.EXACT

    @property
    def exact(self) -> bool:
        return self.reading is Reading.EXACT


@dataclass(frozen=True)
class TopLists:
    """FREQUENT (Golab 2006, Algorithm 6): of a sub-window its ``size`` most frequent groups stay.

    If ``certain``, what is reported is more frequent than anything that is on no list; else HAVING
    has a threshold.
    """

    size: int
    certain: bool


@dataclass(frozen=True)
class GroupBy(Unary):
    """One tuple per group: the keys, then the aggregates.

    Without keys there is one group, absent while it is empty. ``every_time`` replaces a group's
    tuple whenever its input changes, also by an equal one: an append-only result counts how
    often a value was produced (3.3.2, 3.4). With ``lists`` it counts by them, and its aggregates
    are the least and the greatest count that a group can have.
    """

    keys: tuple[Named, ...]
    aggregates: tuple[Aggregate, ...]
    every_time: bool = False
    lists: TopLists | None = None

    @property
    def exact(self) -> bool:
        """Whether it answers what tuples would, and needs no sub-windows for it."""
        return self.lists is None and all(a.exact for a in self.aggregates)

    @cached_property
    def schema(self) -> Schema:
        keys = tuple(Field(k.name, k.expression.type, k.qualifier) for k in self.keys)
        return Schema(keys + tuple(Field(a.name, a.type) for a in self.aggregates))

    @property
    def pattern(self) -> UpdatePattern:
        return STRICT


@dataclass(frozen=True)
class DuplicateElimination(Unary):
    """Each distinct tuple once."""

    @cached_property
    def pattern(self) -> UpdatePattern:
        return WEAK if self.input.pattern is WEAKEST else self.input.pattern


ROW_NUMBER = "ROW_NUMBER"


@dataclass(frozen=True)
class OrderKey:
    """One expression to order by."""

    expression: Expression
    descending: bool = False


@dataclass(frozen=True)
class TopK(Unary):
    """The first ``count`` tuples in the order of ``keys``, of all or of each group.

    Ties are in the order of all columns. With ``numbered`` the place of a tuple in its group, from
    1, is one more column. Of RANK and DENSE_RANK, as ``function`` says, tuples with equal keys are
    at one place, and there may be more than ``count`` of them.
    """

    keys: tuple[OrderKey, ...]
    count: int
    groups: tuple[Expression, ...] = ()
    numbered: bool = False
    function: str = ROW_NUMBER

    @property
    def in_groups(self) -> bool:
        return self.numbered or bool(self.groups) or self.function != ROW_NUMBER

    @cached_property
    def schema(self) -> Schema:
        place = (Field(self.function.lower(), Type.BIGINT),) if self.numbered else ()
        return self.input.schema + Schema(place)

    @property
    def pattern(self) -> UpdatePattern:
        return STRICT


def columns_of_row(schema: Schema) -> tuple[Named, ...]:
    """The projection that changes nothing."""
    return tuple(
        Named(f.name, Column(i, f.name, f.type), f.qualifier) for i, f in enumerate(schema)
    )


def changes_nothing(columns: tuple[Named, ...], schema: Schema) -> bool:
    """Whether a projection of such a row gives the same columns under the same names."""
    return len(columns) == len(schema) and all(
        isinstance(c.expression, Column)
        and c.expression.index == i
        and (c.name, c.qualifier) == (schema[i].name, schema[i].qualifier)
        for i, c in enumerate(columns)
    )


def project(plan: Node, columns: tuple[Named, ...], span: Span | None) -> Node:
    """A projection, unless it would change nothing."""
    return plan if changes_nothing(columns, plan.schema) else Projection(plan, columns, span=span)


def is_null_column(plan: Node, index: int) -> bool:
    """Whether the column was written as NULL, wherever it comes from."""
    match plan:
        case Projection():
            value = plan.columns[index].expression
            if isinstance(value, Column):
                return is_null_column(plan.input, value.index)
            return isinstance(value, Literal) and value.value is None
        case Union():
            return all(is_null_column(branch, index) for branch in plan.branches)
        case ConstantRows():
            values = (row[index] for row in plan.rows)
            return all(isinstance(v, Literal) and v.value is None for v in values)
        case GroupBy():
            return False
        case Unary():
            return len(plan.schema) == len(plan.input.schema) and is_null_column(plan.input, index)
    return False


def cast_to(plan: Node, kinds: Sequence[Type]) -> Node:
    """The plan with its columns in other types."""
    if all(f.type is kind for f, kind in zip(plan.schema, kinds, strict=True)):
        return plan
    columns = []
    for index, (column, kind) in enumerate(zip(plan.schema, kinds, strict=True)):
        value: Expression = Column(index, column.name, column.type)
        if column.type is not kind:
            null = is_null_column(plan, index)
            value = Literal(None, kind) if null else Call("cast", (value,), kind)
        columns.append(Named(column.name, value, column.qualifier))
    return project(plan, tuple(columns), plan.span)


def ranks(plan: Node) -> tuple[tuple[int, bool], ...]:
    """The columns by which a TOP at the end of a plan ranks, and whether the greatest is first.

    A key that is not in the answer ends the list: what comes after it would mislead.
    """
    if isinstance(plan, TopK) and plan.in_groups:
        return ()
    if isinstance(plan, TopK):
        keys = [(k.expression, k.descending) for k in plan.keys]
        return tuple((e.index, down) for e, down in keys if isinstance(e, Column))
    if not isinstance(plan, Projection) or not isinstance(plan.input, TopK):
        return ()
    shown = {
        c.expression.index: place
        for place, c in reversed(list(enumerate(plan.columns)))
        if isinstance(c.expression, Column)
    }
    known = takewhile(lambda key: key[0] in shown, ranks(plan.input))
    return tuple((shown[index], descending) for index, descending in known)
