"""The oracle itself: windows and outputs against answers worked out by hand, and its two modes."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings

from tests.oracle.blocks import Item, Output, Select, Source
from tests.oracle.definition import bags, expected
from tests.oracle.expressions import COUNT_ALL, aggregate, column
from tests.oracle.programs import programs
from tests.oracle.queries import Program, Stream
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


@settings(max_examples=40)
@given(program=programs())
def test_all_instants_at_once_and_one_at_a_time_agree(program: Program) -> None:
    assert bags(program) == Stepwise(program).bags()
