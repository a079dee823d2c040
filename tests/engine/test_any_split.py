"""Any split, same answer: how the input is cut, interleaved and reordered changes nothing."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import windrow
from tests.oracle.all_samples import SAMPLES
from tests.oracle.cuts import cuts
from tests.oracle.definition import expected
from tests.oracle.programs import mixtures, programs
from tests.oracle.queries import Program, Stream
from tests.oracle.running import Push, run, table, whole
from tests.oracle.windows import Arrival


@pytest.mark.usefixtures("sizes")
@settings(max_examples=40)
@given(data=st.data(), program=programs())
def test_however_the_input_is_cut_the_changes_are_the_same(
    data: st.DataObject, program: Program
) -> None:
    steps = data.draw(cuts(program), label="steps")
    assert run(program, steps).history == run(program, whole(program)).history


@pytest.mark.usefixtures("sizes")
@settings(max_examples=30)
@given(data=st.data(), program=mixtures())
def test_however_the_input_of_internal_windows_is_cut_the_changes_are_the_same(
    data: st.DataObject, program: Program
) -> None:
    steps = data.draw(cuts(program), label="steps")
    assert run(program, steps).history == expected(program)


@pytest.mark.usefixtures("sizes")
@settings(max_examples=40)
@given(data=st.data(), name=st.sampled_from(sorted(SAMPLES)))
def test_however_a_sample_is_cut_it_says_what_the_definition_says(
    name: str, data: st.DataObject
) -> None:
    program = SAMPLES[name]
    steps = data.draw(cuts(program), label="steps")
    assert run(program, steps).history == expected(program)


@pytest.mark.usefixtures("sizes")
@pytest.mark.slow
@pytest.mark.timeout(1800)
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


@given(program=disordered())
def test_disorder_within_slack_changes_nothing(program: Program) -> None:
    assert run(program).history == expected(program)


def punctual(stream: Stream) -> Stream:
    """The stream without rows that are late, more than ``slack`` behind an earlier row, or ahead.

    What is ahead, more than ``ahead`` beyond all earlier rows that are not, moves no time.
    """
    kept, top = [], None
    for ts, values in stream.arrivals:
        if None not in (top, stream.ahead) and ts > top + stream.ahead:
            continue
        if top is None or ts >= top - stream.slack:
            kept.append((ts, values))
        # A late row is below the greatest timestamp so far, so it cannot move it.
        top = ts if top is None else max(top, ts)
    return replace(stream, arrivals=tuple(kept))


@st.composite
def tardy(draw: st.DrawFn) -> Program:
    """A program whose streams are in any order at all, so that some rows are late or ahead."""
    program = draw(programs())
    streams = tuple(
        replace(
            stream,
            arrivals=tuple(draw(st.permutations(stream.arrivals))),
            slack=draw(st.integers(0, 12)),
            ahead=draw(st.one_of(st.none(), st.integers(0, 25))),
        )
        for stream in program.streams
    )
    return replace(program, streams=streams)


@given(program=tardy())
def test_rows_beyond_slack_or_ahead_are_left_out_and_nothing_else_is(program: Program) -> None:
    kept = replace(program, streams=tuple(punctual(s) for s in program.streams))
    # The horizon is that of all rows, late ones too; it must not move with what is left out.
    beyond = program.horizon - kept.horizon + program.beyond
    assert run(program).history == expected(replace(kept, beyond=beyond))


@settings(max_examples=40)
@given(data=st.data(), program=tardy())
def test_which_rows_are_late_or_ahead_does_not_depend_on_the_cuts(
    data: st.DataObject, program: Program
) -> None:
    pieces = [
        Push(feed.name, start, stop)
        for feed in program.feeds
        for start, stop in _pieces(data, len(feed.stamps))
    ]
    assert run(program, pieces).history == run(program).history


def _pieces(data: st.DataObject, size: int) -> list[tuple[int, int]]:
    points = data.draw(st.lists(st.integers(0, size), max_size=4).map(sorted))
    return list(zip([0, *points], [*points, size], strict=True))


def readings(arrivals: list[Arrival], slack: int) -> Stream:
    return Stream("S", (("v", "INT"),), tuple(arrivals), slack)


def test_late_rows_are_counted_and_kept_in_the_quarantine(tmp_path: Path) -> None:
    # 10 closes what lies before 7; 6 and 2 are late, 7 is just in time, 20 closes up to 16.
    stamps = [5, 10, 7, 6, 2, 20, 17, 16]
    stream = readings([(ts, (place,)) for place, ts in enumerate(stamps)], slack=3)
    late = [
        place for place, ts in enumerate(stamps) if (ts, (place,)) not in punctual(stream).arrivals
    ]
    assert late == [3, 4, 7]
    with windrow.connect(quarantine=tmp_path) as connection:
        connection.execute("CREATE STREAM S (at_ BIGINT, v INT) TIMESTAMP BY at_ SLACK 3 SECONDS;")
        (query,) = connection.execute("SELECT v FROM S;")
        for start in range(0, len(stamps), 3):
            connection.push("S", table(stream, start, start + 3))
        connection.advance(to=30)
        assert connection.count_late("S") == 3
        assert connection.count_rejected("S") == 0
        seen = sorted(query.answer()["v"].to_pylist())
    assert seen == [0, 1, 2, 5, 6]
    lines = [
        json.loads(line)
        for file in sorted(tmp_path.rglob("*.jsonl"))
        for line in file.read_text().splitlines()
    ]
    assert sorted(json.loads(line["text"])["v"] for line in lines) == late
    assert all(line["stream"] == "S" and "late" in line["reason"].lower() for line in lines)


def test_a_row_at_an_instant_that_advance_closed_is_late() -> None:
    with windrow.connect() as connection:
        connection.execute("CREATE STREAM S (at_ BIGINT, v INT) TIMESTAMP BY at_ SLACK 9 SECONDS;")
        (query,) = connection.execute("SELECT v FROM S;")
        connection.push("S", {"at_": [4], "v": [1]})
        connection.advance(to=6)
        connection.push("S", {"at_": [6, 7], "v": [2, 3]})
        connection.advance(to=20)
        assert connection.count_late("S") == 1
        assert query.answer()["v"].to_pylist() == [1, 3]


def test_time_waits_for_the_slowest_stream_and_for_slack() -> None:
    with windrow.connect() as connection:
        (query,) = connection.execute(
            "CREATE STREAM A (at_ BIGINT, v INT) TIMESTAMP BY at_ SLACK 2 SECONDS;"
            "CREATE STREAM B (at_ BIGINT, v INT) TIMESTAMP BY at_;"
            "SELECT A.v FROM A [RANGE 5 SECONDS], B [RANGE 50 SECONDS] WHERE A.v = B.v;"
        )
        connection.push("A", {"at_": [1, 10], "v": [7, 7]})
        assert query.changes().num_rows == 0  # nothing of B is known yet
        connection.push("B", {"at_": [1, 20], "v": [7, 8]})
        # A has closed up to 10 - 2 - 1 = 7, B up to 19: the first pair came at 1, left at 6.
        assert query.changes().to_pylist() == [
            {"instant": 1, "change": "+", "v": 7},
            {"instant": 6, "change": "-", "v": 7},
        ]
        assert query.answer().num_rows == 0
        connection.push("A", {"at_": [14], "v": [9]})
        # A has closed up to 11, so what came at 10 is seen.
        assert query.changes().to_pylist()[2:] == [{"instant": 10, "change": "+", "v": 7}]
        assert query.answer().to_pylist() == [{"v": 7}]
