"""Triggers take more while there is a backlog and they are short, and less if they are long."""

from __future__ import annotations

from windrow.spark.source.pace import LEAST, MOST, START, TARGET, Pace


def after(seconds: list[float], per_byte: float = 0.0) -> Pace:
    """A pace after triggers that were full and took so long, and as long as their bytes say."""
    now = [0.0]
    pace = Pace(lambda: now[0])
    for fixed in seconds:
        pace.next_trigger()
        pace.was_full()
        now[0] += fixed + per_byte * pace.limit
    pace.next_trigger()
    return pace


def test_short_triggers_double_up_to_the_bound_and_long_ones_halve_down_to_it():
    assert after([0.1]).limit == 2 * START.value
    assert after([0.1] * 20).limit == MOST
    assert after([60.0]).limit == START.value // 2
    assert after([60.0] * 20).limit == LEAST


def test_it_settles_where_triggers_take_what_they_should():
    per_byte = TARGET / (100 * 2**20)
    assert abs(after([0.0] * 12, per_byte).limit / (100 * 2**20) - 1) < 0.05


def test_triggers_that_take_all_there_is_say_nothing_about_the_pace():
    now = [0.0]
    pace = Pace(lambda: now[0])
    for _ in range(5):
        pace.next_trigger()
        now[0] += 500
    assert pace.limit == START.value
