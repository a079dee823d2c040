"""Predicates in disjunctive normal form of atoms ``attribute operator constant``.

Golab 2006, 8.3.3, compares terms by their spelling. Here predicates are compared by the tuples that
they select, so ``x < 5 OR x < 9`` and ``x < 9`` are one predicate; where the text's test says yes,
this one does too.

What a predicate selects is a *region*: a set of tuples as a union of boxes, each with one set of
values for each attribute that is restricted. Overlap of two regions is decided pair by pair of
boxes. Containment takes boxes away until nothing is left, which may cut a box into as many pieces
as the other has attributes; with many attributes that grows exponentially (the question is
coNP-complete), so a region may have only ``LARGEST_REGION`` boxes. Beyond that the answer is "not
contained", from which no sharing follows.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from windrow.core.thresholds import Threshold
from windrow.sharing.rules.value_sets import (
    Attribute,
    Constant,
    ValueSet,
    every_value,
    values_where,
)

LARGEST_REGION = Threshold(2_000, least=1)

Box = dict[Attribute, ValueSet]
Region = tuple[Box, ...]


class RegionTooLargeError(Exception):
    """More boxes than ``LARGEST_REGION``: whoever asked takes the careful answer."""


def intersect_boxes(one: Box, other: Box) -> Box | None:
    """What is in both boxes, or None if nothing is."""
    both = {**one, **other}
    for attribute, values in other.items():
        if attribute in one:
            common = one[attribute] & values
            if not common:
                return None
            both[attribute] = common
    return both


def overlap(one: Iterable[Box], other: Region) -> bool:
    return any(_overlap(a, b) for a in one for b in other)


def _overlap(one: Box, other: Box) -> bool:
    return all(values.overlaps(other[a]) for a, values in one.items() if a in other)


def subtract_region(one: Region, other: Iterable[Box]) -> Region:
    """What is in one region and not in the other; raises RegionTooLargeError beyond the limit."""
    left = list(one)
    for box in other:
        left = [piece for whole in left for piece in _without(whole, box)]
        if len(left) > LARGEST_REGION.value:
            raise RegionTooLargeError
    return tuple(left)


def is_within(one: Region, other: Iterable[Box]) -> bool:
    """Whether every tuple of one region is in the other; False if that is too much work to say."""
    boxes = tuple(other)
    if len(boxes) == 1:
        return all(_is_inside(box, boxes[0]) for box in one)
    try:
        return not subtract_region(one, boxes)
    except RegionTooLargeError:
        return False


def _is_inside(one: Box, other: Box) -> bool:
    return all(
        attribute in one and one[attribute].is_subset(values) for attribute, values in other.items()
    )


def _without(whole: Box, box: Box) -> list[Box]:
    """The box without another, as disjoint boxes: for each attribute, what is outside there."""
    if not _overlap(whole, box):
        return [whole]
    pieces = []
    rest = dict(whole)
    for attribute, values in box.items():
        here = rest.get(attribute) or every_value(attribute.order)
        outside = here - values
        if outside:
            pieces.append({**rest, attribute: outside})
        rest[attribute] = here & values
    return pieces


@dataclass(frozen=True)
class Atom:
    """A comparison of an attribute with a constant."""

    attribute: Attribute
    operator: str
    constant: Constant

    def __str__(self) -> str:
        return f"{self.attribute.name} {self.operator} {_literal(self.constant)}"


@dataclass(frozen=True)
class Predicate:
    """A disjunction of ``terms``, each a conjunction of atoms.

    One term without atoms selects everything; no term selects nothing.

    >>> protocol = Attribute("protocol")
    >>> tcp, udp = (any_of(Atom(protocol, "=", name)) for name in ("TCP", "UDP"))
    >>> print(tcp.or_also(udp))
    protocol = 'TCP' OR protocol = 'UDP'
    >>> tcp.implies(tcp.or_also(udp)), tcp.excludes(udp)
    (True, True)
    """

    terms: tuple[tuple[Atom, ...], ...] = ((),)

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return hash(self.terms)

    @cached_property
    def region(self) -> Region:
        boxes = (_box(term) for term in self.terms)
        return tuple(box for box in boxes if box is not None)

    def implies(self, other: Predicate) -> bool:
        """Whether every tuple that satisfies this satisfies the other."""
        return self == other or is_within(self.region, other.region)

    def excludes(self, other: Predicate) -> bool:
        """Whether no tuple satisfies both."""
        return not overlap(self.region, other.region)

    def is_equivalent(self, other: Predicate) -> bool:
        return self == other or (self.implies(other) and other.implies(self))

    @property
    def is_disjoint(self) -> bool:
        """Whether no tuple satisfies two of the terms (8.3.3)."""
        parts = [Predicate((term,)) for term in self.terms]
        return all(a.excludes(b) for i, a in enumerate(parts) for b in parts[:i])

    def or_also(self, *others: Predicate) -> Predicate:
        """The concatenation of predicates, duplicates removed."""
        terms = (term for p in (self, *others) for term in p.terms)
        return Predicate(tuple(dict.fromkeys(terms)))

    def __str__(self) -> str:
        if () in self.terms:
            return "TRUE"
        terms = (" AND ".join(map(str, term)) for term in self.terms)
        return " OR ".join(terms) or "FALSE"


EVERYTHING = Predicate()


def any_of(*atoms: Atom) -> Predicate:
    """The disjunction of some atoms: the form that the text allows."""
    return Predicate(tuple((atom,) for atom in atoms))


def _box(term: tuple[Atom, ...]) -> Box | None:
    box: Box | None = {}
    for atom in term:
        values = values_where(atom.attribute, atom.operator, atom.constant)
        if box is None or not values:
            return None
        box = intersect_boxes(box, {atom.attribute: values})
    return box


def _literal(constant: Constant) -> str:
    if isinstance(constant, bool):
        return str(constant).upper()
    if isinstance(constant, str):
        return "'" + constant.replace("'", "''") + "'"
    return str(constant)
