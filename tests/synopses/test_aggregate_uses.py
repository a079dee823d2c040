"""Which aggregate may use which synopsis, and AVG from two of them."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from tests.synopses.recomputation import by_group, closed, random_rows
from windrow.synopses import (
    BasicIntervalSynopsis,
    ClosedInterval,
    Counts,
    IntervalSynopsis,
    RunningSynopsis,
    Sums,
    SynopsisError,
    UnsuitableSynopsisError,
    aggregate_class,
    average,
    content_for,
    suitable_synopses,
)
from windrow.synopses.synopsis_factory import CLASSES


def test_the_table_is_that_of_the_dissertation() -> None:
    merging = (IntervalSynopsis, BasicIntervalSynopsis)
    for function in CLASSES:
        kind = aggregate_class(function).value
        expected = (RunningSynopsis, *merging) if kind == "subtractable" else merging
        assert suitable_synopses(function) == (() if kind == "algebraic" else expected)
    assert {f for f in CLASSES if aggregate_class(f).value == "holistic"} == {
        "QUANTILE", "TOP", "COUNT DISTINCT",
    }  # fmt: skip


@pytest.mark.parametrize("function", [f for f in CLASSES if f != "AVG"])
def test_what_the_table_allows_can_be_made_and_asked(function: str) -> None:
    parameter = {"QUANTILE": 0.5, "TOP": 2}.get(function)
    for kind in suitable_synopses(function):
        synopsis = kind(content_for(function), s=1, b=4)
        synopsis.update(
            ClosedInterval(1, synopsis.f.summarise(np.zeros(3, np.int64), np.arange(3)))
        )
        assert synopsis.answer(function, 1, parameter).num_rows > 0


def test_refusals_say_why() -> None:
    with pytest.raises(UnsuitableSynopsisError, match="computed from two distributive ones"):
        content_for("AVG")
    with pytest.raises(SynopsisError, match="the exact value takes no more space"):
        content_for("SUM", approximate=True)
    with pytest.raises(SynopsisError, match="other aggregates have no synopsis"):
        content_for("MODE")
    for parameter in (None, 1.5):
        with pytest.raises(SynopsisError, match="QUANTILE: expected p"):
            content_for("QUANTILE").answer("QUANTILE", content_for("QUANTILE").empty(), parameter)
        with pytest.raises(SynopsisError, match="TOP: expected k"):
            content_for("TOP").answer("TOP", content_for("TOP").empty(), parameter)
    texts = content_for("QUANTILE").summarise(np.zeros(1, np.int64), np.array(["a"]))
    with pytest.raises(SynopsisError, match="QUANTILE: expected numbers"):
        content_for("QUANTILE").answer("QUANTILE", texts, 0.5)


@pytest.mark.parametrize("values", ["ints", "huge", "floats"])
def test_an_average_is_a_sum_over_a_count_rounded_once(values: str) -> None:
    rows = random_rows(values, seed=5, updates=20)
    sums, counts = RunningSynopsis(Sums(), 1, 4), BasicIntervalSynopsis(Counts(), 1, 8)
    for number in range(1, 21):
        for synopsis in (sums, counts):
            synopsis.update(closed(synopsis.f, rows, number))
        for n in range(1, 5):
            by = {}
            for at, group, value in rows:
                if number - n < at <= number:
                    by.setdefault(group, []).append(Fraction(value))
            expected = {g: float(sum(v) / len(v)) for g, v in by.items()}
            assert by_group("AVG", average(sums, counts, n)) == expected


def test_an_average_needs_synopses_that_cover_the_same_window() -> None:
    def pair(s: int = 1, number: int = 1) -> tuple[RunningSynopsis, RunningSynopsis]:
        sums, counts = RunningSynopsis(Sums(), 1, 4), RunningSynopsis(Counts(), s, 8)
        one = np.zeros(1, np.int64)
        sums.update(ClosedInterval(1, Sums().summarise(one, one)))
        counts.update(ClosedInterval(number, Counts().summarise(one, one)))
        return sums, counts

    assert average(*pair(), 2)["value"].to_pylist() == [0.0]
    for other in (pair(s=2), pair(number=2)):
        with pytest.raises(SynopsisError, match="SS2"):
            average(*other, 1)
    with pytest.raises(SynopsisError, match="1 to 4 sub-windows"):
        average(*pair(), 5)
    with pytest.raises(UnsuitableSynopsisError, match="a synopsis of SUM and one of COUNT"):
        average(*reversed(pair()), 1)
    sums, counts = pair()
    sums.update(ClosedInterval(2, Sums().summarise(np.array([9]), np.array([9]))))
    counts.update(ClosedInterval(2, Counts().empty()))
    with pytest.raises(SynopsisError, match="the same groups"):
        average(sums, counts, 1)
