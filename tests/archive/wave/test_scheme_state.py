"""What holds for every scheme, window and number of constituents, after every step."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windrow.archive.errors import SchemeError
from windrow.archive.wave.operations import Add, Build, apply_all
from windrow.archive.wave.scheme_state import State
from windrow.archive.wave.schemes import SCHEMES, Rata, ReindexPlusPlus, scheme_of

EVERY = {
    **SCHEMES,
    "REINDEX++ at once": ReindexPlusPlus(spread=False),
    "RATA at once": Rata(spread=False),
}


@st.composite
def windows(draw):
    window = draw(st.integers(1, 24))
    return window, draw(st.integers(1, window)), draw(st.integers(-40, 40))


def walked(scheme, window, n, first, days):
    """Every step with the states before and after it."""
    state, step = scheme.start(window, n, first)
    yield State(window, first + window - 1, ()), step, state
    for day in range(first + window, first + window + days):
        before = state
        state, step = scheme.advance(state, day)
        yield before, step, state


def legal(scheme, n):
    return n >= scheme.fewest


every = pytest.mark.parametrize("scheme", EVERY.values(), ids=EVERY)


@every
@given(case=windows())
def test_hard_schemes_show_exactly_the_window_and_soft_ones_a_bounded_surplus(scheme, case):
    window, n, first = case
    if not legal(scheme, n):
        return
    most = window if scheme.hard else window - 1 + -(-(window - 1) // max(n - 1, 1))
    longest = 0
    for _, _, state in walked(scheme, window, n, first, 3 * window):
        assert len(state.constituents) == n
        assert all(days for _, days in state.constituents)
        shown = list(state.days)
        assert shown == list(range(state.day - len(shown) + 1, state.day + 1))  # none twice
        assert window <= len(shown) <= most
        assert len(state.expired_days) == len(shown) - window
        longest = max(longest, len(shown))
    assert longest == max(most, window)


@every
@given(case=windows())
def test_every_operation_fits_what_is_there_and_finds_its_data(scheme, case):
    window, n, first = case
    if not legal(scheme, n):
        return
    for before, step, after in walked(scheme, window, n, first, 3 * window):
        at_hand = set(before.days) | set(after.days[-1:] if before.constituents else after.days)
        indexes = before.indexes
        for operation in step.operations:
            if isinstance(operation, Build | Add):
                assert set(operation.days) <= at_hand
            indexes = apply_all(indexes, [operation])
        assert indexes == after.indexes


@every
@given(case=windows())
def test_what_happens_before_the_data_arrives_does_not_need_it(scheme, case):
    window, n, first = case
    if not legal(scheme, n):
        return
    for before, step, after in walked(scheme, window, n, first, 2 * window):
        if before.constituents:
            days = {d for op in step.before if isinstance(op, Build | Add) for d in op.days}
            assert after.day not in days
            assert any(after.day in op.days for op in step.transition if hasattr(op, "days"))


@every
@given(case=windows())
def test_temporaries_are_bounded_by_the_longest_cluster(scheme, case):
    window, n, first = case
    if not legal(scheme, n):
        return
    longest = -(-window // n) if scheme.name != "RATA" else -(-(window - 1) // (n - 1))
    for _, _, state in walked(scheme, window, n, first, 3 * window):
        assert len(state.temporaries) <= longest
        assert all(len(days) < longest for _, days in state.temporaries)
        if scheme.name in ("DEL", "REINDEX", "WATA"):
            assert state.temporaries == ()


@every
@given(case=windows())
def test_the_shape_returns_after_a_window_so_nothing_grows(scheme, case):
    window, n, first = case
    if not legal(scheme, n):
        return
    period = window - 1 if scheme.fewest == 2 else window
    shapes = [
        (
            sorted(tuple(d - state.day for d in days) for _, days in state.constituents),
            sorted(tuple(d - state.day for d in days) for _, days in state.temporaries),
        )
        for _, _, state in walked(scheme, window, n, first, 3 * window)
    ]
    for day in range(window, len(shapes) - period):
        assert shapes[day] == shapes[day + period]


@pytest.mark.parametrize("name", ["REINDEX++", "RATA"])
@given(case=windows())
def test_spreading_indexes_one_old_day_a_day_and_shows_the_same(name, case):
    window, n, first = case
    spread, at_once = EVERY[name], EVERY[f"{name} at once"]
    if not legal(spread, n):
        return
    pairs = zip(
        walked(spread, window, n, first, 3 * window),
        walked(at_once, window, n, first, 3 * window),
        strict=True,
    )
    for (before, step, ours), (_, _, theirs) in pairs:
        assert ours.constituents == theirs.constituents
        indexed = [op for op in step.before if isinstance(op, Build | Add)]
        if before.constituents and n > spread.fewest:
            assert sum(len(op.days) for op in indexed) <= 1


@every
@given(case=windows(), stop=st.integers(0, 40))
def test_a_state_read_back_from_json_goes_on_the_same(scheme, case, stop):
    window, n, first = case
    if not legal(scheme, n):
        return
    *_, (_, _, state) = walked(scheme, window, n, first, stop)
    read = State.from_json(json.loads(json.dumps(state.to_json())))
    assert read == state
    assert scheme.advance(read, state.day + 1) == scheme.advance(state, state.day + 1)


@pytest.mark.parametrize("name", SCHEMES)
def test_impossible_numbers_of_constituents_are_refused_with_the_reason(name):
    scheme = scheme_of(name.lower())
    with pytest.raises(SchemeError, match="at most 7 constituents"):
        scheme.start(7, 8)
    with pytest.raises(SchemeError, match="at least one constituent"):
        scheme.start(7, 0)
    with pytest.raises(SchemeError, match="at least one day"):
        scheme.start(0, 0)


@pytest.mark.parametrize("name", ["WATA", "RATA"])
def test_lazy_schemes_refuse_a_single_constituent_with_the_reason(name):
    with pytest.raises(SchemeError, match="never is: take n = 2 or more, or DEL"):
        SCHEMES[name].start(7, 1)
    with pytest.raises(SchemeError, match="never is: take DEL, as a day has room for one only"):
        SCHEMES[name].start(1, 1)


def test_an_unknown_scheme_is_told_the_known_ones():
    with pytest.raises(SchemeError, match="DEL, REINDEX, REINDEX\\+, REINDEX\\+\\+, WATA, RATA"):
        scheme_of("WAVE")
