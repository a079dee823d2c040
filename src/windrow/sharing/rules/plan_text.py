"""A sharing plan as text, for EXPLAIN: who shares what, and from when answers are complete."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from windrow.sharing.rules.cs8_output_streams import output_leaders
from windrow.sharing.rules.interval_contents import Function, Kept
from windrow.sharing.rules.sharing_plan import Member, Part, SharingPlan

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
        lines.append(
            f"synopsis {synopsis.number}: {synopsis.shape.describe(ticks)}; read by {readers}"
        )
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
    """What one query reads and by which rules, who else reads that, and who runs with it."""
    member = plan.member(name)
    lines = []
    for number in member.numbers:
        others = [m.query.name for m in plan.readers(number) if m is not member]
        shared = f"shared with {_names(others)}" if others else "read by nobody else"
        lines.append(f"synopsis {number}: {plan.synopsis(number).shape.describe(ticks)}; {shared}")
    combined = any(len(part.numbers) > 1 for part in member.parts)
    average = any(a.function is Function.AVG for a in member.query.aggregates)
    rules = ["SS1", *(["SS2"] if average else []), *(["SS4"] if combined else [])]
    lines.append(f"{'; '.join(_facts(member, instant))} ({', '.join(rules)})")
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


def _facts(member: Member, instant: Callable[[int], str]) -> Iterator[str]:
    for part in member.parts:
        yield f"{part.contents} from {_sum(part)}"
    if member.complete_from is None:
        yield "complete at once"
    else:
        yield f"complete from {instant(member.complete_from)} on"


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
