"""``windrow archive`` on an index of lifetimes: the commands are those of an archive of days."""

from __future__ import annotations

import json
from datetime import datetime, timedelta

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from tests.cli.test_archive_commands import windrow
from windrow.archive.archive import Archive, open_archive
from windrow.archive.errors import ArchiveError
from windrow.archive.format.disk import Disk
from windrow.archive.lifetimes.lifetime_index import LifetimeIndex
from windrow.archive.lifetimes.partition_grid import Grid

FIRST = datetime(2026, 3, 1)
DAYS = 4


def leases_of(day: int) -> pa.Table:
    """Ten leases of a day; the i-th lasts i half days beyond midnight."""
    return pa.table(
        {
            "host": [f"h{i % 3}" for i in range(10)],
            "number": [100 * day + i for i in range(10)],
            "until": [FIRST + timedelta(days=day + 1, hours=12 * i) for i in range(10)],
        }
    )


def alive(at: datetime, days: int = DAYS) -> list[int]:
    rows = (row for day in range(days) for row in leases_of(day).to_pylist())
    return sorted(row["number"] for row in rows if row["until"] > at)


def numbers(said: str) -> list[int]:
    return sorted(json.loads(line)["number"] for line in said.splitlines())


@pytest.fixture
def leases(tmp_path, monkeypatch):
    """Leases of four days, each taken in at the midnight that ends it."""
    monkeypatch.chdir(tmp_path)
    pq.write_table(leases_of(0), "day0.parquet")
    wanted = ("--columns", "host STRING, number BIGINT", "--key", "host", "--window", 8)
    said = windrow("create", "leases", *wanted, "--grid", "2,2")
    assert "lifetimes of up to 8 days, NoRebuild2x2" in said
    for day in range(DAYS):
        pq.write_table(leases_of(day), f"day{day}.parquet")
        end = (FIRST + timedelta(days=day + 1)).date()
        said = windrow("append", "leases", f"day{day}.parquet", "--day", end, "--expires", "until")
        assert "1 row left out: expired by" in said
    return tmp_path / "leases"


def test_the_manifest_says_which_kind_is_opened(leases, tmp_path):
    assert isinstance(open_archive(leases), LifetimeIndex)
    schema = pa.schema([("k", pa.int64())])
    Archive.create(tmp_path / "days", schema, "k", window=3, scheme="DEL", n=1)
    assert isinstance(open_archive(Disk(tmp_path / "days")), Archive)
    newest = max((tmp_path / "days/versions").iterdir())
    manifest = {**json.loads(newest.read_text()), "kind": "pyramid"}
    del manifest["checksum"]  # as a version of Windrow would write it that we do not know
    newest.write_text(json.dumps(manifest))
    with pytest.raises(ArchiveError, match="pyramid"):
        open_archive(tmp_path / "days")


def test_scan_probe_and_sql_give_what_is_alive(leases):
    now = FIRST + timedelta(days=DAYS)
    assert numbers(windrow("scan", "leases", "--json")) == alive(now)
    found = numbers(windrow("probe", "leases", "h1", "--json"))
    assert found == [n for n in alive(now) if n % 100 % 3 == 1]
    ranged = numbers(windrow("probe", "leases", "--from", "h1", "--json"))
    assert ranged == [n for n in alive(now) if n % 100 % 3 >= 1]
    counts = windrow("sql", "leases", "SELECT COUNT(*) AS n, MIN(_exp) AS e FROM archive", "--json")
    least = now + timedelta(hours=12)
    assert json.loads(counts) == {"n": len(alive(now)), "e": str(least)}


def test_later_moments_see_fewer_and_earlier_ones_are_refused(leases):
    later = FIRST + timedelta(days=DAYS, hours=30)
    assert numbers(windrow("scan", "leases", "--at", later, "--json")) == alive(later)
    assert "may be gone" in windrow("scan", "leases", "--at", "2026-03-02", fails=True)


