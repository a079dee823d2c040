"""Rows that a connection cannot use: warned of once per stream, kept, and counted."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest

import windrow
from windrow import WindrowWarning
from windrow.core.errors import DataError, WindrowError
from windrow.streams import quarantine

STREAMS = "CREATE STREAM s (ts BIGINT, k INT); CREATE STREAM t (ts BIGINT, k INT);"


def connection(**options: object) -> windrow.engine.connection.Connection:
    db = windrow.connect(**options)
    db.execute(STREAMS + "CREATE QUERY q AS SELECT k FROM s [RANGE 5];")
    return db


def test_a_push_warns_once_per_stream_and_says_where_the_rows_are() -> None:
    db = connection()
    with pytest.warns(WindrowWarning) as warned:
        db.push("s", {"ts": [9, 1, 10], "k": ["1", "2", "x"]})
    (warning,) = warned
    assert warning.filename == __file__
    assert str(warning.message) == (
        "stream s: 2 rows quarantined, 1 late; the first: column k: expected INT, found "
        "'x'; quarantined_rows('s') has the newest of them"
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        db.push("s", {"ts": [1], "k": [1]})
    with pytest.warns(WindrowWarning, match="stream t: 1 row quarantined, 0 late"):
        db.push("t", {"ts": [None], "k": [1]})


def test_rows_without_fault_warn_of_nothing() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        db = connection()
        db.push("s", {"ts": [1], "k": [1]})
        db.advance(to=3)
    assert db.quarantined_rows("s").num_rows == 0
    assert db.quarantined_rows("s").column_names == ["file", "row", "reason", "text"]


def test_the_newest_rows_are_kept_and_all_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quarantine, "KEPT", 5)
    monkeypatch.setattr(quarantine, "LONGEST_KEPT", 40)
    db = connection()
    with pytest.warns(WindrowWarning):
        db.push("s", {"ts": [9, *range(1, 8)], "k": [0] * 8})
    db.push("s", {"ts": [20, 30], "k": ["\ud800", "y" * 90]})
    found = db.quarantined_rows("S").to_pylist()
    assert [(r["file"], r["row"]) for r in found] == [
        (None, 6),
        (None, 7),
        (None, 8),
        *[(None, 1), (None, 2)],
    ]
    assert (db.count_late("s"), db.count_rejected("s")) == (7, 2)
    assert found[0]["text"] == '{"ts": 5, "k": 0}'
    assert found[0]["reason"].startswith("late: ts is 5")
    assert found[-1]["text"].endswith("characters)")
    with pytest.raises(WindrowError, match="no such stream"):
        db.quarantined_rows("u")


def test_with_a_quarantine_the_warning_names_it(tmp_path: Path) -> None:
    db = connection(quarantine=tmp_path / "bad")
    with pytest.warns(WindrowWarning, match=f"and all of them in {tmp_path / 'bad'}"):
        db.push("s", {"ts": [1], "k": ["x"]})
    assert len(list((tmp_path / "bad").rglob("*.jsonl"))) == 1
    assert db.quarantined_rows("s").num_rows == 1


def test_rows_and_files_that_are_read_are_warned_of_too(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("ts,k\n1,1\n2,x\n3,3\n")
    (tmp_path / "b.csv").write_text("other\n1\n")
    db = windrow.connect()
    source = f"FROM '{tmp_path}' FORMAT csv"
    with pytest.warns(WindrowWarning, match="stream f: 2 rows quarantined") as warned:
        db.execute(f"CREATE STREAM f (ts BIGINT, k INT) {source}; SELECT k FROM f;")
    assert warned[0].filename == __file__
    found = [(Path(r["file"]).name, r["row"]) for r in db.quarantined_rows("f").to_pylist()]
    assert found == [("a.csv", 2), ("b.csv", None)]


def test_a_script_that_is_refused_keeps_nothing_of_what_it_read(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(f"ts,k\n1,{2**63 - 1}\n2,x\n3,3\n")
    db = windrow.connect()
    stream = f"CREATE STREAM f (ts BIGINT, k BIGINT) FROM '{tmp_path}' FORMAT csv;"
    with pytest.raises(DataError):
        db.execute(stream + "SELECT CAST(k AS INT) AS more FROM f;")
    with pytest.warns(WindrowWarning, match="1 row quarantined"):
        db.execute(stream + "SELECT k FROM f;")
    assert db.quarantined_rows("f").num_rows == 1
