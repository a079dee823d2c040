"""Schedules against a plain list: what is due, whatever the lives, the steps and the numbers."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from windrow.core.time import FOREVER
from windrow.operators.state import calendar_queue as module
from windrow.operators.state.calendar_queue import CHUNK, DAYS, CalendarQueue
from windrow.operators.state.schedules import Fifo, Scan, Schedule, in_order


def due_of_a_list(held: list[tuple[int, int]], now: int) -> list[tuple[int, int]]:
    """What has expired, taken out of a list of expiries and positions; the slow twin."""
    found = sorted(row for row in held if row[0] <= now)
    held[:] = [row for row in held if row[0] > now]
    return found


def drive(
    schedule: Schedule, batches: list[np.ndarray], steps: list[int], start: int = 0
) -> Schedule:
    """Insert lives measured from the instant, batch by batch, and compare what is due."""
    held: list[tuple[int, int]] = []
    now, position = start, 0
    for lives, step in zip(batches, steps, strict=True):
        now += step
        exp = np.where(lives == FOREVER, FOREVER, now + lives)
        positions = np.arange(position, position + len(exp))
        position += len(exp)
        schedule.insert(positions, exp)
        held += zip(exp.tolist(), positions.tolist(), strict=True)
        found, expiries = in_order(*schedule.due(now))
        assert list(zip(expiries.tolist(), found.tolist(), strict=True)) == due_of_a_list(held, now)
    return schedule


@pytest.mark.usefixtures("sizes")
@pytest.mark.parametrize("make", [Scan, CalendarQueue, partial(CalendarQueue, 10)])
@given(
    seed=st.integers(0, 2**32),
    reach=st.sampled_from([1, 3, 50, 2_000, 10**6, 10**12]),
    pace=st.sampled_from([1, 7, 500, 10**5, 10**11]),
    size=st.sampled_from([0, 1, 5, 40, 400]),
    start=st.sampled_from([-(10**6), 0, 1_700_000_000_000_000]),
    loose=st.sampled_from([1, 30, 4096]),
)
def test_what_is_due_is_what_a_list_would_say(
    make: Callable[[], Schedule],
    seed: int,
    reach: int,
    pace: int,
    size: int,
    start: int,
    loose: int,
) -> None:
    random = np.random.default_rng(seed)
    sizes = random.integers(0, size + 1, 12)
    # Zero and less: duplicate elimination also files what is over already. Some never expire.
    batches = [random.integers(-1, reach + 1, n) for n in sizes]
    for batch in batches:
        batch[random.random(len(batch)) < 0.1] = FOREVER
    steps = random.integers(1, pace + 1, 12).tolist()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module.LOOSE, "value", loose)
        drive(make(), batches, steps, start)


@given(sizes=st.lists(st.integers(0, 9), max_size=20), window=st.integers(1, 30))
def test_tuples_of_one_window_are_due_in_the_order_in_which_they_came(
    sizes: list[int], window: int
) -> None:
    drive(Fifo(), [np.full(n, window) for n in sizes], [3] * len(sizes))


def test_days_get_the_length_that_the_lives_ask_for() -> None:
    """First lives of a hundred ticks, then of a million, then of a hundred again."""
    random = np.random.default_rng(5)
    reaches = [100] * 8 + [10**6] * 60 + [100] * 60
    batches = [random.integers(1, reach, 3_000) for reach in reaches]
    drive(CalendarQueue(), [batch[:300] for batch in batches], [500] * len(batches))
    now, read = 0, []
    calendar = CalendarQueue()
    for batch in batches:
        now += 500
        calendar.insert(np.arange(len(batch)), now + batch)
        before = int(calendar._slab[module.VAIN])
        calendar.due(now)
        read.append(int(calendar._slab[module.VAIN]) - before)
    # In the middle some hundred thousand tuples are held, of which a look reads few in vain.
    assert max(read[40:68]) < 20_000
    assert calendar._filed + calendar._loose > 100_000


def test_a_calendar_gives_back_what_a_burst_needed() -> None:
    calendar, burst = CalendarQueue(), 200_000
    calendar.insert(np.arange(burst), 1 + np.arange(burst) % 1000)
    few = np.arange(5_000)
    for now in range(500, 20_000, 500):
        calendar.insert(few, now + 1 + few)
        calendar.due(now)
    held = calendar._filed + calendar._loose
    assert 5_000 < held < 60_000
    assert len(calendar._entries) <= module.PATIENCE.value * (held + DAYS.value * CHUNK.value)


@pytest.mark.usefixtures("sizes")
@given(
    seed=st.integers(0, 2**32),
    size=st.sampled_from([0, 1, 10, 1_500]),
    times=st.sampled_from([1, 100, 2**40, 2**62]),
)
def test_in_order_is_by_expiry_and_leaves_equal_ones_as_they_stand(
    seed: int, size: int, times: int
) -> None:
    exp = np.random.default_rng(seed).integers(-times, times, size)
    found, expiries = in_order(np.arange(size), exp)
    expected = sorted(zip(exp.tolist(), range(size), strict=True))
    assert list(zip(expiries.tolist(), found.tolist(), strict=True)) == expected
