"""The logical plan: small frozen nodes, each with a schema, its inputs and its update pattern.

A node says *what*; ``windrow.engine`` maps each to the operator that does it. ``pattern`` is
the label of the node's output edge by the rules of Golab 2006, 3.5.1; two of those rules are
made stricter here because a FIFO buffer depends on them (see ``Union`` and ``Join``).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from typing import ClassVar

from windrow.core.errors import Span
from windrow.core.patterns import UpdatePattern
from windrow.core.schema import Field, Schema, Type
from windrow.core.time import Clock
from windrow.plan.expressions import Expression, Named
from windrow.plan.windows import NowWindow, RangeWindow, RowsWindow, UnboundedWindow, WindowSpec

MONOTONIC, WEAKEST = UpdatePattern.MONOTONIC, UpdatePattern.WEAKEST
WEAK, STRICT = UpdatePattern.WEAK, UpdatePattern.STRICT


@dataclass(frozen=True, kw_only=True)
class Node:
    """Base of all plan nodes; ``span`` is where in the script it comes from."""

    span: Span | None = field(default=None, compare=False, repr=False)

    @property
    def inputs(self) -> tuple[Node, ...]:
        return ()

    @property
    def schema(self) -> Schema:
        raise TypeError(f"{type(self).__name__} has no schema")

    @property
    def pattern(self) -> UpdatePattern:
        raise TypeError(f"{type(self).__name__} has no update pattern")

    @property
    def lifetime(self) -> WindowSpec | None:
        """The one time window that gave every live tuple here its expiry, if there is just one."""
        return None


@dataclass(frozen=True)
class StreamScan(Node):
    """The tuples of a stream; monotonic until a window bounds them."""

    name: str
    columns: Schema
    clock: Clock

    @property
    def schema(self) -> Schema:
        return self.columns

    @property
    def pattern(self) -> UpdatePattern:
        return MONOTONIC


@dataclass(frozen=True)
class RelationScan(Node):
    """A relation, or an NRR: a relation whose updates are not retroactive (3.3.1)."""

    name: str
    columns: Schema
    retroactive: bool

    @property
    def schema(self) -> Schema:
        return self.columns

    @property
    def pattern(self) -> UpdatePattern:
        return STRICT


@dataclass(frozen=True)
class Window(Node):
    """Stream to relation. Its input is MONOTONIC: a stream, or a view that never withdraws."""

    input: Node
    spec: WindowSpec

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.input,)

    @cached_property
    def schema(self) -> Schema:
        return self.input.schema

    @property
    def pattern(self) -> UpdatePattern:
        match self.spec:
            case UnboundedWindow():
                return MONOTONIC
            case RangeWindow() | NowWindow():
                return WEAKEST
            case RowsWindow():
                return STRICT

    @property
    def lifetime(self) -> WindowSpec | None:
        return self.spec if self.pattern is WEAKEST else None


@dataclass(frozen=True)
class Unary(Node):
    """What the unary operators that keep lifetimes have in common (rule 1)."""

    keeps_order: ClassVar[bool] = False
    """Whether tuples of one instant leave in the order in which they came."""

    input: Node

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.input,)

    @cached_property
    def schema(self) -> Schema:
        return self.input.schema

    @cached_property
    def pattern(self) -> UpdatePattern:
        return self.input.pattern

    @property
    def lifetime(self) -> WindowSpec | None:
        return self.input.lifetime


@dataclass(frozen=True)
class Selection(Unary):
    """The tuples for which ``predicate`` is true (neither false nor NULL)."""

    keeps_order: ClassVar[bool] = True

    predicate: Expression


@dataclass(frozen=True)
class Projection(Unary):
    """One output column per expression."""

    keeps_order: ClassVar[bool] = True

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
class Join(Node):
    """Pairs of live tuples with equal keys for which ``residual`` (over both schemas) is true.

    With no keys it is a theta join. A join of two windows is WEAK even if only one of them
    bounds the result's lifetime: a tuple that comes late can meet one that is about to expire.
    """

    left: Node
    right: Node
    left_keys: tuple[Expression, ...]
    right_keys: tuple[Expression, ...]
    residual: Expression | None = None

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.left, self.right)

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
class LastingJoin(Node):
    """A join of what has external windows with what has INTERNAL ones (Golab 2006, 3.3.2).

    Pairs come as in a Join; then a pair lasts as long as its left tuple, whatever becomes of the
    right one. As in a Join, what comes late may leave early, so WEAKEST input makes it WEAK.
    ``stamps`` are columns of the left that say when its tuples came, and so tell apart equal
    ones that have met different partners; they are needed even if nobody reads them.
    """

    left: Node
    right: Node
    left_keys: tuple[Expression, ...]
    right_keys: tuple[Expression, ...]
    residual: Expression | None = None
    stamps: tuple[int, ...] = ()

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.left, self.right)

    @cached_property
    def schema(self) -> Schema:
        return self.left.schema + self.right.schema

    @cached_property
    def pattern(self) -> UpdatePattern:
        return WEAK if self.left.pattern is WEAKEST else self.left.pattern


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

    @property
    def lifetime(self) -> WindowSpec | None:
        return None


@dataclass(frozen=True)
class MultiJoin(Node):
    """A join of n windows on one common key, evaluated by one operator (Golab 2006, ch. 5).

    ``keys[i]`` are the key expressions over ``branches[i]``; ``order`` is the global join order,
    as indexes of branches: a new tuple of one branch probes the others in this order. Columns
    stand in the order of ``branches``, whatever the join order.
    """

    branches: tuple[Node, ...]
    keys: tuple[tuple[Expression, ...], ...]
    order: tuple[int, ...]
    residual: Expression | None = None

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


@dataclass(frozen=True)
class Aggregate:
    """One aggregate of a GROUP BY; ``argument`` is None for COUNT(*)."""

    function: str  # SUM COUNT AVG MIN MAX MEDIAN QUANTILE VAR STDDEV
    argument: Expression | None
    name: str
    type: Type
    distinct: bool = False
    parameter: float | None = None
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class GroupBy(Node):
    """One tuple per group: the keys, then the aggregates.

    Without keys there is one group, absent while it is empty. ``every_time`` replaces a group's
    tuple whenever its input changes, also by an equal one: an append-only result counts how
    often a value was produced (3.3.2, 3.4).
    """

    input: Node
    keys: tuple[Named, ...]
    aggregates: tuple[Aggregate, ...]
    every_time: bool = False

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.input,)

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

    @property
    def lifetime(self) -> WindowSpec | None:
        return None


class NegationForm(Enum):
    """EXCEPT subtracts bags; NOT EXISTS and NOT IN withdraw a tuple while any match lives."""

    EXCEPT = "EXCEPT"
    NOT_EXISTS = "NOT EXISTS"
    NOT_IN = "NOT IN"


@dataclass(frozen=True)
class Negation(Node):
    """Left tuples without a match (or in excess of their matches) on the right (2.2.2)."""

    left: Node
    right: Node
    left_keys: tuple[Expression, ...]
    right_keys: tuple[Expression, ...]
    form: NegationForm
    residual: Expression | None = None

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.left, self.right)

    @cached_property
    def schema(self) -> Schema:
        return self.left.schema

    @property
    def pattern(self) -> UpdatePattern:
        return STRICT


@dataclass(frozen=True)
class OrderKey:
    """One expression to order by."""

    expression: Expression
    descending: bool = False


@dataclass(frozen=True)
class TopK(Unary):
    """The first ``count`` tuples in the order of ``keys``."""

    keys: tuple[OrderKey, ...]
    count: int

    @property
    def pattern(self) -> UpdatePattern:
        return STRICT

    @property
    def lifetime(self) -> WindowSpec | None:
        return None


@dataclass(frozen=True)
class Every(Unary):
    """The answer as it was at the last multiple of ``period`` ticks (``EVERY 1 SECOND``)."""

    period: int

    @property
    def lifetime(self) -> WindowSpec | None:
        return None


@dataclass(frozen=True)
class AppendOnly(Unary):
    """What INTERNAL windows ask for: the same results, never withdrawn (3.3.2)."""

    @property
    def pattern(self) -> UpdatePattern:
        return MONOTONIC

    @property
    def lifetime(self) -> WindowSpec | None:
        return None


@dataclass(frozen=True)
class NegativeTuples(Unary):
    """Announces every expiry of its input by a negative tuple: the NT strategy (2.3.3)."""

    @property
    def pattern(self) -> UpdatePattern:
        return MONOTONIC if self.input.pattern is MONOTONIC else STRICT

    @property
    def lifetime(self) -> WindowSpec | None:
        return None


class StreamKind(Enum):
    """Relation to stream."""

    ISTREAM = "ISTREAM"
    DSTREAM = "DSTREAM"
    RSTREAM = "RSTREAM"
    ISTREAM_RESTORE = "ISTREAM-RESTORE"
    RSTREAM_RESTORE = "RSTREAM-RESTORE"


@dataclass(frozen=True)
class ToStream(Unary):
    """ISTREAM, DSTREAM and RSTREAM. ``every`` is the rhythm of RSTREAM in ticks."""

    kind: StreamKind
    every: int = 1

    @property
    def pattern(self) -> UpdatePattern:
        return MONOTONIC

    @property
    def lifetime(self) -> WindowSpec | None:
        return None


@dataclass(frozen=True)
class OutputWindow(Unary):
    """WSTREAM: a window over the stream of results (3.3.3)."""

    spec: WindowSpec

    @property
    def pattern(self) -> UpdatePattern:
        return STRICT if isinstance(self.spec, RowsWindow) else WEAKEST

    @property
    def lifetime(self) -> WindowSpec | None:
        return None if isinstance(self.spec, RowsWindow) else self.spec


def is_nrr(node: Node) -> bool:
    """Whether the node is an NRR, perhaps filtered or with columns left out."""
    while isinstance(node, Selection | Projection):
        node = node.input
    if isinstance(node, StageInput):
        return node.nrr
    return isinstance(node, RelationScan) and not node.retroactive


def arrives_in_order(node: Node) -> bool:
    """Whether tuples of one instant stand in the order in which a base stream brought them."""
    while isinstance(node, Unary) and node.keeps_order:
        node = node.input
    if isinstance(node, Union):
        return all(arrives_in_order(branch) for branch in node.branches)
    if isinstance(node, StageInput):
        return node.ordered
    return isinstance(node, StreamScan)


def walk(node: Node) -> Iterator[Node]:
    """The node and everything below it, the node first."""
    yield node
    for child in node.inputs:
        yield from walk(child)


@dataclass(frozen=True)
class StageInput(Node):
    """A leaf that stands for the output of another stage; it repeats what that output promised."""

    name: str
    columns: Schema
    promised: UpdatePattern
    promised_lifetime: WindowSpec | None = None
    ordered: bool = False
    """Whether tuples of one instant come in the order in which a base stream brought them."""
    nrr: bool = False
    """Whether it stands for an NRR."""

    @property
    def schema(self) -> Schema:
        return self.columns

    @property
    def pattern(self) -> UpdatePattern:
        return self.promised

    @property
    def lifetime(self) -> WindowSpec | None:
        return self.promised_lifetime
