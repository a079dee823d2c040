"""FREQUENT: never a false positive, never an over-estimate, bounded memory (Golab 2006, ch. 6)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from windrow.core.errors import WindrowError
from windrow.core.patterns import UpdatePattern
from windrow.synopses import Frequent, FrequentInputError, FrequentItems, SynopsisError

ITEMS = st.lists(st.sampled_from("aaaaabbbccdefgh"), min_size=1, max_size=120)
CUTS = st.lists(st.integers(0, 120), max_size=5)


def algorithm_6(items: Sequence[Any], n: int, b: int, k: int) -> list[FrequentItems]:
    """The slow twin: the lines of the pseudo-code, tuple by tuple."""
    queue: list[list[tuple[Any, int]]] = []
    delta, counters, output = 0, Counter[Any](), []

    def last_count(summary: list[tuple[Any, int]]) -> int:
        return summary[k - 1][1] if len(summary) == k else 0

    for start in range(0, len(items) - b + 1, b):
        local = Counter[Any]()
        for item in items[start : start + b]:
            local[item] += 1
        summary = sorted(local.items(), key=lambda pair: (-pair[1], pair[0]))[:k]
        queue.append(summary)
        for item, count in summary:
            counters[item] += count
        delta += last_count(summary)
        if len(queue) > n // b:
            oldest = queue.pop(0)
            delta -= last_count(oldest)
            for item, count in oldest:
                counters[item] -= count
            over = [(i, c) for i, c in counters.items() if c > delta]
            output.append(FrequentItems(sorted(over, key=lambda p: (-p[1], p[0])), delta))
    return output


def pieces(count: int, cuts: Iterable[int]) -> list[slice]:
    points = [0, *sorted(min(cut, count) for cut in cuts), count]
    return [slice(*pair) for pair in pairwise(points)]


def reload(window: Frequent, kept: dict[str, pa.RecordBatch], fresh: Frequent) -> Frequent:
    """The window saved and loaded; ``kept`` is what a host has of it."""
    saved = window.save()
    assert set(saved.drop) <= set(kept)
    for name in saved.drop:
        del kept[name]
    kept.update(saved.put)
    fresh.load(kept, saved.meta)
    return fresh


@given(items=ITEMS, cuts=CUTS, k=st.integers(1, 5), b=st.sampled_from([1, 3, 8]))
def test_it_is_algorithm_6_however_the_rows_are_cut(
    items: list[str], cuts: list[int], k: int, b: int
) -> None:
    window = Frequent.over_rows(window=24, sub_window=b, k=k)
    kept: dict[str, pa.RecordBatch] = {}
    found = []
    for piece in pieces(len(items), cuts):
        for number in window.feed(np.array(items[piece])):
            assert number == 24 // b + len(found) + 1
            found.append(window.answer())
        window = reload(window, kept, Frequent.over_rows(window=24, sub_window=b, k=k))
    assert found == algorithm_6(items, 24, b, k)


@given(items=st.lists(st.integers(-3, 9), min_size=1, max_size=150), k=st.integers(1, 6))
def test_never_a_false_positive_and_never_an_over_estimate(items: list[int], k: int) -> None:
    window = Frequent.over_rows(window=30, sub_window=10, k=k)
    for number in window.feed(np.array(items)):
        true = Counter(items[10 * number - 30 : 10 * number])
        answer = window.answer()
        for item, count in answer.items:
            assert answer.delta < count <= true[item]
        for threshold in (0, 5, 12):
            assert all(c > threshold and c <= true[i] for i, c in window.answer(threshold).items)
        for item in set(items):
            lower, upper = window.estimate(item)[1:]
            assert lower <= true[item] <= upper
        if answer.delta == 0:
            assert dict(window.answer(0).items) == true


@given(
    rows=st.lists(st.tuples(st.integers(0, 25), st.sampled_from("aabcd")), min_size=1, max_size=60),
    cuts=CUTS,
    k=st.integers(1, 4),
)
def test_over_time_the_same_holds_with_empty_sub_windows(
    rows: list[tuple[int, str]], cuts: list[int], k: int
) -> None:
    pauses, items = (np.array(column) for column in zip(*rows, strict=True))
    ts = np.cumsum(pauses) - 7

    def run(parts: list[slice]) -> list[tuple[int, FrequentItems]]:
        window, found = Frequent.over_time(window=30, sub_window=10, k=k), []
        kept: dict[str, pa.RecordBatch] = {}
        for piece in parts:
            found += [(u, window.answer()) for u in window.feed(items[piece], ts[piece])]
            window = reload(window, kept, Frequent.over_time(window=30, sub_window=10, k=k))
        found += [(u, window.answer()) for u in window.advance(int(ts[-1]) + 55)]
        assert found[-1][1] == FrequentItems([], 0)
        assert window.size() == 0
        return found

    whole = run([slice(0, len(ts))])
    assert run(pieces(len(ts), cuts)) == whole
    for update, answer in whole:
        live = (ts > 10 * update - 30) & (ts <= 10 * update)
        true = Counter(items[live].tolist())
        assert all(answer.delta < count <= true[item] for item, count in answer.items)


def test_an_example_in_the_manner_of_figure_6_2() -> None:
    """Thirteen sub-windows of five, k = 3; counts worked out by hand."""
    sub_windows = [
        "aaabc", "aabbc", "abbcd", "aaade", "bbaac", "aaabb", "abcde",
        "ccaab", "aaaab", "bbbac", "addda", "aabcc", "aaaae",
    ]  # fmt: skip
    window = Frequent.over_rows(window=65, sub_window=5, k=3)
    window.append(np.array(list("".join(sub_windows))))
    # Third counts 1 1 1 1 1 - 1 1 - 1 - 1 - : four lists are shorter than three and count 0.
    assert window.delta == 9
    assert window.answer() == FrequentItems([("a", 30), ("b", 16), ("c", 10)], 9)
    # d is on the lists of sub-windows 4 and 11 only; the d of 3 and of 7 are off the lists.
    assert (window.estimate("d").lower, Counter("".join(sub_windows))["d"]) == (4, 6)
    # One more: the first leaves, and with it three a, one b and one c.
    (update,) = window.feed(np.array(list("ddddd")))
    assert update == 14
    assert window.delta == 8
    assert window.answer().items == [("a", 27), ("b", 15), ("c", 9), ("d", 9)]


def test_what_wins_most_sub_windows_need_not_win_the_window() -> None:
    """6.1, Figure 6.1: twelve sub-windows, E-bay first in five, CNN in four, Google in three."""
    winners = ["ebay"] * 5 + ["cnn"] * 4 + ["google"] * 3
    lengths = {"ebay": 2, "cnn": 2, "google": 9}
    others = [f"site{i}" for i in range(12 * 9)]
    rows = []
    for number, winner in enumerate(winners):
        fill = others[9 * number : 9 * number + 9 - lengths[winner]]
        rows += [winner] * lengths[winner] + fill
    window = Frequent.over_rows(window=108, sub_window=9, k=1)
    window.append(np.array(rows))
    assert window.delta == sum(lengths[winner] for winner in winners)
    assert [window.estimate(w).lower for w in ("ebay", "cnn", "google")] == [10, 8, 27]
    assert window.answer().items == []  # with lists of one nothing follows, and nothing is claimed


def test_with_k_3_what_is_always_fourth_is_missed() -> None:
    rows = "aaaabbbbccccddd" * 4
    window = Frequent.over_rows(window=60, sub_window=15, k=3)
    window.append(np.array(list(rows)))
    assert window.estimate("d") == (0, 0, 16)
    wider = Frequent.over_rows(window=60, sub_window=15, k=5)
    wider.append(np.array(list(rows)))
    assert wider.answer() == FrequentItems([("a", 16), ("b", 16), ("c", 16), ("d", 12)], 0)


def test_of_items_that_tie_for_the_last_place_the_least_is_listed() -> None:
    for rows in ("zyxwv", "vwxyz", "xzvwy"):
        window = Frequent.over_rows(window=5, sub_window=5, k=2)
        window.append(np.array(list(rows)))
        assert [window.estimate(i).lower for i in "vwxyz"] == [1, 1, 0, 0, 0]
        assert window.delta == 1


def test_memory_is_bounded_by_lists_and_not_by_the_stream() -> None:
    window = Frequent.over_rows(window=2_000, sub_window=100, k=3)
    kept: dict[str, pa.RecordBatch] = {}
    for start in range(0, 100_000, 950):
        window.append(np.arange(start, start + 950))  # nothing comes twice
        assert window.size() <= 2 * 3 * 20 + 100
        saved = window.save()
        kept = {n: b for n, b in kept.items() if n not in saved.drop} | saved.put
        assert sum(batch.num_rows for batch in kept.values()) <= 3 * 20 + 3 * 10 + 100


@pytest.mark.parametrize("pattern", list(UpdatePattern))
def test_input_that_does_not_expire_in_its_order_is_refused(pattern: UpdatePattern) -> None:
    if pattern <= UpdatePattern.WEAKEST:
        Frequent.check_input(pattern)
        return
    with pytest.raises(FrequentInputError, match=r"6\.2\.1") as refused:
        Frequent.check_input(pattern)
    assert refused.value.pattern is pattern
    assert isinstance(refused.value, WindrowError)
    assert pattern.name in str(refused.value)


def test_what_cannot_be_is_refused() -> None:
    for window, sub_window, k in ((100, 30, 3), (100, 10, 0), (0, 10, 3), (100, 0, 3)):
        with pytest.raises(SynopsisError, match="whole sub-windows"):
            Frequent.over_rows(window, sub_window, k)
    timed = Frequent.over_time(30, 10, 2)
    with pytest.raises(SynopsisError, match="integers or texts"):
        timed.append(np.array([0.5]), np.array([1]))
    with pytest.raises(SynopsisError, match="a timestamp for each row"):
        timed.append(np.array([1]))
    with pytest.raises(SynopsisError, match="a timestamp that decreases"):
        timed.append(np.array([1, 2]), np.array([5, 4]))
    timed.append(np.array([1]), np.array([25]))
    with pytest.raises(SynopsisError, match="of one type"):
        timed.append(np.array(["a"]), np.array([26]))
    list(timed.advance(30))
    with pytest.raises(SynopsisError, match="of one type"):
        timed.append(np.array(["a"]), np.array([36]))
    with pytest.raises(SynopsisError, match="a timestamp that decreases"):
        timed.append(np.array([1]), np.array([5]))
