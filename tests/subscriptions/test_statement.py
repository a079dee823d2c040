"""CREATE SUBSCRIPTIONS in scripts: bound, explained, run, changed while it runs."""

from __future__ import annotations

import threading
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import windrow
from tests.support.runs import run_embedded
from windrow.cli.trace import TraceParameters, write_trace
from windrow.core.errors import BindError, InputError, ParseError
from windrow.engine.progress import Report
from windrow.plan.catalog import SubscriptionsDeclaration
from windrow.plan.program import compile_script

ROOT = Path(__file__).parents[2]
STREAM = "CREATE STREAM flows (ts BIGINT, src STRING, bytes BIGINT);"
ALERTS = 'id,bytes,src\nbig,> 1000,\nmid,"[100, 200)",a\nmid,"in (5, 7)",b\n'


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("alerts.csv").write_text(ALERTS)
    return tmp_path


def connected(more: str = "") -> windrow.Connection:
    db = windrow.connect()
    db.execute(
        f"{STREAM} CREATE SUBSCRIPTIONS alerts ON flows (bytes, src) FROM 'alerts.csv';{more}"
    )
    return db


def push(db, ts, src, values):
    db.push("flows", {"ts": ts, "src": src, "bytes": values})


def matches(db, name: str = "alerts") -> list[tuple]:
    rows = db.queries[name].changes().to_pylist()
    return sorted((r["instant"], r["subscription"], r["bytes"]) for r in rows)


def test_a_match_is_an_instant_an_id_and_the_row():
    db = connected()
    push(db, [1, 2, 3, 4], ["a", "b", "a", None], [150, 5, 5000, 2000])
    db.advance(to=4)
    changes = db.queries["alerts"].changes()
    assert changes.column_names == ["instant", "change", "subscription", "ts", "src", "bytes"]
    assert set(changes["change"].to_pylist()) == {"+"}
    assert matches(db) == [(1, "mid", 150), (2, "mid", 5), (3, "big", 5000), (4, "big", 2000)]
    assert db.queries["alerts"].answer().num_rows == 4


@pytest.mark.parametrize("cut", range(7))
def test_a_change_takes_effect_at_its_instant_whatever_was_pushed_together(cut):
    db = connected()
    alerts = db.subscriptions["alerts"]
    assert len(alerts) == 3
    alerts.add([{"id": "one", "bytes": 1}], at=3)
    alerts.drop("big", at=4)
    alerts.add({"id": ["big"], "bytes": ["= 2000"], "src": [None]}, at=4)
    ts, src, values = [1, 2, 3, 3, 4, 5], ["a"] * 6, [1, 2000, 1, 2000, 2000, 3000]
    push(db, ts[:cut], src[:cut], values[:cut])
    push(db, ts[cut:], src[cut:], values[cut:])
    db.advance(to=9)
    assert matches(db) == [(2, "big", 2000), (3, "big", 2000), (3, "one", 1), (4, "big", 2000)]
    assert len(alerts) == 4


def test_without_an_instant_a_change_takes_effect_at_the_first_open_one():
    db = connected()
    push(db, [1, 5], ["a", "a"], [1, 1])  # 5 is not closed
    db.subscriptions["alerts"].add([{"id": "one", "bytes": 1}])
    db.advance(to=6)
    assert matches(db) == [(5, "one", 1)]


def test_a_closed_instant_cannot_be_changed():
    db = connected()
    push(db, [1], ["a"], [1])
    db.advance(to=6)
    with pytest.raises(InputError, match="an instant after 6"):
        db.subscriptions["alerts"].drop("big", at=6)
    with pytest.raises(InputError, match="an integer instant"):
        db.subscriptions["alerts"].drop("big", at="2024-01-01")
    db.subscriptions["alerts"].drop("big", at=7)


def test_instants_on_a_timestamp_clock_are_times():
    db = windrow.connect()
    db.execute(
        "CREATE STREAM f (ts TIMESTAMP, bytes BIGINT, src STRING);"
        "CREATE SUBSCRIPTIONS a ON f (bytes, src) FROM 'alerts.csv';"
    )
    db.subscriptions["a"].drop("big", at="2024-01-01 00:00:02")
    rows = {"ts": [f"2024-01-01 00:00:0{i}" for i in range(4)], "bytes": [2000] * 4,
            "src": ["x"] * 4}  # fmt: skip
    db.push("f", rows)
    db.advance(to="2024-01-01 00:01:00")
    assert db.queries["a"].changes().num_rows == 2


