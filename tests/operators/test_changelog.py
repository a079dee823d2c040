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
from windrow.operators.changelog import CROWD, Cancellation, Changelog, mixed_instants
from windrow.operators.possible_opposites import PossibleOpposites
from windrow.plan.physical.state_kinds import buffer_kind

pytestmark = pytest.mark.usefixtures("sizes")

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
    rows = sorted(rows * (CROWD.usual if crowd else 1), key=lambda row: row[0])
    columns = list(zip(*(row for _, row, _ in rows), strict=True)) or [(), (), ()]
    batch = pa.RecordBatch.from_arrays(
        [pa.array(c, f.type) for c, f in zip(columns, SCHEMA, strict=True)], schema=SCHEMA
    )
    ts = np.array([t for t, _, _ in rows], np.int64)
    exp = np.array([t + life for t, _, life in rows], np.int64)
    changes = Changelog(SCHEMA, UpdatePattern.WEAK, (1, -1), buffer_kind(UpdatePattern.WEAK, scan))
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


events = st.lists(
    st.tuples(
        st.integers(0, 3), st.integers(0, 2), st.text("ab", max_size=2), st.sampled_from([1, -1])
    ),
    max_size=40,
)


@given(events=events)
def test_of_equal_tuples_the_first_that_come_and_go_cancel(
    events: list[tuple[int, int, str, int]],
) -> None:
    events.sort(key=lambda event: event[0])
    times = np.array([t for t, _, _, _ in events], np.int64)
    sign = np.array([s for _, _, _, s in events], np.int8)
    kept = np.ones(len(events), np.bool_)
    few = Cancellation(np.arange(len(events)), times, sign)
    for index, kind in ((1, pa.int64()), (2, pa.string())):
        few.refine(pa.array([events[i][index] for i in few.events], kind))
    few.cancel(kept)
    expected = [True] * len(events)
    for i, (*row, s) in enumerate(events):
        goes = [j for j in range(len(events)) if expected[j] and (*row, -1) == events[j]]
        if s > 0 and goes:
            expected[i] = expected[goes[0]] = False
    assert kept.tolist() == expected


@given(events=events)
def test_instants_at_which_something_comes_and_something_goes_are_found(
    events: list[tuple[int, int, str, int]],
) -> None:
    events = sorted(events * 3, key=lambda event: event[0])
    times = np.array([t for t, _, _, _ in events], np.int64)
    sign = np.array([s for _, _, _, s in events], np.int8)
    at = {t: [s for other, _, _, s in events if other == t] for t in times.tolist()}
    expected = [
        0 if len(set(at[t])) == 1 else 1 + (len(at[t]) > CROWD.value) for t in times.tolist()
    ]
    assert mixed_instants(times, sign).tolist() == expected


@given(
    steps=st.lists(st.lists(st.tuples(st.integers(0, 2), values), max_size=4), max_size=6),
    kept=st.booleans(),
)
def test_where_every_end_is_announced_nothing_has_to_be_kept(
    steps: list[list[tuple[int, tuple[object, ...]]]], kept: bool
) -> None:
    """Group 0, 1 or 2 gets a new row at an instant, and the one that it had is withdrawn."""
    remembering = Changelog(SCHEMA, UpdatePattern.STRICT, (1, -1))
    forgetful = Changelog(SCHEMA, UpdatePattern.STRICT, (1, -1), keeps=False)
    held: dict[int, tuple[object, ...]] = {}
    for now, new in enumerate(steps, 1):
        changes = [(held.get(group), row) for group, row in dict(new).items()]
        held |= dict(new)
        gone = [old for old, _ in changes if old is not None]
        rows = [*gone, *(row for _, row in changes)]
        columns = list(zip(*rows, strict=True)) or [(), (), ()]
        batch = pa.RecordBatch.from_arrays(
            [pa.array(c, f.type) for c, f in zip(columns, SCHEMA, strict=True)], schema=SCHEMA
        )
        delta = Delta.insertions(np.full(len(rows), now, np.int64), batch)
        delta.sign[: len(gone)] = -1
        answers = [operator.process([delta], now) for operator in (remembering, forgetful)]
        first, second = (
            Counter(map(str, zip(a.ts.tolist(), a.sign.tolist(), a.rows.to_pylist(), strict=True)))
            for a in answers
        )
        assert first == second
        if kept:  # nor does a save have anything to say
            assert not forgetful.save().put
    assert forgetful.size() == 0
    assert remembering.size() == len(held)


