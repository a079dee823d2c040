"""Any split, same answer: how the input is cut, interleaved and reordered changes nothing."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.oracle.cuts import cuts
from tests.oracle.definition import expected
from tests.oracle.programs import programs
from tests.oracle.queries import Program, Stream
from tests.oracle.running import Push, run, whole
from tests.oracle.samples import SAMPLES
from tests.oracle.windows import Arrival


@settings(max_examples=150)
@given(data=st.data(), program=programs())
def test_however_the_input_is_cut_the_changes_are_the_same(
    data: st.DataObject, program: Program
) -> None:
    steps = data.draw(cuts(program), label="steps")
    assert run(program, steps).history == run(program, whole(program)).history


@pytest.mark.parametrize("name", SAMPLES)
@settings(max_examples=4)
@given(data=st.data())
def test_however_a_sample_is_cut_it_says_what_the_definition_says(
    name: str, data: st.DataObject
) -> None:
    program = SAMPLES[name]
    steps = data.draw(cuts(program), label="steps")
    assert run(program, steps).history == expected(program)


@pytest.mark.slow
@settings(max_examples=2_000)
@given(data=st.data(), program=programs())
def test_many_more_cuts_give_the_same(data: st.DataObject, program: Program) -> None:
    steps = data.draw(cuts(program), label="steps")
    assert run(program, steps).history == expected(program)


def jittered(draw: st.DrawFn, arrivals: tuple[Arrival, ...], slack: int) -> tuple[Arrival, ...]:
    """The rows in an order in which none comes more than ``slack`` ticks after a later one."""
    shifts = [draw(st.integers(0, slack)) for _ in arrivals]
    order = sorted(range(len(arrivals)), key=lambda place: arrivals[place][0] + shifts[place])
    return tuple(arrivals[place] for place in order)


@st.composite
def disordered(draw: st.DrawFn) -> Program:
    """A program whose streams are out of order, each within a slack of its own."""
    program = draw(programs())
    streams = []
    for stream in program.streams:
        slack = draw(st.integers(0, 6))
        arrivals = jittered(draw, stream.arrivals, slack)
        streams.append(replace(stream, arrivals=arrivals, slack=slack))
    return replace(program, streams=tuple(streams))


@settings(max_examples=120)
@given(program=disordered())
def test_disorder_within_slack_changes_nothing(program: Program) -> None:
    assert run(program).history == expected(program)


def punctual(stream: Stream) -> Stream:
    """The stream without its late rows: those more than ``slack`` behind an earlier row."""
    kept, top = [], None
    for ts, values in stream.arrivals:
        if top is None or ts >= top - stream.slack:
            kept.append((ts, values))
        # A late row is below the greatest timestamp so far, so it cannot move it.
        top = ts if top is None else max(top, ts)
    return replace(stream, arrivals=tuple(kept))


@st.composite
def tardy(draw: st.DrawFn) -> Program:
    """A program whose streams are in any order at all, so that some rows are late."""
    program = draw(programs())
    streams = tuple(
        replace(
            stream,
            arrivals=tuple(draw(st.permutations(stream.arrivals))),
            slack=draw(st.integers(0, 12)),
        )
        for stream in program.streams
    )
    return replace(program, streams=streams)


@settings(max_examples=120)
@given(program=tardy())
def test_rows_beyond_slack_are_left_out_and_nothing_else_is(program: Program) -> None:
    kept = replace(program, streams=tuple(punctual(s) for s in program.streams))
    # The horizon is that of all rows, late ones too; it must not move with what is left out.
    beyond = program.horizon - kept.horizon + program.beyond
    assert run(program).history == expected(replace(kept, beyond=beyond))


@settings(max_examples=60)
@given(data=st.data(), program=tardy())
def test_which_rows_are_late_does_not_depend_on_the_cuts(
    data: st.DataObject, program: Program
) -> None:
    pieces = [
        Push(stream.name, start, stop)
        for stream in program.streams
        for start, stop in _pieces(data, len(stream.arrivals))
    ]
    assert run(program, pieces).history == run(program).history


def _pieces(data: st.DataObject, size: int) -> list[tuple[int, int]]:
    points = data.draw(st.lists(st.integers(0, size), max_size=4).map(sorted))
    return list(zip([0, *points], [*points, size], strict=True))
