"""Plans of many queries: what they share, and what happens as queries come and go."""

from __future__ import annotations

import random
from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.sharing.rules.queries import OF_U, SEVEN, SIX, TCP, UDP, query
from windrow.core.errors import WindrowError
from windrow.sharing.rules import (
    EVERYTHING,
    Function,
    PeriodicQuery,
    SharingPlan,
    add_query,
    describe_plan,
    drop_query,
    plan_queries,
)
from windrow.sharing.rules.sharing_plan import Arrival, Member
from windrow.sharing.rules.ss4_predicates import is_cover, is_disjoint


def names(group: tuple[Member, ...]) -> set[str]:
    return {member.query.name for member in group}


def test_the_six_queries_need_two_thirds_of_the_synopses() -> None:
    plan = plan_queries(SIX)
    assert len(plan.synopses) == 4
    q3, q6 = plan.member("Q3"), plan.member("Q6")
    assert q3.parts[0].added == plan.member("Q1").numbers + plan.member("Q2").numbers
    assert q6.parts[0].added == plan.member("Q4").numbers + plan.member("Q5").numbers
    assert [names(group) for group in plan.groups] == [{"Q1", "Q2", "Q3"}, {"Q4", "Q5", "Q6"}]
    assert [member.query.name for member in plan.groups[0]] == ["Q1", "Q2", "Q3"]
    assert plan.joint_rules(plan.member("Q1"), q3) == ("CS6",)


def test_q1_is_q3_less_q2_if_those_came_first() -> None:
    q1, q2, q3, *_ = SIX
    plan = SharingPlan()
    for came in (q3, q2, q1):
        plan = add_query(plan, came)
    assert plan.member("Q1").parts[0].added == plan.member("Q3").numbers
    assert plan.member("Q1").parts[0].subtracted == plan.member("Q2").numbers
    assert len(plan.synopses) == 2


def test_the_plan_of_queries_that_begin_together_is_the_same_in_any_order() -> None:
    plan = plan_queries(SIX)
    assert all(plan_queries(order) == plan for order in list(permutations(SIX))[::37])


def test_seven_queries_scan_one_synopsis_together() -> None:
    plan = plan_queries(SEVEN)
    (synopsis,) = plan.synopses
    assert synopsis.shape.describe() == (
        "basic interval synopsis of maxima of length over S (s = 1, b = 30)"
    )
    (group,) = plan.groups
    windows = [member.query.window for member in group]
    assert windows == sorted(windows)
    assert plan.joint_rules(group[0], group[-1]) == ("CS2",)


def test_an_average_divides_what_sum_and_count_keep() -> None:
    plan = plan_queries(
        query(f.value, f, window=12, slide=4) for f in (Function.AVG, Function.COUNT, Function.SUM)
    )
    assert len(plan.synopses) == 2
    assert plan.member("AVG").numbers == plan.member("SUM").numbers + plan.member("COUNT").numbers
    assert "CS3" in plan.joint_rules(plan.member("AVG"), plan.member("SUM"))


def test_a_query_that_comes_starts_at_once_extends_or_fills() -> None:
    plan = plan_queries([query("long", window=20, slide=2)])
    plan = add_query(plan, query("short", window=10, slide=4), now=101)
    assert plan.member("short").complete_from is None
    # the last update was at 100 and held (80, 100]; a window of 30 is complete when (80, 110] is
    plan = add_query(plan, query("longer", window=30, slide=2), now=101)
    assert plan.member("longer").complete_from == 110
    assert [(s.shape.b, s.since) for s in plan.synopses] == [(15, 80)]
    # nothing has this s: its first whole interval begins at 102, its first window ends at 108
    plan = add_query(plan, query("fine", window=6, slide=3), now=101)
    assert plan.member("fine").complete_from == 108
    assert len(plan.synopses) == 2


