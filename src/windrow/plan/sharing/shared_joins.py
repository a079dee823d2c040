"""Aggregates over one join whose windows differ in length only, as one plan for all of them.

Queries ``SELECT a.k, COUNT(*) FROM a [RANGE T SLIDE s], b [RANGE T SLIDE s] WHERE a.k = b.k GROUP
BY a.k`` with different T have results in common: those of a shorter window are some of the longest
one's. So the join is done once, over the longest windows, and its results are kept in synopses by
expiry, from which every length is answered (Golab 2006, 8.3.2, rules SS3 and CS5). Each query has
the answer that it would have had alone.

Both windows of a query are equally long, a multiple of s: those with two lengths would need a
generalised synopsis, and to know which side of a result is how old, which a result does not say.
Aggregates are COUNT, and SUM, AVG, MIN and MAX of integers. What could fail (CAST) stays alone,
since it may fail for results that only the longest windows have.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

from windrow.core.schema import Type
from windrow.core.time import Clock
from windrow.plan.catalog import QueryDeclaration
from windrow.plan.expressions import Column, Expression, Named, render, shift_columns
from windrow.plan.nodes import (
    GroupBy,
    Join,
    JoinLengths,
    Node,
    Projection,
    Selection,
    StreamScan,
    Window,
    walk,
)
from windrow.plan.nodes.rebuild import map_inputs, without_spans
from windrow.plan.nodes.routed import MEMBER
from windrow.plan.nodes.window_specs import RangeWindow
from windrow.plan.sharing.shared_synopses import may_fail
from windrow.sharing.rules import Aggregate, Function, PeriodicQuery
from windrow.sharing.rules.cs5_one_join_scan import share_join_scan
from windrow.sharing.rules.ss3_joins import serves_join
from windrow.sharing.rules.synopsis_shape import (
    Reading,
    SynopsisAccess,
    SynopsisKind,
    SynopsisShape,
)

FEWEST = 2
"""Queries that are worth a common join: even two do it once instead of twice."""
OF_INTEGERS = ("SUM", "AVG", "MIN", "MAX")


@dataclass(frozen=True)
class SharedJoin:
    """One plan for several queries, which are told apart by its first column."""

    plan: Node
    queries: tuple[QueryDeclaration, ...]

    @cached_property
    def names(self) -> frozenset[str]:
        return frozenset(query.name for query in self.queries)

    @property
    def title(self) -> str:
        """What the queries are called together."""
        first, *others = self.queries
        return f"{first.name} and {len(others):,} more" if others else first.name

    @cached_property
    def groups(self) -> JoinLengths:
        return next(node for node in walk(self.plan) if isinstance(node, JoinLengths))


@dataclass(frozen=True)
class _Candidate:
    """A query over a join of two windows of one ``length`` that slide by ``s``."""

    query: QueryDeclaration
    groups: GroupBy
    length: int
    s: int

    @property
    def description(self) -> PeriodicQuery:
        """For the rules: the join is known by its text."""
        schema = self.groups.input.schema
        aggregates = tuple(
            Aggregate(
                Function[a.function],
                None if a.argument is None else render(a.argument, schema),
            )
            for a in self.groups.aggregates
        )
        keys = tuple(render(key.expression, schema) for key in self.groups.keys)
        source = repr(_with_length(self.groups.input, 0))
        windows = (self.length, self.length)
        return PeriodicQuery(self.query.name, source, aggregates, windows, self.s, group_by=keys)


def shared_joins(
    queries: Sequence[QueryDeclaration], fewest: int = FEWEST
) -> tuple[SharedJoin, ...]:
    """The groups among the queries, each of ``fewest`` members or more."""
    families: dict[tuple[Clock, Node], list[_Candidate]] = {}
    for query in queries:
        found = _candidate(query)
        if found is not None:
            plan = _with_length(query.plan, 0)
            families.setdefault((query.clock, plan), []).append(found)
    return tuple(
        _group(family)
        for family in families.values()
        if len(family) >= fewest and _shares_one_scan(family)
    )


def family_and_length(query: QueryDeclaration) -> tuple[str, int] | None:
    """What queries have in common that share a join, as a text, and how long its windows are."""
    found = _candidate(query)
    if found is None:
        return None
    return f"{query.clock} {_with_length(without_spans(query.plan), 0)!r}", found.length


def join_for_lengths(
    queries: Sequence[QueryDeclaration], longest: int, lengths: tuple[int, ...]
) -> SharedJoin:
    """The group of queries of one family over a join of the ``longest`` windows; ``lengths`` are by
    number, 0 of those that have gone."""
    first = _candidate(queries[0])
    assert first is not None
    return SharedJoin(_plan_of(first, longest, lengths), tuple(queries))


def _shares_one_scan(family: Sequence[_Candidate]) -> bool:
    """Whether a BIJ of the longest windows serves all (SS3), in one scan (CS5)."""
    longest = max(family, key=lambda each: each.length)
    asked = longest.description
    shapes = [
        SynopsisShape(
            SynopsisKind.BIJ, asked.source, contents, longest.s, longest.length // longest.s,
            group_by=asked.group_by,
        )
        for contents in asked.needs
    ]  # fmt: skip
    readings = tuple(Reading(shape.contents, (shape,)) for shape in shapes)
    first = SynopsisAccess(asked, readings)
    return all(
        all(serves_join(shape, each.description) for shape in shapes)
        and share_join_scan(first, SynopsisAccess(each.description, readings))
        for each in family
    )


def _candidate(query: QueryDeclaration) -> _Candidate | None:
    """The query as a possible member; None if it has to run alone."""
    node = query.plan
    while isinstance(node, Selection | Projection):
        node = node.input
    if not isinstance(node, GroupBy) or node.every_time or node.lists is not None:
        return None
    if not node.aggregates or not all(map(_is_kept, node.aggregates)):
        return None
    below = node.input
    while isinstance(below, Selection | Projection):
        below = below.input
    if not isinstance(below, Join):
        return None
    specs = {_spec(side) for side in below.inputs}
    spec = specs.pop()
    if specs or spec is None or any(map(may_fail, _expressions(query.plan))):
        return None
    assert spec.slide is not None
    return _Candidate(query, node, spec.length, spec.slide)


def _is_kept(aggregate: object) -> bool:
    """Whether an aggregate is one of values that a sub-window is summarised to."""
    function, argument = getattr(aggregate, "function", ""), getattr(aggregate, "argument", None)
    if getattr(aggregate, "distinct", False) or not getattr(aggregate, "exact", False):
        return False
    if function == "COUNT":
        return True
    return function in OF_INTEGERS and argument is not None and argument.type.integral


def _spec(side: Node) -> RangeWindow | None:
    """The window of a side of the join, over columns and selections of a stream."""
    if not isinstance(side, Window) or not isinstance(side.spec, RangeWindow):
        return None
    spec, below = side.spec, side.input
    while isinstance(below, Selection | Projection):
        below = below.input
    if not isinstance(below, StreamScan) or spec.slide is None or spec.internal:
        return None
    return spec if spec.length % spec.slide == 0 else None


def _expressions(plan: Node) -> Iterator[Expression]:
    """All that is computed."""
    for node in walk(plan):
        match node:
            case Selection(predicate=predicate):
                yield predicate
            case Projection(columns=columns):
                yield from (column.expression for column in columns)
            case GroupBy(keys=keys, aggregates=aggregates):
                yield from (key.expression for key in keys)
                yield from (a.argument for a in aggregates if a.argument is not None)
            case Join(left_keys=left, right_keys=right, residual=residual):
                yield from (*left, *right, *(() if residual is None else (residual,)))


def _with_length(node: Node, length: int) -> Node:
    """The plan with windows of another length."""
    if isinstance(node, Window) and isinstance(node.spec, RangeWindow):
        return replace(node, spec=replace(node.spec, length=length))
    return map_inputs(node, lambda child: _with_length(child, length))


def _group(family: Sequence[_Candidate]) -> SharedJoin:
    longest = max(each.length for each in family)
    lengths = tuple(each.length for each in family)
    plan = _plan_of(family[0], longest, lengths)
    return SharedJoin(plan, tuple(each.query for each in family))


def _plan_of(candidate: _Candidate, longest: int, lengths: tuple[int, ...]) -> Node:
    s, whole = candidate.s, _with_length(candidate.query.plan, longest)
    return _widen(whole, partial(JoinLengths, s=s, longest=longest, lengths=lengths))


def _widen(node: Node, make: Callable[..., JoinLengths]) -> Node:
    """The plan with the number of a member in front, from its groups on."""
    member = Named(MEMBER, Column(0, MEMBER, Type.BIGINT))
    match node:
        case GroupBy():
            return make(node.input, node.keys, node.aggregates)
        case Selection():
            below = _widen(node.input, make)
            return replace(node, input=below, predicate=shift_columns(node.predicate, 1))
        case Projection():
            columns = tuple(
                replace(c, expression=shift_columns(c.expression, 1)) for c in node.columns
            )
            return replace(node, input=_widen(node.input, make), columns=(member, *columns))
    raise AssertionError(f"{type(node).__name__} above the groups of a join")
