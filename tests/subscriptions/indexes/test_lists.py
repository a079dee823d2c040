"""Lists of ids hold what plain Python lists hold, through growth, removal and packing."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.subscriptions.indexes.stabbing import ints
from windrow.subscriptions.indexes.idlists import IdLists
from windrow.subscriptions.indexes.interval_index import pairs
from windrow.subscriptions.indexes.segments import SegmentLists

pytestmark = pytest.mark.usefixtures("sizes")

K, SEGMENTS, UPPER = 2, 3, 4
NODES = 2 << K
NUMBERS = [s * NODES + node for s in range(SEGMENTS) for node in range(1, NODES)]
NUMBERS += [SEGMENTS * NODES + node for node in range(1, UPPER)]

steps = st.lists(
    st.tuples(st.lists(st.sampled_from(NUMBERS), max_size=40), st.integers(0, 5)), max_size=8
)


def contents(lists: IdLists | SegmentLists) -> dict[int, list[int]]:
    """Every list that is not empty, its ids sorted."""
    if isinstance(lists, IdLists):
        found = {v: lists.contents(ints([v])).tolist() for v in range(len(lists.headers))}
    else:
        base = len(lists.ends)
        found = {base + v: ids for v, ids in contents(lists.upper).items()}
        for v in range(base):
            if v % NODES:
                start = lists.starts[v // NODES]
                first, last = int(lists.ends[v - 1]), int(lists.ends[v])
                found[v] = lists.pool[start + first : start + last].tolist()
    return {v: sorted(ids) for v, ids in found.items() if ids}


@pytest.mark.parametrize("kind", ["plain", "segments"])
@given(first=st.lists(st.sampled_from(NUMBERS), max_size=40), later=steps)
def test_lists_hold_what_plain_lists_hold(kind, first, later):
    lists = IdLists(max(NUMBERS) + 1) if kind == "plain" else SegmentLists(K, SEGMENTS, UPPER)
    twin: dict[int, list[int]] = defaultdict(list)
    live = np.ones(1_000, bool)
    lists.build(np.array(first, np.int32), np.arange(len(first), dtype=np.int32))
    for i, v in enumerate(first):
        twin[v].append(i)
    count = len(first)
    for new, drop in later:
        ids = np.arange(count, count + len(new), dtype=np.int32)
        lists.push(np.array(new, np.int32), ids)
        for i, v in zip(ids.tolist(), new, strict=True):
            twin[v].append(i)
        count += len(new)
        gone = [i for i in range(count) if live[i] and drop and i % 6 == drop]
        live[gone] = False
        touched = [v for v, held in twin.items() if set(held) & set(gone)]
        lists.drop(np.array(touched, np.int32), live)
        for v in touched:
            twin[v] = [i for i in twin[v] if live[i]]
        assert contents(lists) == {v: sorted(ids) for v, ids in twin.items() if ids}
        assert lists.entries == sum(map(len, twin.values()))


@pytest.mark.parametrize("kind", ["plain", "segments"])
def test_garbage_is_packed_away(kind):
    lists = IdLists(NODES) if kind == "plain" else SegmentLists(K, 1, 1)
    live = np.ones(200_000, bool)
    for first in range(0, 200_000, 1_000):
        ids = np.arange(first, first + 1_000, dtype=np.int32)
        lists.push((1 + ids % (NODES - 1)).astype(np.int32), ids)
        live[ids[:990]] = False
        lists.drop(np.arange(1, NODES, dtype=np.int32), live)
    assert lists.entries == 2_000
    held = [i for ids in contents(lists).values() for i in ids]
    assert sorted(held) == np.flatnonzero(live).tolist()
    assert lists.nbytes < 4 * 20_000


@given(found=st.lists(st.lists(st.integers(0, 99), max_size=30), max_size=30))
def test_pairs_are_the_ids_of_each_point_in_turn(found):
    def collect(points, buffer, ends, done, end):
        while done < len(points):
            ids = found[points[done]]
            if end + len(ids) > len(buffer) - 512:
                break
            buffer[end : end + len(ids)] = ids
            end += len(ids)
            ends[done] = end
            done += 1
        return done, end

    rows, ids = pairs(np.arange(len(found)), collect)
    assert list(zip(rows.tolist(), ids.tolist(), strict=True)) == [
        (row, i) for row, held in enumerate(found) for i in held
    ]
