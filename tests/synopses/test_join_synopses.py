"""Join synopses: any (n1, n2)-join at any update is what the tuples of the two windows give."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.synopses.recomputation import Sample, check_answer, samples, synopsis_kinds
from windrow.synopses import (
    AggregateClass,
    BasicIntervalSynopsis,
    Content,
    Counts,
    IncompleteWindowError,
    IntervalSynopsis,
    JoinBuffer,
    JoinSynopsis,
    RunningSynopsis,
    SynopsisError,
)

S, B = 3, 8
Result = tuple[int, int, int, Any]
"""Times of its two tuples, group and value."""
PAIRS = [
    pytest.param(kind, name, id=f"{kind.__name__}-{name}")
    for kind in synopsis_kinds()
    for name in ("counts", "sums of floats", "greatest", "counters of texts", "distinct sketches")
    if kind is not RunningSynopsis or samples()[name].make().kind is AggregateClass.SUBTRACTABLE
]


def joined(values: str, seed: int, last: int, window: int) -> list[Result]:
    """Results of a join of two windows of ``window`` sub-windows, in the order of their time."""
    rng = np.random.default_rng(seed)
    one, other = (np.sort(rng.integers(-5, last, last)) for _ in range(2))
    keys = rng.integers(0, 4, (2, last))
    results = []
    for a, key_a in zip(one.tolist(), keys[0].tolist(), strict=True):
        for b, key_b in zip(other.tolist(), keys[1].tolist(), strict=True):
            # Each was still in its window when the other came.
            if key_a == key_b and abs(a - b) < S * window:
                results.append((a, b, key_a))
    results.sort(key=lambda result: max(result[:2]))
    kinds = {"ints": [4, -2, 9], "floats": [0.1, 1e16, -7.5], "texts": ["a", "b", "c"]}[values]
    return [(*result, kinds[i % 3]) for i, result in enumerate(results)]


def number_of(ts: int) -> int:
    return math.ceil(ts / S)


def rows_of(results: list[Result], at: int, n1: int, n2: int) -> list[tuple[int, int, Any]]:
    """The results of the (n1, n2)-join at an update."""
    return [
        (0, group, value)
        for a, b, group, value in results
        if at - n1 < number_of(a) <= at and at - n2 < number_of(b) <= at
    ]


def feed(buffer: JoinBuffer[Any], results: list[Result]) -> Any:
    a, b, groups, values = (np.array(column) for column in zip(*results, strict=True))
    return buffer.feed(values, groups, first=a, second=b)


def check_windows(
    synopsis: JoinSynopsis[Any], sample: Sample, results: list[Result], longest: int
) -> None:
    at = synopsis.synopsis.number
    assert at is not None
    for n1 in range(1, longest + 1):
        for n2 in range(max(1, n1 - synopsis.g), min(longest, n1 + synopsis.g) + 1):
            value = synopsis.probe(n1, n2)
            for function, parameter in sample.asked:
                rows = rows_of(results, at, n1, n2)
                check_answer(synopsis.synopsis.f, function, parameter, value, rows)


@pytest.mark.parametrize(("kind", "name"), PAIRS)
@pytest.mark.parametrize("g", [0, 1, 3])
def test_every_join_at_every_update_is_what_the_windows_give(kind: type, name: str, g: int) -> None:
    sample = samples()[name]
    results = joined(sample.values, seed=g, last=42, window=B)
    f = sample.make()
    buffer, synopsis = JoinBuffer(f, S, g), JoinSynopsis(kind(f, S, B), g)
    kept: dict[str, pa.RecordBatch] = {}
    for closed in [*feed(buffer, results), *buffer.advance(69)]:
        synopsis.update(closed)
        check_windows(synopsis, sample, results, B)
        assert synopsis.size() <= (2 * B if kind is IntervalSynopsis else B + 1) + 2 * g * B
        saved = synopsis.save()
        assert set(saved.drop) <= set(kept)
        kept = {k: v for k, v in kept.items() if k not in saved.drop} | saved.put
        synopsis = JoinSynopsis(kind(f, S, B), g)
        synopsis.load(kept, saved.meta)
    assert synopsis.synopsis.number == 23
    assert f.size(synopsis.probe(B, B)) == 0


@pytest.mark.parametrize(
    ("kind", "name"),
    [(BasicIntervalSynopsis, "BIJ"), (IntervalSynopsis, "IJ"), (RunningSynopsis, "RJ")],
)
def test_an_update_of_a_join_touches_every_interval(kind: type, name: str) -> None:
    """8.3.2, Figure 8.3: b, 2b and b values; a probe is as short as without a join."""
    synopsis = JoinSynopsis(kind(Counts(), 1, B))
    buffer = JoinBuffer(Counts(), 1)
    assert synopsis.name == name
    for number in range(1, 4 * B + 1):
        older = np.arange(max(1, number - B + 1), number + 1)
        before = synopsis.synopsis.work.touched
        list(buffer.feed(np.zeros(len(older)), first=np.full(len(older), number), second=older))
        synopsis.follow(buffer.advance(number))
        touched = synopsis.synopsis.work.touched - before
        if number > B and number % B == 0:
            levels = int(math.log2(B))
            # The newest intervals are written twice: with their own results, and with older ones.
            assert touched == {"BIJ": B, "IJ": 2 * B - 1 + levels, "RJ": B + 1}[name]
    combined = synopsis.synopsis.work.combined
    synopsis.probe(7, 7)
    assert synopsis.synopsis.work.combined - combined == {"BIJ": 7, "IJ": 3, "RJ": 2}[name]


def test_figure_8_4_counts_a_7_8_join_from_what_a_bij_of_8_keeps() -> None:
    results = joined("ints", seed=9, last=60, window=8)
    synopsis = JoinSynopsis(BasicIntervalSynopsis(Counts(), S, 8), g=2)
    assert synopsis.name == "BIJ, g = 2"
    buffer = JoinBuffer(Counts(), S, g=2)
    counts = {}
    for closed in [*feed(buffer, results), *buffer.advance(57)]:
        synopsis.update(closed)
    before = synopsis.synopsis.work.combined
    for n1, n2 in ((7, 7), (7, 8), (8, 7), (8, 8), (6, 8)):
        counts[n1, n2] = sum(synopsis.answer("COUNT", n1, n2)["value"].to_pylist())
        assert counts[n1, n2] == len(rows_of(results, 19, n1, n2))
    assert counts[7, 7] < counts[7, 8] < counts[8, 8]
    assert counts[7, 7] < counts[8, 7] < counts[8, 8]
    assert counts[6, 8] < counts[7, 8]
    assert synopsis.synopsis.work.combined - before == 7 + 8 + 8 + 8 + 8


@given(seed=st.integers(0, 50), cuts=st.lists(st.integers(0, 60), max_size=4), g=st.integers(0, 2))
def test_how_results_are_cut_makes_no_difference(seed: int, cuts: list[int], g: int) -> None:
    results = joined("ints", seed, last=20, window=4)

    def run(parts: list[int]) -> list[Any]:
        f: Content[Any] = Counts()
        buffer, handed = JoinBuffer(f, S, g), []
        points = [0, *sorted(min(part, len(results)) for part in parts), len(results)]
        for start, stop in pairwise(points):
            saved = buffer.save()
            buffer = JoinBuffer(f, S, g)
            buffer.load(saved.put, saved.meta)
            if stop > start:
                handed += feed(buffer, results[start:stop])
        handed += buffer.advance(50)
        return [
            (n, {c: f.answer("COUNT", v).to_pylist() for c, v in sorted(cells.items())})
            for n, cells in handed
        ]

    assert run(cuts) == run([])


@pytest.mark.parametrize("kind", synopsis_kinds())
def test_an_extended_join_synopsis_is_complete_when_it_says(kind: type) -> None:
    sample = samples()["counts"]
    short = joined("ints", seed=4, last=60, window=4)
    long = joined("ints", seed=4, last=60, window=8)
    at = 10  # when the windows of the join are extended, and the synopsis with them
    results = [r for r in short if number_of(max(r[:2])) <= at]
    # Later ones may also have tuples that were in the short windows at that instant, or came since.
    results += [r for r in long if number_of(max(r[:2])) > at and number_of(min(r[:2])) > at - 4]
    synopsis = JoinSynopsis(kind(Counts(), S, 4), g=2)
    buffer = JoinBuffer(Counts(), S, g=2)
    complete = None
    for closed in [*feed(buffer, results), *buffer.advance(60)]:
        synopsis.update(closed)
        if closed.number == at:
            complete = synopsis.extend(8)
            assert complete == at + 4
        elif complete is not None and closed.number >= complete:
            check_windows(synopsis, sample, long, 8)
        elif complete is not None:
            with pytest.raises(IncompleteWindowError):
                synopsis.probe(6, 8)


def test_what_cannot_be_is_refused() -> None:
    inner = BasicIntervalSynopsis(Counts(), S, 4)
    for g in (-1, 4):
        with pytest.raises(SynopsisError, match="BIJ: expected g from 0 to b - 1 = 3"):
            JoinSynopsis(inner, g)
    synopsis = JoinSynopsis(inner, g=1)
    with pytest.raises(SynopsisError, match=r"\(2, 4\)-join: expected lengths that differ by"):
        synopsis.probe(2, 4)
    with pytest.raises(SynopsisError, match="1 to 4 sub-windows"):
        synopsis.probe(4, 5)
    with pytest.raises(SynopsisError, match="s of at least 1"):
        JoinBuffer(Counts(), 0)
    buffer = JoinBuffer(Counts(), S)
    one = np.zeros(2)
    with pytest.raises(SynopsisError, match="two timestamps for each value"):
        list(buffer.feed(one, first=np.array([1]), second=np.array([1])))
    with pytest.raises(SynopsisError, match="in the order in which they arise"):
        list(buffer.feed(one, first=np.array([9, 1]), second=np.array([1, 2])))
    list(buffer.advance(30))
    with pytest.raises(SynopsisError, match="in the order in which they arise"):
        list(buffer.feed(one, first=np.array([1, 1]), second=np.array([1, 2])))
