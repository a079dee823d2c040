"""What the schemes share: their state, their contract, how days are first spread out and prepared.

Both REINDEX++ (Shivakumar, Garcia-Molina 1997, 3.4) and RATA (3.6) need, by the day on which
a cluster begins to expire, one temporary index fewer than it has days. That work falls into
chunks, each of which indexes one day, and can be done while the cluster before it expires.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from typing import Any, Protocol

from windrow.archive.errors import SchemeError
from windrow.archive.wave.operations import Build, Days, Operation, Step, apply_all

Indexes = tuple[tuple[str, Days], ...]
"""Names and time-sets, in the order of the names' numbers."""


@dataclass(frozen=True)
class State:
    """The time-sets of all indexes once ``day``, the newest, is in.

    Everything a scheme decides follows from this, so it is all that has to be kept.
    """

    window: int
    day: int
    constituents: Indexes
    temporaries: Indexes = ()

    @property
    def days(self) -> Days:
        """All days that a query can see, expired ones of a soft window among them."""
        return tuple(sorted(day for _, days in self.constituents for day in days))

    @property
    def expired_days(self) -> Days:
        """The days that a query can see although the window has left them behind."""
        return tuple(day for day in self.days if day <= self.day - self.window)

    @property
    def indexes(self) -> dict[str, Days]:
        return dict(self.constituents + self.temporaries)

    def holder(self, day: int) -> str:
        """The constituent that covers ``day``."""
        for name, days in self.constituents:
            if day in days:
                return name
        raise SchemeError(
            where=f"day {day}",
            expected="a day that a constituent covers",
            found=f"days {self.days[0]} to {self.days[-1]}",
        )

    def to_json(self) -> dict[str, Any]:
        return {
            "window": self.window,
            "day": self.day,
            "constituents": {name: list(days) for name, days in self.constituents},
            "temporaries": {name: list(days) for name, days in self.temporaries},
        }

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> State:
        named = {**value["constituents"], **value["temporaries"]}
        days = {name: tuple(map(int, days)) for name, days in named.items()}
        return state_of(int(value["window"]), int(value["day"]), days)


class Scheme(Protocol):
    """A way to keep a window of days in n constituents: a pure state machine.

    ``hard`` schemes show exactly the last ``window`` days, soft ones some expired ones as
    well. ``fewest`` is the least n that the scheme can work with.
    """

    @property
    def name(self) -> str: ...

    @property
    def hard(self) -> bool: ...

    @property
    def fewest(self) -> int: ...

    def start(self, window: int, n: int, first_day: int = 1) -> tuple[State, Step]:
        """Index the first ``window`` days, ``first_day`` and those after it.

        An archive that has no past yet starts with as many empty days before its first.
        """
        ...

    def advance(self, state: State, day: int) -> tuple[State, Step]:
        """Take in ``day``, the one after ``state.day``; a day without data is an empty day."""
        ...


def check(scheme: Scheme, window: int, n: int) -> None:
    """Refuse a window or a number of constituents that the scheme cannot keep."""
    where = f"{scheme.name} with a window of {window} days in {n} constituents"
    if window < 1:
        raise SchemeError(where=where, expected="a window of at least one day", found=str(window))
    if n < 1:
        raise SchemeError(where=where, expected="at least one constituent", found=str(n))
    if n > window:
        raise SchemeError(
            where=where,
            expected=f"at most {window} constituents, one for each day",
            found=str(n),
            remedy="a constituent without a day has nothing to index: take a smaller n",
        )
    if n < scheme.fewest:
        raise SchemeError(
            where=where,
            expected=f"at least {scheme.fewest} constituents",
            found=str(n),
            remedy="a constituent is thrown away once all its days have expired, and a single "
            "one, to which every new day is added, never is: take "
            + ("n = 2 or more, or DEL" if window > 1 else "DEL, as a day has room for one only"),
        )


def require_next(scheme: Scheme, state: State, day: int) -> int:
    """``day`` if it is the one that comes next; the day that expires with it is ``day - W``."""
    if day != state.day + 1:
        raise SchemeError(
            where=f"{scheme.name}, day {day}",
            expected=f"day {state.day + 1}, the one after the newest",
            found=str(day),
            remedy="advance one day at a time, with empty days where there is no data",
        )
    return day


def clusters(days: range, parts: int) -> list[Days]:
    """Consecutive days cut into ``parts`` as equal as can be, the longer ones first."""
    size, longer = divmod(len(days), parts)
    ends = [size * (i + 1) + min(i + 1, longer) for i in range(parts)]
    return [tuple(days[a:b]) for a, b in zip([0, *ends], ends, strict=False)]


def start_scheme(
    scheme: Scheme,
    window: int,
    n: int,
    first_day: int,
    cut: Callable[[range, int], list[Days]] = clusters,
    after: Callable[[list[Days]], tuple[Operation, ...]] = lambda _: (),
) -> tuple[State, Step]:
    """A constituent for each cluster into which the first window is cut, and what comes after."""
    check(scheme, window, n)
    days = range(first_day, first_day + window)
    parts = cut(days, n)
    builds = tuple(Build(f"I{number}", part) for number, part in enumerate(parts, start=1))
    return make_step(State(window, days[-1], ()), days[-1], builds, after=after(parts))


def state_of(window: int, day: int, indexes: dict[str, Days]) -> State:
    """The state with these indexes; a name of I and a number is a constituent's."""
    ordered = sorted(indexes.items(), key=lambda item: _order(item[0]))
    seen = tuple(item for item in ordered if is_constituent(item[0]))
    unseen = tuple(item for item in ordered if not is_constituent(item[0]))
    return State(window, day, seen, unseen)


@lru_cache(maxsize=4096)
def is_constituent(name: str) -> bool:
    return name[0] == "I" and name[1:].isdigit()


def make_step(
    state: State,
    day: int,
    transition: tuple[Operation, ...],
    *,
    before: tuple[Operation, ...] = (),
    after: tuple[Operation, ...] = (),
) -> tuple[State, Step]:
    """The step, and the state that its operations lead to from ``state``."""
    step = Step(before, transition, after)
    return state_of(state.window, day, apply_all(state.indexes, step.operations)), step


@lru_cache(maxsize=4096)
def _order(name: str) -> tuple[str, int]:
    letters = name.rstrip("0123456789")
    return letters, int(name[len(letters) :] or 0)


Chunk = tuple[Operation, ...]
"""Operations that index one day between them; each chunk builds on the ones before it."""


def due_today(chunks: list[Chunk], done: int, days_left: int) -> tuple[Operation, ...]:
    """What today has to do so that the rest fits evenly into the ``days_left``, today among them.

    One chunk a day if the cluster before is at most one day shorter, as clusters are.
    """
    left = len(chunks) - done
    share = -(-left // days_left)
    return flatten(chunks[done : done + share])


def flatten(chunks: Iterable[Chunk]) -> tuple[Operation, ...]:
    return tuple(chain.from_iterable(chunks))
