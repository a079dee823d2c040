"""CREATE ARCHIVE in a script: days go to disk when they are over, each once."""

from __future__ import annotations

from datetime import datetime, timedelta

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import windrow
from windrow.archive.archive import Archive
from windrow.archive.errors import ArchiveError
from windrow.archive.lifetimes.lifetime_index import LifetimeIndex
from windrow.archive.lifetimes.partition_grid import Chronological, Grid, GridTechnique
from windrow.cli.main import app
from windrow.core.errors import BindError, WindrowError

STREAM = "CREATE STREAM s (ts BIGINT, k STRING, v BIGINT);"


def rows(first: int, last: int) -> dict[str, list[object]]:
    ts = list(range(first, last))
    return {"ts": ts, "k": [f"k{t % 3}" for t in ts], "v": ts}


def values(archive: Archive, key: str | None = None) -> list[int]:
    with archive.reader() as reader:
        table = reader.scan() if key is None else reader.probe(key)
    return sorted(table.column("v").to_pylist())


def archived(path, window="30 SECONDS", using="WATA(2)"):
    return f"{STREAM} CREATE ARCHIVE m ON s KEY k WINDOW {window} USING {using} INTO '{path}';"


def test_what_is_archived_is_the_window_whatever_the_pushes(tmp_path):
    for step in (1, 7, 100):
        path = tmp_path / str(step)
        with windrow.connect() as db:
            db.execute(archived(path))
            for start in range(0, 100, step):
                db.push("s", rows(start, min(start + step, 100)))
            db.advance(to=99)
        archive = Archive.open(path)
        assert archive.stat().now == 99
        assert values(archive) == list(range(70, 100))
        assert values(archive, "k1") == [v for v in range(70, 100) if v % 3 == 1]


def test_a_day_goes_in_when_it_is_over(tmp_path):
    with windrow.connect() as db:
        db.execute(archived(tmp_path / "m", window="2 MINUTES"))
        db.push("s", rows(0, 70))
        assert values(Archive.open(tmp_path / "m")) == list(range(60))
        assert db.archives["m"].waiting == 9  # the last instant is still open
        db.advance(to=118)
        assert Archive.open(tmp_path / "m").stat().now == 0
        db.advance(to=119)
        assert values(Archive.open(tmp_path / "m")) == list(range(70))


def test_days_that_could_not_be_put_in_are_put_in_later(tmp_path, monkeypatch):
    with windrow.connect() as db:
        db.execute(archived(tmp_path / "m"))
        [beside] = db.execute("SELECT v FROM s;")
        db.push("s", rows(0, 10))

        def full(*_: object) -> int:
            raise ArchiveError("no room")

        with monkeypatch.context() as patched:
            patched.setattr(db.archives["m"]._run.delivery._store, "put", full)
            with pytest.raises(ArchiveError, match="no room"):
                db.push("s", rows(10, 20))
        assert beside.answer().num_rows == 19
        db.push("s", rows(20, 30))
        db.advance(to=29)
        assert values(Archive.open(tmp_path / "m")) == list(range(30))


def test_running_again_from_the_beginning_repeats_and_loses_nothing(tmp_path):
    for until in (40, 60, 60, 90):
        with windrow.connect() as db:
            db.execute(archived(tmp_path / "m"))
            db.push("s", rows(0, until))
            db.advance(to=until - 1)
    assert values(Archive.open(tmp_path / "m")) == list(range(60, 90))


def test_a_view_is_archived_and_days_without_rows_pass(tmp_path):
    text = (
        f"{STREAM} CREATE VIEW big AS SELECT k, v FROM s WHERE v >= 50;"
        f"CREATE ARCHIVE m ON big KEY k WINDOW 20 SECONDS USING DEL(1) INPLACE INTO '{tmp_path}/m' "
        "FORMAT parquet;"
    )
    with windrow.connect() as db:
        db.execute(text)
        db.push("s", rows(0, 60))
        db.advance(to=75)
    archive = Archive.open(tmp_path / "m")
    assert archive.stat().format == "parquet"
    assert values(archive) == [56, 57, 58, 59]


