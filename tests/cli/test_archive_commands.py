"""``windrow archive``, tried as a new user would."""

from __future__ import annotations

import json
import os
from datetime import datetime, timedelta

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from windrow.archive.format.day_calendar import UNITS
from windrow.archive.lifetimes.partition_grid import (
    Chronological,
    GridTechnique,
    Randomised,
    RoundRobin,
)
from windrow.archive.wave.schemes import SCHEMES
from windrow.archive.wave.wave import TECHNIQUES
from windrow.cli.archive.create import Scheme, Unit
from windrow.cli.archive.grids import OF_GRIDS, Dealt, Technique
from windrow.cli.main import ArchiveCommands, app
from windrow.core.thresholds import Threshold

FIRST = datetime(2026, 3, 1)


def windrow(*arguments, fails=False):
    result = CliRunner().invoke(app, ["archive", *(str(a) for a in arguments)])
    assert (result.exit_code != 0) == fails, result.output
    return result.output


@pytest.fixture
def month(tmp_path, monkeypatch):
    """An archive of four days, with six days appended, ten rows on each."""
    monkeypatch.chdir(tmp_path)
    rows = [
        {"ts": FIRST + timedelta(days=day, hours=i), "src": f"h{i % 3}", "bytes": 100 * day + i}
        for day in range(6)
        for i in range(10)
    ]
    schema = pa.schema([("ts", pa.timestamp("us")), ("src", pa.string()), ("bytes", pa.int64())])
    pq.write_table(pa.Table.from_pylist(rows, schema), "flows.parquet")
    windrow("create", "month", "--like", "flows.parquet", "--key", "src", "--window", 4, "-n", 2)
    said = windrow("append", "month", "flows.parquet", "--by", "ts")
    assert "2026-03-01: 10 rows left out: the window begins on 2026-03-03" in said
    return tmp_path / "month"


@pytest.mark.parametrize("command", list(ArchiveCommands.lazy))
def test_help_of_every_command_has_an_example(command):
    shown = windrow(command, "--help")
    assert f"windrow archive {command} " in shown
    assert "--json" in shown


def test_every_scheme_technique_and_unit_can_be_chosen():
    assert {s.value for s in Scheme} == set(SCHEMES)
    assert {t.value for t in set(Technique) - OF_GRIDS} == set(TECHNIQUES)
    assert {t.value for t in OF_GRIDS} == {t.value for t in GridTechnique}
    dealt = (RoundRobin(), Chronological(), Randomised())
    assert {d.value for d in Dealt} == {assignment.name for assignment in dealt}
    assert {u.value for u in Unit} == set(UNITS)


def test_a_probe_finds_the_records_of_the_window_only(month):
    found = windrow("probe", "month", "h1", "--columns", "bytes", "--json")
    bytes_ = sorted(json.loads(line)["bytes"] for line in found.splitlines())
    assert bytes_ == [100 * day + i for day in (2, 3, 4, 5) for i in (1, 4, 7)]
    timed = windrow("probe", "month", "h1", "h2", "--since", "2026-03-06", "--json")
    assert len(timed.splitlines()) == 6
    ranged = windrow("probe", "month", "--from", "h1", "--until", "2026-03-03", "--json")
    assert len(ranged.splitlines()) == 6


def test_sql_sees_the_window_and_nothing_else(month):
    found = windrow("sql", "month", "SELECT COUNT(*) AS n, MIN(bytes) AS b FROM archive", "--json")
    assert json.loads(found) == {"n": 40, "b": 200}
    outside = windrow("sql", "month", "SELECT * FROM 'flows.parquet'", fails=True)
    assert "flows.parquet" in outside


def test_scan_and_export_write_files(month):
    assert "40 rows in all.csv" in windrow("scan", "month", "--into", "all.csv")
    assert "10 rows in day.parquet" in windrow(
        "export", "month", "day.parquet", "--since", "2026-03-06"
    )
    assert pq.read_table("day.parquet").column("bytes").to_pylist().count(500) == 1


def test_stat_draws_the_days_of_each_index(month):
    shown = windrow("stat", "month")
    assert "2026-03-06" in shown
    assert "WATA with n = 2" in shown
    plain = json.loads(windrow("stat", "month", "--json"))
    assert plain["entries"] >= 40
    assert plain["now"] == "2026-03-06"
    days = {day for index in plain["indexes"] for day in index["days"]}
    assert {"2026-03-03", "2026-03-04", "2026-03-05", "2026-03-06"} <= days


