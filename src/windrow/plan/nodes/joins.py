"""What matches tuples of several inputs: joins of two and of n, negations, and flags of matches.

A join is made of its conditions (``join_of``): equalities between the sides become its keys.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property

from windrow.core.errors import Span
from windrow.core.patterns import UpdatePattern
from windrow.core.schema import Field, Schema, Type
from windrow.plan.expressions import (
    Call,
    Column,
    Expression,
    columns_of,
    conjunction,
    conjuncts,
    shift_columns,
)
from windrow.plan.functions import common, has_every_value
from windrow.plan.nodes.base import STRICT, WEAK, WEAKEST, Matched, Node
from windrow.plan.nodes.relational import Projection, Selection
from windrow.plan.nodes.stream_relation import RelationScan, StageInput


@dataclass(frozen=True)
class Join(Matched):
    """Pairs of live tuples with equal keys for which ``residual`` (over both schemas) is true.

    With no keys it is a theta join. A join of two windows is WEAK even if only one of them
    bounds the result's lifetime: a tuple that comes late can meet one that is about to expire.
    ``buckets`` are those of the hash tables that a hint asks for (Golab 2006, 5.4); one bucket is
    nested loops, and none a chain for each value. A join with an NRR has none.
    """

    residual: Expression | None = None
    buckets: int = 0

    @cached_property
    def schema(self) -> Schema:
        return self.left.schema + self.right.schema

    @cached_property
    def pattern(self) -> UpdatePattern:
        for node, other in ((self.left, self.right), (self.right, self.left)):
            if is_nrr(node):
                return other.pattern
        worst = max(self.left.pattern, self.right.pattern)
        return WEAK if worst is WEAKEST else worst


@dataclass(frozen=True)
class LastingJoin(Matched):
    """A join of what has external windows with what has INTERNAL ones (Golab 2006, 3.3.2).

    Pairs come as in a Join; then a pair lasts as long as its left tuple, whatever becomes of the
    right one. As in a Join, what comes late may leave early, so WEAKEST input makes it WEAK.
    ``stamps`` are columns of the left that say when its tuples came, and so tell apart equal
    ones that have met different partners; they are needed even if nobody reads them.
    """

    residual: Expression | None = None
    stamps: tuple[int, ...] = ()

    @cached_property
    def schema(self) -> Schema:
        return self.left.schema + self.right.schema

    @cached_property
    def pattern(self) -> UpdatePattern:
        return WEAK if self.left.pattern is WEAKEST else self.left.pattern


@dataclass(frozen=True)
class MultiJoin(Node):
    """A join of n windows on one common key, evaluated by one operator (Golab 2006, ch. 5).

    ``keys[i]`` are the key expressions over ``branches[i]``; ``order`` is the global join order,
    as indexes of branches: a new tuple of one branch probes the others in this order. Columns
    stand in the order of ``branches``, whatever the join order. ``buckets`` are as in a Join.
    """

    branches: tuple[Node, ...]
    keys: tuple[tuple[Expression, ...], ...]
    order: tuple[int, ...]
    residual: Expression | None = None
    buckets: int = 0

    @property
    def inputs(self) -> tuple[Node, ...]:
        return self.branches

    @cached_property
    def schema(self) -> Schema:
        return Schema(tuple(f for branch in self.branches for f in branch.schema))

    @cached_property
    def pattern(self) -> UpdatePattern:
        worst = max(branch.pattern for branch in self.branches)
        return WEAK if worst is WEAKEST else worst


class NegationForm(Enum):
    """EXCEPT subtracts bags; NOT EXISTS and NOT IN withdraw a tuple while any match lives."""

    EXCEPT = "EXCEPT"
    NOT_EXISTS = "NOT EXISTS"
    NOT_IN = "NOT IN"


@dataclass(frozen=True)
class Negation(Matched):
    """Left tuples without a match (or in excess of their matches) on the right (2.2.2)."""

    form: NegationForm
    residual: Expression | None = None

    @cached_property
    def schema(self) -> Schema:
        return self.left.schema

    @property
    def pattern(self) -> UpdatePattern:
        return STRICT


@dataclass(frozen=True)
class MatchFlag(Matched):
    """Every left tuple, and behind its columns whether a right tuple goes with it now.

    It is a negation that shows what it leaves out too: a tuple changes its flag where a negation
    would withdraw it or bring it back.
    """

    residual: Expression | None
    name: str

    @cached_property
    def schema(self) -> Schema:
        return self.left.schema + Schema((Field(self.name, Type.BOOLEAN),))

    @property
    def pattern(self) -> UpdatePattern:
        return STRICT


def is_nrr(node: Node) -> bool:
    """Whether the node is an NRR, perhaps filtered or with columns left out."""
    while isinstance(node, Selection | Projection):
        node = node.input
    if isinstance(node, StageInput):
        return node.nrr
    return isinstance(node, RelationScan) and not node.retroactive


@dataclass(frozen=True)
class SidesUsed:
    """Which sides of a join an expression over the joined row has columns of."""

    left: bool
    right: bool


def side_of(expression: Expression, width: int) -> SidesUsed:
    """``width`` is the number of columns on the left."""
    indexes = [c.index for c in columns_of(expression)]
    return SidesUsed(any(i < width for i in indexes), any(i >= width for i in indexes))


def as_key(condition: Expression, width: int) -> tuple[Expression, Expression] | None:
    """The two sides of ``left expression = right expression``, each over its own row.

    Both get the same type, so that equal keys have equal hashes.
    """
    if not isinstance(condition, Call) or condition.function != "eq":
        return None
    one, other = condition.args
    if side_of(one, width) == SidesUsed(False, True):
        one, other = other, one
    if side_of(one, width) != SidesUsed(True, False) or side_of(other, width) != SidesUsed(
        False, True
    ):
        return None
    kinds = one.type, other.type
    kind = common(kinds)
    if kind is None or not has_every_value(kinds):
        return None
    return _cast_to(one, kind), _cast_to(shift_columns(other, -width), kind)


def _cast_to(expression: Expression, kind: Type) -> Expression:
    return expression if expression.type is kind else Call("cast", (expression,), kind)


def join_of(
    left: Node,
    right: Node,
    conditions: Sequence[Expression],
    span: Span | None = None,
    buckets: int = 0,
) -> Join:
    """The join of two plans under conditions over the joined row."""
    width = len(left.schema)
    left_keys: list[Expression] = []
    right_keys: list[Expression] = []
    rest: list[Expression] = []
    for condition in conditions:
        key = as_key(condition, width)
        if key is None:
            rest.append(condition)
        elif key not in zip(left_keys, right_keys, strict=True):
            left_keys.append(key[0])
            right_keys.append(key[1])
    residual = conjunction(tuple(rest))
    return Join(left, right, tuple(left_keys), tuple(right_keys), residual, buckets, span=span)


def difference_of(left: Node, right: Node, span: Span | None = None) -> Negation:
    """EXCEPT ALL: of each tuple as many copies as the left has more."""
    one, other = (
        tuple(Column(i, f.name, f.type) for i, f in enumerate(side.schema))
        for side in (left, right)
    )
    return Negation(left, right, one, other, NegationForm.EXCEPT, span=span)


def match_flag_of(
    left: Node, right: Node, conditions: Sequence[Expression], name: str, span: Span | None = None
) -> MatchFlag:
    """As ``join_of``, with a column of this name that says whether there is a pair."""
    join = join_of(left, right, conditions)
    keys = join.left_keys, join.right_keys
    return MatchFlag(left, right, *keys, join.residual, name, span=span)


def lasting_join_of(
    left: Node,
    right: Node,
    conditions: Sequence[Expression],
    stamps: tuple[int, ...],
    span: Span | None = None,
) -> LastingJoin:
    """As ``join_of``, with results that outlive their right tuples."""
    join = join_of(left, right, conditions)
    keys = join.left_keys, join.right_keys
    return LastingJoin(left, right, *keys, join.residual, stamps, span=span)


def conditions_of(join: Join | LastingJoin) -> tuple[Expression, ...]:
    """All conditions of a join over its row, keys as equalities again."""
    width = len(join.left.schema)
    keys = tuple(
        Call("eq", (one, shift_columns(other, width)), Type.BOOLEAN)
        for one, other in zip(join.left_keys, join.right_keys, strict=True)
    )
    return keys + (conjuncts(join.residual) if join.residual is not None else ())
