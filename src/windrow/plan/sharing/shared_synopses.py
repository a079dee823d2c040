"""Periodic aggregates over one stream and by the same keys, as one plan over shared synopses.

Queries ``SELECT src, SUM(bytes) FROM flows [RANGE 60 SECONDS SLIDE 5 SECONDS] WHERE ... GROUP BY
src`` with other windows, periods, aggregates and predicates summarise the same tuples. The rules of
sharing (Golab 2006, 8.3) say which synopses are kept for all of them; here that becomes a
``SharedGroupBy``, whose output says in its first column whose row it is. Each query has the answer
that it would have had alone.

QUANTILE and COUNT DISTINCT share counters of values, or sketches if they are APPROXIMATE; TOP is a
``SharedTop`` above all of them. Left alone is what the nodes cannot do: streams above the groups,
and whatever could fail (CAST), since the error of one query must not stop the others.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from windrow.core.schema import Type
from windrow.core.thresholds import Threshold
from windrow.core.time import Clock
from windrow.plan.catalog import QueryDeclaration
from windrow.plan.expressions import (
    Call,
    Column,
    Expression,
    Named,
    conjunction,
    render,
    replace_columns,
)
from windrow.plan.nodes import Every, Node, Projection, Selection, StreamScan, TopK
from windrow.plan.nodes.sub_window_groups import (
    COUNTERS,
    RANKS,
    SKETCHES,
    GroupMember,
    KeptContent,
    MemberTop,
    PredicateSynopses,
    SharedAggregate,
    SharedGroupBy,
    SharedTop,
    slot_types,
)
from windrow.plan.sharing.periodic_aggregates import TakenApart, find_parts
from windrow.plan.sharing.saved_group import longest_asked, without_others
from windrow.plan.sharing.shared_selection import shared_selections
from windrow.sharing.rules import (
    Kept,
    PeriodicQuery,
    Predicate,
    SharingPlan,
    SynopsisShape,
    add_query,
    drop_query,
    plan_queries,
)
from windrow.sharing.rules.periodic_query import AND_SQUARES

FEWEST = 2
"""Queries that are worth a common job: even two scan the stream once instead of twice."""
MOST_PREDICATES = Threshold(64, least=1)
"""More queries than this that differ in their predicates only are left to an index over these
(``shared_selection``): it finds those that a tuple satisfies without trying each."""
KEPT_AS = {
    Kept.COUNT: "COUNT",
    Kept.SUM: "SUM",
    Kept.MIN: "MIN",
    Kept.MAX: "MAX",
    Kept.COUNTERS: COUNTERS,
    Kept.QUANTILE_SKETCH: RANKS,
    Kept.DISTINCT_SKETCH: SKETCHES,
}
WIDENING = {(Type.INT, Type.BIGINT), (Type.FLOAT, Type.DOUBLE)}


@dataclass(frozen=True)
class Shareable:
    """A query that can be a member, over the columns of its stream."""

    query: QueryDeclaration
    parts: TakenApart
    keys: tuple[Expression, ...]
    having: Expression | None
    columns: tuple[Expression, ...]
    top: MemberTop | None = None

    @property
    def scan(self) -> StreamScan:
        scan = self.parts.source.scan
        return replace(scan, columns=scan.columns.with_qualifier(None), span=None)

    @property
    def description(self) -> PeriodicQuery:
        return self.parts.description


@dataclass(frozen=True)
class SharedSynopses:
    """One plan for several periodic aggregates, told apart by its first column.

    A query's number is its place in ``queries``, where those that have ``gone`` stay. ``sharing``
    says who reads which synopsis, and ``places`` where each of these is among the node's.
    """

    plan: SharedGroupBy
    queries: tuple[QueryDeclaration, ...]
    sharing: SharingPlan
    places: Mapping[int, int]
    gone: frozenset[int] = frozenset()

    @cached_property
    def names(self) -> frozenset[str]:
        return frozenset(query.name for query in self.present.values())

    @property
    def present(self) -> dict[int, QueryDeclaration]:
        """The queries that have not gone, by number."""
        return {n: query for n, query in enumerate(self.queries) if n not in self.gone}

    @property
    def root(self) -> SharedGroupBy | SharedTop:
        """The plan with TOP above it, if members have that or had it."""
        return SharedTop.over(self.plan) if self.plan.ranked else self.plan

    def shown_slots(self, number: int) -> tuple[int, ...]:
        """Where the columns of a query are in the plan, its number left out."""
        slots, member = self.plan.slots[number], self.plan.members[number]
        top = None if member is None else member.top
        return slots if top is None else tuple(slots[place] for place in top.shown)

    @property
    def title(self) -> str:
        """What the queries are called together."""
        first, *others = self.present.values()
        return f"{first.name} and {len(others):,} more" if others else first.name


def shared_synopses(
    queries: Sequence[QueryDeclaration], fewest: int = FEWEST
) -> tuple[SharedSynopses, ...]:
    """The groups among the queries, each of ``fewest`` members or more."""
    families: dict[tuple[Clock, StreamScan, tuple[Expression, ...]], list[Shareable]] = {}
    for query in queries:
        member = shareable(query)
        if member is not None:
            families.setdefault((query.clock, member.scan, member.keys), []).append(member)
    parts = (family if fewest == 1 else _few_predicates(family) for family in families.values())
    return tuple(_group(family) for family in parts if len(family) >= fewest)


def _few_predicates(family: list[Shareable]) -> list[Shareable]:
    """Without those that an index serves better."""
    if len({member.description.predicate for member in family}) <= MOST_PREDICATES.value:
        return family
    indexed = shared_selections([m.query for m in family], fewest=MOST_PREDICATES.value + 1)
    names = {name for group in indexed for name in group.names}
    return [member for member in family if member.query.name not in names]


def shareable(query: QueryDeclaration) -> Shareable | None:
    """The query as a possible member; None if it has to run alone."""
    found = judge(query)
    return found if isinstance(found, Shareable) else None


def judge(query: QueryDeclaration) -> Shareable | str | None:
    """The query as a possible member, or the reason why it is none; None if it has no groups that
    are answered periodically.
    """
    parts = find_parts(query)
    if not isinstance(parts, TakenApart):
        return parts
    arguments = _arguments(parts)
    if parts.description.has_one_grain and parts.window % parts.slide:
        return "its ranks are of sub-windows that others do not have: SLIDE does not divide RANGE"
    own = [parts.source.resolve(key.expression) for key in parts.groups.keys]
    keys = tuple(sorted(dict.fromkeys(own), key=render))
    row: list[Expression] = [_column(keys.index(key), key.type) for key in own]
    for number, field in enumerate(list(parts.groups.schema)[len(own) :], len(keys)):
        row.append(_column(number, field.type))
    finish = _finish(parts.above, tuple(row))
    if finish is None:
        return "only HAVING, TOP and a choice of columns can be above its groups"
    having, columns, top = finish
    everything = (*keys, *arguments.values(), *columns)
    everything += () if top is None else tuple(key.expression for key in top.keys)
    everything += tuple(e for e in (having, parts.source.where) if e is not None)
    if any(map(may_fail, everything)):
        return "a CAST or a Python function that fails would stop the others"
    return Shareable(query, parts, keys, having, columns, top)


def _arguments(parts: TakenApart) -> dict[str, Expression]:
    """The arguments of aggregates by their text, as the rules know them."""
    found = (a.argument for a in parts.groups.aggregates if a.argument is not None)
    resolved = (parts.source.resolve(argument) for argument in found)
    return {render(argument): argument for argument in resolved}


def _finish(
    above: Sequence[Node], row: tuple[Expression, ...]
) -> tuple[Expression | None, tuple[Expression, ...], MemberTop | None] | None:
    """HAVING, the columns over the row of a group, and TOP; None if something else is above it.

    Above TOP columns may be left out and change places, no more.
    """
    having: tuple[Expression, ...] = ()
    top: MemberTop | None = None
    for node in reversed(above):
        match node:
            case Selection() if top is None:
                having += (_over(node.predicate, row),)
            case Projection() if top is None:
                row = tuple(_over(c.expression, row) for c in node.columns)
            case Projection() if top is not None:
                plain = [c.expression for c in node.columns if isinstance(c.expression, Column)]
                if len(plain) < len(node.columns):
                    return None
                top = replace(top, shown=tuple(top.shown[column.index] for column in plain))
            case TopK() if top is None and not node.in_groups:
                top = MemberTop(node.keys, node.count, tuple(range(len(row))))
            case Every():
                pass
            case _:
                return None
    return conjunction(having), row, top


def _over(expression: Expression, row: tuple[Expression, ...]) -> Expression:
    return replace_columns(expression, lambda column: row[column.index])


def _column(index: int, kind: Type) -> Column:
    return Column(index, f"column{index}", kind)


def may_fail(expression: Expression) -> bool:
    """Whether there are values for which it is an error."""
    if not isinstance(expression, Call):
        return False
    if "@" in expression.function:  # the user's own
        return True
    if expression.function == "cast" and not _is_widening(expression.args[0].type, expression.type):
        return True
    return any(map(may_fail, expression.args))


def _is_widening(given: Type, wanted: Type) -> bool:
    """Whether every value of a type is one of the other, if rounded."""
    return (given, wanted) in WIDENING or (given.is_decimal and wanted is Type.DOUBLE)


def _group(family: Sequence[Shareable]) -> SharedSynopses:
    sharing = plan_queries(member.description for member in family)
    stores = _Stores(family, sharing)
    keys = tuple(Named(f"key{i}", key) for i, key in enumerate(family[0].keys))
    members = tuple(stores.member(member) for member in family)
    plan = SharedGroupBy(
        family[0].scan, keys, tuple(stores.synopses()), members, slot_types(members),
        ranked=any(member.top is not None for member in members),
    )  # fmt: skip
    return SharedSynopses(plan, tuple(m.query for m in family), sharing, stores.places)


def with_query(
    group: SharedSynopses, query: QueryDeclaration, now: int | None
) -> SharedSynopses | None:
    """The group with one query more, which comes at ``now``, or before the first tuple if that is
    None. None if it does not belong to the group.

    It starts at once on synopses that hold enough, extends one that is too short, or fills its own
    (Golab 2006, 8.2). Synopses that there are keep their places.
    """
    member = shareable(query)
    keys = tuple(key.expression for key in group.plan.keys)
    clock = group.queries[0].clock
    if member is None or (query.clock, member.scan, member.keys) != (clock, group.plan.input, keys):
        return None
    if member.top is not None and not group.plan.ranked:
        return None  # nobody ranks what the others are told
    sharing = add_query(group.sharing, member.description, now)
    stores = _Stores([member], sharing, group)
    added = replace(stores.member(member), since=now)
    plan = replace(
        group.plan,
        synopses=tuple(stores.synopses()),
        members=(*group.plan.members, added),
        types=slot_types([added], group.plan.types),
    )
    queries = (*group.queries, query)
    return replace(group, plan=plan, queries=queries, sharing=sharing, places=stores.places)


def without_queries(group: SharedSynopses, names: Collection[str]) -> SharedSynopses:
    """The group without some queries: what others read stays (Golab 2006, 8.2)."""
    sharing = group.sharing
    for name in names:
        sharing = drop_query(sharing, name)
    left = {n for n, query in group.present.items() if query.name not in names}
    plan = without_others(group.plan, left, sharing, group.places)
    gone = frozenset(range(len(group.queries))) - left
    return replace(group, plan=plan, sharing=sharing, gone=gone)


class _Stores:
    """The synopses of a plan by predicate and s, and what members read of them.

    What is ``known`` already stays where it is, and new synopses come after it.
    """

    def __init__(
        self,
        members: Sequence[Shareable],
        sharing: SharingPlan,
        known: SharedSynopses | None = None,
    ) -> None:
        self._sharing, self._known = sharing, () if known is None else known.plan.synopses
        self._arguments: dict[str, Expression] = (
            {} if known is None else {render(a): a for a in known.plan.arguments}
        )
        self._predicates: dict[Predicate, Expression | None] = {}
        for member in members:
            self._arguments |= _arguments(member.parts)
            predicate = member.description.predicate
            self._predicates.setdefault(predicate, member.parts.source.where)
        self._read_by = {m.query.name: m for m in sharing.members}
        self.places: dict[int, int] = {} if known is None else dict(known.places)
        new: dict[tuple[Predicate, int], int] = {}
        for synopsis in sharing.synopses:
            if synopsis.number not in self.places:
                shape = synopsis.shape
                if synopsis.beside is not None:
                    place = self.places[synopsis.beside]
                else:
                    place = new.setdefault((shape.predicate, shape.s), len(self._known) + len(new))
                self.places[synopsis.number] = place

    def synopses(self) -> Iterator[PredicateSynopses]:
        for place in range(max(len(self._known), *(p + 1 for p in self.places.values()))):
            here = [
                (synopsis.number, synopsis.shape)
                for synopsis in self._sharing.synopses
                if self.places[synopsis.number] == place
            ]
            contents = tuple(
                self._content(shape) for _, shape in here if shape.contents.argument is not None
            )
            keep = longest_asked(self._sharing, (number for number, _ in here))
            if place < len(self._known):  # what nobody reads any more stays in its summaries
                kinds = {(c.function, c.argument): c.kind for c in contents}
                known = self._known[place]
                held = (
                    replace(c, kind=kinds.get((c.function, c.argument), c.kind))
                    for c in known.contents
                )
                yield replace(known, contents=tuple(held), keep=keep)
            else:
                shape = here[0][1]
                predicate = self._predicates[shape.predicate]
                yield PredicateSynopses(predicate, shape.s, contents, keep)

    def _content(self, shape: SynopsisShape) -> KeptContent:
        kept, argument = KEPT_AS[shape.contents.kept], shape.contents.argument or ""
        if argument.endswith(AND_SQUARES):
            kept, argument = "VAR", argument.removesuffix(AND_SQUARES)
        return KeptContent(kept, self._arguments[argument], shape.kind)

    def member(self, member: Shareable) -> GroupMember:
        described = member.description
        parts = {part.contents: part for part in self._read_by[described.name].parts}
        types = [f.type for f in member.parts.groups.schema][len(member.parts.groups.keys) :]
        aggregates = []
        readings = [aggregate.reading for aggregate in member.parts.groups.aggregates]
        for aggregate, kind, reading in zip(described.aggregates, types, readings, strict=True):
            part = parts[aggregate.needs[0]]  # of AVG that of the sum
            argument = None if aggregate.argument is None else self._arguments[aggregate.argument]
            aggregates.append(
                SharedAggregate(
                    aggregate.function.value,
                    argument,
                    kind,
                    tuple(self.places[number] for number in part.added),
                    tuple(self.places[number] for number in part.subtracted),
                    aggregate.parameter,
                    reading,
                )
            )
        return GroupMember(
            member.parts.window, member.parts.slide, tuple(aggregates), member.having,
            member.columns, top=member.top,
        )  # fmt: skip
