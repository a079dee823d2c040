"""The local scheduler: the time lines of 8.4, and the pseudo-code run beside it."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.sharing.schedule.groups import names, seven_queries, task
from windrow.core.errors import WindrowError
from windrow.sharing.schedule import (
    POLICIES,
    Aggressive,
    Conservative,
    Execution,
    Hybrid,
    LatePending,
    LateSharing,
    LocalScheduler,
    NoSharing,
    SchedulePolicy,
    Task,
    TimedQuery,
)
from windrow.sharing.schedule.simulation import simulate

G1, G2, G3 = "Q1 Q2 Q3", "Q4 Q5", "Q6 Q7"


def at_no_cost(policy: SchedulePolicy, updates: int = 10) -> list[tuple[int, str]]:
    """The schedule of the seven queries if executing takes no time."""
    ran = simulate(LocalScheduler(seven_queries(), policy), updates, lambda _: 0)
    return [(each.execution.instant, names(each.execution)) for each in ran]


def test_time_until_deadline_of_a_query_with_slide_two() -> None:
    (only,) = tasks = (task(1, 2, "Q"),)
    scheduler = LocalScheduler(tasks, NoSharing())
    seen = [scheduler.until_deadline(only)]
    for instant in (1, 2):
        scheduler.update(instant)
        seen.append(scheduler.until_deadline(only))
    execution = scheduler.next_execution()
    assert execution is not None
    scheduler.finish(execution)
    assert [*seen, scheduler.until_deadline(only)] == [2, 1, 0, 2]
    assert execution.instant == 2


def test_figure_8_1_two_queries_meet_every_six_minutes_or_run_together() -> None:
    tasks = (task(1, 2, "Q1", cost=9), task(1, 3, "Q2", cost=13))
    apart = simulate(LocalScheduler(tasks, Conservative()), 6, lambda _: 0)
    assert [(r.execution.instant, names(r.execution)) for r in apart] == [
        (2, "Q1"), (3, "Q2"), (4, "Q1"), (6, "Q1 Q2"),
    ]  # fmt: skip
    always = simulate(LocalScheduler(tasks, Aggressive()), 6, lambda _: 0)
    assert [(r.execution.instant, names(r.execution)) for r in always] == [
        (2, "Q1 Q2"), (4, "Q1 Q2"), (6, "Q1 Q2"),
    ]  # fmt: skip


def test_figure_8_6_a_aggressive_runs_all_seven_every_two_minutes() -> None:
    assert at_no_cost(Aggressive()) == [(t, f"{G1} {G2} {G3}") for t in (2, 4, 6, 8, 10)]


def test_figure_8_6_b_conservative_runs_together_what_is_due_together() -> None:
    assert at_no_cost(Conservative()) == [
        (2, G1), (3, G2), (4, G1), (5, G3), (6, f"{G1} {G2}"), (8, G1), (9, G2), (10, f"{G1} {G3}"),
    ]  # fmt: skip


def test_figure_8_6_c_hybrid_runs_the_second_sub_group_with_the_first() -> None:
    assert at_no_cost(Hybrid()) == [
        (2, f"{G1} {G2}"), (4, f"{G1} {G2}"), (5, G3), (6, f"{G1} {G2}"), (8, f"{G1} {G2}"),
        (10, f"{G1} {G2} {G3}"),
    ]  # fmt: skip


def test_figure_8_6_d_late_and_pending_sub_groups_run_together() -> None:
    scheduler = LocalScheduler(seven_queries(), LatePending(Hybrid()))
    for instant in (1, 2, 3, 4, 5):
        scheduler.update(instant)
        if instant in (2, 3):
            execution = scheduler.next_execution()
            if execution is not None:
                scheduler.finish(execution)
    # at 4 the system was busy: the first two are one minute late when the third is pending
    assert [scheduler.until_deadline(t) for t in scheduler.tasks] == [-1, 0]
    execution = scheduler.next_execution()
    assert execution is not None
    assert names(execution) == f"{G1} {G2} {G3}"
    assert execution.instant == 5


@pytest.mark.parametrize(
    ("policy", "together"),
    [
        (Conservative(), "T11"),
        (LateSharing(Conservative()), "T11 T12"),
        (LatePending(Conservative()), "T11 T12 T13"),
        (NoSharing(), "T11"),
    ],
)
def test_sub_groups_that_are_two_and_one_late_and_one_that_is_pending(
    policy: SchedulePolicy, together: str
) -> None:
    tasks = (task(1, 2, "T11"), task(1, 3, "T12"), task(1, 4, "T13"), task(2, 3, "other"))
    scheduler = LocalScheduler(tasks, policy)
    for instant in (1, 2, 3, 4):
        scheduler.update(instant)
    assert [scheduler.until_deadline(t) for t in tasks] == [-2, -1, 0, -1]
    execution = scheduler.next_execution()
    assert execution is not None
    assert names(execution) == together


def literal(
    periods: dict[str, int],
    groups: dict[str, int],
    joint: Callable[[int, int, int], bool],
    steps: Iterable[bool],
) -> list[set[str]]:
    """Algorithms 9 to 11 as they are printed: an array d, decremented and reset.

    ``steps`` says whether an update arrives or the loop goes on to execute. Only what is due is
    executed; ties go to the task that comes first.
    """
    d = dict(periods)
    executed = []
    for update_arrives in steps:
        if update_arrives:
            for name in d:
                d[name] -= 1
            continue
        v = min(d.values())
        if v > 0:
            continue
        lead = next(name for name in d if d[name] == v)
        together = {
            name
            for name in d
            if name == lead or (groups[name] == groups[lead] and joint(d[name], d[lead], v))
        }
        for name in together:
            d[name] = periods[name]
        executed.append(together)
    return executed


RULES: dict[str, tuple[SchedulePolicy, Callable[[int, int, int], bool]]] = {
    "Algorithm 9": (NoSharing(), lambda d, lead, v: False),
    "Algorithm 10": (Conservative(), lambda d, lead, v: d == v),
    "Algorithm 11": (LatePending(Conservative()), lambda d, lead, v: d <= 0 if v < 0 else d == v),
    "late sharing": (LateSharing(Conservative()), lambda d, lead, v: d < 0 if v < 0 else d == v),
}


@pytest.mark.parametrize("rule", RULES)
@settings(max_examples=60)
@given(
    periods=st.lists(st.integers(1, 6), min_size=1, max_size=7),
    seed=st.integers(0, 10**6),
    busy=st.floats(0.3, 0.9),
)
def test_the_order_of_executions_is_that_of_the_pseudo_code(
    rule: str, periods: list[int], seed: int, busy: float
) -> None:
    policy, joint = RULES[rule]
    tasks = [task(i % 2, n, f"T{i}") for i, n in enumerate(periods)]
    choose = random.Random(seed)
    steps = [choose.random() < busy for _ in range(80)]
    scheduler = LocalScheduler(tasks, policy)
    executed = []
    for update_arrives in steps:
        if update_arrives:
            scheduler.update(scheduler.instant + 1)
            continue
        execution = scheduler.next_execution()
        if execution is not None:
            executed.append({query.name for query in execution.queries})
            scheduler.finish(execution)
    by_name = {t.queries[0].name: t for t in tasks}
    assert executed == literal(
        {name: t.period for name, t in by_name.items()},
        {name: t.group for name, t in by_name.items()},
        joint,
        steps,
    )


def test_time_to_spare_is_spent_on_what_will_be_due_first_once_for_each_update() -> None:
    scheduler = LocalScheduler((task(1, 2, "soon"), task(2, 5, "later")), Conservative())
    scheduler.update(1)
    assert scheduler.next_execution() is None
    ran = []
    while (execution := scheduler.next_execution(early=True)) is not None:
        ran.append((names(execution), execution.instant))
        scheduler.finish(execution)
    assert ran == [("soon", 1), ("later", 1)]
    scheduler.update(2)
    assert scheduler.next_execution() is None  # its last answer is one update old


def test_a_priority_is_worth_updates_and_nobody_waits_for_ever() -> None:
    tasks = (
        task(1, 3, "plain"),
        task(2, 3, "urgent", priority=4),
        task(3, 1, "always", priority=3),
    )
    scheduler = LocalScheduler(tasks, NoSharing())
    ran = [names(each.execution) for each in simulate(scheduler, 40, lambda _: 1.0)]
    assert ran[:3] == ["always", "always", "urgent"]
    assert "plain" in ran
    report = {entry.name: entry for entry in scheduler.lateness()}
    assert report["urgent"].mean < report["plain"].mean
    assert report["plain"].executions >= 5


def test_overload_stretches_the_periods_of_equal_queries_alike() -> None:
    tasks = [task(i, 4, f"q{i}") for i in range(12)]
    scheduler = LocalScheduler(tasks, NoSharing())
    for _ in simulate(scheduler, 600, lambda _: 1.0):
        pass
    report = scheduler.lateness()
    assert {entry.executions for entry in report} <= {49, 50, 51}
    assert all(abs(entry.mean - 8) < 0.5 for entry in report)  # every 12 updates instead of 4


def test_the_report_says_who_is_late_and_by_how_much() -> None:
    scheduler = LocalScheduler((task(1, 2, "q"), task(2, 9, "r")), NoSharing())
    for instant in range(1, 6):
        scheduler.update(instant)
    assert str(scheduler.lateness()[0]) == (
        "q: late 0 of 0 times, by 0.00 updates on average, 0 at most, 3 updates late now"
    )
    execution = scheduler.next_execution()
    assert execution is not None
    scheduler.finish(execution)
    q, r = scheduler.lateness()
    assert (q.executions, q.late, q.total, q.greatest, q.waiting, q.mean) == (1, 1, 3, 3, 0, 3.0)
    assert str(r) == "r: on time, 0 times"


def test_updates_during_an_execution_count_against_its_next_deadline() -> None:
    (only,) = tasks = (task(1, 2, "q"),)
    scheduler = LocalScheduler(tasks, Conservative())
    scheduler.update(10)
    scheduler.update(20)
    execution = scheduler.next_execution()
    assert execution is not None
    scheduler.update(30)
    assert scheduler.next_execution() is None  # it runs already
    scheduler.finish(execution)
    assert execution.instant == 20
    assert scheduler.until_deadline(only) == 1


def test_queries_that_stay_keep_their_deadlines_when_others_come_and_go() -> None:
    first, second = task(1, 4, "stays"), task(1, 3, "goes")
    scheduler = LocalScheduler((first, second), Conservative())
    for instant in (1, 2, 3):
        scheduler.update(instant)
    new = task(1, 2, "comes")
    scheduler.replace_queries((first, new))
    assert [scheduler.until_deadline(t) for t in (first, new)] == [1, 2]
    assert [entry.name for entry in scheduler.lateness()] == ["stays", "comes"]


def test_a_query_in_two_tasks_or_slower_than_it_asks_is_refused() -> None:
    twice = (task(1, 2, "q"), task(1, 3, "q"))
    with pytest.raises(WindrowError, match=r"query q: expected one task.*found two tasks"):
        LocalScheduler(twice, NoSharing())
    slow = (Task(1, 5, (TimedQuery("q", 2),)),)
    with pytest.raises(WindrowError, match=r"period of 1 to 2 updates; found a period of 5"):
        LocalScheduler(slow, NoSharing())


@pytest.mark.parametrize("name", POLICIES)
@settings(max_examples=40, deadline=None)
@given(
    periods=st.lists(st.tuples(st.integers(0, 2), st.integers(1, 9)), min_size=1, max_size=9),
    cost=st.floats(0, 0.6),
    seed=st.integers(0, 99),
)
def test_every_policy_executes_every_query_and_answers_the_latest_update(
    name: str, periods: list[tuple[int, int]], cost: float, seed: int
) -> None:
    tasks = [
        task(group, n, f"q{i}", cost=float(1 + (i * seed) % 7))
        for i, (group, n) in enumerate(periods)
    ]
    scheduler = LocalScheduler(tasks, POLICIES[name]())
    answered: dict[str, list[int]] = {f"q{i}": [] for i in range(len(tasks))}

    def spend(execution: Execution) -> float:
        return cost * len(execution.tasks)

    for ran in simulate(scheduler, 60, spend):
        assert ran.execution.instant <= ran.begin + 1e-6
        assert ran.execution.instant > ran.begin - 1 - 1e-6 or ran.execution.instant == 60
        for each in ran.execution.queries:
            answered[each.name].append(ran.execution.instant)
    for entry in scheduler.lateness():
        instants = answered[entry.name]
        assert len(instants) == entry.executions > 0
        gaps = [b - a for a, b in zip([0, *instants], instants, strict=False)]
        assert entry.greatest == max(0, *(gap - entry.period for gap in gaps))
        assert entry.total == sum(max(0, gap - entry.period) for gap in gaps)
    if cost == 0:
        assert all(entry.late == 0 for entry in scheduler.lateness())