def test_a_query_is_complete_at_an_instant_of_its_own() -> None:
    plan = plan_queries([query("first", window=10, slide=2)])
    # (90, 100] is held; a window of 14 is held at 104, and 105 is the next multiple of 7
    plan = add_query(plan, query("sevens", window=14, slide=7), now=101)
    assert plan.member("sevens").complete_from == 119, "it has an s of its own"
    plan = add_query(plan, query("fours", window=14, slide=4), now=101)
    assert plan.member("fours").complete_from is None, "that is its first answer"
    plan = add_query(plan, query("more", window=16, slide=4), now=101)
    assert plan.member("more").complete_from == 108


def test_counts_are_kept_beside_other_contents() -> None:
    plan = plan_queries([query("sums", Function.SUM, window=20, slide=2)])
    plan = add_query(plan, query("counts", Function.COUNT, window=20, slide=2), now=101)
    member = plan.member("counts")
    assert (member.complete_from, member.arrival) == (None, Arrival())
    assert [(s.beside, s.since, s.shape.b) for s in plan.synopses] == [
        (None,) * 2 + (10,),
        (1, None, 10),
    ]
    plan = add_query(plan, query("mean", Function.AVG, window=30, slide=2), now=101)
    assert plan.member("mean").arrival == Arrival(extended=(1, 2))
    plan = drop_query(drop_query(plan, "sums"), "mean")
    assert [(s.beside, s.since, s.shape.b) for s in plan.synopses] == [(None, 80, 10)]
    most = add_query(plan_queries([query("most", window=20)]), query("n", Function.COUNT), now=9)
    assert most.member("n").arrival == Arrival(filled=(2,)), "of length, not of tuples"


def test_extending_twice_counts_what_is_held_not_what_would_fit() -> None:
    plan = add_query(SharingPlan(), query("first", window=10), now=100)
    plan = add_query(plan, query("second", window=20), now=105)
    assert plan.member("first").complete_from == 110
    assert plan.member("second").complete_from == 120
    plan = add_query(plan, query("third", window=12), now=115)
    assert plan.member("third").complete_from is None


def test_a_query_that_goes_leaves_what_others_read() -> None:
    plan = plan_queries(SIX)
    plan = drop_query(plan, "Q1")
    assert len(plan.synopses) == 4
    plan = drop_query(plan, "Q3")
    assert len(plan.synopses) == 3
    plan = plan_queries([query("long", window=20), query("short", window=5)])
    assert [s.shape.b for s in drop_query(plan, "long").synopses] == [5]
    assert drop_query(drop_query(plan, "long"), "short").synopses == ()


def test_a_synopsis_becomes_basic_when_enough_queries_scan_it_together() -> None:
    plan, kinds = SharingPlan(), []
    for i in range(5):
        plan = add_query(plan, query(f"q{i}", window=16 - i))
        kinds.append(plan.synopses[0].shape.kind.value)
    assert kinds == ["interval"] * 3 + ["basic interval"] * 2  # 16 / log2(16) = 4
    assert drop_query(plan, "q4").synopses[0].shape.kind.value == "basic interval"
    assert [len(group) for group in plan.groups] == [5]


def test_a_generalised_join_synopsis_is_shared_but_not_extended() -> None:
    plan = plan_queries(
        [query("uneven", Function.COUNT, (7, 8)), query("even", Function.COUNT, (5, 5))]
    )
    assert [(s.shape.b, s.shape.g) for s in plan.synopses] == [(8, 1)]
    plan = add_query(plan, query("wide", Function.COUNT, (9, 9)))
    assert [(s.shape.b, s.shape.g) for s in plan.synopses] == [(8, 1), (9, 0)]
    plan = drop_query(plan, "uneven")
    assert [(s.shape.b, s.shape.g) for s in plan.synopses] == [(5, 0), (9, 0)]


def test_a_name_is_taken_once_and_a_missing_one_is_named() -> None:
    plan = plan_queries([query("q")])
    with pytest.raises(WindrowError, match="already"):
        add_query(plan, query("q"))
    with pytest.raises(WindrowError, match=r"expected one of q.*found r"):
        drop_query(plan, "r")