def test_stat_draws_many_days_by_the_first_and_the_last(month):
    columns = ("--columns", "k INT", "--key", "k")
    windrow("create", "year", *columns, "--window", 365, "--scheme", "DEL", "-n", 2)
    windrow("advance", "year", "--to", "2026-03-06")
    assert "2025-03-07 to 2025-09-05, 183 days" in windrow("stat", "year")
    windrow(
        "create", "day", *columns, "--window", 24, "--calendar", "hours", "--scheme", "DEL", "-n", 1
    )
    windrow("advance", "day", "--to", "2026-03-06 23:00")
    shown = windrow("stat", "day")
    assert "24 hours up to 2026-03-06 23:00" in shown
    assert "2026-03-06 00:00 to 2026-03-06 23:00, 24 hours" in shown


def test_a_window_of_few_days_has_as_many_indexes(month):
    made = windrow("create", "few", "--columns", "k INT", "--key", "k", "--window", 3, "--json")
    assert json.loads(made)["settings"]["n"] == 3


def test_plan_says_what_comes_and_does_nothing(month):
    before = windrow("stat", "month")
    shown = windrow("plan", "month", "--days", 3)
    assert [day in shown for day in ("2026-03-07", "2026-03-08", "2026-03-09")] == [True] * 3
    first, _ = json.loads(windrow("plan", "month", "--days", 2, "--json"))
    assert first["day"] == "2026-03-07"
    assert {"operation": "Add", "target": "I2", "days": ["2026-03-07"]} in first["transition"]
    assert "greater" in windrow("plan", "month", "--days", 0, fails=True)
    assert windrow("stat", "month") == before


def test_a_day_ahead_comes_in_when_the_window_moves(month):
    pq.write_table(pq.read_table("flows.parquet").slice(0, 10), "more.parquet")
    windrow("append", "month", "more.parquet", "--day", "2026-03-07", "--no-advance")
    assert len(windrow("scan", "month", "--json").splitlines()) == 40
    assert "up to 2026-03-07" in windrow("advance", "month", "--to", "2026-03-07")
    assert "2026-03-07" in windrow("stat", "month")


def test_migrate_says_what_it_costs_and_does_it(month):
    before = windrow("scan", "month", "--into", "before.csv")
    said = windrow("migrate", "month", "--scheme", "DEL", "-n", 1, "--dry-run")
    assert "to write" in said
    assert "WATA" in windrow("stat", "month")
    windrow("migrate", "month", "--scheme", "DEL", "-n", 1)
    assert "DEL with n = 1" in windrow("stat", "month")
    drained = windrow("migrate", "month", "--scheme", "WATA", "-n", 2, "--drain", "--json")
    assert json.loads(drained)["bytes_written"] == 0
    assert windrow("scan", "month", "--into", "after.csv") == before.replace("before", "after")


def test_advise_measures_and_gives_reasons(month):
    table = pa.concat_tables([pq.read_table("flows.parquet")] * 40)
    pq.write_table(table, "sample.parquet")
    wanted = ("--key", "src", "--window", 7, "--probes", 1000, "--scans", 2)
    said = windrow("advise", "sample.parquet", *wanted)
    assert "Take " in said
    assert "The runner-up is" in said
    hard = json.loads(windrow("advise", "sample.parquet", *wanted, "--hard", "--json"))
    assert all(one["scheme"] != "WATA" for one in hard["recommendations"])
    assert hard["measured"]["build"] > 0
    assert hard["prices"]["consume"] > 0
    other = windrow("advise", "sample.parquet", *wanted, "--scan-columns", "nothing", fails=True)
    assert "nothing" in other
    assert not list(month.parent.glob("windrow-advise-*"))


def test_advise_tries_grids_for_rows_that_say_when_they_expire(month, monkeypatch):
    for name, least in (("PERIODS", 5), ("MOST_ROWS", 1_000), ("MEASURED", 2)):
        monkeypatch.setattr(f"windrow.archive.advise.grid_advice.{name}", Threshold(least))
    until = [datetime(2026, 3, 2) + timedelta(minutes=7 * i) for i in range(1, 1_301)]
    hosts = [f"h{i % 40}" for i in range(1_300)]
    pq.write_table(pa.table({"host": hosts, "until": pa.array(until)}), "leases.parquet")
    wanted = ("--key", "host", "--probes", 10, "--expires", "until", "--window")
    said = windrow("advise", "leases.parquet", *wanted, 6, "--day", "2026-03-02")
    assert "Take " in said
    assert "--grid " in said
    assert "the paper would take " in said
    assert "measured with " in said
    assert "66 rows left out" in said  # those that live longer than six days
    plain = json.loads(
        windrow("advise", "leases.parquet", *wanted, 7, "--day", "2026-03-02", "--json")
    )
    works = [one["work"] for one in plain["recommendations"]]
    assert works[1:] == sorted(works[1:])
    assert plain["turns"][0]["queries"] == 0
    assert "--day" in windrow("advise", "leases.parquet", *wanted, 6, fails=True)
    dated = ("advise", "leases.parquet", *wanted, 6, "--day", "2026-03-02")
    assert "--hard" in windrow(*dated, "--hard", fails=True)


