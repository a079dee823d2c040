"""The order of instants is that of a stable sort, whichever way it is found."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from windrow.columns import time_order as module
from windrow.columns.time_order import MANY, time_order
from windrow.core.time import BEGINNING, FOREVER

INSTANTS = st.lists(st.integers(-(2**40), 2**40) | st.integers(0, 5), max_size=60)


def stable(times: np.ndarray) -> list[int]:
    return np.argsort(times, kind="stable").tolist()


@given(times=INSTANTS, sizes=st.sampled_from(["usual", "least"]))
def test_equal_instants_stay_as_they_stand(times, sizes):
    array = np.array(times, np.int64)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(MANY, "value", getattr(MANY, sizes))
        assert time_order(array).tolist() == stable(array)


def test_scattered_instants_are_sorted_by_digits_and_runs_are_merged(monkeypatch):
    called = []
    plain = module._sort_by_digits
    monkeypatch.setattr(module, "_sort_by_digits", lambda *a: called.append(1) or plain(*a))
    rng = np.random.default_rng(3)
    scattered = rng.integers(0, 10**9, 5_000)
    assert time_order(scattered).tolist() == stable(scattered)
    assert called
    called.clear()
    runs = np.concatenate([np.sort(scattered), np.sort(scattered)])
    assert time_order(runs).tolist() == stable(runs)
    assert not called


def test_the_whole_of_time_is_no_difference_that_overflows():
    times = np.tile(np.array([FOREVER, BEGINNING, 0, 7]), 500)
    assert time_order(times).tolist() == stable(times)
