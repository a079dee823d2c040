"""Aggregates of one SELECT: collected while its expressions are bound, computed by one GroupBy.

A bound aggregate is a column with a negative index until ``Grouping`` knows how many keys stand
before it in the GroupBy's row.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TypeGuard

from sqlglot import expressions as exp

from windrow.core.errors import BindError, Span
from windrow.core.schema import Type
from windrow.cql.call_spellings import APPROXIMATE
from windrow.plan.binder.ordered_aggregates import ORDERED, bind_ordered
from windrow.plan.binder.restrictions import refuse_exact, refuse_in_lists
from windrow.plan.expressions import Call, Column, Expression, Literal, Named
from windrow.plan.functions import aggregate_type
from windrow.plan.nodes import Aggregate, Reading

ENDS = (("_low", Reading.LOWER), ("_high", Reading.UPPER))
"""What the names of bounds end in."""
RANKED = frozenset({"MEDIAN", "QUANTILE"})
"""Aggregates whose sketches take decimals as the doubles that are nearest to them."""
BOUNDS = {Reading.ESTIMATE: ENDS, Reading.LOWER: ENDS[1:]}


@dataclass
class Aggregates:
    """The distinct aggregates met so far, in the order in which they were met."""

    found: list[Aggregate] = field(default_factory=list)
    by_lists: bool = False
    """Whether the SELECT is one of FREQUENT, whose COUNT(*) is a lower bound."""
    times: tuple[Column, ...] = ()
    """The time columns of the streams in FROM; none if a tuple's time is not known by them."""

    def add(
        self,
        node: exp.Anonymous,
        function: str,
        bind: Callable[[exp.Expr], Expression],
        span: Span,
    ) -> Expression:
        """A stand-in for the aggregate that ``node`` calls; equal calls share one aggregate."""
        if function in ORDERED:
            if self.by_lists:
                refuse_in_lists(function, None, Reading.EXACT, span)
            if APPROXIMATE in node.meta:
                refuse_exact(function, False, span)
            return bind_ordered(node, function, bind, self._add, self.times, span)
        nodes = node.expressions
        distinct = bool(nodes) and isinstance(nodes[0], exp.Distinct)
        if distinct:
            nodes = [*nodes[0].expressions, *nodes[1:]]
        parameter = None
        argument: Expression | None = None
        if function == "QUANTILE":
            argument, parameter = _quantile(nodes, bind, span)
        elif len(nodes) != 1:
            raise BindError(
                span=span, expected=f"one argument of {node.name}", found=f"{len(nodes)}"
            )
        elif not isinstance(nodes[0], exp.Star):
            argument = bind(nodes[0])
        elif function != "COUNT" or distinct:
            raise BindError(
                span=span, expected=f"a column in {node.name}(...)", found="*",
                remedy="only COUNT takes *",
            )  # fmt: skip
        reading = Reading[node.meta.get(APPROXIMATE, Reading.EXACT.name)]
        ranked = reading is not Reading.EXACT and function in RANKED
        if argument is not None and argument.type.is_decimal and ranked:
            argument = Call("cast", (argument,), Type.DOUBLE)
        kind = aggregate_type(function, argument.type if argument else None)
        if kind is None:
            raise _wrong_type(function, argument.type if argument else None, span)
        if function in ("MIN", "MAX"):
            distinct = False  # duplicates make no difference to them
        name = node.name.lower() + (f"_{argument.name}" if isinstance(argument, Column) else "")
        if self.by_lists:
            refuse_in_lists(function, argument, reading, span)
            reading = Reading.LOWER
        elif reading is not Reading.EXACT:
            refuse_exact(function, distinct, span)
            if argument is not None and argument.type.is_nested:
                raise BindError(
                    "a sketch takes numbers, texts and times", span=span, expected="one of them",
                    found=argument.type.value, remedy="leave APPROXIMATE out, or take a value out",
                )  # fmt: skip
        return self._add(
            Aggregate(function, argument, name, kind, distinct, parameter, span, reading)
        )

    def bounds(self, stand_in: Column) -> list[tuple[str, Column]]:
        """Stand-ins for the bounds that are shown beside an aggregate, and the ends of their names.

        An aggregate that is exact has none; the count of FREQUENT is a lower bound itself.
        """
        made = self.found[-1 - stand_in.index]
        return [
            (end, self._add(replace(made, reading=reading)))
            for end, reading in BOUNDS.get(made.reading, ())
        ]

    def _add(self, made: Aggregate) -> Column:
        name = made.name
        place = next((i for i, a in enumerate(self.found) if replace(a, name=name) == made), None)
        if place is None:
            place = len(self.found)
            self.found.append(made)
        return Column(-1 - place, name, made.type)

    def rename(self, place: int, name: str) -> None:
        self.found[place] = replace(self.found[place], name=name)


