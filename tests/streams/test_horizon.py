"""Rows further ahead than their stream can justify are put aside and move no time."""

from __future__ import annotations

import dataclasses
import json
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import windrow
from tests.support.runs import run_embedded
from windrow.core.schema import Field, Schema, Type
from windrow.core.time import BEGINNING, FOREVER, MICROSECONDS, Clock
from windrow.engine.connection import Connection
from windrow.engine.embedded import Embedded
from windrow.plan.catalog import RelationDeclaration, StreamDeclaration
from windrow.plan.nodes import FileSource
from windrow.plan.program import compile_script
from windrow.streams.horizon import DEFAULT, UNLIMITED, Horizon, credible, horizon_of
from windrow.streams.max_timestamp import greatest_timestamp
from windrow.streams.monitor import InputMonitor
from windrow.streams.relations import RelationMonitor, updates_of
from windrow.tables.parsed_rows import Parsed, Rejected
from windrow.tables.readers import read_file

DAY, HOUR = MICROSECONDS["DAY"], MICROSECONDS["HOUR"]
NOON = 1_700_000_000_000_000
stamps = st.lists(st.one_of(st.integers(-5, 40), st.integers(100, 160)), max_size=30)
optional = st.one_of(st.none(), st.integers(-9, 120))


def stream(
    clock: Clock = Clock.INTEGER, ahead: int | None = None, slack: int = 0
) -> StreamDeclaration:
    kind = Type.BIGINT if clock is Clock.INTEGER else Type.TIMESTAMP
    fields = (Field("ts", kind), Field("id", Type.INT))
    source = FileSource("x", "csv")
    return StreamDeclaration("s", Schema(fields), 0, clock, slack, source, ahead=ahead)


def rows(ts: list[int], first: int = 0) -> pa.RecordBatch:
    ids = pa.array(range(first, first + len(ts)), pa.int32())
    return pa.RecordBatch.from_arrays([pa.array(ts, pa.int64()), ids], ["ts", "id"])


def by_definition(ts: list[int], base: int | None, ahead: int) -> list[bool]:
    found = []
    for t in ts:
        found.append(base is None or t <= base + ahead)
        if found[-1]:
            base = t if base is None else max(base, t)
    return found


@given(ts=stamps, base=optional, ahead=st.integers(0, 60))
def test_credible_rows_are_those_of_the_definition(ts, base, ahead):
    found, limits = credible(np.array(ts, np.int64), base, Horizon(ahead))
    assert found.tolist() == by_definition(ts, base, ahead)
    assert (np.array(ts, np.int64) <= limits).tolist() == found.tolist()


@given(
    ts=stamps, ahead=st.integers(0, 60), slack=st.integers(0, 9), wall=optional,
    cuts=st.lists(st.integers(0, 40), max_size=5), broken=st.sets(st.integers(0, 29)),
)  # fmt: skip
def test_any_split_gives_the_same_rows_ahead_and_late_for_a_fixed_wall(
    ts, ahead, slack, wall, cuts, broken
):
    """``broken`` rows are refused for another reason; they move time if they are credible."""
    edges = [0, *sorted(c % (len(ts) + 1) for c in cuts), len(ts)]
    monitor, found = InputMonitor(stream(slack=slack)), []
    for a, b in pairwise(edges):
        whole = [i for i in range(a, b) if i not in broken]
        refused = [Rejected(i, "broken", "", ts[i]) for i in range(a, b) if i in broken]
        batch = rows([ts[i] for i in whole])
        parsed = Parsed(batch, np.array(whole, np.int64), refused)
        accepted = monitor.accept(parsed, Horizon(ahead, wall))
        found += [("late", whole[int(p)]) for p in accepted.late]
        found += [("ahead", whole[int(p)]) for p in accepted.ahead]
    trusted = by_definition(ts, wall, ahead)
    expected, top = [], None
    for i, t in enumerate(ts):
        if i not in broken and not trusted[i]:
            expected.append(("ahead", i))
        elif i not in broken and top is not None and t < top - slack:
            expected.append(("late", i))
        if trusted[i]:
            top = t if top is None else max(top, t)
    assert sorted(found) == sorted(expected)
    assert monitor.top == top
    assert monitor.late + monitor.rejected + monitor.accepted == len(ts)


