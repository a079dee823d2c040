"""GROUP BY from summaries of sub-windows, as one node: what keeps summaries needs no tuples.

Of one query over a window that slides (`SlidingGroupBy`), or of many queries over one stream, from
synopses that they share (`SharedGroupBy`). Which synopses there are, and what each query reads, the
rules of sharing have decided (``windrow.plan.sharing.shared_synopses``); the node says it in
expressions over its input.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property

from windrow.core.patterns import UpdatePattern
from windrow.core.schema import PLAIN_TYPES, Field, Schema, Type
from windrow.plan.expressions import Column, Expression, Named
from windrow.plan.nodes.base import STRICT, Node, Unary
from windrow.plan.nodes.relational import Aggregate, GroupBy, OrderKey, Reading, Selection, TopLists
from windrow.plan.nodes.routed import MEMBER
from windrow.plan.nodes.stream_relation import Window
from windrow.plan.nodes.window_specs import RangeWindow, RowsWindow
from windrow.sharing.rules.synopsis_shape import SynopsisKind
from windrow.sharing.schedule import GroupSchedule


@dataclass(frozen=True)
class SlidingGroupBy(Unary):
    """A GROUP BY over the window ``spec`` of its input, which is MONOTONIC; ``spec`` has a slide.

    The UPA strategy makes it of a GROUP BY and the window below it
    (``windrow.plan.rules.use_sub_windows``). With ``merges`` its input are summaries that senders
    made of the tuples, and its keys are their first columns. ``where`` chooses among the tuples of
    a window of rows, which counts all of them.
    """

    keys: tuple[Named, ...]
    aggregates: tuple[Aggregate, ...]
    spec: RangeWindow | RowsWindow
    every_time: bool = False
    merges: bool = False
    where: Expression | None = None
    lists: TopLists | None = None

    @cached_property
    def logical(self) -> GroupBy:
        """The nodes that it stands for."""
        below: Node = Window(self.input, self.spec, span=self.span)
        if self.where is not None:
            below = Selection(below, self.where, span=self.span)
        return GroupBy(
            below, self.keys, self.aggregates, self.every_time, self.lists, span=self.span
        )

    @cached_property
    def schema(self) -> Schema:
        return self.logical.schema

    @property
    def pattern(self) -> UpdatePattern:
        return STRICT


COUNTERS = "COUNTERS"
RANKS = "RANKS"
SKETCHES = "SKETCHES"
BY_VALUE = frozenset({COUNTERS, RANKS, SKETCHES})
"""What takes values in one by one; senders count these, whatever becomes of them."""


@dataclass(frozen=True)
class KeptContent:
    """What an interval keeps of ``argument``: ``COUNT``, ``SUM``, ``MIN`` or ``MAX`` of it, ``VAR``
    (its sum and that of its squares), or ``COUNTERS``, how often each value occurs, or in their
    place values at known ``RANKS`` or a sketch of the set of values (``SKETCHES``).

    Every interval knows how many tuples it is of, so ``COUNT(*)`` is not listed.
    """

    function: str
    argument: Expression
    kind: SynopsisKind


@dataclass(frozen=True)
class PredicateSynopses:
    """The synopses of the tuples that satisfy ``predicate`` (None: all), with one s.

    ``keep`` is how long after the end of a sub-window somebody may still ask for it.
    """

    predicate: Expression | None
    s: int
    contents: tuple[KeptContent, ...]
    keep: int


@dataclass(frozen=True)
class SharedAggregate:
    """An aggregate as it is read: from the synopses ``added`` less those ``subtracted`` (SS4).

    Adding minima and maxima means to take the least and the greatest. The numbers are places in
    ``SharedGroupBy.synopses``. ``parameter`` is the p of QUANTILE. Of one that is APPROXIMATE the
    estimate or an end of its bounds is read.
    """

    function: str
    argument: Expression | None
    type: Type
    added: tuple[int, ...]
    subtracted: tuple[int, ...] = ()
    parameter: float | None = None
    reading: Reading = Reading.EXACT


@dataclass(frozen=True)
class MemberTop:
    """The first ``count`` of a member's rows by ``keys``, which are over its columns, and the
    places of the columns that it shows.
    """

    keys: tuple[OrderKey, ...]
    count: int
    shown: tuple[int, ...]


@dataclass(frozen=True)
class GroupMember:
    """A query: its window and period, what it reads, and what becomes of its groups.

    ``having`` and ``columns`` are over the node's keys and then the query's aggregates. One that
    came while others ran answers after the instant ``since``.
    """

    window: int
    slide: int
    aggregates: tuple[SharedAggregate, ...]
    having: Expression | None
    columns: tuple[Expression, ...]
    since: int | None = None
    top: MemberTop | None = None


@dataclass(frozen=True)
class SharedGroupBy(Unary):
    """Members by number; None is a query that has gone. The input is MONOTONIC.

    The output is a member's number and then columns of ``types``, as many of each as any member
    has: a member's own are in ``slots``, and the others are NULL. With ``merges`` the input are
    summaries that senders made of the tuples. Members and synopses are left out of the text of the
    node: a run goes on from its checkpoint when queries have come or gone. If it is ``ranked``
    there are, or were, members with TOP, and a ``SharedTop`` is above it.
    """

    keys: tuple[Named, ...]
    synopses: tuple[PredicateSynopses, ...] = field(repr=False)
    members: tuple[GroupMember | None, ...] = field(repr=False)
    types: tuple[Type, ...] = field(repr=False)
    merges: bool = False
    ranked: bool = field(default=False, repr=False)
    schedule: GroupSchedule | None = field(default=None, repr=False)
    """When members are executed; None: at the multiples of their slides."""

    @cached_property
    def slots(self) -> tuple[tuple[int, ...], ...]:
        """For each member the places of its columns among those after the number."""
        places = {kind: [i for i, t in enumerate(self.types) if t is kind] for kind in self.types}
        found = []
        for member in self.members:
            left = {kind: iter(at) for kind, at in places.items()}
            columns = () if member is None else member.columns
            found.append(tuple(next(left[c.type]) for c in columns))
        return tuple(found)

    @cached_property
    def schema(self) -> Schema:
        slots = (Field(f"column{i}", kind) for i, kind in enumerate(self.types))
        return Schema((Field(MEMBER, Type.BIGINT), *slots))

    @cached_property
    def arguments(self) -> tuple[Expression, ...]:
        """What aggregates are of, each once."""
        found = (c.argument for store in self.synopses for c in store.contents)
        return tuple(dict.fromkeys(found))

    @cached_property
    def counted_arguments(self) -> tuple[Expression, ...]:
        """Those whose values are taken in one by one, each once."""
        contents = (c for store in self.synopses for c in store.contents)
        return tuple(dict.fromkeys(c.argument for c in contents if c.function in BY_VALUE))

    @cached_property
    def extremes(self) -> tuple[tuple[str, Expression], ...]:
        """MIN or MAX, and of which argument, each once."""
        contents = (c for store in self.synopses for c in store.contents)
        found = ((c.function, c.argument) for c in contents if c.function in ("MIN", "MAX"))
        return tuple(dict.fromkeys(found))

    @property
    def pattern(self) -> UpdatePattern:
        return STRICT


@dataclass(frozen=True)
class SharedTop(Unary):
    """The first rows of members with TOP, and all rows of others; None has none, or has gone.

    ``slots`` are those of the members' columns in the input. Of a member with TOP only the columns
    that it shows come out.
    """

    tops: tuple[MemberTop | None, ...] = field(repr=False)
    slots: tuple[tuple[int, ...], ...] = field(repr=False)

    @classmethod
    def over(cls, groups: SharedGroupBy) -> SharedTop:
        tops = tuple(None if member is None else member.top for member in groups.members)
        return cls(groups, tops, groups.slots)

    @property
    def schema(self) -> Schema:
        return self.input.schema

    @property
    def member(self) -> Column:
        """The number of the member that a row is for."""
        return Column(0, MEMBER, Type.BIGINT)

    @property
    def pattern(self) -> UpdatePattern:
        return STRICT


def slot_types(members: Iterable[GroupMember], known: tuple[Type, ...] = ()) -> tuple[Type, ...]:
    """As many columns of each type as any of the members has, after those that are ``known``."""
    wanted = [[c.type for c in member.columns] for member in members]
    others = {kind for types in (known, *wanted) for kind in types}.difference(PLAIN_TYPES)
    kinds = (*PLAIN_TYPES, *sorted(others, key=lambda kind: kind.value))
    most = {kind: max(types.count(kind) for types in (known, *wanted)) for kind in kinds}
    more = (kind for kind, n in most.items() for _ in range(n - known.count(kind)))
    return (*known, *more)