def test_a_view_that_never_withdraws_can_be_subscribed_to():
    db = windrow.connect()
    [query] = db.execute(
        f"{STREAM} CREATE VIEW large AS SELECT src, bytes * 2 AS twice FROM flows WHERE bytes > 9;"
        "CREATE SUBSCRIPTIONS v ON large (twice) FROM 'v.csv';"
        if Path("v.csv").write_text("id,twice\na,<= 40\n")
        else ""
    )
    push(db, [1, 2, 3], ["a", "b", "c"], [5, 20, 21])
    db.advance(to=3)
    assert query.answer().to_pylist() == [{"subscription": "a", "src": "b", "twice": 40}]


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("CREATE SUBSCRIPTIONS a ON flow (bytes) FROM 'a.csv'", "did you mean flows"),
        ("CREATE SUBSCRIPTIONS a ON flows (byte) FROM 'a.csv'", "did you mean bytes"),
        ("CREATE SUBSCRIPTIONS a ON flows (bytes, bytes) FROM 'a.csv'", "given twice"),
        ("CREATE SUBSCRIPTIONS a ON w (n) FROM 'a.csv'", "a match cannot be withdrawn"),
        ("CREATE SUBSCRIPTIONS a ON flows (bytes) FROM 'a.csv' INTO 'o' FORMAT xml", "the format"),
        ("CREATE SUBSCRIPTIONS w ON flows (bytes) FROM 'a.csv'", "w is a view already"),
    ],
)
def test_mistakes_are_found_when_the_script_is_read(statement, said):
    view = "CREATE VIEW w AS SELECT COUNT(*) AS n FROM flows [RANGE 5 SECONDS];"
    with pytest.raises(BindError, match=said):
        compile_script(f"{STREAM}{view}{statement};")


def test_where_matches_go_is_said_after_the_file():
    text = "CREATE SUBSCRIPTIONS a ON flows (bytes) FROM 'a' FORMAT json INTO 'out' FORMAT csv;"
    declared = compile_script(STREAM + text).catalog.find("a")
    assert isinstance(declared, SubscriptionsDeclaration)
    assert (declared.source.format, declared.into.path, declared.into.format) == (
        "json", "out", "csv",
    )  # fmt: skip
    with pytest.raises(ParseError):
        compile_script(STREAM + text.replace("FROM 'a' FORMAT json", ""))
    with pytest.raises(BindError, match="writes its results into 'out' already"):
        compile_script(STREAM + text + text.replace("SUBSCRIPTIONS a", "SUBSCRIPTIONS b"))


def test_explain_shows_what_is_matched_on():
    text = connected().explain("EXPLAIN alerts;")
    assert "Subscriptions on flows.bytes, flows.src from 'alerts.csv'" in text


def test_a_file_that_cannot_be_read_stops_the_script():
    good = Path("alerts.csv").read_text()
    Path("alerts.csv").write_text("id,bytes,src\na,x,\n")
    db = windrow.connect()
    script = f"{STREAM} CREATE SUBSCRIPTIONS alerts ON flows (bytes, src) FROM 'alerts.csv';"
    with pytest.raises(InputError, match=r"alerts\.csv, line 2"):
        db.execute(script)
    Path("alerts.csv").write_text(good)
    db.execute(script)  # nothing of the first attempt is left


def run(into: str) -> Report:
    Path("flows.csv").write_text("ts,src,bytes\n1,a,150\n2,b,5\n3,a,5000\n9,c,1\n")
    script = (
        "CREATE STREAM flows (ts BIGINT, src STRING, bytes BIGINT) FROM 'flows.csv';"
        f"CREATE SUBSCRIPTIONS alerts ON flows (bytes, src) FROM 'alerts.csv' {into};"
        + "".join(
            f"CREATE QUERY q{i} AS SELECT src FROM flows WHERE bytes > {i * 100} "
            f"INTO 'out/q{i}' FORMAT parquet;"
            for i in range(4)
        )
    )
    return run_embedded(
        compile_script(script).catalog,
        once=True, quarantine=None, on_progress=lambda _: None,
        stop=threading.Event(),
    )  # fmt: skip


def test_the_runner_writes_matches_and_the_results_of_shared_queries():
    report = run("INTO 'out/alerts' FORMAT parquet")
    found = pq.read_table(next(Path("out/alerts").glob("*.parquet")))
    assert found["subscription"].to_pylist() == ["mid", "mid", "big"]
    assert [q.name for q in report.queries] == ["alerts", "q0", "q1", "q2", "q3"]
    assert [q.rows_out for q in report.queries] == [3, 4, 2, 1, 1]
    assert [q.rows_in for q in report.queries] == [4] * 5
    assert report.queries[2].answer.to_pydict() == {"src": ["a", "a"]}
    written = pa.concat_tables(pq.read_table(p) for p in Path("out/q1").glob("*.parquet"))
    assert written["src"].to_pylist() == ["a", "a"]


def test_the_example_runs_over_the_trace_of_the_demo():
    script = (ROOT / "examples" / "alerts.cql").read_text()
    lines = [line.removeprefix("--").strip() for line in script.splitlines()[3:7]]
    Path("alerts.csv").write_text("\n".join(lines) + "\n")
    write_trace(Path("data/trace"), TraceParameters(rows=5_000, files=1))
    report = run_embedded(
        compile_script(script).catalog,
        once=True, quarantine=None, on_progress=lambda _: None,
    )  # fmt: skip
    (alerts,) = report.queries
    found = pq.read_table(next(Path("out/alerts").glob("*.parquet")))
    assert alerts.rows_out == found.num_rows > 0
    assert set(found["subscription"].to_pylist()) == {"transfers", "night watch", "one host"}


def test_matches_on_the_console(capsys):
    run("INTO 'alerts' FORMAT console")
    shown = capsys.readouterr().out
    assert "alerts" in shown
    assert "mid" in shown
