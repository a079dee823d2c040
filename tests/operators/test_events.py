"""Arrivals and departures in the order of groups and time, beside an obvious twin."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from windrow.operators.aggregates import events as module
from windrow.operators.aggregates.events import Events

ROWS = st.lists(
    st.tuples(st.sampled_from([0, 1, 2, 3, 40]), st.integers(-3, 3), st.sampled_from([-1, 1])),
    max_size=30,
)


@pytest.mark.parametrize("few", [0, 8])
@given(rows=ROWS)
def test_segments_are_those_of_sorted_rows(few, rows):
    code, time, sign = (np.array([r[i] for r in rows], np.int64) for i in range(3))
    place = np.arange(len(rows))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module.FEW_CODES, "value", few)
        found = Events.sort(code, time, place, sign.astype(np.int8))
    order = sorted(range(len(rows)), key=lambda i: (rows[i][0], rows[i][1], i))
    ordered = [rows[i] for i in order]
    assert found.position.tolist() == order
    assert list(zip(found.code, found.time, found.sign, strict=True)) == ordered
    ends = [
        i for i in range(len(order)) if i + 1 == len(order) or ordered[i][:2] != ordered[i + 1][:2]
    ]
    assert found.last.tolist() == ends
    groups = sorted({row[0] for row in rows})
    assert found.groups.tolist() == groups
    assert [groups[g] for g in found.group_of] == [ordered[i][0] for i in ends]
    seen = [ordered[i][0] for i in ends]
    assert found.opening.tolist() == [code not in seen[:j] for j, code in enumerate(seen)]


@given(rows=ROWS)
def test_running_totals_are_those_of_each_group(rows):
    code, time, change = (np.array([r[i] for r in rows], np.int64) for i in range(3))
    found = Events.sort(code, time, np.arange(len(rows)), change.astype(np.int8))
    before = 100 * np.arange(len(found.groups), dtype=np.int64)
    after = found.running(found.sign.astype(np.int64), before)
    for total, end, group in zip(after, found.last, found.group_of, strict=True):
        same, instant = found.groups[group], found.time[end]
        assert total == before[group] + sum(r[2] for r in rows if r[0] == same and r[1] <= instant)
