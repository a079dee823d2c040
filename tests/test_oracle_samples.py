"""Each construct by itself, at every instant, on both kinds of clock."""

from __future__ import annotations

import pyarrow as pa
import pytest

from tests.oracle.bags import History
from tests.oracle.blocks import Output
from tests.oracle.definition import bags, expected
from tests.oracle.queries import Program
from tests.oracle.running import SENT, Advance, Push, Step, accumulated, run
from tests.oracle.samples import SAMPLES

# [NOW] lasts one tick, which on a TIMESTAMP clock ends between two seconds; RSTREAM needs a
# rhythm there.
ON_SECONDS = {
    name: program
    for name, program in SAMPLES.items()
    if "[NOW]" not in program.question
    and (program.output is not Output.RSTREAM or program.every is not None)
}


def first_difference(expected_: History, found: History) -> str:
    """The earliest instant at which the two differ, for the message of a failing test."""
    for t in sorted(expected_.keys() | found.keys()):
        if expected_.get(t) != found.get(t):
            return f"at instant {t}: expected {expected_.get(t)}, found {found.get(t)}"
    return ""


@pytest.mark.parametrize("name", SAMPLES)
def test_the_sample_has_something_to_say(name: str) -> None:
    assert len(expected(SAMPLES[name])) > 5


@pytest.mark.parametrize("name", SAMPLES)
def test_at_every_instant_windrow_says_what_the_definition_says(name: str) -> None:
    program = SAMPLES[name]
    found = run(program)
    assert not first_difference(expected(program), found.history)
    if program.output is Output.CHANGES:
        assert found.final == accumulated(found.history) == bags(program).get(program.horizon, {})


@pytest.mark.parametrize("name", SAMPLES)
def test_results_have_the_names_and_types_that_the_language_promises(name: str) -> None:
    program = SAMPLES[name]
    columns = [pa.field(column, SENT[type_]) for column, type_ in program.body.columns]
    changes = run(program).changes.schema.remove_metadata()
    head = [pa.field("instant", pa.int64()), pa.field("change", pa.string())]
    assert [(f.name, f.type) for f in changes] == [(f.name, f.type) for f in [*head, *columns]]


@pytest.mark.parametrize("name", ON_SECONDS)
def test_a_timestamp_clock_says_the_same_in_seconds(name: str) -> None:
    program = ON_SECONDS[name]
    assert not first_difference(expected(program), run(program, clock="timestamp").history)


def one_row_at_a_time(program: Program) -> list[Step]:
    """All rows of all streams in order of time, each in its own push, time told in between."""
    order = sorted(
        (ts, stream.name, place)
        for stream in program.streams
        for place, (ts, _) in enumerate(stream.arrivals)
    )
    steps: list[Step] = []
    for (ts, name, place), (following, _, _) in zip(order, [*order[1:], order[-1]], strict=True):
        steps.append(Push(name, place, place + 1))
        if following > ts:
            steps.append(Advance(following - 1))
    return steps


@pytest.mark.parametrize("name", SAMPLES)
def test_one_row_at_a_time_gives_the_same(name: str) -> None:
    program = SAMPLES[name]
    found = run(program, one_row_at_a_time(program))
    assert not first_difference(expected(program), found.history)
