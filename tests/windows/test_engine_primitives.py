"""The structures under the engine's operators, against lists and dictionaries."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from windrow.columns.arrays import order_key_bits, order_keys
from windrow.columns.growable import Growable, grow
from windrow.columns.interner import FEW, Crowding
from windrow.windows.chains import Chains, Queues
from windrow.windows.row_index import RowIndex

batches = st.lists(st.lists(st.integers(0, 5), max_size=12), min_size=1, max_size=6)


@given(batches=batches, forget=st.lists(st.integers(0, 12), min_size=6, max_size=6))
def test_a_ring_is_the_tuples_of_its_value_that_are_not_forgotten_newest_first(batches, forget):
    rings, tuples, came = Chains(), Growable(np.int64, width=2), []
    rings.reserve(6)
    for batch, count in zip(batches, forget, strict=False):
        first = tuples.next
        tuples.extend(len(batch), -1)
        rings.codes.append(np.array(batch, np.int64))
        came += batch
        rings.link(np.arange(first, tuples.next), tuples, 1)
        base = min(tuples.base + count, tuples.next)
        tuples.drop_before(base)
        rings.codes.drop_before(base)
        asked = np.array([3, 0, 5])
        expected = [p for v in asked for p in reversed(range(base, len(came))) if came[p] == v]
        assert rings.walk(asked, tuples, 1).tolist() == expected


def test_rings_that_are_longer_than_expected_are_walked_whole():
    rings, tuples = Chains(), Growable(np.int64, width=1)
    tuples.extend(5_000, -1)
    rings.codes.append(np.zeros(5_000, np.int64))
    rings.link(np.arange(5_000), tuples, 0)
    assert rings.walk(np.array([0]), tuples, 0).tolist() == list(range(4_999, -1, -1))


def test_after_a_restart_only_what_is_linked_again_is_found():
    rings, tuples = Chains(), Growable(np.int64, width=1)
    tuples.clear(10)
    tuples.extend(3, -1)
    rings.restart(10, np.array([0, 0, 0]))
    rings.link(np.array([10, 12]), tuples, 0)
    assert rings.walk(np.array([0]), tuples, 0).tolist() == [12, 10]


@given(batches=batches, forget=st.lists(st.integers(0, 12), min_size=6, max_size=6))
def test_a_queue_begins_with_the_oldest_tuple_that_is_not_forgotten(batches, forget):
    queues, links, waiting, position = Queues(), Growable(np.int64, width=1), {}, 0
    queues.reserve(6)
    for batch, count in zip(batches, forget, strict=False):
        links.extend(len(batch), -1)
        at = np.arange(position, position + len(batch))
        queues.enqueue(np.array(batch, np.int64), at, links, 0)
        for code, place in zip(batch, at.tolist(), strict=True):
            waiting.setdefault(code, []).append(place)
        position += len(batch)
        # Equal tuples expire together, so a queue is forgotten whole or not at all.
        base = min(links.base + count, position)
        cuts = [p for q in waiting.values() for p in q if q[0] < base <= q[-1]]
        base = min([base, *cuts])
        links.drop_before(base)
        waiting = {code: q for code, q in waiting.items() if q[0] >= base}
        for code in range(6):
            p, found = int(queues.oldest[code]), []
            while p >= base:
                found.append(p)
                p = int(links.take(np.array([p]))[0, 0])
            assert found == waiting.get(code, [])


changes = st.lists(
    st.tuples(st.integers(0, 1), st.integers(0, 8), st.booleans()), min_size=1, max_size=60
)


@given(changes)
def test_rows_are_counted_per_window_through_renewals(done):
    index, twins = RowIndex([pa.int64(), pa.string()], windows=2), [Counter(), Counter()]
    for number, (window, value, comes) in enumerate(done):
        row = (value, f"v{value % 3}")
        (at,) = index.locate([pa.array([row[0]]), pa.array([row[1]])], 1)
        if comes or twins[window][row]:
            change = 1 if comes else -1
            index.counts[window][at] += change
            twins[window][row] += change
        if number % 7 == 6:
            live = index.held_rows()
            where = index.renew(live)
            assert sorted(where[live].tolist()) == list(range(len(live)))
            assert (np.delete(where, live) == -1).all()
    held = index.held_rows()
    rows = list(zip(*(c.to_pylist() for c in index.rows(held)), strict=True))
    for window, twin in enumerate(twins):
        found = dict(zip(rows, index.counts[window][held].tolist(), strict=True))
        assert +Counter(found) == +twin
    assert set(rows) == set(+twins[0]) | set(+twins[1])


def test_a_renewal_can_give_numbers_to_other_rows():
    index = RowIndex([pa.int64()])
    numbers = index.locate([pa.array([5, 6, 7])], 3)
    index.counts[0][numbers] = [1, 0, 2]
    live = index.held_rows()
    where = index.renew(live, [pa.array([50, 70])])
    assert index.rows(where[live])[0].to_pylist() == [50, 70]
    assert index.counts[0][where[live]].tolist() == [1, 2]


def test_numbers_are_looked_through_after_they_doubled_and_renewed_when_most_are_unused():
    crowding, few = Crowding(), FEW.value
    assert not crowding.is_due(few - 1)
    assert crowding.is_due(few)
    assert not crowding.renewal_pays(few, few // 4)
    assert not crowding.is_due(2 * few - 1)
    assert crowding.is_due(2 * few)
    assert crowding.renewal_pays(2 * few, 2 * few // 4 - 1)
    assert not crowding.is_due(2 * few - 5)
    assert crowding.is_due(2 * few)


def test_an_array_grows_with_what_is_in_it():
    values = np.array([1, 2], np.int64)
    assert grow(values, 2, 0) is values
    assert grow(values, 3, -1).tolist() == [1, 2, -1, -1, -1, -1]


@given(st.lists(st.floats(width=64) | st.floats(width=32)))
def test_numbers_come_back_from_their_order_keys(numbers):
    array = pa.array(numbers, pa.float64())
    back = order_key_bits(order_keys(array)).view(np.float64)
    assert np.array_equal(back, np.array(numbers, np.float64), equal_nan=True)