def test_explain_says_who_shares_which_synopsis_and_from_when() -> None:
    kept = "running synopsis of sums of length where protocol ="
    plan = plan_queries([SIX[0], SIX[1]])
    plan = add_query(plan, SIX[2], now=100)
    plan = add_query(plan, query("late", Function.SUM, 15, where=TCP), now=100)
    plan = add_query(plan, query("rare", Function.SUM, 10, slide=5, where=TCP), now=100)
    assert describe_plan(plan, lambda t: f"{t} s").replace(" over S", "").splitlines() == [
        f"synopsis 1: {kept} 'TCP' (s = 1, b = 15); read by Q1, Q3, late, rare",
        f"synopsis 2: {kept} 'UDP' (s = 1, b = 10); read by Q2, Q3",
        "Q1: sums of length from synopsis 1; complete at once",
        "Q2: sums of length from synopsis 2; complete at once",
        (
            "Q3: sums of length from synopsis 1 + synopsis 2; it starts on synopses 1, 2; "
            "complete at once"
        ),
        "late: sums of length from synopsis 1; it extends synopsis 1; complete from 105 s on",
        (
            "rare: sums of length from synopsis 1; it starts on synopsis 1; complete at once; "
            "takes the answers of Q1 (CS8)"
        ),
        "group 1: Q1, Q2, rare, Q3 may run together (CS1, CS6)",
    ]


QUERIES = st.builds(
    query,
    st.uuids().map(str),
    st.sampled_from(sorted(Function, key=lambda f: f.value)),
    st.integers(1, 12) | st.tuples(st.integers(1, 6), st.integers(1, 6)),
    st.integers(1, 6),
    st.sampled_from([EVERYTHING, TCP, UDP, OF_U, TCP.or_also(UDP), TCP.or_also(OF_U)]),
)


def check(plan: SharingPlan) -> None:
    """Every query has what it needs, aligned and long enough; nothing is there for nobody."""
    for member in plan.members:
        wanted = member.query
        assert tuple(part.contents for part in member.parts) == wanted.needs
        assert len({plan.synopsis(n).shape.s for n in member.numbers}) == 1
        for part in member.parts:
            shapes = [plan.synopsis(n).shape for n in part.numbers]
            assert all(shape.has_tuples_of(wanted) for shape in shapes)
            assert all(wanted.window <= shape.b * shape.s for shape in shapes)
            for shape in shapes:
                shorter, longer = min(wanted.windows), max(wanted.windows)
                assert shorter == longer or shorter >= (shape.b - shape.g) * shape.s
            added, less = (
                [plan.synopsis(n).shape.predicate for n in numbers]
                for numbers in (part.added, part.subtracted)
            )
            if less:
                assert is_disjoint(added)
                assert is_disjoint([*less, wanted.predicate])
                assert is_cover([*less, wanted.predicate], added[0].or_also(*added[1:]))
            else:
                assert is_cover(added, wanted.predicate)
                assert is_disjoint(added) or not part.contents.is_duplicate_sensitive
    assert all(plan.readers(synopsis.number) for synopsis in plan.synopses)
    assert sorted(n for group in plan.groups for n in names(group)) == sorted(
        member.query.name for member in plan.members
    )


@settings(max_examples=60, deadline=None)
@given(came=st.lists(QUERIES, min_size=1, max_size=8), seed=st.integers(0, 99))
def test_whatever_comes_and_goes_every_query_has_what_it_needs(
    came: list[PeriodicQuery], seed: int
) -> None:
    choose = random.Random(seed)
    check(plan_queries(came))
    plan, now = SharingPlan(), 0
    for wanted in came:
        now += choose.randrange(9)
        plan = add_query(plan, wanted, now)
        member = plan.member(wanted.name)
        filled = -(-now // wanted.grain) * wanted.grain + wanted.window
        if member.complete_from is not None:
            assert member.complete_from % wanted.slide == 0, "it is the instant of an answer"
            assert now < member.complete_from < filled + wanted.slide
        check(plan)
        if choose.random() < 0.4:
            plan = drop_query(plan, choose.choice(plan.members).query.name)
            check(plan)
