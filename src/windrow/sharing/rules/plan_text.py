"""A sharing plan as text, for EXPLAIN: who shares what, and from when answers are complete."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from windrow.sharing.rules.cs8_output_streams import output_leaders
from windrow.sharing.rules.interval_contents import Kept
from windrow.sharing.rules.sharing_plan import Member, Part, SharingPlan


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