def test_a_row_ahead_is_reported_with_what_was_credible_and_what_to_do():
    parsed = Parsed.clean(rows([5, 900, 6]))
    declaration = stream(ahead=10)
    monitor = InputMonitor(declaration)
    accepted = monitor.accept(parsed)
    assert accepted.delta.ts.tolist() == [5, 6]
    (rejected,) = accepted.rejections(parsed, declaration)
    assert (rejected.row, rejected.ts) == (2, 900)
    assert rejected.reason == (
        "ahead: ts is 900, but the stream did not accept rows after 15 yet; "
        "if it is right, allow more with AHEAD"
    )
    assert (monitor.top, monitor.rejected, monitor.late) == (6, 1, 0)


def test_time_that_was_declared_to_have_come_justifies_the_rows_after_it():
    monitor = InputMonitor(stream(ahead=10))
    monitor.accept(rows([5]))
    monitor.advance(1000)
    assert monitor.accept(rows([1001, 1012])).ahead.tolist() == [1]


@pytest.mark.parametrize(
    ("clock", "ahead", "wall", "expected"),
    [
        (Clock.TIMESTAMP, None, NOON, Horizon(DEFAULT, NOON)),
        (Clock.TIMESTAMP, HOUR, NOON, Horizon(HOUR, NOON)),
        (Clock.TIMESTAMP, FOREVER, NOON, Horizon(FOREVER, NOON)),
        (Clock.TIMESTAMP, None, FOREVER, UNLIMITED),
        (Clock.TIMESTAMP, HOUR, FOREVER, Horizon(HOUR)),
        (Clock.INTEGER, None, NOON, UNLIMITED),
        (Clock.INTEGER, 7, NOON, Horizon(7)),
    ],
)
def test_a_day_holds_on_timestamp_clocks_beside_a_wall_and_nothing_else_does(
    clock, ahead, wall, expected
):
    assert horizon_of(stream(clock, ahead), wall) == expected


def test_limits_at_the_ends_of_the_range_do_not_wrap_around():
    ts = np.array([FOREVER - 1, BEGINNING + 1], np.int64)
    assert credible(ts, FOREVER - 5, Horizon(FOREVER - 1))[0].all()
    assert credible(ts, BEGINNING + 1, Horizon(3))[0].tolist() == [False, True]


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(ts=stamps, ahead=st.integers(0, 60), top=optional, wall=optional, kind=st.sampled_from("cp"))
def test_the_top_of_a_file_is_where_a_monitor_stands_after_it(ts, ahead, top, wall, kind, tmp_path):
    declaration, horizon = stream(), Horizon(ahead, wall)
    path = tmp_path / "x.csv"
    if kind == "c":
        path.write_text("ts,id\n" + "".join(f"{t},{'x' if t % 3 else 1}\n" for t in ts))
    else:
        declaration = dataclasses.replace(declaration, source=FileSource("x", "parquet"))
        pa.parquet.write_table(pa.Table.from_batches([rows(ts)]), path)
    monitor = InputMonitor(declaration, top)
    for parsed in read_file(path, declaration):
        monitor.accept(parsed, horizon)
    found = greatest_timestamp(path, declaration, horizon, top)
    assert max((t for t in (found, top) if t is not None), default=None) == monitor.top


def relation(ahead: int | None = None) -> RelationMonitor:
    schema = Schema((Field("k", Type.INT),))
    return RelationMonitor(RelationDeclaration("r", schema, True, ahead=ahead), Clock.INTEGER)


def test_an_update_ahead_is_not_carried_out_and_moves_no_time():
    monitor = relation(ahead=10_000_000)
    updates = {"instant": [1, 99, 2, 3], "change": ["+", "+", "-", "-"], "k": [1, 2, 1, 2]}
    parsed = monitor.parse_pushed(updates)
    accepted = monitor.accept(parsed)
    assert accepted.delta.ts.tolist() == [1, 2]
    reasons = [r.reason[:5] for r in accepted.rejections(parsed, monitor.declaration)]
    assert reasons == ["ahead"]
    assert [r.row for r in monitor.refused] == [4], "what was ahead is not there to be deleted"
    assert (monitor.top, monitor.rejected) == (3, 2)