def test_since_and_until_are_days_on_which_records_came(leases):
    now = FIRST + timedelta(days=DAYS)
    expected = [n for n in alive(now) if n // 100 in (1, 2)]
    days = ("--since", "2026-03-02", "--until", "2026-03-03")
    assert numbers(windrow("scan", "leases", *days, "--json")) == expected
    assert f"{len(expected)} rows in some.csv" in windrow("export", "leases", "some.csv", *days)
    found = pa.csv.read_csv("some.csv")
    assert found.column_names == ["host", "number"]
    assert sorted(found.column("number").to_pylist()) == expected
    assert "some of host, number" in windrow(
        "export", "leases", "x.csv", "--columns", "nobody", fails=True
    )


def test_stat_draws_the_grid_and_plan_what_is_touched_next(leases):
    shown = windrow("stat", "leases")
    assert "updated at 2026-03-05, NoRebuild2x2, lifetimes of up to 8 periods" in shown
    [first] = [line for line in shown.splitlines() if " I1 " in line]
    assert "2026-02-26, 2026-02-28, 2026-03-02, 2026-03-04" in first
    found = json.loads(windrow("stat", "leases", "--json"))
    assert found["grid"]["insertions"] == 2
    assert found["entries"] == len(alive(FIRST + timedelta(days=DAYS)))
    said = json.loads(windrow("plan", "leases", "--days", 2, "--json"))
    assert [one["now"] for one in said] == ["2026-03-06", "2026-03-07"]
    assert all(len({*one["inserted"], *one["expired"]}) == 3 for one in said)
    assert "2026-03-07" in windrow("plan", "leases", "--days", 2)


def test_migrate_says_what_it_costs_and_changes_the_grid(leases):
    before = numbers(windrow("scan", "leases", "--json"))
    wanted = ("--grid", "3,2", "--technique", "Rebuild", "--dealt", "chronological")
    assert "kB to write" in windrow("migrate", "leases", *wanted, "--dry-run")
    assert "NoRebuild2x2" in windrow("stat", "leases")
    said = windrow("migrate", "leases", *wanted)
    assert "Rebuild3x2chr, lifetimes of up to 8 periods" in said
    drained = json.loads(windrow("migrate", "leases", "--grid", "1,1", "--drain", "--json"))
    assert (drained["bytes_written"], drained["days"] > 0) == (0, True)
    shown = windrow("stat", "leases")
    assert "R-ins1," in shown
    assert " old I" in shown
    assert "old I" in windrow("plan", "leases", "--days", 2)
    windrow("migrate", "leases", "--window", 10, "--format", "parquet")
    assert "up to 10 periods, parquet runs" in windrow("stat", "leases")
    assert numbers(windrow("scan", "leases", "--json")) == before
    assert "the grid's invariants" in windrow("verify", "leases")


def test_a_grid_is_made_as_it_is_asked_for(leases):
    create = ("create", "x", "--like", "day0.parquet", "--key", "host", "--window", 8)
    said = windrow(*create, "--grid", "2,4", "--technique", "Rebuild", "--dealt", "randomised")
    assert "Rebuild2x4rnd" in said


def test_advance_forgets_and_vacuum_removes_the_files(leases):
    said = windrow("advance", "leases", "--to", "2026-03-20")
    assert "up to 2026-03-20, holding 0 records" in said
    windrow("vacuum", "leases")
    assert not list((leases / "runs").iterdir())
    assert "0 records, and the grid's invariants" in windrow("verify", "leases")


def test_verify_finds_a_flipped_bit(leases):
    assert "the grid's invariants" in windrow("verify", "leases")
    windrow("vacuum", "leases")
    run = max(leases.rglob("*.arrow"))
    damaged = bytearray(run.read_bytes())
    damaged[len(damaged) // 2] ^= 1
    run.write_bytes(damaged)
    assert run.name in windrow("verify", "leases", fails=True)


def test_ticks_that_are_numbers_are_written_as_numbers(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pa.csv.write_csv(pa.table({"k": [1, 2, 3], "end": [12, 15, 99]}), "rows.csv")
    create = ("--columns", "k BIGINT", "--key", "k", "--window", 100, "--calendar", "numbers")
    windrow("create", "x", *create, "--grid", "2,3")
    assert "plan after it" in windrow("plan", "x")
    windrow("append", "x", "rows.csv", "--day", 10, "--expires", "end")
    assert windrow("scan", "x", "--at", 14, "--json").splitlines() == ['{"k": 2}', '{"k": 3}']
    assert "updated at 10" in windrow("stat", "x")
    assert len(windrow("scan", "x", "--since", 10, "--json").splitlines()) == 3
    assert windrow("scan", "x", "--since", 11, "--json") == ""


def test_what_makes_no_sense_is_refused_in_words(leases, tmp_path):
    day = ("append", "leases", "day0.parquet")
    assert "--expires COLUMN" in windrow(*day, "--day", "2026-03-09", fails=True)
    assert "--by or --no-advance" in windrow(
        *day, "--day", "2026-03-09", "--expires", "until", "--no-advance", fails=True
    )
    assert "expected times" in windrow(
        *day, "--day", "2026-03-09", "--expires", "number", fails=True
    )
    assert "a time such as" in windrow(*day, "--day", "soon", "--expires", "until", fails=True)
    assert "never shows what has expired" in windrow("scan", "leases", "--soft", fails=True)
    assert "found -n" in windrow("migrate", "leases", "-n", 2, fails=True)
    assert "Rebuild" in windrow("migrate", "leases", "--technique", "in-place", fails=True)
    create = ("create", "x", "--like", "day0.parquet", "--key", "host", "--window", 8)
    assert "such as 4,4" in windrow(*create, "--grid", "4", fails=True)
    assert "--scheme" in windrow(*create, "--grid", "2,2", "--scheme", "DEL", fails=True)
    assert "at most 8 partitions" in windrow(*create, "--grid", "9,2", fails=True)
    assert "--dealt" in windrow(*create, "--dealt", "round-robin", fails=True)
    windrow(*create)
    assert "found --grid" in windrow("migrate", "x", "--grid", "2,2", fails=True)
    assert "an archive of days" in windrow(
        "append", "x", "day0.parquet", "--day", "2026-03-01", "--expires", "until", fails=True
    )


def test_an_index_made_in_python_says_what_its_ticks_are(tmp_path):
    schema = pa.schema([("k", pa.int64())])
    made = {
        name: LifetimeIndex.create(
            tmp_path / str(name),
            schema,
            "k",
            longest=8,
            interval=2,
            grid=Grid(2, 2),
            timestamps=name,
        )
        for name in (True, False)
    }
    assert [LifetimeIndex.open(i.disk).periods.timestamps for i in made.values()] == [True, False]


def test_instants_in_messages_are_written_as_people_write_them(leases):
    pq.write_table(leases_of(30), "late.parquet")

    def append(day):
        wanted = ("append", "leases", "late.parquet", "--day", day, "--expires", "until")
        return windrow(*wanted, fails=True)

    assert "update at 2026-01-01: expected the instant of the last update, 2026-03-05" in append(
        "2026-01-01"
    )
    assert "insertion at 2026-03-06: expected expiries up to 2026-03-14" in append("2026-03-06")
    assert "the instant of the last update, 2026-03-05" in windrow(
        "scan", "leases", "--at", "2026-03-01", fails=True
    )
