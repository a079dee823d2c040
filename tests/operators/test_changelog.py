"""What a relation's changes come down to when equal tuples come and go at one instant."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from windrow.columns.delta import Delta
from windrow.core.patterns import UpdatePattern
from windrow.operators import changelog as module
from windrow.operators.changelog import CROWD, Changelog

SCHEMA = pa.schema([("name", pa.string()), ("n", pa.int64()), ("x", pa.float64())])
values = st.tuples(
    st.sampled_from(["a", "b", None]),
    st.sampled_from([1, 2, None]),
    st.sampled_from([0.0, -0.0, 1.5, None]),
)
arrivals = st.lists(st.tuples(st.integers(1, 4), values, st.integers(1, 3)), max_size=12)


def key(row: tuple[object, ...]) -> tuple[object, ...]:
    return tuple(0.0 if value == 0 else value for value in row)


@pytest.mark.parametrize("scan", [False, True])
@given(rows=arrivals, crowd=st.integers(0, 1))
def test_an_instant_shows_the_net_change_of_the_bag(
    scan: bool, rows: list[tuple[int, tuple[object, ...], int]], crowd: int
) -> None:
    """Many equal tuples in a few instants, of which none or more than ``CROWD`` are one's."""
    rows = sorted(rows * (CROWD if crowd else 1), key=lambda row: row[0])
    columns = list(zip(*(row for _, row, _ in rows), strict=True)) or [(), (), ()]
    batch = pa.RecordBatch.from_arrays(
        [pa.array(c, f.type) for c, f in zip(columns, SCHEMA, strict=True)], schema=SCHEMA
    )
    ts = np.array([t for t, _, _ in rows], np.int64)
    exp = np.array([t + life for t, _, life in rows], np.int64)
    changes = Changelog(SCHEMA, UpdatePattern.WEAK, (1, -1), scan)
    found = changes.process([Delta.insertions(ts, batch, exp)], 9)
    expected: Counter[object] = Counter()
    for t, row, life in rows:
        expected[t, key(row)] += 1
        expected[t + life, key(row)] -= 1
    answer: Counter[object] = Counter()
    shown = [tuple(row.values()) for row in found.rows.to_pylist()]
    for t, row, sign in zip(found.ts.tolist(), shown, found.sign.tolist(), strict=True):
        answer[t, key(row)] += sign
    assert {k: n for k, n in answer.items() if n} == {k: n for k, n in expected.items() if n}
    # Nothing is shown that cancels: as many rows as there is change.
    assert len(found) == sum(abs(n) for n in expected.values())


@given(
    events=st.lists(
        st.tuples(st.integers(0, 3), st.integers(0, 2), st.sampled_from([1, -1])), max_size=60
    )
)
def test_candidates_are_those_that_meet_their_opposite(events: list[tuple[int, int, int]]) -> None:
    events.sort(key=lambda event: event[0])
    times, keys, sign = (
        (np.array(part, np.int64) for part in zip(*events, strict=True))
        if (events)
        else (np.empty(0, np.int64),) * 3
    )
    found = module._opposed(times, sign.astype(np.int8), keys)
    crowds = Counter(t for t, _, _ in events)
    expected = [
        i for i, (t, k, s) in enumerate(events) if crowds[t] > CROWD or (t, k, -s) in set(events)
    ]
    assert found.tolist() == expected
