"""What every synopsis promises, with every content: each window is what recomputation gives."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.synopses.recomputation import (
    Row,
    Sample,
    check_answer,
    closed,
    content_kinds,
    random_rows,
    samples,
    synopsis_kinds,
)
from windrow.synopses import (
    AggregateClass,
    ClosedInterval,
    Counts,
    IncompleteWindowError,
    RunningSynopsis,
    Synopsis,
    SynopsisError,
    UnsuitableSynopsisError,
)

B = 8
PAIRS = [
    pytest.param(kind, name, id=f"{kind.__name__}-{name}")
    for kind in synopsis_kinds()
    for name, sample in samples().items()
    if kind is not RunningSynopsis or sample.make().kind is AggregateClass.SUBTRACTABLE
]


EXTENDED = ("counts", "sums of floats", "greatest", "counters of texts")


def test_every_kind_of_synopsis_and_content_is_tested() -> None:
    assert {kind.__name__ for kind in synopsis_kinds()} == {
        "RunningSynopsis", "IntervalSynopsis", "BasicIntervalSynopsis",
    }  # fmt: skip
    assert content_kinds() == {type(sample.make()) for sample in samples().values()}
    for sample in samples().values():
        assert {f for f, _ in sample.asked} <= sample.make().answers


def check_windows(synopsis: Synopsis[Any], sample: Sample, rows: list[Row], longest: int) -> None:
    """Every window up to ``longest`` is what its rows give."""
    assert synopsis.number is not None
    for n in range(1, longest + 1):
        mine = [row for row in rows if synopsis.number - n < row[0] <= synopsis.number]
        value = synopsis.probe(n)
        for function, parameter in sample.asked:
            check_answer(synopsis.f, function, parameter, value, mine)


@pytest.mark.parametrize(("kind", "name"), PAIRS)
def test_every_window_at_every_update_is_what_its_rows_give(
    kind: type[Synopsis[Any]], name: str
) -> None:
    sample = samples()[name]
    rows = random_rows(sample.values, seed=1, updates=21, first=-3)
    synopsis = kind(sample.make(), s=10, b=B)
    assert synopsis.probe(B) is not None
    for number in range(-3, 18):
        synopsis.update(closed(synopsis.f, rows, number))
        check_windows(synopsis, sample, rows, B)


@pytest.mark.parametrize(("kind", "name"), PAIRS)
def test_saved_and_loaded_it_goes_on_as_if_nothing_had_happened(
    kind: type[Synopsis[Any]], name: str
) -> None:
    sample = samples()[name]
    rows = random_rows(sample.values, seed=2, updates=17)
    steady = kind(sample.make(), s=10, b=4)
    kept: dict[str, pa.RecordBatch] = {}
    for number in range(1, 18):
        steady.update(closed(steady.f, rows, number))
        if number % 3 == 0:
            continue  # several updates between two saves
        saved = steady.save()
        assert set(saved.drop) <= set(kept)
        kept = {k: v for k, v in kept.items() if k not in saved.drop} | saved.put
        steady = kind(sample.make(), s=10, b=4)
        steady.load(kept, saved.meta)
        check_windows(steady, sample, rows, 4)
    assert len(kept) == steady.size()


@pytest.mark.parametrize("kind", synopsis_kinds())
def test_a_save_costs_what_changed(kind: type[Synopsis[Any]]) -> None:
    synopsis = kind(Counts(), s=1, b=64)
    rows = [(number, 0, 1) for number in range(1, 300)]
    written = 0
    for number in range(1, 300):
        synopsis.update(closed(synopsis.f, rows, number))
        written += len(synopsis.save().put)
    assert written <= 2 * 300 + (64 * 5 if kind is RunningSynopsis else 0)
    assert synopsis.save().put == {}


@pytest.mark.parametrize("kind", synopsis_kinds())
def test_state_is_bounded_whatever_passes_through(kind: type[Synopsis[Any]]) -> None:
    synopsis = kind(Counts(), s=1, b=B)
    for number in range(1, 40 * B):  # a group that was never seen before, each time
        groups = np.array([number, number + 10**6])
        synopsis.update(ClosedInterval(number, synopsis.f.summarise(groups, np.zeros(2))))
        assert synopsis.size() <= 2 * B
        most = max(synopsis.f.size(value) for value in synopsis._held.values())
        assert most <= 2 * (2 * B + 1)


@pytest.mark.parametrize("kind", synopsis_kinds())
@pytest.mark.parametrize("gap", [1, 2, B - 1, B, B + 1, B + 2, 3 * B, 10**12])
def test_sub_windows_that_are_left_out_were_empty(kind: type[Synopsis[Any]], gap: int) -> None:
    sample = samples()["counts"]
    rows = [(1, 0, 1), (2, 1, 1), (3, 0, 1), (3 + gap, 5, 1), (4 + gap, 0, 1)]
    synopsis = kind(sample.make(), s=1, b=B)
    for number in (1, 2, 3, 3 + gap, 4 + gap):
        synopsis.update(closed(synopsis.f, rows, number))
        check_windows(synopsis, sample, rows, B)
    assert synopsis.size() <= 2 * B


@pytest.mark.parametrize(("kind", "name"), [pair for pair in PAIRS if pair.values[1] in EXTENDED])
@pytest.mark.parametrize("before", [3, 4, 17])
def test_an_extended_synopsis_says_from_when_it_is_complete_and_then_is(
    kind: type[Synopsis[Any]], name: str, before: int
) -> None:
    sample = samples()[name]
    rows = random_rows(sample.values, seed=3, updates=30)
    synopsis = kind(sample.make(), s=1, b=4)
    for number in range(1, before + 1):
        synopsis.update(closed(synopsis.f, rows, number))
    complete = synopsis.extend(8)
    # Nothing has been dropped yet, or four more have to come to the four that are there.
    assert complete == (before if before <= 4 else before + 4)
    assert synopsis.extend(2) == complete  # never shorter
    for number in range(before, 31):
        if number > before:
            synopsis.update(closed(synopsis.f, rows, number))
        if number < complete:
            held = 4 + number - before
            with pytest.raises(IncompleteWindowError) as refused:
                synopsis.probe(held + 1)
            assert refused.value.complete_from == number + 1
            check_windows(synopsis, sample, rows, held)
        else:
            check_windows(synopsis, sample, rows, 8)


@pytest.mark.parametrize("kind", synopsis_kinds())
def test_a_synopsis_that_begins_late_refuses_what_it_has_not_seen(
    kind: type[Synopsis[Any]],
) -> None:
    sample = samples()["counts"]
    rows = [(number, 0, 1) for number in range(1, 40)]
    synopsis = kind(sample.make(), s=1, b=B, from_start=False)
    with pytest.raises(SynopsisError, match="an update before a probe"):
        synopsis.probe(1)
    for number in range(21, 40):
        synopsis.update(closed(synopsis.f, rows, number))
        seen = min(B, number - 20)
        check_windows(synopsis, sample, rows, seen)
        assert synopsis.complete_from(B) == max(number, 28)
        if seen < B:
            with pytest.raises(IncompleteWindowError, match="complete from update"):
                synopsis.probe(seen + 1)


@pytest.mark.parametrize("kind", synopsis_kinds())
def test_what_cannot_be_is_refused(kind: type[Synopsis[Any]]) -> None:
    with pytest.raises(SynopsisError, match="at least 1"):
        kind(Counts(), s=0, b=4)
    synopsis = kind(Counts(), s=1, b=4)
    synopsis.update(ClosedInterval(3, synopsis.f.empty()))
    for number in (2, 3):
        with pytest.raises(SynopsisError, match="a sub-window after 3"):
            synopsis.update(ClosedInterval(number, synopsis.f.empty()))
    for n in (0, 5):
        with pytest.raises(SynopsisError, match="1 to 4 sub-windows"):
            synopsis.probe(n)
    with pytest.raises(SynopsisError, match="expected COUNT; found a synopsis of COUNT"):
        synopsis.answer("MAX", 1)


@pytest.mark.parametrize(
    "name", [n for n, s in samples().items() if s.make().kind is not AggregateClass.SUBTRACTABLE]
)
def test_a_running_synopsis_refuses_what_cannot_be_subtracted(name: str) -> None:
    content = samples()[name].make()
    with pytest.raises(UnsuitableSynopsisError, match="a subtractable aggregate") as refused:
        RunningSynopsis(content, s=1, b=4)
    assert "interval synopsis" in refused.value.remedy
    if content.kind is AggregateClass.HOLISTIC:
        with pytest.raises(UnsuitableSynopsisError):
            content.subtract(content.empty(), content.empty())


def test_nan_is_the_greatest_number_and_one_value() -> None:
    nan = float("nan")
    zeros = np.zeros(4, np.int64)
    values = np.array([nan, 2.0, -1.0, nan])
    for name, expected in (("least", -1.0), ("greatest", nan)):
        content = samples()[name].make()
        (found,) = content.answer(content.name, content.summarise(zeros, values))[
            "value"
        ].to_pylist()
        assert found == expected or (math.isnan(found) and math.isnan(expected))
    counters = samples()["counters of floats"].make()
    table = counters.summarise(zeros, values)
    assert counters.answer("COUNT DISTINCT", table)["value"].to_pylist() == [3]
    assert math.isnan(counters.answer("MAX", table)["value"].to_pylist()[0])
    assert counters.answer("TOP", table, 1)["count"].to_pylist() == [2]


HISTORIES = st.lists(
    st.one_of(
        st.tuples(st.just("update"), st.sampled_from([1, 1, 1, 2, 5, 12]), st.integers(0, 2)),
        st.tuples(st.just("extend"), st.sampled_from([4, 8]), st.just(0)),
        st.tuples(st.just("reload"), st.just(0), st.just(0)),
    ),
    min_size=3,
    max_size=25,
)
"""Updates so many sub-windows later, with so many rows; extensions; saving and loading."""


@pytest.mark.parametrize("kind", synopsis_kinds())
@given(history=HISTORIES, from_start=st.booleans())
def test_whatever_happened_a_window_is_right_or_refused(
    kind: type[Synopsis[Any]], history: list[tuple[str, int, int]], from_start: bool
) -> None:
    synopsis = kind(Counts(), s=1, b=2, from_start=from_start)
    kept: dict[str, pa.RecordBatch] = {}
    rows: list[Row] = []
    number, b, first = 0, 2, None
    gone = -(10**9)  # the last sub-window that is not known any more, or never was
    for what, by, count in history:
        if what == "update":
            number += by
            new = [(number, group, 1) for group in range(count)]
            rows += new
            synopsis.update(closed(synopsis.f, new, number))
            if first is None:
                first = number
                gone = gone if from_start else number - 1
            if number - b >= first:
                gone = max(gone, number - b)
        elif what == "extend":
            b = max(b, by)
            synopsis.extend(by)
        else:
            saved = synopsis.save()
            kept = {k: v for k, v in kept.items() if k not in saved.drop} | saved.put
            synopsis = kind(Counts(), s=1, b=2, from_start=from_start)
            synopsis.load(kept, saved.meta)
        for n in range(1, b + 1) if first is not None else ():
            if number - n >= gone:
                mine = [row for row in rows if number - n < row[0]]
                check_answer(synopsis.f, "COUNT", None, synopsis.probe(n), mine)
            else:
                with pytest.raises(IncompleteWindowError):
                    synopsis.probe(n)
