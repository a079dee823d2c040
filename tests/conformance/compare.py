"""Whether two histories of changes say the same: the net change of the bag at every instant."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from tests.conformance.case import Change

Bag = Counter[tuple[Any, ...]]
"""How often each tuple is added (or, below zero, taken away)."""


@dataclass(frozen=True)
class Difference:
    """The first instant at which two histories differ, and what each says there."""

    instant: int
    expected: Bag
    found: Bag

    def __str__(self) -> str:
        return (
            f"first difference at instant {self.instant}\n"
            f"    expected {shown(self.expected)}\n"
            f"    found    {shown(self.found)}"
        )


def changes_of(table: pa.Table) -> list[Change]:
    """The rows of a query's ``changes()``."""
    columns = [column.to_pylist() for column in table.columns]
    return [(at, sign, values) for at, sign, *values in zip(*columns, strict=True)]


def net(changes: Iterable[Change]) -> dict[int, Bag]:
    """The net change at each instant; what cancels out is left out."""
    bags: dict[int, Bag] = {}
    for at, sign, values in changes:
        bags.setdefault(at, Counter())[tuple(values)] += 1 if sign == "+" else -1
    kept = {at: Counter({t: n for t, n in bag.items() if n}) for at, bag in bags.items()}
    return {at: bag for at, bag in kept.items() if bag}


def first_difference(
    expected: dict[int, Bag], found: dict[int, Bag], tolerance: float
) -> Difference | None:
    """The earliest instant whose net changes differ by more than the rounding of floats."""
    nothing: Bag = Counter()
    for at in sorted(expected.keys() | found.keys()):
        left, right = expected.get(at, nothing), found.get(at, nothing)
        if not equal(left, right, tolerance):
            return Difference(at, left, right)
    return None


def equal(expected: Bag, found: Bag, tolerance: float) -> bool:
    """Whether the bags differ only by tuples that cancel within ``tolerance``."""
    rest = Counter(found)
    rest.subtract(expected)
    surplus = [tuple_ for tuple_, n in rest.items() for _ in range(n)]
    missing = [tuple_ for tuple_, n in rest.items() for _ in range(-n)]
    if len(surplus) != len(missing):
        return False
    for tuple_ in surplus:
        partner = next((m for m in missing if close(m, tuple_, tolerance)), None)
        if partner is None:
            return False
        missing.remove(partner)
    return True


def close(left: tuple[Any, ...], right: tuple[Any, ...], tolerance: float) -> bool:
    """Whether two tuples are equal, their floats within a relative ``tolerance``."""
    return len(left) == len(right) and all(
        math.isclose(a, b, rel_tol=tolerance, abs_tol=1e-9)
        if isinstance(a, int | float) and isinstance(b, int | float) and float in (type(a), type(b))
        else a == b
        for a, b in zip(left, right, strict=True)
    )


def shown(bag: Bag, most: int = 8) -> str:
    """A net change as text: ``+(1, 2) -(3, 4) x2``."""
    if not bag:
        return "nothing"
    parts = [
        f"{'+' if n > 0 else '-'}{tuple_}" + (f" x{abs(n)}" if abs(n) > 1 else "")
        for tuple_, n in sorted(bag.items(), key=repr)
    ]
    more = f" and {len(parts) - most} more" if len(parts) > most else ""
    return " ".join(parts[:most]) + more
