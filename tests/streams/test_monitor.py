"""Lateness, closed instants and release, however the arrivals are split."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from windrow.core.errors import InputError
from windrow.core.schema import Field, Schema, Type
from windrow.core.time import BEGINNING, FOREVER, Clock
from windrow.plan.catalog import StreamDeclaration
from windrow.streams.monitor import InputMonitor, time_of
from windrow.tables.parsed_rows import Parsed, Rejected


def stream(slack: int = 0) -> StreamDeclaration:
    fields = (Field("ts", Type.BIGINT), Field("id", Type.INT))
    return StreamDeclaration("s", Schema(fields), 0, Clock.INTEGER, slack)


def rows(stamps: list[int], first: int = 0) -> pa.RecordBatch:
    ids = range(first, first + len(stamps))
    return pa.RecordBatch.from_arrays(
        [pa.array(stamps, pa.int64()), pa.array(ids, pa.int32())], ["ts", "id"]
    )


def late_by_definition(stamps: list[int], slack: int) -> list[int]:
    return [i for i, ts in enumerate(stamps) if any(ts < earlier - slack for earlier in stamps[:i])]


def pieces(stamps: list[int], cuts: list[int]) -> list[tuple[int, list[int]]]:
    edges = [0, *sorted(c % (len(stamps) + 1) for c in cuts), len(stamps)]
    return [(a, stamps[a:b]) for a, b in pairwise(edges)]


arrivals = st.lists(st.integers(-5, 30), max_size=30)


@given(stamps=arrivals, slack=st.integers(0, 8), cuts=st.lists(st.integers(0, 40), max_size=5))
def test_any_split_gives_the_late_rows_of_the_definition_and_the_same_releases(stamps, slack, cuts):
    monitor, late, released = InputMonitor(stream(slack)), [], []
    for first, part in pieces(stamps, cuts):
        accepted = monitor.accept(rows(part, first))
        late += [first + int(i) for i in accepted.late]
        out = monitor.release(monitor.closed_instant)
        released += list(zip(out.ts.tolist(), out.rows.column(1).to_pylist(), strict=True))
    monitor.finish()
    out = monitor.release(time_of([monitor]))
    released += list(zip(out.ts.tolist(), out.rows.column(1).to_pylist(), strict=True))
    expected_late = late_by_definition(stamps, slack)
    kept = [(ts, i) for i, ts in enumerate(stamps) if i not in expected_late]
    assert late == expected_late
    assert released == sorted(kept)
    assert (monitor.accepted, monitor.late) == (len(kept), len(late))


@given(stamps=arrivals, slack=st.integers(0, 8), cut=st.integers(0, 30))
def test_a_resumed_monitor_goes_on_as_if_nothing_had_happened(stamps, slack, cut):
    whole, first = InputMonitor(stream(slack)), InputMonitor(stream(slack))
    for monitor in (whole, first):
        monitor.accept(rows(stamps[:cut]))
    resumed = InputMonitor.resume(stream(slack), first.state(), first.waiting)
    for monitor in (whole, resumed):
        monitor.accept(rows(stamps[cut:], cut))
    assert resumed.state() == whole.state()
    assert resumed.release(FOREVER).rows.equals(whole.release(FOREVER).rows)


def test_rows_at_or_before_an_advanced_instant_are_late():
    monitor = InputMonitor(stream())
    monitor.advance(10)
    accepted = monitor.accept(rows([9, 10, 11]))
    assert accepted.late.tolist() == [0, 1]
    assert accepted.delta.ts.tolist() == [11]
    assert monitor.closed_instant == 10


def test_a_broken_row_with_a_readable_timestamp_moves_time_for_the_rows_after_it():
    broken = Rejected(2, "broken", "?", ts=50)
    parsed = Parsed(rows([40, 41]), np.array([1, 3]), [broken])
    monitor = InputMonitor(stream(5))
    assert monitor.accept(parsed).late.tolist() == [1]
    assert (monitor.top, monitor.closed_instant, monitor.rejected) == (50, 44, 1)


def test_late_rows_are_reported_with_what_was_still_in_time():
    parsed = Parsed.clean(rows([9, 3]))
    rejections = InputMonitor(stream(2)).accept(parsed).rejections(parsed, stream(2))
    assert [(r.row, r.ts) for r in rejections] == [(2, 3)]
    assert rejections[0].reason.startswith(
        "late: ts is 3, but the stream no longer accepted rows before 7"
    )


def test_nothing_is_closed_before_the_first_row():
    assert InputMonitor(stream(3)).closed_instant == BEGINNING
    assert time_of([]) == BEGINNING


def test_the_slowest_stream_that_is_not_over_decides_the_time():
    fast, slow = InputMonitor(stream()), InputMonitor(stream())
    fast.accept(rows([100]))
    slow.accept(rows([7]))
    assert time_of([fast, slow]) == 6
    slow.finish()
    assert time_of([fast, slow]) == 99
    fast.finish()
    assert time_of([fast, slow]) == 100


def test_timestamps_at_the_ends_of_the_range_do_not_wrap_around():
    monitor = InputMonitor(stream(10))
    accepted = monitor.accept(rows([BEGINNING + 1, BEGINNING + 2, FOREVER - 1]))
    assert accepted.late.tolist() == []


def test_rows_after_the_end_are_an_error():
    monitor = InputMonitor(stream())
    monitor.finish()
    with pytest.raises(InputError, match="stream s: expected no rows after its end"):
        monitor.accept(rows([1]))


@given(
    stamps=st.lists(st.integers(0, 12), max_size=8),
    top=st.none() | st.integers(0, 6),
    advanced=st.none() | st.integers(0, 6),
    ahead=st.none() | st.integers(0, 6),
)
def test_batches_in_order_are_judged_in_one_pass_as_they_are_row_by_row(
    stamps, top, advanced, ahead
):
    found = []
    for plain in (True, False):
        monitor = InputMonitor(replace(stream(2), ahead=ahead), top)
        if advanced is not None:
            monitor.advance(advanced)
        with pytest.MonkeyPatch.context() as patch:
            if not plain:
                patch.setattr(InputMonitor, "_is_plain", lambda *_: False)
            taken = monitor.accept(rows(sorted(stamps)))
        late, ahead_of = taken.late.tolist(), taken.ahead.tolist()
        found.append((taken.delta.ts.tolist(), late, ahead_of, monitor.top))
    assert found[0] == found[1]