@given(
    steps=st.lists(st.lists(st.tuples(st.integers(0, 2), values), max_size=4), max_size=6),
    keeps=st.booleans(),
)
def test_what_is_net_goes_out_as_it_comes(
    steps: list[list[tuple[int, tuple[object, ...]]]], keeps: bool
) -> None:
    """Rows of groups 0, 1 and 2 say which group they are of, and are replaced by others only."""
    comparing = Changelog(SCHEMA, UpdatePattern.STRICT, (1, -1), keeps=keeps)
    trusting = Changelog(SCHEMA, UpdatePattern.STRICT, (1, -1), keeps=keeps, net=True)
    held: dict[int, tuple[object, ...]] = {}
    for now, new in enumerate(steps, 1):
        rows = {group: (str(group), n, x) for group, (_, n, x) in dict(new).items()}
        changed = {g: row for g, row in rows.items() if g not in held or key(held[g]) != key(row)}
        gone = [held[group] for group in changed if group in held]
        held |= changed
        columns = list(zip(*gone, *changed.values(), strict=True)) or [(), (), ()]
        batch = pa.RecordBatch.from_arrays(
            [pa.array(c, f.type) for c, f in zip(columns, SCHEMA, strict=True)], schema=SCHEMA
        )
        delta = Delta.insertions(np.full(batch.num_rows, now, np.int64), batch)
        delta.sign[: len(gone)] = -1
        first, second = (operator.process([delta], now) for operator in (comparing, trusting))
        shown = [(a.ts.tolist(), a.exp.tolist(), a.sign.tolist(), a.rows) for a in (first, second)]
        assert shown[0] == shown[1]
        if keeps:
            kept = [Counter(map(str, o.live_rows().to_pylist())) for o in (comparing, trusting)]
            assert kept[0] == kept[1]
            assert kept[1].total() == len(held)


@given(rows=arrivals, cut=st.integers(0, 9))
def test_what_comes_is_the_positive_part_of_the_net_change(
    rows: list[tuple[int, tuple[object, ...], int]], cut: int
) -> None:
    """ISTREAM, though most ends are not looked at; the interval is cut anywhere."""
    rows = sorted(rows, key=lambda row: row[0])
    log = Changelog(SCHEMA, UpdatePattern.WEAK, (1,))
    found: Counter[object] = Counter()
    for low, high in ((0, cut), (cut, 9)):
        part = [row for row in rows if low < row[0] <= high]
        columns = list(zip(*(row for _, row, _ in part), strict=True)) or [(), (), ()]
        arrays = [pa.array(c, f.type) for c, f in zip(columns, SCHEMA, strict=True)]
        ts, life = (np.array([row[i] for row in part], np.int64) for i in (0, 2))
        batch = pa.RecordBatch.from_arrays(arrays, schema=SCHEMA)
        answer = log.process([Delta.insertions(ts, batch, ts + life)], high)
        shown = [tuple(row.values()) for row in answer.rows.to_pylist()]
        found.update((t, key(row)) for t, row in zip(answer.ts.tolist(), shown, strict=True))
    expected: Counter[object] = Counter()
    for t, row, life in rows:
        expected[t, key(row)] += 1
        expected[t + life, key(row)] -= 1
    assert found == +expected


def test_what_has_no_equal_at_its_instant_is_mostly_left_out() -> None:
    count = 4_000
    columns = [["a"] * count, [*range(count)], [0.5] * count]
    arrays = [pa.array(c, f.type) for c, f in zip(columns, SCHEMA, strict=True)]
    batch = pa.RecordBatch.from_arrays(arrays, schema=SCHEMA)
    ts = np.arange(count)
    opposites = PossibleOpposites(Delta.insertions(ts, batch, ts + 7), 1)
    assert opposites.among(ts, batch.column(1)).all()
    assert opposites.among(ts + 7, batch.column(1)).mean() < 0.3
