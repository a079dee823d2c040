"""A query comes or goes: the plan that follows (Golab 2006, 8.2).

A query that comes starts at once on synopses that fit; else it extends one whose window is too
short, and waits until that holds enough; else it fills one of its own. SS1 to SS3 are always
applied; SS4 where no synopsis has the query's own predicate. A query that goes takes with it only
what nobody else reads. Every interval knows how many tuples it is of, and a sum how many values, so
a query that comes for counts finds them *beside* whatever else is kept of its tuples.

Several queries get one s that fits all of them where that costs little space. A synopsis with an s
that divides the windows and periods of several queries serves them all (SS1), but a small s means
many intervals. Two sets of queries are given one s if its synopsis has at most ``DEAREST`` times
the intervals that their two had. The text has one s given. A query whose answers need an s of its
own (values at ranks) has that, and the others choose among themselves.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, combinations

from windrow.core.errors import WindrowError
from windrow.core.time import FOREVER
from windrow.sharing.rules.periodic_query import Contents, PeriodicQuery
from windrow.sharing.rules.sharing_plan import Arrival, Member, Part, SharingPlan, Synopsis
from windrow.sharing.rules.ss1_window_lengths import serves_window
from windrow.sharing.rules.ss3_joins import serves_join
from windrow.sharing.rules.ss4_predicates import find_relevant
from windrow.sharing.rules.synopsis_shape import Reading, SynopsisShape, cheapest_kind

DEAREST = 2
"""The seven queries of 8.4.3 have 21 intervals with periods of their own, and 30 in one synopsis,
which one scan answers."""
UNMADE = 0
"""The number of a synopsis that could be made."""


@dataclass(frozen=True)
class _Class:
    """Queries with one s."""

    s: int
    longest: int

    @property
    def b(self) -> int:
        return self.longest // self.s

    def merge(self, other: _Class) -> _Class:
        return _Class(math.gcd(self.s, other.s), max(self.longest, other.longest))


def choose_grains(queries: Sequence[PeriodicQuery]) -> tuple[int, ...]:
    """The s of each query's synopses.

    >>> from windrow.sharing.rules.periodic_query import Aggregate, Function
    >>> median = (Aggregate(Function.QUANTILE, "length", 0.5),)
    >>> def query(window, slide):
    ...     return PeriodicQuery(f"{window}/{slide}", "S", median, (window,), slide)
    >>> choose_grains([query(10, 2), query(14, 3)])
    (1, 1)
    >>> choose_grains([query(1000, 100), query(21, 7)])
    (100, 7)
    """
    classes = _by_grain([query for query in queries if not query.has_one_grain])
    while True:
        merges = [
            (one.b + other.b - one.merge(other).b, one, other)
            for one, other in combinations(classes, 2)
            if one.merge(other).b <= DEAREST * (one.b + other.b)
        ]
        if not merges:
            break
        _, one, other = max(merges, key=lambda merge: merge[0])
        classes = [c for c in classes if c not in (one, other)]
        classes.append(one.merge(other))
        classes.sort(key=lambda c: -c.s)
    return tuple(
        query.grain if query.has_one_grain else max(c.s for c in classes if query.fits(c.s))
        for query in queries
    )


def _by_grain(queries: Sequence[PeriodicQuery]) -> list[_Class]:
    longest: dict[int, int] = {}
    for query in queries:
        longest[query.grain] = max(longest.get(query.grain, 0), query.window)
    return [_Class(s, longest[s]) for s in sorted(longest, reverse=True)]


def plan_queries(queries: Iterable[PeriodicQuery], s: int | None = None) -> SharingPlan:
    """The plan of queries that begin together, before the first tuple.

    Simple predicates come first, so that synopses exist from which others can be made up; long
    windows before short ones. The order in which the queries are given makes no difference. With
    ``s`` all synopses are updated every s ticks, which divides all windows and periods.
    """
    families: dict[tuple[str, tuple[str, ...], int], list[PeriodicQuery]] = {}
    for query in sorted(queries, key=_canonical):
        families.setdefault((query.source, query.group_by, len(query.windows)), []).append(query)
    plan = SharingPlan()
    for family in families.values():
        grains = choose_grains(family) if s is None else (s,) * len(family)
        for query, grain in zip(family, grains, strict=True):
            plan = _add(plan, query, None, [grain])
    return _with_cheapest_kinds(plan)


def add_query(plan: SharingPlan, query: PeriodicQuery, now: int | None = None) -> SharingPlan:
    """The plan with one query more, which comes at ``now`` (None: before the first tuple)."""
    known = {synopsis.shape.s for synopsis in plan.synopses}
    grains = [s for s in sorted(known, reverse=True) if query.fits(s)]
    grains += [query.grain] if query.grain not in known else []
    added = _add(plan, query, now, grains)
    return _with_cheapest_kinds(added, {*added.members[-1].numbers})


def drop_query(plan: SharingPlan, name: str) -> SharingPlan:
    """The plan without a query: what others read stays, and only as long as they need it."""
    gone = plan.member(name)
    members = tuple(member for member in plan.members if member is not gone)
    rest = replace(plan, members=members)
    kept = [synopsis for synopsis in plan.synopses if rest.readers(synopsis.number)]
    numbers = {synopsis.number for synopsis in kept}
    shrunk = (_shrink(synopsis, rest.readers(synopsis.number)) for synopsis in kept)
    alone = tuple(s if s.beside in numbers else replace(s, beside=None) for s in shrunk)
    return _with_cheapest_kinds(replace(rest, synopses=alone))


def _canonical(query: PeriodicQuery) -> tuple[object, ...]:
    predicate = query.predicate
    return (
        query.source,
        len(predicate.terms),
        str(predicate),
        -query.window,
        query.slide,
        query.name,
    )


@dataclass(frozen=True)
class _Choice:
    """One way to give a query what it needs: a plan with the synopses, and the member."""

    plan: SharingPlan
    member: Member

    def rank(self, before: SharingPlan) -> tuple[float, int, int]:
        """Complete early first, then few new synopses, then few to probe."""
        return (
            _turn(self.member.complete_from),
            self.plan.made - before.made,
            len(self.member.numbers),
        )


def _add(
    plan: SharingPlan, query: PeriodicQuery, now: int | None, grains: Sequence[int]
) -> SharingPlan:
    if any(member.query.name == query.name for member in plan.members):
        raise WindrowError(
            where=f"query {query.name}", message="there is a query of this name already"
        )
    choices = (_choice(plan, query, now, s) for s in grains)
    best = min(choices, key=lambda choice: choice.rank(plan))
    return replace(best.plan, members=(*best.plan.members, best.member))


@dataclass(frozen=True)
class _Supply:
    """One of the contents that a query needs: a plan that has it, and from when it is complete."""

    plan: SharingPlan
    part: Part
    complete_from: int | None
    extended: tuple[int, ...] = ()
    filled: tuple[int, ...] = ()


def _choice(plan: SharingPlan, query: PeriodicQuery, now: int | None, s: int) -> _Choice:
    """All that the query needs from synopses with one s, so that all its answers are aligned."""
    found: list[_Supply] = []
    for contents in query.needs:
        found.append(_supply(plan, query, contents, now, s))
        plan = found[-1].plan
    begins = [supply.complete_from for supply in found if supply.complete_from is not None]
    arrival = None
    if now is not None:
        extended, filled = (
            tuple(dict.fromkeys(chain.from_iterable(numbers)))
            for numbers in zip(*((supply.extended, supply.filled) for supply in found), strict=True)
        )
        arrival = Arrival(extended, filled)
    parts = tuple(supply.part for supply in found)
    return _Choice(plan, Member(query, parts, max(begins, default=None), arrival))


def _supply(
    plan: SharingPlan, query: PeriodicQuery, contents: Contents, now: int | None, s: int
) -> _Supply:
    """One of the contents: from a synopsis, from several, or from one of its own.

    Where several would do, those that are complete first are taken.
    """

    def complete_from(synopsis: Synopsis) -> int | None:
        return _complete_from(synopsis.held_from(now), query, now)

    offered: dict[SynopsisShape, Synopsis] = {}
    for synopsis in sorted(_offers(plan, contents, now, s), key=lambda o: _turn(complete_from(o))):
        offered.setdefault(_long_enough(synopsis.shape, query.window // s), synopsis)
    reading = _read(query, contents, tuple(offered))
    if reading is None:
        return _supply_own(plan, query, contents, now, s)
    begins: list[int] = []
    numbers: dict[SynopsisShape, int] = {}
    extended = []
    for shape in reading.shapes:
        synopsis = offered[shape]
        held, begin = synopsis.held_from(now), complete_from(synopsis)
        begins += [] if begin is None else [begin]
        if synopsis.number == UNMADE:
            synopsis = replace(synopsis, number=plan.made + 1)
            plan = replace(plan, synopses=(*plan.synopses, synopsis), made=synopsis.number)
        numbers[shape] = synopsis.number
        if shape != synopsis.shape:
            extended.append(synopsis.number)
            longer = replace(synopsis, shape=shape, since=held)
            plan = replace(
                plan,
                synopses=tuple(longer if old is synopsis else old for old in plan.synopses),
            )
    added, subtracted = (
        tuple(numbers[shape] for shape in shapes) for shapes in (reading.added, reading.subtracted)
    )
    part = Part(contents, added, subtracted)
    return _Supply(plan, part, max(begins, default=None), tuple(extended))


def _offers(plan: SharingPlan, contents: Contents, now: int | None, s: int) -> Iterator[Synopsis]:
    """The synopses of some contents, and then those that could be made of what is kept beside
    others; before the first tuple nothing is."""
    fitting = [synopsis for synopsis in plan.synopses if synopsis.shape.s == s]
    yield from (synopsis for synopsis in fitting if synopsis.shape.contents == contents)
    for synopsis in fitting if now is not None else ():
        shape = synopsis.shape
        if contents.is_kept_beside(shape.contents) and not shape.kind.is_over_join:
            kind = cheapest_kind(contents, shape.b, 1, over_join=False)
            counts = replace(shape, kind=kind, contents=contents)
            yield Synopsis(UNMADE, counts, synopsis.since, beside=synopsis.number)


def _turn(complete_from: int | None) -> float:
    """Complete at once comes first."""
    return float("-inf") if complete_from is None else complete_from


def _long_enough(shape: SynopsisShape, b: int) -> SynopsisShape:
    """The shape after extending; one that tells sides of a join apart (g > 0) stays as it is."""
    return shape if shape.g else replace(shape, b=max(shape.b, b))


def _read(
    query: PeriodicQuery, contents: Contents, shapes: tuple[SynopsisShape, ...]
) -> Reading | None:
    serves = serves_window if len(query.windows) == 1 else serves_join
    own = next((shape for shape in shapes if serves(shape, query)), None)
    if own is not None:
        return Reading(contents, (own,))
    return find_relevant(contents, query, shapes)


def _supply_own(
    plan: SharingPlan, query: PeriodicQuery, contents: Contents, now: int | None, s: int
) -> _Supply:
    over_join = len(query.windows) == 2
    b = query.window // s
    shape = SynopsisShape(
        cheapest_kind(contents, b, 1, over_join=over_join),
        query.source,
        contents,
        s,
        b,
        b - min(query.windows) // s,
        query.predicate,
        query.group_by,
    )
    since = None if now is None else -(-now // s) * s
    synopsis = Synopsis(plan.made + 1, shape, since)
    plan = replace(plan, synopses=(*plan.synopses, synopsis), made=plan.made + 1)
    part = Part(contents, (synopsis.number,))
    complete = _complete_from(since, query, now)
    return _Supply(plan, part, complete, filled=(synopsis.number,))


def _complete_from(held: int | None, query: PeriodicQuery, now: int | None) -> int | None:
    """The instant of the first answer for which all of the window is held; None if that is the
    first one after ``now``."""
    if held is None or now is None:
        return None
    slide = query.slide
    complete = min(-(-(held + query.window) // slide) * slide, FOREVER)
    return None if complete <= (now // slide + 1) * slide else complete


def _shrink(synopsis: Synopsis, readers: Sequence[Member]) -> Synopsis:
    shape = synopsis.shape
    b = max(member.query.window for member in readers) // shape.s
    unequal = [m.query.windows for m in readers if len(set(m.query.windows)) == 2]
    g = max((b - min(windows) // shape.s for windows in unequal), default=0)
    return replace(synopsis, shape=replace(shape, b=b, g=g))


def _with_cheapest_kinds(plan: SharingPlan, changed: Collection[int] | None = None) -> SharingPlan:
    """Each synopsis, or those that have ``changed``, as the kind that suits its readers; one kind
    is made from the other at once."""

    def as_suits(synopsis: Synopsis) -> Synopsis:
        if changed is not None and synopsis.number not in changed:
            return synopsis
        shape = synopsis.shape
        readers = len(plan.readers(synopsis.number))
        kind = cheapest_kind(shape.contents, shape.b, readers, over_join=shape.kind.is_over_join)
        return replace(synopsis, shape=replace(shape, kind=kind))

    return replace(plan, synopses=tuple(map(as_suits, plan.synopses)))