def test_results_with_lifetimes_of_their_own_go_into_a_grid(tmp_path):
    text = (
        f"{STREAM} CREATE VIEW pairs AS SELECT a.k, a.v, b.v AS w FROM s [RANGE 8 SECONDS] AS a, "
        "s [RANGE 5 SECONDS] AS b WHERE a.k = b.k AND a.v < b.v;"
        f"CREATE ARCHIVE m ON pairs KEY k WINDOW 20 SECONDS USING GRID(2, 2) INTO '{tmp_path}/m';"
        "CREATE QUERY live AS SELECT * FROM pairs;"
    )
    for until in (30, 50):  # the second from the beginning again
        with windrow.connect() as db:
            [live] = db.execute(text)
            db.push("s", rows(0, until))
            db.advance(to=until - 1)
            with LifetimeIndex.open(tmp_path / "m").reader() as reader:
                found = reader.scan(columns=["k", "v", "w"]).to_pylist()
            key = lambda row: sorted(map(str, row.items()))  # noqa: E731
            assert sorted(found, key=key) == sorted(live.answer().to_pylist(), key=key) != []


@pytest.mark.parametrize(
    ("statement", "what"),
    [
        ("ON r KEY k WINDOW 3 DAYS USING WATA(2)", "at any time"),
        ("ON pairs KEY k WINDOW 3 DAYS USING WATA(2)", "lifetimes of their own"),
        ("ON s KEY k WINDOW 3 DAYS USING GRID(2, 2)", "is a stream"),
        ("ON s KEY k WINDOW 1.5 DAYS USING WATA(2)", "a whole number of days"),
        ("ON counts KEY k WINDOW 3 DAYS USING GRID(2, 2)", "at any time"),
        ("ON s KEY k WINDOW 3 DAYS USING WATA(2, 3)", "takes one number"),
        ("ON pairs KEY k WINDOW 3 DAYS USING GRID(2, 2) PACKED", "no update technique"),
        ("ON pairs KEY k WINDOW 3 DAYS USING GRID", r"at most 3 partitions.*GRID\(3, 3\)"),
        ("ON pairs KEY k WINDOW 3 DAYS USING GRID(1, 4)", "at most 3 partitions.*found 1 x 4"),
        ("ON pairs KEY k WINDOW 4 SECONDS USING GRID(2, 2)", "write WINDOW 5 SECONDS"),
        ("ON mixed KEY k WINDOW 3 DAYS USING GRID(2, 2)", "never expire"),
        ("ON nothing KEY k WINDOW 3 DAYS USING WATA(2)", "called nothing"),
    ],
)
def test_what_cannot_be_archived_is_refused_with_the_reason(statement, what):
    text = (
        f"{STREAM} CREATE RELATION r (k STRING);"
        "CREATE VIEW pairs AS SELECT * FROM s [RANGE 5 SECONDS];"
        "CREATE VIEW counts AS SELECT k, COUNT(*) AS n FROM s [RANGE 5 SECONDS] GROUP BY k;"
        "CREATE VIEW mixed AS SELECT k FROM s UNION ALL SELECT k FROM s [RANGE 5 SECONDS];"
    )
    with windrow.connect() as db:
        db.execute(text)
        with pytest.raises(BindError, match=what):
            db.execute(f"CREATE ARCHIVE m {statement};")


def test_an_archive_that_is_there_must_be_the_one_declared(tmp_path):
    with windrow.connect() as db:
        db.execute(archived(tmp_path / "m"))
    for other in ("DEL(2)", "WATA(3)"):
        with windrow.connect() as db, pytest.raises(WindrowError, match="archive migrate"):
            db.execute(archived(tmp_path / "m", using=other))
    keyed = archived(tmp_path / "m").replace("KEY k", "KEY v")
    with windrow.connect() as db, pytest.raises(WindrowError, match="choose another directory"):
        db.execute(keyed)


def test_a_grid_that_was_migrated_to_another_technique_is_still_the_one_declared(tmp_path):
    grid = (
        f"{STREAM} CREATE VIEW last AS SELECT k, v FROM s [RANGE 9 SECONDS];"
        f"CREATE ARCHIVE m ON last KEY k WINDOW 10 SECONDS USING GRID(2, 3) INTO '{tmp_path}/m';"
    )
    for until, technique in ((30, GridTechnique.REBUILD), (50, GridTechnique.NO_REBUILD)):
        with windrow.connect() as db:
            db.execute(grid)
            db.push("s", rows(0, until))
            db.advance(to=until - 1)
        index = LifetimeIndex.open(tmp_path / "m")
        assert values(index) == list(range(until - 9, until))
        index.migrate(grid=Grid(2, 3, technique, Chronological()))
    index.migrate(grid=Grid(2, 2))
    with windrow.connect() as db, pytest.raises(WindrowError, match=r"2 x 3 .*found .*2 x 2 "):
        db.execute(grid)


