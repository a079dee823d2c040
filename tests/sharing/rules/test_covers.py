"""Covers: the six queries of 8.3.3, and every cover of a few predicates by brute force."""

from __future__ import annotations

from itertools import combinations

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.sharing.rules.predicates import TEXT, WHOLE, predicates, select
from windrow.core.thresholds import lowered_thresholds
from windrow.sharing.rules import Atom, Predicate, any_of
from windrow.sharing.rules.ss4_predicates import (
    LARGEST_COVER,
    Difference,
    find_cover,
    find_difference,
    find_disjoint_cover,
    is_cover,
    is_disjoint,
    is_disjoint_cover,
    is_subcover,
    is_supercover,
)

TCP, UDP = (any_of(Atom(TEXT, "=", name)) for name in ("TCP", "UDP"))
USER = any_of(Atom(WHOLE, "=", 7))
FEW = st.lists(predicates(terms=2, width=2), min_size=1, max_size=5)


def test_the_definitions_on_the_six_queries() -> None:
    q1, q2, q3 = TCP, UDP, TCP.or_also(UDP)
    q4, q5, q6 = TCP, USER, TCP.or_also(USER)
    assert is_disjoint_cover([q1, q2], q3)
    assert is_subcover([q1], q3)
    assert not is_cover([q1], q3)
    assert is_supercover([q3], q1)
    assert is_supercover([q3], q2)
    assert is_cover([q4, q5], q6)
    assert not is_disjoint_cover([q4, q5], q6)
    assert q3.is_disjoint
    assert not q6.is_disjoint


def test_the_search_finds_what_the_text_finds_in_the_six_queries() -> None:
    either = TCP.or_also(UDP)
    assert find_disjoint_cover([TCP, UDP], either) == (0, 1)
    assert find_difference([either, UDP], TCP) == Difference((0,), (1,))
    mixed = TCP.or_also(USER)
    assert find_cover([TCP, USER], mixed) == (0, 1)
    assert find_disjoint_cover([TCP, USER], mixed) is None


@given(members=FEW, whole=predicates(terms=2, width=2))
def test_definitions_are_those_of_the_tuples(members: list[Predicate], whole: Predicate) -> None:
    sets, wanted = [select(m) for m in members], select(whole)
    union = frozenset().union(*sets)
    assert is_subcover(members, whole) == (union <= wanted)
    assert is_supercover(members, whole) == (union >= wanted)
    assert is_cover(members, whole) == (union == wanted)
    assert is_disjoint(members) == (sum(map(len, sets)) == len(union))


def brute_cover(
    sets: list[frozenset[int]], wanted: frozenset[int], *, disjoint: bool
) -> int | None:
    """The size of the smallest cover, if there is one of at most LARGEST_COVER members."""
    for size in range(1, LARGEST_COVER + 1):
        for members in combinations(sets, size):
            union = frozenset().union(*members)
            if union == wanted and not (disjoint and sum(map(len, members)) > len(union)):
                return size
    return None


@settings(max_examples=150)
@given(members=FEW, whole=predicates(terms=2, width=2).filter(lambda p: bool(p.region)))
def test_a_smallest_cover_is_found_if_there_is_one(
    members: list[Predicate], whole: Predicate
) -> None:
    sets, wanted = [select(m) for m in members], select(whole)
    cover, exact = find_cover(members, whole), find_disjoint_cover(members, whole)
    assert (cover and len(cover)) == brute_cover(sets, wanted, disjoint=False)
    assert (exact and len(exact)) == brute_cover(sets, wanted, disjoint=True)
    assert cover is None or is_cover([members[i] for i in cover], whole)
    assert exact is None or is_disjoint_cover([members[i] for i in exact], whole)


def weights(sets: list[frozenset[int]], difference: Difference) -> dict[int, int]:
    """How often each tuple is counted."""
    counted: dict[int, int] = {}
    for sign, places in ((1, difference.added), (-1, difference.subtracted)):
        for place in places:
            for row in sets[place]:
                counted[row] = counted.get(row, 0) + sign
    return {row: count for row, count in counted.items() if count}


def brute_difference(sets: list[frozenset[int]], wanted: frozenset[int]) -> bool:
    """Whether disjoint sets around the wanted one, less disjoint sets, leave it."""
    for size in range(2, LARGEST_COVER + 1):
        for members in combinations(range(len(sets)), size):
            for cut in range(1, size):
                for added in combinations(members, cut):
                    minus = tuple(m for m in members if m not in added)
                    parts = [[sets[i] for i in group] for group in (added, minus)]
                    if (
                        any(sum(map(len, part)) > len(frozenset().union(*part)) for part in parts)
                        or not all(s & wanted for s in parts[0])
                        or not all(parts[1])
                    ):
                        continue
                    if weights(sets, Difference(added, minus)) == dict.fromkeys(wanted, 1):
                        return True
    return False


@settings(max_examples=150)
@given(
    members=st.lists(predicates(terms=2, width=1), min_size=1, max_size=5),
    whole=predicates(terms=1, width=1).filter(lambda p: bool(p.region)),
)
def test_a_difference_counts_every_tuple_of_the_predicate_once(
    members: list[Predicate], whole: Predicate
) -> None:
    sets, wanted = [select(m) for m in members], select(whole)
    found = find_difference(members, whole)
    if found is not None:
        assert weights(sets, found) == dict.fromkeys(wanted, 1)
    elif find_disjoint_cover(members, whole) is None:
        assert not brute_difference(sets, wanted)


@given(members=FEW, whole=predicates(terms=2, width=2).filter(lambda p: bool(p.region)))
def test_a_search_that_gives_up_finds_nothing_that_is_wrong(
    members: list[Predicate], whole: Predicate
) -> None:
    with lowered_thresholds():
        cover = find_disjoint_cover(members, whole)
    assert cover is None or is_disjoint_cover([members[i] for i in cover], whole)
