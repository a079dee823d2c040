"""Each construct by itself, at every instant, on both kinds of clock."""

from __future__ import annotations

import re
from functools import cache

import pyarrow as pa
import pytest

from tests.oracle.all_samples import SAMPLES
from tests.oracle.bags import History
from tests.oracle.blocks import Output
from tests.oracle.definition import bags, expected
from tests.oracle.queries import Program
from tests.oracle.running import SENT, Advance, Found, Push, Step, accumulated, run
from tests.support.thresholds import at_their_least

EVERYTHING_AT_SECONDS = (Output.CHANGES, Output.ISTREAM, Output.DSTREAM, Output.ISTREAM_RESTORE)


def on_seconds(program: Program) -> bool:
    """Whether everything happens at whole seconds.

    [NOW] lasts one tick, which on a TIMESTAMP clock ends between two seconds; RSTREAM needs a
    rhythm there, and RSTREAM-RESTORE sees what lived between two seconds.
    """
    at_seconds = program.output in EVERYTHING_AT_SECONDS or (
        program.output is Output.RSTREAM and program.every is not None
    )
    return at_seconds and "[NOW]" not in program.question


ON_SECONDS = [name for name, program in SAMPLES.items() if on_seconds(program)]


@cache
def should(name: str) -> History:
    return expected(SAMPLES[name])


@cache
def whole_run(name: str) -> Found:
    return run(SAMPLES[name])


def first_difference(expected_: History, found: History) -> str:
    """The earliest instant at which the two differ, for the message of a failing test."""
    for t in sorted(expected_.keys() | found.keys()):
        if expected_.get(t) != found.get(t):
            return f"at instant {t}: expected {expected_.get(t)}, found {found.get(t)}"
    return ""


@pytest.mark.parametrize("name", SAMPLES)
def test_the_sample_has_something_to_say(name: str) -> None:
    assert len(should(name)) > 5


@pytest.mark.parametrize("name", SAMPLES)
def test_at_every_instant_windrow_says_what_the_definition_says(name: str) -> None:
    program, found = SAMPLES[name], whole_run(name)
    assert not first_difference(should(name), found.history)
    if program.output is Output.CHANGES:
        assert found.final == accumulated(found.history) == bags(program).get(program.horizon, {})


@pytest.mark.parametrize("name", SAMPLES)
def test_results_have_the_names_and_types_that_the_language_promises(name: str) -> None:
    program = SAMPLES[name]
    columns = [pa.field(column, SENT[type_]) for column, type_ in program.body.columns]
    changes = whole_run(name).changes.schema.remove_metadata()
    head = [pa.field("instant", pa.int64()), pa.field("change", pa.string())]
    assert [(f.name, f.type) for f in changes] == [(f.name, f.type) for f in [*head, *columns]]


@pytest.mark.parametrize("name", ON_SECONDS)
def test_a_timestamp_clock_says_the_same_in_seconds(name: str) -> None:
    assert not first_difference(should(name), run(SAMPLES[name], clock="timestamp").history)


def one_row_at_a_time(program: Program, share: float) -> tuple[list[Step], int]:
    """Rows of what is read in order of time, each in its own push, time told in between.

    Those of the first ``share`` of all rows, and the last instant of which all rows are there.
    """
    read = set(re.findall(r"\w+", program.question))
    order = sorted(
        (ts, feed.name, place)
        for feed in program.feeds
        if feed.name in read
        for place, ts in enumerate(feed.stamps)
    )
    last = program.horizon
    if share < 1:
        last = order[int(share * len(order))][0]
        order = [step for step in order if step[0] <= last]
    steps: list[Step] = []
    for (ts, name, place), (following, _, _) in zip(order, [*order[1:], order[-1]], strict=True):
        steps.append(Push(name, place, place + 1))
        if following > ts:
            steps.append(Advance(following - 1))
    return steps, last


@pytest.mark.parametrize("share", [0.5, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", SAMPLES)
def test_one_row_at_a_time_gives_the_same(name: str, share: float) -> None:
    """With thresholds at their least: with the usual ones so few rows take the way of one push."""
    steps, last = one_row_at_a_time(SAMPLES[name], share)
    with at_their_least():
        found = run(SAMPLES[name], steps).history
    expected_ = {t: bag for t, bag in should(name).items() if t <= last}
    assert len(expected_) > 2
    assert not first_difference(expected_, {t: bag for t, bag in found.items() if t <= last})
