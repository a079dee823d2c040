"""Figures, properties, theorems and tables of Wu, Chen, Yu 2004, against exact enumeration."""

from __future__ import annotations

import functools
from fractions import Fraction

import numpy as np
import pytest

from tests.subscriptions.indexes.stabbing import ints, stabbed
from windrow.papers.interval_indexes import LogarithmicConstructs, LogarithmicLayout, SimpleLayout
from windrow.subscriptions.indexes import ContainmentEncoded, UnitIntervals, cei
from windrow.subscriptions.indexes.constructs import UnitLayout, cut
from windrow.subscriptions.indexes.containment_encoded import ContainmentLayout

LENGTHS = [1, 2, 4, 8, 16, 32]


def pieces(layout, a: int, b: int) -> list[int]:
    return sorted(cut(layout, ints([a]), ints([b]))[1].tolist())


def best_partition(s: int, e: int, post: int, length: int) -> list[int]:
    """BestPartition of Figure 6, word for word: merge from the leftmost unit upwards."""
    found = []
    while s < e:
        local = s - post + length
        while local % 2 == 0 and _cells(local // 2, post, length)[1] <= e and local > 1:
            local //= 2
        found.append(2 * post + local)
        s = _cells(local, post, length)[1]
    return found


def decomposition(a: int, b: int, length: int) -> list[int]:
    """Decomposition of Figure 6."""
    left, right = -(-a // length) * length, b // length * length
    if left > right:
        return best_partition(a, b, right, length)
    found = [2 * post + 1 for post in range(left, right, length)]
    if a < left:
        found += best_partition(a, left, left - length, length)
    if b > right:
        found += best_partition(right, b, right, length)
    return found


def _cells(local: int, post: int, length: int) -> tuple[int, int]:
    """Where the construct with a local ID begins and ends (Property 2)."""
    level = local.bit_length() - 1
    size = length >> level
    start = post + (local - (1 << level)) * size
    return start, start + size


def span(construct: int, length: int) -> tuple[int, int]:
    """The cells of a construct by its global ID ``l + 2iL``."""
    segment, local = divmod(construct, 2 * length)
    return _cells(local, segment * length, length)


def test_figure_7_decomposes_8_to_14_and_11_to_15():
    """The figure's endpoints are the local IDs of the unit CEIs, 8 to 15, of one segment."""
    layout = ContainmentLayout.over(8, 8)
    assert pieces(layout, 8 - 8, 14 - 8) == [2, 6]
    assert pieces(layout, 11 - 8, 15 - 8) == [6, 11, 14]
    assert best_partition(0, 6, 0, 8) == [2, 6]
    assert best_partition(3, 7, 0, 8) == [11, 6, 14]


def test_figure_10_puts_four_queries_into_the_lists_of_a_segment():
    index = cei(0, 12, 4)
    segment = 4
    queries = {1: (0, 12), 2: (segment + 1, segment + 3), 3: (segment + 1, segment + 4), 4: (2, 6)}
    index.insert(ints(list(queries)), *(ints(e) for e in zip(*queries.values(), strict=True)))
    lists = {c: set() for c in range(1, 8)}
    for query, (a, b) in queries.items():
        for construct in pieces(index.layout, a, b):
            if construct // 8 == 1:
                lists[construct % 8].add(query)
    assert lists == {1: {1}, 2: {4}, 3: {3}, 4: set(), 5: {2, 3}, 6: {2}, 7: set()}
    assert stabbed(index, [segment + 1]) == [(0, 1), (0, 2), (0, 3), (0, 4)]


def test_figure_2_a_value_under_two_constructs_finds_the_queries_of_both():
    """v1 over v2 and v3, then v4 and v5; x is covered by v1 and v3 alone."""
    index = cei(0, 4, 2)
    v1, v2, v3 = 1, 2, 3
    assert [span(v, 2) for v in (v1, v2, v3)] == [(0, 2), (0, 1), (1, 2)]
    index.insert(ints([2, 3, 4]), ints([0, 1, 0]), ints([3, 2, 2]))
    assert pieces(index.layout, 0, 3)[0] == v1
    assert pieces(index.layout, 1, 2) == [v3]
    assert stabbed(index, [1]) == [(0, 2), (0, 3), (0, 4)]


def test_figure_3_the_constructs_of_three_layouts():
    """Over four cells with L = 4: units, lengths 1, 2 and 4 at each cell, and a tree."""
    assert [pieces(UnitLayout(4), x, x + 1) for x in range(4)] == [[0], [1], [2], [3]]
    assert [pieces(LogarithmicLayout(4, 2), 0, w) for w in (1, 2, 4)] == [[0], [1], [2]]
    assert [pieces(SimpleLayout(4, 4), 0, w) for w in (1, 2, 3, 4)] == [[0], [1], [2], [3]]
    layout = ContainmentLayout.over(4, 4)
    assert [pieces(layout, *e) for e in ((0, 4), (0, 2), (2, 4), (3, 4))] == [[1], [2], [3], [7]]


@pytest.mark.parametrize("length", LENGTHS)
def test_table_1_counts_constructs_and_those_that_cover_a_point(length):
    r, k = 64, length.bit_length() - 1
    # Constructs of LCI and SCI stick out of the range at its right end: count by their left end.
    beyond = r + length
    spans = {
        "UI": (UnitLayout(beyond), lambda c: (c, c + 1)),
        "SCI": (
            SimpleLayout(beyond, length),
            lambda c: (c // length, c // length + c % length + 1),
        ),
        "LCI": (
            LogarithmicLayout(beyond, k),
            lambda c: (c // (k + 1), c // (k + 1) + (1 << c % (k + 1))),
        ),
        "CEI": (ContainmentLayout.over(beyond, length), lambda c: span(c, length)),
    }
    counts = {}
    for name, (layout, extent) in spans.items():
        lo, hi = np.array([(a, b) for a in range(r) for b in range(a + 1, a + length + 1)]).T
        used = {c: extent(c) for c in cut(layout, lo.copy(), hi.copy())[1].tolist()}
        within = {c for c, (a, _) in used.items() if a < r}
        covering = {sum(a <= x < b for a, b in used.values()) for x in range(length, r)}
        counts[name] = (len(within), covering)
    assert counts == {
        "UI": (r, {1}),
        "SCI": (r * length, {length * (length + 1) // 2}),
        "LCI": (r * (1 + k), {2 * length - 1}),
        "CEI": (2 * r - r // length, {k + 1}),
    }


@pytest.mark.parametrize("length", LENGTHS)
def test_properties_1_to_7_of_local_ids(length):
    k = length.bit_length() - 1
    locals_ = range(1, 2 * length)
    assert len(locals_) == sum(2**i for i in range(k + 1))
    for local in locals_:
        a, b = _cells(local, 0, length)
        assert b - a == length >> (local.bit_length() - 1)
        if local > 1:
            outer = _cells(local // 2, 0, length)
            assert outer[0] <= a < b <= outer[1]
            assert local in (2 * (local // 2), 2 * (local // 2) + 1)
    layout = ContainmentLayout.over(4 * length, length)
    for x in range(4 * length):
        i = x // length
        assert pieces(layout, x, x + 1) == [x - i * length + length + 2 * i * length]
        covering = [local for local in locals_ if _cells(local, 0, length)[0] <= x % length
                    < _cells(local, 0, length)[1]]  # fmt: skip
        assert covering == sorted((x % length + length) >> j for j in range(k + 1))


@pytest.mark.parametrize("length", [4, 8, 16])
def test_property_8_two_constructs_are_one_if_the_smaller_id_is_even(length):
    layout = ContainmentLayout.over(length, length)
    for local in range(2, 2 * length - 1):
        if (local + 1).bit_length() == local.bit_length():
            a, b = _cells(local, 0, length)[0], _cells(local + 1, 0, length)[1]
            merged = len(pieces(layout, a, b)) == 1
            assert merged == (local % 2 == 0)


@pytest.mark.parametrize("length", LENGTHS)
def test_pieces_are_those_of_the_paper_s_algorithm(length):
    layout = ContainmentLayout.over(96, length)
    for a in range(40):
        for b in range(a + 1, 97):
            found = pieces(layout, a, b)
            # Very short segments: the upper tree holds what has more than 64 of them whole.
            if b // length - -(-a // length) <= 64:
                assert found == sorted(decomposition(a, b, length))
                assert sorted(x for c in found for x in range(*span(c, length))) == [*range(a, b)]


@pytest.mark.parametrize("length", [2, 4, 8, 16])
def test_theorem_1_no_decomposition_has_fewer_pieces(length):
    layout = ContainmentLayout.over(length, length)
    spans = [_cells(local, 0, length) for local in range(1, 2 * length)]

    @functools.cache
    def fewest(a: int, b: int) -> int:
        if a == b:
            return 0
        return 1 + min(fewest(d, b) for c, d in spans if c == a and d <= b)

    for a in range(length):
        for b in range(a + 1, length + 1):
            assert len(pieces(layout, a, b)) == fewest(a, b)


def total_cei(length: int, shortest: int, longest: int) -> int:
    """T: pieces of all intervals of these lengths whose left ends are in one segment."""
    layout = ContainmentLayout.over(longest + 4 * length, length)
    lo = np.repeat(np.arange(length), longest - shortest + 1)
    w = np.tile(np.arange(shortest, longest + 1), length)
    return int(layout.sizes(lo, lo + w).sum())


def total_lci(length: int, shortest: int, longest: int) -> int:
    layout = LogarithmicLayout(longest, length.bit_length() - 1)
    w = np.arange(shortest, longest + 1)
    return int(layout.sizes(np.zeros_like(w), w).sum())


@pytest.mark.parametrize("length", [2, 4, 8, 16, 32])
def test_lemmas_3_to_7_count_the_pieces(length):
    k = length.bit_length() - 1
    layout = ContainmentLayout.over(3 * length, length)
    for w in range(1, length):
        assert len(pieces(layout, length, length + w)) == w.bit_count()
        assert len(pieces(layout, length - w, length)) == w.bit_count()
    assert sum(w.bit_count() for w in range(1, 2**k)) == k * 2 ** (k - 1)
    t_l_2l = Fraction(length**2, 2) + Fraction(3 * length, 2) + length**2 * k
    assert total_cei(length, length + 1, 2 * length) == t_l_2l
    for i in range(1, 4):
        t = total_cei(length, i * length + 1, (i + 1) * length)
        assert t == t_l_2l + (i - 1) * length**2
    for j in range(1, k + 1):
        t = total_cei(length, length // 2**j + 1, length // 2 ** (j - 1))
        assert t == (
            Fraction(length**2, 2 ** (j + 1)) + Fraction(3 * length, 2)
            + Fraction(length**2 * k, 2**j) - Fraction(j * length**2, 2**j) - 2 ** (j - 1)
        )  # fmt: skip


def theorem_2(length: int, beta: int) -> Fraction:
    k, square = length.bit_length() - 1, length**2
    inside = square * k + Fraction(3, 2) * (length * k - square + length) + 1
    over = Fraction(3, 2) * length + square * k - Fraction(square, 2)
    return inside + (beta - 1) * over + Fraction(square * beta * (beta - 1), 2)


def theorem_3(length: int, beta: int) -> Fraction:
    k = length.bit_length() - 1
    return beta + Fraction(beta * length * k, 2) + Fraction(beta * (beta - 1) * length, 2)


@pytest.mark.parametrize("length", [2, 4, 8, 16, 32])
@pytest.mark.parametrize("beta", [1, 2, 3, 7])
def test_theorems_2_and_3_are_exact_for_whole_multiples_of_the_length(length, beta):
    assert total_cei(length, 1, beta * length) == theorem_2(length, beta)
    assert total_lci(length, 1, beta * length) == theorem_3(length, beta)


@pytest.mark.parametrize(
    ("length", "widest"),
    [
        (length, widest)
        for length in (2, 4, 8, 16, 32, 64)
        for widest in (64, 100, 127, 200)
        if widest <= 60 * length  # so that no interval is so long that the upper tree holds it
    ],
)
def test_table_2_bounds_the_average_number_of_pieces(length, widest):
    beta, k = widest // length, length.bit_length() - 1
    cei_mean = Fraction(total_cei(length, 1, widest), length * widest)
    lci_mean = Fraction(total_lci(length, 1, widest), widest)
    # As printed, term by term.
    square, half = length**2, Fraction(1, 2)
    low = beta * square * k + half * (beta**2 - 2 * beta - 2) * square
    low += 3 * half * (length * k + beta * length) + 1
    high = (beta + 1) * square * k + half * (beta**2 - 3) * square
    high += 3 * half * (length * k + (beta + 1) * length) + 1
    assert low == theorem_2(length, beta)
    assert high == theorem_2(length, beta + 1)
    assert low <= cei_mean * length * widest <= high
    lci_low = beta + half * beta * length * k + half * beta * (beta - 1) * length
    lci_high = beta + 1 + half * (beta + 1) * length * k + half * (beta + 1) * beta * length
    assert lci_low <= lci_mean * widest <= lci_high
    units = UnitLayout(widest)
    w = np.arange(1, widest + 1)
    assert Fraction(int(units.sizes(0 * w, w).sum()), widest) == Fraction(1 + widest, 2)


def test_a_random_load_has_as_many_pieces_as_table_2_says():
    """Figure 14 in small: W = 200, L = 16."""
    rng = np.random.default_rng(4)
    lo = rng.integers(0, 2**16 - 200, 20_000)
    hi = lo + rng.integers(1, 201, 20_000)
    means = {}
    for kind in (UnitIntervals, LogarithmicConstructs, ContainmentEncoded):
        index = kind(0, 2**16, 16)
        index.insert(np.arange(20_000), lo, hi)
        means[kind] = index.entries / 20_000
    assert means[UnitIntervals] == pytest.approx(100.5, rel=0.02)
    beta = 200 // 16
    cei_low, cei_high = (theorem_2(16, b) / (200 * 16) for b in (beta, beta + 1))
    lci_low, lci_high = (theorem_3(16, b) / 200 for b in (beta, beta + 1))
    assert cei_low < means[ContainmentEncoded] < cei_high
    assert lci_low < means[LogarithmicConstructs] < lci_high
    assert means[LogarithmicConstructs] < means[ContainmentEncoded] < means[UnitIntervals] / 8
