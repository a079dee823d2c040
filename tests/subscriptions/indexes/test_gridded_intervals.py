"""Keys of every ordered type go through the grid without loss."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.subscriptions.indexes.stabbing import MAX, MIN, EveryInterval, ints, stabbed
from windrow.columns.arrays import order_keys
from windrow.subscriptions.indexes import GriddedIntervals
from windrow.subscriptions.indexes.gridded_intervals import KeyGrid

keys = st.one_of(
    st.integers(-50, 50),
    st.integers(10**15, 10**15 + 10**6),
    st.integers(MIN, MAX),
    st.sampled_from([MIN, MIN + 1, -1, 0, 1, MAX - 1, MAX]),
)


def cell_of(grid: KeyGrid, key: int) -> int:
    """The slow twin of the map."""
    if key < grid.low:
        return 0
    bucket, within = divmod(key - grid.low, 1 << grid.bits)
    if bucket >= len(grid.shift):
        return grid.cells - 1
    return int(grid.base[bucket]) + (within >> int(grid.shift[bucket]))


def test_cells_are_one_for_each_key_where_there_are_few():
    grid = KeyGrid.over(ints([100, 1_123]), 256)
    assert grid.cells == 1_024 + 2
    assert [cell_of(grid, x) for x in (99, 100, 101, 1_123, 1_124)] == [0, 1, 2, 1_024, 1_025]


def test_cells_are_where_the_ends_are():
    rng = np.random.default_rng(1)
    ends = np.concatenate([rng.integers(0, 1_000_000, 900), rng.integers(0, 2**60, 100)])
    grid = KeyGrid.over(ends, 2_048)
    assert 2_048 < grid.cells < 2 * 2_048 + 8_192
    # The first of the buckets has nine tenths of the ends, and as large a share of the cells.
    assert grid.base[1] - grid.base[0] == 2_048
    floats = np.sort(order_keys(pa.array(rng.uniform(-1, 1, 10_000))))
    per_cell = np.bincount([cell_of(KeyGrid.over(floats, 20_000), int(x)) for x in floats])
    assert per_cell.max() <= 8


@given(
    ends=st.lists(keys, max_size=30),
    wanted=st.sampled_from([1, 16, 1_024]),
    lo=keys,
    hi=keys,
    points=st.lists(keys, min_size=1, max_size=20),
)
def test_an_interval_takes_whole_cells_and_at_most_two_in_part(ends, wanted, lo, hi, points):
    grid = KeyGrid.over(ints(ends), wanted)
    start, stop, left, right = (int(a[0]) for a in grid.places(ints([lo]), ints([hi])))
    for x in (*points, lo, hi, max(lo - 1, MIN), max(hi - 1, MIN)):
        cell = cell_of(grid, x)
        assert 0 <= cell < grid.cells
        inside = lo < hi and lo <= x and (x < hi or hi == MAX)
        if start <= cell < stop:
            assert inside
        elif cell not in (left, right):
            assert not inside


@given(a=keys, b=keys, ends=st.lists(keys, max_size=30), wanted=st.sampled_from([1, 64, 4_096]))
def test_the_map_keeps_order(a, b, ends, wanted):
    grid = KeyGrid.over(ints(ends), wanted)
    assert (a > b) or cell_of(grid, a) <= cell_of(grid, b)


EPOCH = datetime(2024, 3, 1, tzinfo=UTC).replace(tzinfo=None)
TYPES = {
    "int32": (pa.int32(), st.integers(-(2**31), 2**31 - 1) | st.integers(-9, 9)),
    "int64": (pa.int64(), st.integers(MIN + 1, MAX - 2) | st.integers(-9, 9)),
    "date": (pa.date32(), st.integers(-9, 9).map(lambda n: date(2024, 3, 1) + timedelta(n))),
    "timestamp": (
        pa.timestamp("us"),
        st.integers(-9, 9).map(lambda n: EPOCH + timedelta(microseconds=n))
        | st.integers(-(10**9), 10**9).map(lambda n: EPOCH + timedelta(seconds=n)),
    ),
    "float32": (pa.float32(), st.floats(width=32, allow_nan=False)),
    "double": (
        pa.float64(),
        st.floats(allow_nan=False)
        | st.sampled_from(
            [0.0, -0.0, math.inf, -math.inf, 5e-324, -5e-324, 0.1, 0.30000000000000004]
        ),
    ),
}


@st.composite
def typed_ranges(draw, values):
    """Bounds with or without ends, equal ones often; None is no bound."""
    found = []
    for _ in range(draw(st.integers(1, 8))):
        low = draw(st.none() | values)
        high = draw(st.none() | values | st.just(low))
        found.append((low, high, draw(st.booleans()), draw(st.booleans())))
    return found


def half_open(kind: pa.DataType, asked) -> tuple[np.ndarray, np.ndarray]:
    """Ranges as the index takes them: an end is one step more or less on the scale of the keys."""

    def key(value) -> int:
        return int(order_keys(pa.array([value], kind))[0])

    lo = [MIN if low is None else key(low) + low_open for low, _, low_open, _ in asked]
    hi = [MAX if high is None else key(high) + (not high_open) for _, high, _, high_open in asked]
    return ints(lo), ints(hi)


def holds(x, low, high, low_open, high_open) -> bool:
    above = low is None or (x > low if low_open else x >= low)
    return above and (high is None or (x < high if high_open else x <= high))


@pytest.mark.parametrize("name", TYPES)
@given(data=st.data())
def test_every_kind_of_end_of_every_type_is_exact(name, data):
    kind, values = TYPES[name]
    asked = data.draw(typed_ranges(values))
    named = [v for a, b, *_ in asked for v in (a, b) if v is not None]
    points = [*named, *data.draw(st.lists(values, min_size=1, max_size=8))]
    index = GriddedIntervals()
    # Other intervals make the grid coarse here, so that ends fall inside of cells.
    spread = np.linspace(-(2**62), 2**62, 600).astype(np.int64)
    index.insert(np.arange(1_000, 1_600), spread, spread + 1)
    index.remove(np.arange(1_000, 1_400))
    index.insert(np.arange(len(asked)), *half_open(kind, asked))
    found = order_keys(pa.array(points, kind))
    expected = [
        (row, i) for row, x in enumerate(points) for i, r in enumerate(asked) if holds(x, *r)
    ]
    assert [pair for pair in stabbed(index, found) if pair[1] < 1_000] == expected


def test_infinities_are_numbers_and_the_key_of_nan_is_the_one_beyond_them():
    index = GriddedIntervals()
    asked = [
        (None, None, False, False),
        (0.0, None, True, False),
        (-math.inf, math.inf, True, True),
    ]
    lo, hi = half_open(pa.float64(), asked)
    # Above every number stands the key of NaN; a range without an upper end stops before it.
    nan = int(order_keys(pa.array([math.nan]))[0])
    index.insert(np.arange(3), lo, np.minimum(hi, nan))
    points = order_keys(pa.array([-math.inf, -0.0, 0.0, 5e-324, math.inf]))
    expected = [(0, 0), (1, 0), (1, 2), (2, 0), (2, 2), (3, 0), (3, 1), (3, 2), (4, 0), (4, 1)]
    assert stabbed(index, points) == expected
    assert nan == MAX


def test_decimals_are_integers_of_their_last_digit():
    """A decimal column is scaled to integers, which the grid takes as they are."""
    scaled = [int(Decimal(text).scaleb(2)) for text in ("9.99", "10.00", "10.01", "-0.01")]
    index = GriddedIntervals()
    index.insert(ints([0, 1]), ints([scaled[0], scaled[3]]), ints([scaled[2], scaled[1]]))
    assert stabbed(index, scaled) == [(0, 0), (0, 1), (1, 0), (3, 1)]


@pytest.mark.parametrize("distribution", ["even", "heaped", "bits"])
def test_a_coarse_grid_that_grew_and_shrank_still_answers_exactly(distribution):
    rng = np.random.default_rng(7)
    count = 3_000
    if distribution == "even":
        ends = rng.integers(10**15, 10**15 + 10**12, 2 * count)
    elif distribution == "heaped":
        ends = (rng.pareto(0.4, 2 * count) * 1_000).clip(0, 2**61).astype(np.int64)
    else:
        ends = order_keys(pa.array(rng.normal(0, 10, 2 * count)))
    ends = np.sort(ends)
    first = rng.integers(0, 2 * count - 40, count)
    lo, hi = ends[first], ends[first + rng.integers(0, 40, count)]
    index, twin = GriddedIntervals(), EveryInterval()
    points = np.concatenate([rng.choice(ends, 100), rng.choice(ends, 50) + 1, ints([MIN, MAX])])
    live: set[int] = set()
    for begin in range(0, count, 500):
        ids = np.arange(begin, begin + 500)
        index.insert(ids, lo[ids], hi[ids])
        twin.insert(ids.tolist(), lo[ids].tolist(), hi[ids].tolist())
        live |= set(ids.tolist())
        gone = ints(sorted(live))[rng.random(len(live)) < 0.2]
        index.remove(gone)
        twin.remove(gone.tolist())
        live -= set(gone.tolist())
        assert stabbed(index, points) == twin.search(points.tolist())
    assert len(index) == len(live)