@pytest.mark.parametrize(
    ("option", "value"),
    [("--window", 0), ("--probes", -1), ("--scans", -1), ("--rows", 0), ("--scan-days", 0),
     ("--disk", "nowhere")],
)  # fmt: skip
def test_advise_refuses_what_there_cannot_be(month, option, value):
    wanted = ("--key", "src", "--window", 7, "--probes", 1)
    assert option in windrow("advise", "flows.parquet", *wanted, option, value, fails=True)


def test_verify_says_what_is_wrong_and_fails(month):
    assert "is intact" in windrow("verify", "month")
    windrow("vacuum", "month")
    run = max(month.rglob("*.arrow"), key=lambda p: p.stat().st_size)
    damaged = bytearray(run.read_bytes())
    damaged[len(damaged) // 2] ^= 0xFF
    run.write_bytes(damaged)
    assert run.name in windrow("verify", "month", fails=True)


def test_verify_finds_a_damaged_manifest_and_says_so_to_programs_too(month):
    manifest = max(month.glob("versions/*.json"))
    manifest.write_bytes(manifest.read_bytes()[:-20])
    result = CliRunner().invoke(app, ["archive", "verify", "month", "--json"])
    assert result.exit_code == 1
    assert manifest.name in json.loads(result.output)["problems"][0]["where"]
    assert manifest.name in windrow("verify", "month", fails=True)


def test_days_in_messages_are_written_as_people_write_them(month):
    late = ("append", "month", "flows.parquet", "--day", "2026-03-06")
    assert "expected a day after 2026-03-06" in windrow(*late, fails=True)
    assert "expected day 2026-03-06 or" in windrow(
        "advance", "month", "--to", "2026-03-01", fails=True
    )
    assert len(windrow("scan", "month", "--at", "2026-03-08", "--json").splitlines()) == 20
    assert "expected day 2026-03-06" in windrow("scan", "month", "--at", "2026-03-01", fails=True)


def test_mistakes_are_explained(month):
    assert "--day or --by" in windrow("append", "month", "flows.parquet", fails=True)
    assert "a date such as" in windrow("advance", "month", "--to", "yesterday", fails=True)
    assert "nowhere" in windrow("stat", "nowhere", fails=True)
    assert "--columns or --like" in windrow(
        "create", "x", "--key", "src", "--window", 3, fails=True
    )
    assert "at least 2 constituents" in windrow(
        "create", "x", "--columns", "src STRING", "--key", "src", "--window", 3, "-n", 1, fails=True
    )


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ("k STRIN", "--columns, character 3: expected a type"),
        ("k INT,\n j STRIN", "--columns, line 2, character 4: expected a type"),
        ("k INT,", "--columns: expected a column's name; found the end"),
        ("k INT, k INT", "--columns, character 8: the column k is declared twice"),
    ],
)
def test_mistakes_in_columns_are_counted_in_what_was_typed(month, columns, said):
    assert said in windrow(
        "create", "x", "--columns", columns, "--key", "k", "--window", 3, fails=True
    )


def test_a_file_where_an_archive_should_be_is_called_one(month):
    made = ("--columns", "k INT", "--key", "k", "--window", 3)
    said = "flows.parquet: expected a directory; found a file; choose another path"
    assert said in windrow("create", "flows.parquet", *made, fails=True)
    assert said in windrow("create", "flows.parquet/below", *made, fails=True)
    assert said in windrow("stat", "flows.parquet", fails=True)


def test_a_pipe_is_no_file_of_rows(month):
    os.mkfifo("rows.csv")
    said = windrow("append", "month", "rows.csv", "--day", "2026-03-07", fails=True)
    assert "found a pipe or a device; write its rows to a file first" in said


def test_a_window_that_has_not_begun_is_at_no_day(month):
    windrow("create", "new", "--like", "flows.parquet", "--key", "src", "--window", 4)
    assert "the first append decides when" in windrow("plan", "new")
    assert json.loads(windrow("plan", "new", "--json")) == []
    said = windrow("append", "new", "flows.parquet", "--day", "2026-03-01", "--no-advance")
    assert "new: version 2, the window has not begun, holding 0 records" in said
