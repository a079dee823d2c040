"""For a set of queries: which synopses there are, who reads which, and who may run together.

A plan is a value. ``plan_changes`` makes a new one when a query comes or goes; `describe_plan`
tells it to a reader, for EXPLAIN: who shares what, and from when answers are complete. Golab 2006,
8.2 and 8.3.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

from windrow.core.errors import WindrowError
from windrow.sharing.rules.cs1_equal_windows import share_probe
from windrow.sharing.rules.cs2_one_scan import share_scan
from windrow.sharing.rules.cs3_quotients import share_quotient
from windrow.sharing.rules.cs4_equal_join_windows import share_join_probe
from windrow.sharing.rules.cs5_one_join_scan import share_join_scan
from windrow.sharing.rules.cs6_saved_answers import reuse_answers
from windrow.sharing.rules.cs7_saved_prefixes import reuse_prefixes
from windrow.sharing.rules.cs8_output_streams import output_leaders
from windrow.sharing.rules.periodic_query import Contents, Function, Kept, PeriodicQuery
from windrow.sharing.rules.synopsis_shape import Reading, SynopsisAccess, SynopsisShape

JOINT_RULES: dict[str, Callable[[SynopsisAccess, SynopsisAccess], bool]] = {
    "CS1": share_probe,
    "CS2": share_scan,
    "CS3": share_quotient,
    "CS4": share_join_probe,
    "CS5": share_join_scan,
    "CS6": reuse_answers,
    "CS7": reuse_prefixes,
}


@dataclass(frozen=True)
class Synopsis:
    """A synopsis; its intervals reach back to ``since`` at most; None: to the first tuple.

    Counts that were kept ``beside`` those of another synopsis when a query came for them are in
    the same intervals as that one.
    """

    number: int
    shape: SynopsisShape
    since: int | None = None
    beside: int | None = None

    def held_from(self, now: int | None) -> int | None:
        """The instant after which its intervals hold every tuple; None: it holds all there were."""
        if now is None:
            return None
        shape = self.shape
        oldest = now // shape.s * shape.s - shape.b * shape.s
        return oldest if self.since is None else max(self.since, oldest)


@dataclass(frozen=True)
class Part:
    """One of the contents that a query needs, by the numbers of the synopses that make it up."""

    contents: Contents
    added: tuple[int, ...]
    subtracted: tuple[int, ...] = ()

    @property
    def numbers(self) -> tuple[int, ...]:
        return self.added + self.subtracted


@dataclass(frozen=True)
class Arrival:
    """How a query began that came while others ran: the numbers of synopses that it ``extended``,
    and of those that it ``filled`` from then on. On others that it reads it started (8.2).
    """

    extended: tuple[int, ...] = ()
    filled: tuple[int, ...] = ()


@dataclass(frozen=True)
class Member:
    """A query; its answers are complete from ``complete_from`` on; None: from the first one on.

    One that was there before the first tuple has no ``arrival``.
    """

    query: PeriodicQuery
    parts: tuple[Part, ...]
    complete_from: int | None = None
    arrival: Arrival | None = None

    @property
    def numbers(self) -> tuple[int, ...]:
        return tuple(dict.fromkeys(n for part in self.parts for n in part.numbers))


@dataclass(frozen=True)
class SharingPlan:
    """Synopses and the queries that read them; ``made`` counts all that there ever were."""

    synopses: tuple[Synopsis, ...] = ()
    members: tuple[Member, ...] = ()
    made: int = 0

    def member(self, name: str) -> Member:
        for member in self.members:
            if member.query.name == name:
                return member
        raise WindrowError(
            where="the sharing plan",
            expected=f"one of {', '.join(m.query.name for m in self.members) or 'no queries'}",
            found=name,
        )

    def synopsis(self, number: int) -> Synopsis:
        return self._numbered[number]

    def readers(self, number: int) -> tuple[Member, ...]:
        """Who reads a synopsis."""
        return tuple(self._readers.get(number, ()))

    def access(self, member: Member) -> SynopsisAccess:
        """The member with the shapes of its synopses."""

        def shapes(numbers: Sequence[int]) -> tuple[SynopsisShape, ...]:
            return tuple(self.synopsis(number).shape for number in numbers)

        readings = (
            Reading(p.contents, shapes(p.added), shapes(p.subtracted)) for p in member.parts
        )
        return SynopsisAccess(member.query, tuple(readings))

    @cached_property
    def _readers(self) -> dict[int, list[Member]]:
        readers: dict[int, list[Member]] = {}
        for member in self.members:
            for number in member.numbers:
                readers.setdefault(number, []).append(member)
        return readers

    @cached_property
    def _numbered(self) -> dict[int, Synopsis]:
        return {synopsis.number: synopsis for synopsis in self.synopses}

    @cached_property
    def _accesses(self) -> dict[str, SynopsisAccess]:
        return {member.query.name: self.access(member) for member in self.members}

    def joint_rules(self, one: Member, other: Member) -> tuple[str, ...]:
        """The rules by which two queries may run together."""
        if not set(one.numbers) & set(other.numbers):
            return ()
        first, second = (self._accesses[m.query.name] for m in (one, other))
        return tuple(name for name, rule in JOINT_RULES.items() if rule(first, second))

    @cached_property
    def groups(self) -> tuple[tuple[Member, ...], ...]:
        """The groups G1, G2, ... of 8.4.3: queries that may run together if they are due together.

        In each, those that read one synopsis come first, the shorter windows before the longer, and
        those that combine the answers of others after them: the order of joint execution.
        """
        leader = {member.query.name: member.query.name for member in self.members}

        def find(name: str) -> str:
            while leader[name] != name:
                leader[name] = leader[leader[name]]
                name = leader[name]
            return name

        for readers in self._readers.values():
            for one, other in combinations(readers, 2):
                first, second = find(one.query.name), find(other.query.name)
                if first != second and self.joint_rules(one, other):
                    leader[max(first, second)] = min(first, second)
        groups: dict[str, list[Member]] = {}
        for member in self.members:
            groups.setdefault(find(member.query.name), []).append(member)
        return tuple(tuple(sorted(group, key=self.turn)) for group in groups.values())

    def turn(self, member: Member) -> tuple[int, int, str]:
        """The place of a query in a joint execution: see ``groups``."""
        widest = max(len(part.numbers) for part in member.parts)
        return widest, member.query.window, member.query.name


SHOWN = 5
"""Names that are written out."""


def describe_plan(
    plan: SharingPlan,
    instant: Callable[[int], str] = str,
    ticks: Callable[[int], str] = "{:,}".format,
) -> str:
    """Synopses and who reads them, queries and what they read, groups.

    ``instant`` writes a time, ``ticks`` a length of time.
    """
    lines = []
    for synopsis in plan.synopses:
        readers = ", ".join(member.query.name for member in plan.readers(synopsis.number))
        lines.append(f"{_shape(synopsis, ticks)}; read by {readers}")
    leaders = output_leaders(member.query for member in plan.members)
    for member in plan.members:
        lines.append(f"{member.query.name}: {'; '.join(_facts(member, instant))}")
        if member.query.name in leaders:
            lines[-1] += f"; takes the answers of {leaders[member.query.name]} (CS8)"
    lines += list(_groups(plan))
    return "\n".join(lines)


def describe_member(
    plan: SharingPlan,
    name: str,
    instant: Callable[[int], str] = str,
    ticks: Callable[[int], str] = "{:,}".format,
) -> list[str]:
    """What one query reads and by which rules, who else reads that, how it began and from when its
    answers are complete, and who runs with it."""
    member = plan.member(name)
    lines = []
    for number in member.numbers:
        others = [m.query.name for m in plan.readers(number) if m is not member]
        shared = f"shared with {_names(others)}" if others else "read by nobody else"
        lines.append(f"{_shape(plan.synopsis(number), ticks)}; {shared}")
    lines.append(f"{'; '.join(_facts(member, instant))} ({', '.join(_rules(member))})")
    together: dict[str, list[str]] = {}
    for number in member.numbers:
        for other in plan.readers(number):
            if other is not member:
                for rule in plan.joint_rules(member, other):
                    together.setdefault(rule, []).append(other.query.name)
    for rule, names in sorted(together.items()):
        lines.append(f"when they are due together it runs with {_names(names)} ({rule})")
    leader = output_leaders(m.query for m in plan.members).get(name)
    if leader is not None:
        lines.append(f"its answers are among those of {leader} (CS8)")
    return lines


def _names(names: Sequence[str]) -> str:
    """Some names; of very many the first."""
    known = list(dict.fromkeys(names))
    more = len(known) - SHOWN
    return ", ".join(known[:SHOWN]) + (f" and {more:,} more" if more > 0 else "")


def _shape(synopsis: Synopsis, ticks: Callable[[int], str]) -> str:
    beside = "" if synopsis.beside is None else f", kept beside synopsis {synopsis.beside}"
    return f"synopsis {synopsis.number}: {synopsis.shape.describe(ticks)}{beside}"


def _rules(member: Member) -> Iterator[str]:
    """The rules by which synopses serve a query."""
    query = member.query
    yield "SS1" if len(query.windows) == 1 else "SS3"
    if any(aggregate.function is Function.AVG for aggregate in query.aggregates):
        yield "SS2"
    if any(len(part.numbers) > 1 for part in member.parts):
        yield "SS4"


def _facts(member: Member, instant: Callable[[int], str]) -> Iterator[str]:
    for part in member.parts:
        yield f"{part.contents} from {_sum(part)}"
    if member.arrival is not None:
        yield _beginning(member, member.arrival)
    if member.complete_from is None:
        yield "complete at once"
    else:
        yield f"complete from {instant(member.complete_from)} on"


def _beginning(member: Member, arrival: Arrival) -> str:
    """What a query that came later did with each of its synopses."""
    own = (*arrival.extended, *arrival.filled)
    started = tuple(number for number in member.numbers if number not in own)
    ways = {"starts on": started, "extends": arrival.extended, "fills": arrival.filled}
    *said, last = (f"{way} {_numbered(numbers)}" for way, numbers in ways.items() if numbers)
    return f"it {', '.join(said)}{' and ' if said else ''}{last}"


def _numbered(numbers: Sequence[int]) -> str:
    noun = "synopsis" if len(numbers) == 1 else "synopses"
    return f"{noun} {', '.join(map(str, numbers))}"


def _sum(part: Part) -> str:
    if part.contents.kept in (Kept.MIN, Kept.MAX) and len(part.added) > 1:
        word = "least" if part.contents.kept is Kept.MIN else "greatest"
        return f"the {word} of synopses {', '.join(map(str, part.added))}"
    text = " + ".join(f"synopsis {number}" for number in part.added)
    return text + "".join(f" - synopsis {number}" for number in part.subtracted)


def _groups(plan: SharingPlan) -> Iterator[str]:
    for i, group in enumerate((g for g in plan.groups if len(g) > 1), 1):
        rules = {
            rule
            for k, one in enumerate(group)
            for other in group[:k]
            for rule in plan.joint_rules(one, other)
        }
        names = ", ".join(member.query.name for member in group)
        yield f"group {i}: {names} may run together ({', '.join(sorted(rules))})"
