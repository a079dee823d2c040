"""What is read: sub-windows that are replaced, slots by expiry, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from windrow.core.patterns import UpdatePattern
from windrow.sharing.transactions.history import TransactionError
from windrow.sharing.transactions.stored_windows import (
    ExpirySlots,
    SubWindows,
    split_by_expiry,
    stored_window,
)


def test_strict_input_is_refused_with_the_reason() -> None:
    with pytest.raises(TransactionError, match=r"STRICT: a negative tuple .* 7\.2\.1") as error:
        stored_window(UpdatePattern.STRICT, ["a"])
    assert "read the answer" in error.value.remedy
    with pytest.raises(TransactionError, match="MONOTONIC: nothing ever expires"):
        stored_window(UpdatePattern.MONOTONIC, ["a"])


def test_the_pattern_of_the_input_decides_what_is_kept() -> None:
    assert isinstance(stored_window(UpdatePattern.WEAKEST, ["a"]), SubWindows)
    assert isinstance(stored_window(UpdatePattern.WEAK, [("a",)]), ExpirySlots)


def test_a_version_is_gone_when_nobody_needs_it() -> None:
    window = SubWindows("abc")
    window.install("d")
    assert window.read(0) == "a"
    window.drop_before(1)
    with pytest.raises(KeyError):
        window.read(0)
    assert len(window) == 3


@given(
    n=st.integers(1, 4),
    updates=st.lists(st.lists(st.integers(1, 40), max_size=8), min_size=4, max_size=9),
)
def test_slots_hold_what_has_not_expired_and_know_what_they_held(n, updates) -> None:
    """Tuples by their expiry, an update every ten ticks; a slot's state at any update is known."""
    period, tuples, initial = 10, [], []
    window = None
    for number, lives in enumerate(updates):
        now = number * period
        expiries = np.array([now + min(life, n * period) for life in lives], dtype=np.int64)
        tuples += [(number, int(expiry)) for expiry in expiries]
        places = split_by_expiry(expiries, now, period, n)
        pieces = [tuple(expiries[p].tolist()) for p in places]
        if number < n:
            initial.append(pieces)
            window = ExpirySlots(initial) if number == n - 1 else None
        else:
            window.install(pieces)
        for as_of in range(n - 1, number + 1) if window else ():
            for version in range(max(number - n + 1, 0), as_of + 1):
                slot = [x for piece in window.read(version, as_of) for x in piece]
                last = (version + n) * period
                expected = [e for born, e in tuples if last - period < e <= last and born <= as_of]
                assert sorted(slot) == sorted(expected)


def test_an_update_with_too_few_pieces_or_an_expiry_outside_is_refused() -> None:
    with pytest.raises(TransactionError, match="2 pieces"):
        ExpirySlots([("a", "b"), ("c",)])
    for expiry in (10, 21):
        with pytest.raises(TransactionError, match=r"\(10, 20\]"):
            split_by_expiry(np.array([expiry]), 10, 5, 2)
