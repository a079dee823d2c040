"""Queries come and go over a stream; answers come from the plan's synopses, as the schedule says.

Each answer is made from intervals that the plan keeps, and nothing else, and compared with the
tuples of its window at the instant that its execution claims. What the plan calls complete is so.
"""

from __future__ import annotations

import random
from collections import Counter
from itertools import count
from typing import Any

import pytest

from tests.sharing.rules.queries import OF_U, TCP, UDP, query
from windrow.sharing.rules import (
    EVERYTHING,
    Contents,
    Function,
    Kept,
    PeriodicQuery,
    Predicate,
    SharingPlan,
    add_query,
    drop_query,
    plan_queries,
)
from windrow.sharing.rules.sharing_plan import Member, Part
from windrow.sharing.schedule import POLICIES, LocalScheduler, sub_groups

Row = tuple[int, str, str, int]
"""An instant, a protocol, a user and a length."""
PREDICATES = (EVERYTHING, TCP, UDP, OF_U, TCP.or_also(UDP), TCP.or_also(OF_U))
FUNCTIONS = tuple(Function)


def satisfies(predicate: Predicate, row: Row) -> bool:
    values = {"protocol": row[1], "user": row[2]}
    return any(all(values[a.attribute.name] == a.constant for a in t) for t in predicate.terms)


def summary(contents: Contents, lengths: list[int]) -> Any:
    match contents.kept:
        case Kept.SUM:
            return sum(lengths)
        case Kept.COUNT:
            return len(lengths)
        case Kept.MIN:
            return min(lengths, default=None)
        case Kept.MAX:
            return max(lengths, default=None)
        case _:
            return Counter(lengths)


def merged(contents: Contents, parts: list[Any]) -> Any:
    if contents.kept in (Kept.SUM, Kept.COUNT):
        return sum(parts)
    if contents.kept in (Kept.MIN, Kept.MAX):
        choose = min if contents.kept is Kept.MIN else max
        return choose((p for p in parts if p is not None), default=None)
    return sum(parts, Counter())


class Executor:
    """Keeps intervals as the plan says, and runs what the schedulers give, as time allows."""

    def __init__(self, policy: str, seed: int) -> None:
        self.policy, self.choose = policy, random.Random(seed)
        self.rows: list[Row] = []
        self.plan = SharingPlan()
        self.intervals: dict[int, dict[int, Any]] = {}
        self.schedulers: dict[int, LocalScheduler] = {}
        self.names = (f"q{i}" for i in count())
        self.checked = Counter[str]()

    def follow(self, plan: SharingPlan, now: int) -> None:
        self.plan = plan
        numbers = {synopsis.number for synopsis in plan.synopses}
        self.intervals = {n: self.intervals.get(n, {}) for n in numbers}
        tasks = sub_groups(plan)
        self.schedulers = {s: c for s, c in self.schedulers.items() if s in tasks}
        for s, found in tasks.items():
            if s in self.schedulers:
                self.schedulers[s].replace_queries(found)
            else:
                self.schedulers[s] = LocalScheduler(found, POLICIES[self.policy](), now)

    def update(self, now: int) -> None:
        for synopsis in self.plan.synopses:
            shape = synopsis.shape
            if now % shape.s == 0 and (synopsis.since is None or now > synopsis.since):
                new = [
                    row[3]
                    for row in self.rows
                    if now - shape.s < row[0] <= now and satisfies(shape.predicate, row)
                ]
                kept = self.intervals[synopsis.number]
                kept[now] = summary(shape.contents, new)
                for end in [end for end in kept if end <= now - shape.b * shape.s]:
                    del kept[end]
        for s, scheduler in self.schedulers.items():
            if now % s == 0:
                scheduler.update(now)

    def run(self) -> None:
        for scheduler in self.schedulers.values():
            while self.choose.random() < 0.6:
                execution = scheduler.next_execution(early=self.choose.random() < 0.2)
                if execution is None:
                    break
                for each in execution.queries:
                    self.check(self.plan.member(each.name), execution.instant)
                scheduler.finish(execution)

    def check(self, member: Member, instant: int) -> None:
        begin = member.complete_from
        if begin is not None and instant < begin:
            self.checked["incomplete"] += 1
            return
        wanted = member.query
        lengths = [
            row[3]
            for row in self.rows
            if instant - wanted.window < row[0] <= instant and satisfies(wanted.predicate, row)
        ]
        for part in member.parts:
            answer = self.answer(part, wanted, instant)
            assert answer == summary(part.contents, lengths), (wanted, instant)
        self.checked["combined" if len(member.parts[0].numbers) > 1 else "alone"] += 1

    def answer(self, part: Part, wanted: PeriodicQuery, instant: int) -> Any:
        added, subtracted = (
            merged(part.contents, [self.probe(n, part.contents, wanted, instant) for n in numbers])
            for numbers in (part.added, part.subtracted)
        )
        return added - subtracted if part.subtracted else added

    def probe(self, number: int, contents: Contents, wanted: PeriodicQuery, instant: int) -> Any:
        s = self.plan.synopsis(number).shape.s
        ends = range(instant - wanted.window + s, instant + 1, s)
        kept = self.intervals[number]
        return merged(contents, [kept[end] for end in ends if end in kept or end > 0])

    def random_query(self) -> PeriodicQuery:
        return query(
            next(self.names),
            self.choose.choice(FUNCTIONS),
            self.choose.randint(1, 12),
            self.choose.randint(1, 6),
            self.choose.choice(PREDICATES),
            priority=self.choose.randint(0, 2),
        )


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("seed", range(3))
def test_every_answer_is_that_of_its_window_at_the_instant_it_claims(
    policy: str, seed: int
) -> None:
    system = Executor(policy, seed)
    choose = system.choose
    system.follow(plan_queries(system.random_query() for _ in range(6)), 0)
    for now in range(1, 160):
        for _ in range(choose.randint(0, 3)):
            row = (
                now,
                choose.choice(["TCP", "UDP", "ICMP"]),
                choose.choice("UV"),
                choose.randint(1, 9),
            )
            system.rows.append(row)
        system.update(now)
        system.run()
        if choose.random() < 0.2:
            system.follow(add_query(system.plan, system.random_query(), now), now)
        if len(system.plan.members) > 10:
            gone = choose.choice(system.plan.members).query.name
            system.follow(drop_query(system.plan, gone), now)
    assert system.checked["alone"] > 100
    assert system.checked["incomplete"]


def test_some_of_those_answers_are_combined_from_several_synopses() -> None:
    system = Executor("late-pending", 0)
    asked = [
        query(next(system.names), f, w, 2, p)
        for f in (Function.SUM, Function.MAX)
        for w in (4, 8)
        for p in (TCP, UDP, TCP.or_also(UDP), OF_U, TCP.or_also(OF_U))
    ]
    system.follow(plan_queries(asked), 0)
    for now in range(1, 60):
        system.rows.append((now, system.choose.choice(["TCP", "UDP"]), "U", now % 7))
        system.update(now)
        system.run()
    assert system.checked["combined"] > 20
