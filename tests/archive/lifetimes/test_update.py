"""Invariants of updates, for every grid and any arrivals."""

from __future__ import annotations

import json
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windrow.archive.errors import LifetimeError
from windrow.archive.lifetimes.index_contents import IndexState
from windrow.archive.lifetimes.partition_grid import (
    Chronological,
    Grid,
    GridTechnique,
    Periods,
    Randomised,
    RoundRobin,
    d_ins,
    r_ins,
)
from windrow.archive.lifetimes.plan_update import plan_update

SIDES = st.integers(1, 5)
GRIDS = st.builds(
    Grid,
    SIDES,
    SIDES,
    st.sampled_from(GridTechnique),
    st.sampled_from([Chronological(), RoundRobin(), Randomised(3)]),
)
P = 6
BATCHES = st.lists(st.lists(st.integers(0, 9), min_size=P, max_size=P), min_size=1, max_size=25)


def run(grid, batches, periods, start=0):
    """Each batch at the end of a period; yields (period, state before, state, step)."""
    state = IndexState.empty(grid.size, start)
    for k, batch in enumerate(batches, start + 1):
        arrivals = {k + j: records for j, records in enumerate(batch, 1) if records}
        after, step = plan_update(grid, periods, state, periods.last(k), arrivals)
        yield k, state, after, step
        state = after


@given(grid=GRIDS, batches=BATCHES)
def test_an_update_touches_a_row_and_a_column_and_changes_nothing_else(grid, batches):
    for k, before, after, step in run(grid, batches, Periods(P, 1)):
        if any(batches[k - 1]):
            assert len(step.touched_subindices) == grid.insertions + grid.expiries - 1
        for number in range(grid.size):
            if number not in step.touched_subindices:
                assert after.subindices[number] == before.subindices[number]
        assert {w.subindex for w in step.writes} <= set(step.touched_subindices)


@given(grid=GRIDS, batches=BATCHES, start=st.integers(-9, 9))
def test_every_live_record_is_in_its_row_and_column_and_nowhere_else(grid, batches, start):
    periods = Periods(10 * P, 10, origin=3)
    for k, _, after, _ in run(grid, batches, periods, start):
        expected = Counter()
        for inserted, batch in enumerate(batches[: k - start], start + 1):
            for j, records in enumerate(batch, 1):
                if inserted + j > k and records:
                    number = grid.subindex(inserted, inserted + j, periods)
                    expected[number, inserted + j] += records
        held = Counter()
        for number, runs in enumerate(after.subindices):
            for state in runs:
                for period, records in state.expiries:
                    held[number, period] += records * (period > k)
        assert +held == expected


@given(grid=GRIDS, batches=BATCHES)
def test_what_a_step_writes_is_what_the_new_state_holds(grid, batches):
    for _, before, after, step in run(grid, batches, Periods(P, 1)):
        gone = {n for w in step.writes for n in w.merged} | set(step.dropped)
        assert after.run_numbers() == (before.run_numbers() - gone) | {w.run for w in step.writes}
        stored = {r.number: r.total for runs in before.subindices for r in runs}
        written = {r.number: r.total for runs in after.subindices for r in runs}
        assert all(written[w.run] == w.records > 0 for w in step.writes)
        assert step.records_written == sum(w.records for w in step.writes)
        assert step.records_read == sum(stored[n] for w in step.writes for n in w.merged)


@given(grid=GRIDS, batches=BATCHES)
def test_rebuilt_sub_indices_are_one_run_without_dead(grid, batches):
    packed = Grid(grid.insertions, grid.expiries, GridTechnique.REBUILD, grid.assignment)
    for _, _, after, _ in run(packed, batches, Periods(P, 1)):
        assert all(len(runs) <= 1 for runs in after.subindices)
        assert after.stored_records() == sum(after.sizes())


@given(grid=GRIDS, batches=BATCHES)
def test_without_rebuilding_files_hold_at_most_two_records_for_each_live_one(grid, batches):
    loose = Grid(grid.insertions, grid.expiries, GridTechnique.NO_REBUILD, grid.assignment)
    for k, _, after, step in run(loose, batches, Periods(P, 1)):
        assert after.stored_records() <= 2 * sum(after.sizes())
        for runs in after.subindices:
            assert all(state.live(k) for state in runs)
        for write in step.writes:
            *older, new = after.subindices[write.subindex]
            assert not older or older[-1].live(k) >= 2 * new.total


