"""The oracle itself: windows and outputs against answers worked out by hand, and its two modes."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given, settings

from tests.oracle.blocks import Item, Negation, Output, Select, Source, Top, difference
from tests.oracle.definition import bags, expected
from tests.oracle.expressions import COUNT_ALL, Expr, aggregate, column
from tests.oracle.programs import programs
from tests.oracle.queries import Program, Relation, Stream
from tests.oracle.stepwise import Stepwise
from tests.oracle.windows import NO_WINDOW, Now, Range, Rows, Window

# time      0  1  2  3  4  5  6  7  8
# arrivals     a     b        c
#                    c
LETTERS = Stream("L", (("v", "STRING"),), ((1, ("a",)), (3, ("b",)), (3, ("c",)), (6, ("c",))))
V = column("v", "STRING", "X")


def over(window: Window, output: Output = Output.CHANGES, every: int | None = None) -> Program:
    block = Select((Item("v", V),), (Source("L", "X", window),))
    return Program((LETTERS,), block, output=output, every=every, beyond=4)


def letters(program: Program) -> dict[int, str]:
    """The bag at each instant as a sorted word."""
    history = {t: "".join(sorted(v for (v,) in bag.elements())) for t, bag in bags(program).items()}
    return dict(sorted(history.items()))


@pytest.mark.parametrize(
    ("window", "contents"),
    [
        (Now(), {1: "a", 3: "bc", 6: "c"}),
        (Range(1), {1: "a", 3: "bc", 6: "c"}),
        (Range(2), {1: "a", 2: "a", 3: "bc", 4: "bc", 6: "c", 7: "c"}),
        # At 2 the window is (-1, 2], at 4 it is (1, 4], at 6 it is (3, 6], at 8 (5, 8].
        (Range(3, 2), {2: "a", 3: "a", 4: "bc", 5: "bc", 6: "c", 7: "c", 8: "c", 9: "c"}),
        # At 4 the window is (3, 4] and what came at 3 is never seen.
        (Range(1, 2), {6: "c", 7: "c"}),
        (Rows(1), dict.fromkeys((1, 2), "a") | dict.fromkeys(range(3, 11), "c")),
        (
            Rows(2),
            dict.fromkeys((1, 2), "a")
            | dict.fromkeys((3, 4, 5), "bc")
            | dict.fromkeys(range(6, 11), "cc"),
        ),
        (Rows(1, ("v",)), dict.fromkeys((1, 2), "a") | dict.fromkeys(range(3, 11), "abc")),
        (
            NO_WINDOW,
            dict.fromkeys((1, 2), "a")
            | dict.fromkeys((3, 4, 5), "abc")
            | dict.fromkeys(range(6, 11), "abcc"),
        ),
    ],
    ids=str,
)
def test_a_window_holds_what_its_definition_says(window: Window, contents: dict[int, str]) -> None:
    assert letters(over(window)) == contents


@pytest.mark.parametrize(
    ("output", "said"),
    [
        (Output.CHANGES, {1: "+a", 3: "+b+c-a", 5: "-b-c", 6: "+c", 8: "-c"}),
        (Output.ISTREAM, {1: "+a", 3: "+b+c", 6: "+c"}),
        (Output.DSTREAM, {3: "+a", 5: "+b+c", 8: "+c"}),
        (Output.RSTREAM, {1: "+a", 2: "+a", 3: "+b+c", 4: "+b+c", 6: "+c", 7: "+c"}),
    ],
)
def test_each_output_says_what_its_definition_says(output: Output, said: dict[int, str]) -> None:
    found = {
        t: "".join(sorted(f"{'+' if n > 0 else '-'}{v}" for (v,), n in bag.items()))
        for t, bag in expected(over(Range(2), output)).items()
    }
    assert found == said


def test_every_shows_the_answer_of_the_last_multiple() -> None:
    assert letters(over(Range(2), every=3)) == {3: "bc", 4: "bc", 5: "bc", 6: "c", 7: "c", 8: "c"}


def test_rstream_with_a_rhythm_speaks_at_its_multiples() -> None:
    said = expected(over(NO_WINDOW, Output.RSTREAM, every=4))
    assert sorted(said) == [4, 8]
    assert said[8] == Counter({("a",): 1, ("b",): 1, ("c",): 2})


def test_an_aggregate_without_keys_has_no_row_while_its_window_is_empty() -> None:
    block = Select(
        (Item("n", COUNT_ALL), Item("m", aggregate("MAX", V))),
        (Source("L", "X", Range(2)),),
        grouped=True,
    )
    program = Program((LETTERS,), block, beyond=4)
    rows = {t: list(bag) for t, bag in sorted(bags(program).items())}
    assert rows == {
        1: [(1, "a")],
        2: [(1, "a")],
        3: [(2, "c")],
        4: [(2, "c")],
        6: [(1, "c")],
        7: [(1, "c")],
    }


# time        0  1  2  3  4  5  6
# updates        +a    -a +b
CHANGING = (Relation("R", (("w", "STRING"),), ((1, 1, ("a",)), (3, -1, ("a",)), (4, 1, ("b",)))),)
FOREIGN = (replace(CHANGING[0], name="N", nrr=True),)
W = column("w", "STRING", "Y")


def test_a_relation_holds_at_an_instant_what_its_updates_up_to_then_say() -> None:
    block = Select((Item("w", W),), (Source("R", "Y", None),))
    program = Program((LETTERS,), block, relations=CHANGING, beyond=0)
    assert letters(program) == {1: "a", 2: "a", 4: "b", 5: "b", 6: "b"}


def paired(relation: Relation) -> Program:
    sources = (Source("L", "X", Range(3)), Source(relation.name, "Y", None, nrr=relation.nrr))
    both_letters = Item("v", Expr("X.v || Y.w", "X.v || Y.w", "STRING"))
    return Program((LETTERS,), Select((both_letters,), sources), relations=(relation,), beyond=0)


def test_a_relation_is_met_as_it_is_now_and_an_nrr_as_it_was_when_the_tuple_came() -> None:
    # At 3 the row a is gone: what came at 1 has met it, what came at 3 has not.
    assert letters(paired(FOREIGN[0])) == {1: "aa", 2: "aa", 3: "aa", 6: "cb"}
    # The row b meets what is in the window from 4 on: b and c of 3, then c of 6.
    assert letters(paired(CHANGING[0])) == {1: "aa", 2: "aa", 4: "bbcb", 5: "bbcb", 6: "cb"}


def letters_except(kind: str, window: Window) -> Program:
    """L [RANGE 3] without what the window over L holds: ``kind`` is a negation, or EXCEPT."""
    left = Select((Item("v", V),), (Source("L", "X", Range(3)),))
    if kind == "EXCEPT ALL":
        return Program(
            (LETTERS,), difference(left, replace(left, sources=(Source("L", "X", window),)))
        )
    inner = Source("L", "N", window)
    negation = Negation(kind, inner, ((V, column("v", "STRING", "N")),))
    return Program((LETTERS,), replace(left, negations=(negation,)), beyond=4)


@pytest.mark.parametrize("kind", ["NOT EXISTS", "NOT IN", "EXCEPT ALL"])
def test_negation_leaves_what_has_no_partner(kind: str) -> None:
    # RANGE 3 holds a at 1-3, b and c at 3-5, c at 6-8; NOW holds a at 1, b and c at 3, c at 6.
    assert letters(letters_except(kind, Now())) == {
        2: "a", 3: "a", 4: "bc", 5: "bc", 7: "c", 8: "c",
    }  # fmt: skip


def test_not_in_knows_nothing_while_there_is_a_null() -> None:
    stream = replace(LETTERS, arrivals=((1, ("a",)), (3, (None,)), (4, ("b",))))
    program = letters_except("NOT IN", Now())
    found = bags(replace(program, streams=(stream,), beyond=2))
    # At 2 the sub-query is empty; at 3 it holds NULL; at 4 it holds b; then it is empty again.
    assert {t: sorted(bag.elements(), key=str) for t, bag in found.items()} == {
        2: [("a",)],
        5: [("b",), (None,)],
        6: [("b",)],
    }


def test_restore_semantics_reports_what_came_and_what_lived_since_the_last_multiple() -> None:
    came = expected(over(Range(2), Output.ISTREAM_RESTORE, every=4))
    lived = expected(over(Range(2), Output.RSTREAM_RESTORE, every=4))
    # a lives at 1 and 2, b and c at 3 and 4, the other c at 6 and 7.
    assert came == lived == {4: Counter({("a",): 1, ("b",): 1, ("c",): 1}), 8: Counter({("c",): 1})}
    # Of a period that begins at 4, b and c were still there; they had come before it.
    assert expected(over(Range(2), Output.RSTREAM_RESTORE, every=3)) == {
        3: Counter({("a",): 1, ("b",): 1, ("c",): 1}),
        6: Counter({("b",): 1, ("c",): 2}),
        9: Counter({("c",): 1}),
    }


def test_wstream_keeps_each_result_from_when_it_was_produced() -> None:
    program = replace(over(Now()), lasting=Range(3))
    assert letters(program) == letters(over(Range(3)))
    # At 6 the second c comes as the first one leaves: it is a result of its own.
    program = replace(over(Range(3)), lasting=Rows(2))
    assert letters(program)[6] == "cc"


def test_an_internal_window_never_takes_a_result_back() -> None:
    program = over(Range(2))
    assert isinstance(program.body, Select)
    internal = replace(program, body=replace(program.body, internal=True))
    assert letters(internal) == letters(over(NO_WINDOW))


def test_beside_an_external_window_an_aggregate_counts_what_the_join_holds() -> None:
    # X holds a at 1-3, b and c at 3-5, c at 6-8; Y holds each letter for one tick. The letters
    # of 3 meet what X holds then, a too, and leave with it.
    sources = (Source("L", "X", Range(3)), Source("L", "Y", Now(), internal=True))
    block = Select((Item("n", COUNT_ALL),), sources, grouped=True)
    assert {t: [*bag][-1][0] for t, bag in bags(Program((LETTERS,), block)).items()} == {
        1: 1, 2: 1,  # a with a
        3: 7,  # a with a, b and c; b and c with b and c
        4: 4, 5: 4,
        6: 1, 7: 1, 8: 1,
    }  # fmt: skip


def test_top_has_nulls_last_and_breaks_ties_by_all_columns() -> None:
    stream = Stream("L", (("v", "STRING"), ("n", "INT")),
                    ((1, ("b", 2)), (1, ("a", 2)), (1, ("c", None)), (1, ("d", 1))))  # fmt: skip
    items = (Item("v", V), Item("n", column("n", "INT", "X")))
    for down, first in ((True, ["a", "b", "d"]), (False, ["d", "a", "b"])):
        for count in (1, 2, 3):
            block = Select(items, (Source("L", "X", Now()),), top=Top(count, (("n", down),)))
            (bag,) = bags(Program((stream,), block)).values()
            assert sorted(v for v, _ in bag) == sorted(first[:count])


@settings(max_examples=8)
@given(program=programs())
def test_all_instants_at_once_and_one_at_a_time_agree(program: Program) -> None:
    assert bags(program) == Stepwise(program).bags()


@pytest.mark.slow
@settings(max_examples=100)
@given(program=programs())
def test_they_agree_for_many_more_programs(program: Program) -> None:
    assert bags(program) == Stepwise(program).bags()