def test_a_script_of_the_command_line_fills_its_archive(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    start = datetime(2026, 3, 1)
    ts = [start + timedelta(hours=6 * i) for i in range(40)]
    pq.write_table(
        pa.table({"ts": pa.array(ts, pa.timestamp("us")), "src": [f"h{i % 4}" for i in range(40)]}),
        "flows.parquet",
    )
    script = tmp_path / "keep.cql"
    script.write_text(
        "CREATE STREAM flows (ts TIMESTAMP, src STRING) FROM 'flows.parquet' FORMAT parquet;"
        "CREATE ARCHIVE week ON flows KEY src WINDOW 7 DAYS USING WATA(4) PACKED;"
    )
    ran = CliRunner().invoke(app, ["run", str(script), "--runner", "embedded", "--once"])
    assert ran.exit_code == 0, ran.output
    assert "week: 40 rows in, 36 archived in week; 4 rows of a day that is not over" in ran.output
    shown = CliRunner().invoke(app, ["archive", "stat", "week"])
    assert "2026-03-09" in shown.output


def test_an_archive_made_later_knows_what_a_relation_held_by_then(tmp_path):
    with windrow.connect() as db:
        db.execute(
            f"{STREAM} CREATE NRR owners (k STRING, o STRING);"
            "CREATE VIEW owned AS SELECT s.k, v, o FROM s, owners WHERE s.k = owners.k;"
            "CREATE QUERY earlier AS SELECT * FROM owned;"
        )
        db.push("owners", {"k": ["k1"], "o": ["x"]})
        db.push("s", rows(0, 10))
        db.advance(to=9)
        db.execute(
            f"CREATE ARCHIVE m ON owned KEY o WINDOW 20 SECONDS USING DEL(1) INTO '{tmp_path}/m';"
        )
        db.push("s", rows(10, 20))
        db.advance(to=19)
    assert values(Archive.open(tmp_path / "m"), "x") == [10, 13, 16, 19]


@pytest.mark.parametrize("kind", ["week ON flows", "week ON recent"])
def test_a_row_from_the_future_does_not_expire_what_is_archived(tmp_path, monkeypatch, kind):
    monkeypatch.chdir(tmp_path)
    start = datetime(2026, 3, 1)
    ts = [start + timedelta(hours=6 * i) for i in range(40)]
    ts.append(datetime.now() + timedelta(days=9_000))
    flows = {"ts": pa.array(ts, pa.timestamp("us")), "src": [f"h{i % 4}" for i in range(41)]}
    pq.write_table(pa.table(flows), "flows.parquet")
    using = "WATA(4)" if kind == "week ON flows" else "GRID(2, 2)"
    script = tmp_path / "keep.cql"
    script.write_text(
        "CREATE STREAM flows (ts TIMESTAMP, src STRING) FROM 'flows.parquet' FORMAT parquet "
        "AHEAD UNBOUNDED;"
        "CREATE VIEW recent AS SELECT src FROM flows [RANGE 2000 DAYS];"
        f"CREATE ARCHIVE {kind} KEY src WINDOW 2000 DAYS USING {using};"
    )
    ran = CliRunner().invoke(app, ["run", str(script), "--runner", "embedded", "--once"])
    assert ran.exit_code == 0, ran.output
    assert "41 rows in, 40 archived in week; 1 row of a day that is not over" in ran.output
    found = CliRunner().invoke(app, ["archive", "sql", "week", "SELECT COUNT(*) n FROM archive"])
    assert "40" in found.output


def test_a_connection_keeps_days_to_come_out_of_its_archives(tmp_path):
    with windrow.connect() as db:
        db.execute(
            "CREATE STREAM t (ts TIMESTAMP, k STRING) AHEAD UNBOUNDED;"
            f"CREATE ARCHIVE m ON t KEY k WINDOW 3 DAYS USING DEL(1) INTO '{tmp_path}/m';"
        )
        today = datetime(2026, 3, 1)
        db.push("t", {"ts": [today, today + timedelta(days=1)], "k": ["a", "b"]})
        db.push("t", {"ts": [datetime.now() + timedelta(days=9_000)], "k": ["c"]})
        assert db.archives["m"].waiting == 0  # the last instant is still open
        db.advance(to=datetime.now() + timedelta(days=9_999))
        assert db.archives["m"].waiting == 1
