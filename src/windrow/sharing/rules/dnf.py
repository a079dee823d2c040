"""Predicates in disjunctive normal form of atoms ``attribute operator constant``.

Golab 2006, 8.3.3, compares terms by their spelling. Here predicates are compared by the tuples that
they select, so ``x < 5 OR x < 9`` and ``x < 9`` are one predicate; where the text's test says yes,
this one does too.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from windrow.sharing.rules.regions import Box, Region, intersect_boxes, is_within, overlap
from windrow.sharing.rules.value_sets import Attribute, Constant, values_where


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