def test_a_broken_update_moves_time_for_carrying_out_as_for_keeping():
    monitor = relation()
    updates = {"instant": [10, 20, 15], "change": ["+", "-", "+"], "k": [1, 7, 2]}
    accepted = monitor.accept(monitor.parse_pushed(updates))
    assert accepted.delta.ts.tolist() == [10]
    assert accepted.late.tolist() == [2]
    assert monitor.present().rows.num_rows == 0
    monitor.release(FOREVER)
    assert monitor.present().rows.column(0).to_pylist() == [1]


def test_a_relation_has_its_limit_in_ticks_of_the_clock_that_it_is_on():
    declared = RelationDeclaration("r", Schema((Field("k", Type.INT),)), True, ahead=1_500_000)
    assert updates_of(declared, Clock.INTEGER).ahead == 2
    assert updates_of(declared, Clock.TIMESTAMP).ahead == 1_500_000
    endless = dataclasses.replace(declared, ahead=FOREVER)
    assert updates_of(endless, Clock.INTEGER).ahead == FOREVER


def moments(*ts: int) -> dict[str, list]:
    return {"ts": [np.datetime64(t, "us").item() for t in ts], "id": list(range(len(ts)))}


def test_a_connection_judges_pushed_rows_by_its_wall(tmp_path: Path):
    walls = [NOON]
    with Connection(Embedded(quarantine=tmp_path, wall=lambda: walls[-1])) as db:
        (query,) = db.execute("CREATE STREAM s (ts TIMESTAMP, id INT); SELECT id FROM s [ROWS 9];")
        db.push("s", moments(NOON - 300 * DAY, NOON + 2 * DAY, NOON))
        walls.append(NOON + 30 * DAY)
        db.push("s", moments(NOON + 30 * DAY, NOON + 32 * DAY))
        db.advance(to=NOON + 31 * DAY)
        assert query.answer()["id"].to_pylist() == [0, 2, 0]
        assert (db.count_rejected("s"), db.count_late("s")) == (2, 0)
    lines = [
        json.loads(x) for p in sorted(tmp_path.rglob("*.jsonl")) for x in p.read_text().splitlines()
    ]
    assert [x["reason"].partition(":")[0] for x in lines] == ["ahead", "ahead"]


def test_a_query_that_comes_later_sees_the_rows_of_files_that_were_credible_when_read(tmp_path):
    path = tmp_path / "s.csv"
    path.write_text("ts,id\n2023-11-14 00:00:00,1\n2030-01-01,2\n2023-11-15,3\n")
    walls = [NOON]
    with Connection(Embedded(wall=lambda: walls[-1])) as db:
        db.execute(f"CREATE STREAM s (ts TIMESTAMP, id INT) FROM '{path}';")
        first, *_ = db.execute("CREATE QUERY a AS SELECT id FROM s;")
        walls.append(NOON + 3000 * DAY)
        second, *_ = db.execute("CREATE QUERY b AS SELECT id FROM s;")
        db.advance(to="2023-12-01")
        assert first.answer()["id"].to_pylist() == second.answer()["id"].to_pylist() == [1, 3]


@pytest.mark.parametrize(
    ("clause", "expected"), [("", [1, 3]), ("AHEAD UNBOUNDED", [1, 2]), ("AHEAD 1 HOUR", [1, 3])]
)
def test_one_row_of_the_year_9999_does_not_end_a_stream(clause, expected, tmp_path):
    path = tmp_path / "s.csv"
    path.write_text("ts,id\n2023-11-14,1\n9999-12-31,2\n2023-11-14 12:00:00,3\n")
    script = f"CREATE STREAM s (ts TIMESTAMP, id INT) FROM '{path}' {clause}; SELECT id FROM s;"
    report = run_embedded(
        compile_script(script).catalog, once=True, quarantine=tmp_path / "q",
        on_progress=lambda _: None, wall=lambda: NOON,
    )  # fmt: skip
    assert report.queries[0].answer["id"].to_pylist() == expected
    assert report.queries[0].quarantined == 1


def test_a_connection_of_the_package_has_a_wall():
    with windrow.connect() as db:
        db.execute("CREATE STREAM s (ts TIMESTAMP, id INT);")
        db.push("s", {"ts": ["9999-12-31 00:00:00"], "id": [1]})
        assert db.count_rejected("s") == 1