@given(grid=GRIDS, batches=BATCHES, gap=st.integers(1, 3 * P))
def test_an_update_after_a_gap_holds_what_an_update_every_period_would(grid, batches, gap):
    periods = Periods(P, 1)
    *_, (k, _, state, _) = run(grid, batches, periods)
    at_once, step = plan_update(grid, periods, state, k + gap, {})
    stepwise = state
    for later in range(k + 1, k + gap + 1):
        stepwise, _ = plan_update(grid, periods, stepwise, later, {})
    assert at_once.sizes() == stepwise.sizes()
    assert step.inserted == ()
    assert gap < P or at_once.run_numbers() == frozenset()


@given(
    grid=GRIDS, now=st.integers(0, 40), gap=st.integers(0, 3 * P), lives=st.sets(st.integers(1, P))
)
def test_no_run_that_is_wholly_dead_is_left_however_long_nothing_happened(grid, now, gap, lives):
    periods = Periods(2 * P, 2)
    last = periods.of(now) + P
    arrivals = {last + 1 - life: 1 for life in lives}
    state, _ = plan_update(grid, periods, IndexState.empty(grid.size, now // 2), now, arrivals)
    state, _ = plan_update(grid, periods, state, now + 2 * gap, {})
    assert all(run.live(state.over) for runs in state.subindices for run in runs)
    assert sum(state.sizes()) == sum(period > state.over for period in arrivals)


def test_an_update_between_boundaries_expires_no_period_and_joins_the_row_under_way():
    grid, periods = Grid(2, 2), Periods(16, 2, origin=16)
    state, step = plan_update(grid, periods, IndexState.empty(4, 0), 17, {1: 4, 9: 6})
    assert (step.inserted, step.expired) == ((0, 1), ())
    assert state.sizes() == (10, 0, 0, 0)
    state, step = plan_update(grid, periods, state, 18, {2: 5})
    assert (step.inserted, step.expired) == ((0, 1), (0, 2))
    assert state.sizes() == (6, 5, 0, 0)


def test_a_sub_index_that_loses_nothing_is_touched_and_not_rewritten():
    grid, periods = r_ins(2), Periods(4, 1)
    state, _ = plan_update(grid, periods, IndexState.empty(2, 0), 1, {5: 7})
    state, _ = plan_update(grid, periods, state, 2, {})
    _, step = plan_update(grid, periods, state, 3, {7: 1})
    assert step.touched_subindices == (0, 1)
    assert [w.subindex for w in step.writes] == [1]


def test_runs_merge_like_the_digits_of_a_counter():
    grid, periods = d_ins(1), Periods(100, 1)
    state, merged = IndexState.empty(1, 0), []
    for k in range(1, 9):
        state, _ = plan_update(grid, periods, state, k, {k + 100: 1})
        merged.append([run.total for run in state.subindices[0]])
    assert merged == [[1], [2], [2, 1], [4], [4, 1], [4, 2], [4, 2, 1], [8]]


def test_a_run_that_is_mostly_dead_is_rewritten_and_one_that_is_all_dead_dropped():
    grid, periods = d_ins(1), Periods(4, 1)
    state, _ = plan_update(grid, periods, IndexState.empty(1, 0), 1, {2: 3, 3: 1, 4: 2})
    state, step = plan_update(grid, periods, state, 2, {})
    assert step.writes == ()
    state, step = plan_update(grid, periods, state, 3, {})
    assert [(w.merged, w.fresh, w.records) for w in step.writes] == [((1,), 0, 2)]
    state, step = plan_update(grid, periods, state, 4, {})
    assert (step.writes, step.dropped) == ((), (2,))


@given(grid=GRIDS, batches=BATCHES)
def test_a_state_survives_json(grid, batches):
    *_, (_, _, state, _) = run(grid, batches, Periods(P, 1))
    assert IndexState.from_json(json.loads(json.dumps(state.to_json()))) == state


def test_time_does_not_go_back_and_lifetimes_have_an_end():
    grid, periods = Grid(2, 2), Periods(16, 2)
    state, _ = plan_update(grid, periods, IndexState.empty(4, 0), 8, {5: 1})
    with pytest.raises(LifetimeError, match="an instant from 8 on"):
        plan_update(grid, periods, state, 7, {})
    with pytest.raises(
        LifetimeError, match="up to 26; found records that expire between 27 and 28"
    ):
        plan_update(grid, periods, state, 10, {14: 1})
    with pytest.raises(LifetimeError, match="after 10"):
        plan_update(grid, periods, state, 10, {5: 1})
