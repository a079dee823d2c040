"""What can be done to the indexes of a wave index, and what each operation leaves behind.

An index is known here by its name and its *time-set*, the days it covers (Shivakumar,
Garcia-Molina 1997, 2.2). Constituents, which answer queries, are ``I1`` to ``In``;
every other name is a temporary index that no query sees.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise

from windrow.archive.errors import SchemeError

Days = tuple[int, ...]
"""A time-set: days in ascending order, each once."""


@dataclass(frozen=True)
class Build:
    """``target`` becomes a packed index of exactly ``days``, whatever it held before.

    Without days it becomes an empty index, to be added to.
    """

    target: str
    days: Days

    def __str__(self) -> str:
        return f"{self.target} <- " + (f"BuildIndex({_set(self.days)})" if self.days else "{}")


@dataclass(frozen=True)
class Add:
    """``days``, none of which ``target`` has, are added to it incrementally."""

    target: str
    days: Days

    def __str__(self) -> str:
        return f"AddToIndex({_set(self.days)}, {self.target})"


@dataclass(frozen=True)
class Delete:
    """``days``, all of which ``target`` has, are deleted from it incrementally."""

    target: str
    days: Days

    def __str__(self) -> str:
        return f"DeleteFromIndex({_set(self.days)}, {self.target})"


@dataclass(frozen=True)
class Copy:
    """``target`` becomes a copy of ``source``, whatever it held before."""

    source: str
    target: str

    def __str__(self) -> str:
        return f"{self.target} <- {self.source}"


@dataclass(frozen=True)
class Rename:
    """``source`` is from now on called ``target``; what was called so before is dropped."""

    source: str
    target: str

    def __str__(self) -> str:
        return f"Rename {self.source} as {self.target}"


@dataclass(frozen=True)
class Drop:
    """``target`` is thrown away whole, at no cost for its size."""

    target: str

    def __str__(self) -> str:
        return f"Drop {self.target}"


@dataclass(frozen=True)
class Pack:
    """``target`` is rewritten as a packed index of the same days.

    Not one of the paper's operations, and no scheme's: an update technique asks for it.
    """

    target: str

    def __str__(self) -> str:
        return f"Pack {self.target}"


Operation = Build | Add | Delete | Copy | Rename | Drop | Pack


@dataclass(frozen=True)
class Step:
    """What one day asks for, in the order in which it has to happen.

    ``before`` needs nothing of the new day, so it can be done while its data is still
    awaited; ``transition`` is what lies between the arrival of the data and its being
    queryable; ``after`` prepares temporary indexes for later days. Queries see a step
    whole or not at all: what ``before`` does to a constituent shows with the transition.
    The data of every day but the new one is in a constituent as the step finds them.
    """

    before: tuple[Operation, ...] = ()
    transition: tuple[Operation, ...] = ()
    after: tuple[Operation, ...] = ()

    @property
    def operations(self) -> tuple[Operation, ...]:
        return self.before + self.transition + self.after


def apply_all(indexes: Mapping[str, Days], operations: Iterable[Operation]) -> dict[str, Days]:
    """The time-sets after operations; refuses one that does not fit what is there."""
    after = dict(indexes)
    for operation in operations:
        _apply(after, operation)
    return after


def join_days(held: Days, more: Days) -> Days:
    """A time-set and days that it has not; they are nearly always later ones."""
    return held + more if not held or held[-1] < more[0] else tuple(sorted(held + more))


def _apply(after: dict[str, Days], operation: Operation) -> None:
    if isinstance(operation, Build):
        after[operation.target] = (
            _require_order(operation.days, operation) if operation.days else ()
        )
    elif isinstance(operation, Add):
        held = _days_of(after, operation.target, operation)
        days = _require_order(operation.days, operation)
        fits = not held or held[-1] < days[0] or not set(held) & set(days)
        _check(fits, "days that it does not have", held, operation)
        after[operation.target] = join_days(held, days)
    elif isinstance(operation, Delete):
        held = _days_of(after, operation.target, operation)
        gone = set(_require_order(operation.days, operation))
        _check(gone <= set(held), "days that it has", held, operation)
        after[operation.target] = tuple(day for day in held if day not in gone)
    elif isinstance(operation, Copy):
        after[operation.target] = _days_of(after, operation.source, operation)
    elif isinstance(operation, Rename):
        after[operation.target] = _days_of(after, operation.source, operation)
        del after[operation.source]
    elif isinstance(operation, Pack):
        _days_of(after, operation.target, operation)
    else:
        _days_of(after, operation.target, operation)
        del after[operation.target]


def _days_of(indexes: Mapping[str, Days], name: str, operation: Operation) -> Days:
    if name not in indexes:
        raise SchemeError(
            where=str(operation),
            expected=f"an index called {name}",
            found=", ".join(indexes) or "no index",
            remedy="apply operations in the order in which the scheme gives them",
        )
    return indexes[name]


def _require_order(days: Days, operation: Operation) -> Days:
    fits = bool(days) and all(a < b for a, b in pairwise(days))
    _check(fits, "one or more days in ascending order", days, operation)
    return days


def _check(fits: bool, expected: str, found: Days, operation: Operation) -> None:
    if not fits:
        raise SchemeError(where=str(operation), expected=expected, found=_set(found))


def _set(days: Days) -> str:
    return "{" + ", ".join(map(str, days)) + "}"