def _quantile(
    nodes: list[exp.Expr], bind: Callable[[exp.Expr], Expression], span: Span
) -> tuple[Expression, float]:
    """QUANTILE(x, p), or QUANTILE(p, x): the constant is the fraction."""
    bound = [bind(n) for n in nodes]
    for value, fraction in (tuple(bound), tuple(reversed(bound))) if len(bound) == 2 else ():
        constant = fraction.value if isinstance(fraction, Literal) else None
        if isinstance(constant, int | float) and 0 <= constant <= 1:
            return value, float(constant)
    found = f"{len(bound)} argument{'s' if len(bound) != 1 else ''}"
    if len(bound) == 2:
        constants = [e.value for e in bound if isinstance(e, Literal)]
        found = f"the fraction {constants[-1]}" if constants else "no constant"
    raise BindError(
        span=span, expected="QUANTILE(column, fraction) with a fraction from 0 to 1",
        found=found, remedy="write QUANTILE(x, 0.9)",
    )  # fmt: skip


@dataclass(frozen=True)
class Grouping:
    """Expressions over the input, rewritten over the row that a GroupBy puts out."""

    keys: tuple[Named, ...]
    aggregates: tuple[Aggregate, ...]

    def over_groups(self, expression: Expression, seen: dict[int, Span]) -> Expression:
        """``expression`` in terms of keys and aggregates; BindError at a column that is neither."""
        for index, key in enumerate(self.keys):
            if key.expression == expression:
                return Column(index, key.name, expression.type)
        if isinstance(expression, Column):
            if expression.index < 0:
                place = -1 - expression.index
                return replace(expression, index=len(self.keys) + place)
            raise BindError(
                f"the column {expression.name} is neither grouped nor aggregated",
                span=seen.get(expression.index),
                remedy=f"add {expression.name} to GROUP BY, or aggregate it",
            )
        if isinstance(expression, Call):
            args = tuple(self.over_groups(a, seen) for a in expression.args)
            return replace(expression, args=args)
        return expression


def read_bound(call: exp.Expr, reading: Reading) -> exp.Expr:
    """The call of an approximate aggregate, as one that reads a bound of it."""
    bound = call.copy()
    bound.meta[APPROXIMATE] = reading.name
    return bound


def is_aggregate(expression: Expression) -> TypeGuard[Column]:
    """Whether it is a stand-in for an aggregate and nothing else."""
    return isinstance(expression, Column) and expression.index < 0


def has_aggregates(expression: Expression) -> bool:
    """Whether a stand-in for an aggregate occurs in it."""
    if isinstance(expression, Column):
        return expression.index < 0
    return isinstance(expression, Call) and any(has_aggregates(a) for a in expression.args)


def _wrong_type(function: str, kind: Type | None, span: Span) -> BindError:
    extreme = function in ("MIN", "MAX")
    remedy = "take a value out, as in a[1] or s.name" if extreme and kind and kind.is_nested else ""
    if function == "SUM" and kind is Type.BOOLEAN:
        remedy = "write COUNT_IF(condition)"
    return BindError(
        f"{function} does not take this type", span=span,
        expected="a number, a text, a condition or a time" if extreme else "a number",
        found=kind.value if kind else "nothing", remedy=remedy,
    )  # fmt: skip
