"""The values of one attribute that satisfy a comparison with a constant, and their algebra.

A set is a sorted row of *cuts*, the places where it begins and ends. A cut lies just below or just
above a value, so open and closed intervals need no cases of their own. NULL satisfies no
comparison; whether a set holds it is kept apart, and only the complement of a set and the set of
an attribute that no comparison mentions do.

What is decided about sets is exact for integers, for booleans and for dense orders. Text and
floating point numbers are treated as dense: two sets may then count as overlapping where no text
lies between their bounds (nothing lies between 'a' and 'a\\0'), and no sharing follows from that.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum

from windrow.core.errors import WindrowError

Constant = int | float | Decimal | str | bool
Cut = tuple[int | Constant, ...]

LOWEST: Cut = (-1,)
HIGHEST: Cut = (1,)


class Order(Enum):
    """How the values of an attribute lie."""

    UNORDERED = "unordered"
    """Only ``=`` and ``<>`` mean something; there are always further values."""
    DENSE = "dense"
    DISCRETE = "discrete"
    """Integers."""
    BOOLEAN = "boolean"


@dataclass(frozen=True)
class Attribute:
    """A column, or an expression by its text."""

    name: str
    order: Order = Order.DENSE

    def __hash__(self) -> int:
        return hash(self.name)  # boxes are looked up by attribute again and again


@dataclass(frozen=True)
class ValueSet:
    """Values between ``cuts[0]`` and ``cuts[1]``, ``cuts[2]`` and ``cuts[3]`` and so on."""

    cuts: tuple[Cut, ...]
    null: bool = False

    def __bool__(self) -> bool:
        return bool(self.cuts) or self.null

    def __and__(self, other: ValueSet) -> ValueSet:
        return ValueSet(
            _combine(self.cuts, other.cuts, lambda a, b: a and b), self.null and other.null
        )

    def __or__(self, other: ValueSet) -> ValueSet:
        return ValueSet(
            _combine(self.cuts, other.cuts, lambda a, b: a or b), self.null or other.null
        )

    def __sub__(self, other: ValueSet) -> ValueSet:
        return ValueSet(
            _combine(self.cuts, other.cuts, lambda a, b: a and not b),
            self.null and not other.null,
        )

    def overlaps(self, other: ValueSet) -> bool:
        if self.null and other.null:
            return True
        mine, theirs = self.cuts, other.cuts
        if not mine or not theirs or mine[-1] <= theirs[0] or theirs[-1] <= mine[0]:
            return False
        return len(mine) == len(theirs) == 2 or bool(_combine(mine, theirs, lambda a, b: a and b))

    def is_subset(self, other: ValueSet) -> bool:
        if self.null and not other.null:
            return False
        mine, theirs = self.cuts, other.cuts
        if not mine:
            return True
        if not theirs or mine[0] < theirs[0] or mine[-1] > theirs[-1]:
            return False
        return len(theirs) == 2 or not _combine(mine, theirs, lambda a, b: a and not b)

    def __contains__(self, value: object) -> bool:
        if value is None:
            return self.null
        assert isinstance(value, Constant)
        place = _cut(value, above=False)
        return sum(cut <= place for cut in self.cuts) % 2 == 1


def every_value(order: Order) -> ValueSet:
    """All values of an attribute, NULL too: what is left where no comparison restricts it."""
    return ValueSet(_domain(order), null=True)


def values_where(attribute: Attribute, operator: str, constant: Constant) -> ValueSet:
    """The values v for which ``v operator constant`` is true.

    >>> age = Attribute("age", Order.DISCRETE)
    >>> values_where(age, "<", 3) & values_where(age, ">", 1) == values_where(age, "=", 2)
    True
    >>> bool(values_where(age, "<", 3) & values_where(age, ">", 2))
    False
    """
    _check(attribute, operator, constant)
    below, above = (_place(attribute.order, constant, above=side) for side in (False, True))
    match operator:
        case "=":
            cuts: tuple[Cut, ...] = (below, above)
        case "<>":
            cuts = (LOWEST, below, above, HIGHEST)
        case "<":
            cuts = (LOWEST, below)
        case "<=":
            cuts = (LOWEST, above)
        case ">":
            cuts = (above, HIGHEST)
        case _:
            cuts = (below, HIGHEST)
    return ValueSet(_combine(cuts, _domain(attribute.order), lambda a, b: a and b))


def _check(attribute: Attribute, operator: str, constant: Constant) -> None:
    where = f"{attribute.name} {operator} {constant!r}"
    if operator not in {"=", "<>", "<", "<=", ">", ">="}:
        raise WindrowError(where=where, expected="one of = <> < <= > >=", found=operator)
    if attribute.order is Order.UNORDERED and operator not in {"=", "<>"}:
        raise WindrowError(where=where, expected="= or <>, without an order", found=operator)
    if isinstance(constant, float | Decimal) and math.isnan(constant):
        raise WindrowError(where=where, expected="a constant with a place", found="NaN")


def _domain(order: Order) -> tuple[Cut, ...]:
    if order is Order.BOOLEAN:
        return (_cut(0, above=False), _cut(2, above=False))
    return (LOWEST, HIGHEST)


def _place(order: Order, constant: Constant, *, above: bool) -> Cut:
    """The cut beside a constant; between integers there is one cut, below the greater."""
    if order in (Order.DISCRETE, Order.BOOLEAN) and not isinstance(constant, str):
        if math.isinf(constant):
            return HIGHEST if constant > 0 else LOWEST
        return _cut(math.floor(constant) + 1 if above else math.ceil(constant), above=False)
    return _cut(constant, above=above)


def _cut(value: Constant, *, above: bool) -> Cut:
    return (0, isinstance(value, str), value, above)


def _combine(
    left: tuple[Cut, ...], right: tuple[Cut, ...], keep: Callable[[bool, bool], bool]
) -> tuple[Cut, ...]:
    """The cuts of what is kept, by one walk along both rows."""
    cuts: list[Cut] = []
    inside = i = j = 0
    while i < len(left) or j < len(right):
        here = min((*left[i : i + 1], *right[j : j + 1]))
        while i < len(left) and left[i] == here:
            i += 1
        while j < len(right) and right[j] == here:
            j += 1
        kept = keep(i % 2 == 1, j % 2 == 1)
        if kept != inside:
            cuts.append(here)
            inside = kept
    return tuple(cuts)
