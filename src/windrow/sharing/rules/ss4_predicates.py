"""SS4: synopses with other predicates that make up a new query's (Golab 2006, 8.3.3).

A set of predicates is a *subcover* of another predicate if it selects nothing more, a *supercover*
if it selects nothing less, a *cover* if it is both; *disjoint* if no tuple satisfies two of them.
The text also wants each member to be a disjunction of disjoint terms. A synopsis counts a tuple
once, however many of its terms the tuple satisfies, so that is not needed and not asked.

To find which of many predicates make up a new one is the first step of 8.3.3. The smallest set that
fits is sought, since every member is another synopsis to probe; among equally small sets the one
whose members come first. Finding a disjoint cover is the exact cover problem, so the search goes
through sets of one member, of two, and so on up to ``LARGEST_COVER``, and gives up after
``LONGEST_SEARCH`` steps: it then finds nothing, and the query keeps a synopsis of its own.

Each step takes one box that is not covered yet: some member must cover a part of it, so only
members that overlap it are tried.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, combinations
from typing import TypeVar

from windrow.core.thresholds import Threshold
from windrow.sharing.rules.dnf import (
    Predicate,
    Region,
    RegionTooLargeError,
    is_within,
    overlap,
    subtract_region,
)
from windrow.sharing.rules.periodic_query import Contents, PeriodicQuery
from windrow.sharing.rules.ss1_window_lengths import fits_window
from windrow.sharing.rules.ss3_joins import fits_join
from windrow.sharing.rules.synopsis_shape import Reading, SynopsisShape

LARGEST_COVER = 4
"""Members of a cover: probing them must not cost more than the synopsis that they save."""
LONGEST_SEARCH = Threshold(1_000, least=1)

Found = TypeVar("Found")
Members = tuple[int, ...]
"""Places in the sequence of candidates."""


def is_subcover(members: Sequence[Predicate], whole: Predicate) -> bool:
    return all(member.implies(whole) for member in members)


def is_supercover(members: Sequence[Predicate], whole: Predicate) -> bool:
    boxes = chain.from_iterable(member.region for member in members)
    return whole in members or is_within(whole.region, boxes)


def is_cover(members: Sequence[Predicate], whole: Predicate) -> bool:
    return is_subcover(members, whole) and is_supercover(members, whole)


def is_disjoint(members: Sequence[Predicate]) -> bool:
    return all(one.excludes(other) for one, other in combinations(members, 2))


def is_disjoint_cover(members: Sequence[Predicate], whole: Predicate) -> bool:
    return is_cover(members, whole) and is_disjoint(members)


@dataclass(frozen=True)
class Difference:
    """Sums of ``added`` less sums of ``subtracted`` are the sums of the predicate."""

    added: Members
    subtracted: Members


def find_cover(candidates: Sequence[Predicate], whole: Predicate) -> Members | None:
    """A smallest set whose union is ``whole``, members may overlap: for MIN and MAX."""
    return _find(candidates, whole, disjoint=False)


def find_disjoint_cover(candidates: Sequence[Predicate], whole: Predicate) -> Members | None:
    """A smallest set without overlap whose union is ``whole``: for whatever counts tuples."""
    return _find(candidates, whole, disjoint=True)


def _find(candidates: Sequence[Predicate], whole: Predicate, *, disjoint: bool) -> Members | None:
    inside = [i for i, p in enumerate(candidates) if is_subcover([p], whole)]
    if not is_supercover([candidates[i] for i in inside], whole):
        return None
    return _smallest(
        lambda size, search: search.sets(whole.region, inside, size, disjoint=disjoint), candidates
    )


def find_difference(candidates: Sequence[Predicate], whole: Predicate) -> Difference | None:
    """A disjoint supercover, and a disjoint cover of what it has too much: for SUM and COUNT."""
    touching = [i for i, p in enumerate(candidates) if not p.excludes(whole)]

    def differences(size: int, search: _Search) -> Iterator[Difference]:
        for added in search.sets(whole.region, touching, size - 1, disjoint=True):
            surplus: Region = ()
            for i in added:
                surplus += subtract_region(candidates[i].region, whole.region)
            inside = [i for i in search.inside(surplus) if candidates[i].terms]
            room = size - len(added)
            for subtracted in search.sets(surplus, inside, room, disjoint=True):
                yield Difference(added, subtracted)

    return _smallest(differences, candidates)


@dataclass
class _Search:
    candidates: Sequence[Predicate]
    steps: int = 0
    overlaps: dict[tuple[int, int], bool] = field(default_factory=dict)

    def sets(
        self, region: Region, usable: Sequence[int], size: int, *, disjoint: bool = False
    ) -> Iterator[Members]:
        """Sets of at most ``size`` usable members that together contain the region."""
        if not region:
            yield ()
            return
        if size == 0:
            return
        for i in usable:
            self._count()
            member = self.candidates[i]
            if not overlap(region[:1], member.region):
                continue
            rest = subtract_region(region, member.region)
            if rest and size == 1:
                continue
            others = [j for j in usable if j != i and not (disjoint and self._overlap(i, j))]
            for more in self.sets(rest, others, size - 1, disjoint=disjoint):
                yield (i, *more)

    def inside(self, region: Region) -> Iterator[int]:
        """The members within the region."""
        for i, member in enumerate(self.candidates):
            self._count()
            if is_within(member.region, region):
                yield i

    def _overlap(self, i: int, j: int) -> bool:
        pair = (min(i, j), max(i, j))
        if pair not in self.overlaps:
            self._count()
            one, other = (self.candidates[k].region for k in pair)
            self.overlaps[pair] = overlap(one, other)
        return self.overlaps[pair]

    def _count(self) -> None:
        self.steps += 1
        if self.steps > LONGEST_SEARCH.value:
            raise RegionTooLargeError


def _smallest(
    find: Callable[[int, _Search], Iterator[Found]], candidates: Sequence[Predicate]
) -> Found | None:
    search = _Search(candidates)
    try:
        for size in range(1, LARGEST_COVER + 1):
            found = next(find(size, search), None)
            if found is not None:
                return found
    except RegionTooLargeError:
        pass
    return None


def find_relevant(
    contents: Contents, query: PeriodicQuery, shapes: Sequence[SynopsisShape]
) -> Reading | None:
    """The relevant synopses among ``shapes`` and how to combine them, or None.

    Whatever counts tuples needs a disjoint cover of the query's predicate, MIN and MAX any cover,
    and what can be subtracted may also use a disjoint supercover, if what that has too much has a
    disjoint cover. All have the same s and windows at least as long as the query's. The fewest
    synopses are taken, and addition before subtraction. Values at ranks are put together from
    nothing but those of the query's own tuples.
    """
    if contents.depends_on_cut:
        return None
    found = (
        _combine(contents, query, [shape for shape in shapes if shape.s == s])
        for s in sorted({shape.s for shape in shapes}, reverse=True)
    )
    readings = [reading for reading in found if reading is not None]
    return min(readings, key=lambda reading: len(reading.shapes), default=None)


def _combine(
    contents: Contents, query: PeriodicQuery, shapes: Sequence[SynopsisShape]
) -> Reading | None:
    fits = fits_window if len(query.windows) == 1 else fits_join
    usable = [shape for shape in shapes if shape.contents == contents and fits(shape, query)]
    predicates = [shape.predicate for shape in usable]
    whole = query.predicate
    if not whole.region:
        return None
    if not contents.is_duplicate_sensitive:
        cover = find_cover(predicates, whole)
    else:
        cover = find_disjoint_cover(predicates, whole)
    if cover is not None:
        return Reading(contents, tuple(usable[i] for i in sorted(cover)))
    difference = find_difference(predicates, whole) if contents.is_subtractable else None
    if difference is None:
        return None
    return Reading(
        contents,
        tuple(usable[i] for i in sorted(difference.added)),
        tuple(usable[i] for i in sorted(difference.subtracted)),
    )
