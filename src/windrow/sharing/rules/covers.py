"""Covers of a predicate by others: which of them make it up (Golab 2006, 8.3.3).

A set of predicates is a *subcover* of another predicate if it selects nothing more, a *supercover*
if it selects nothing less, a *cover* if it is both; *disjoint* if no tuple satisfies two of them.
The text also wants each member to be a disjunction of disjoint terms. A synopsis counts a tuple
once, however many of its terms the tuple satisfies, so that is not needed and not asked.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, combinations

from windrow.sharing.rules.dnf import Predicate
from windrow.sharing.rules.regions import is_within


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
