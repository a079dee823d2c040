"""AHEAD and IDLE AFTER on Spark: the same rows and the same changes as embedded."""

from __future__ import annotations

import json
import threading
from functools import partial
from pathlib import Path

import pytest

import windrow
from tests.spark.scripts import net_changes
from tests.support.runs import run_embedded, run_on_spark
from windrow import WindrowWarning
from windrow.core.errors import InputError
from windrow.core.time import wall_clock
from windrow.engine.progress import Progress, Report
from windrow.plan.catalog import Catalog
from windrow.plan.program import compile_script

pytestmark = pytest.mark.spark

NOON = 1_700_000_000_000_000
"""2023-11-14 22:13:20. A partial is a wall that can be sent to Spark's processes."""
ROWS = "ts,k\n2023-11-14 10:00:00,1\n9999-12-31,2\n2023-11-14 10:00:05,x\n2023-11-14 10:00:07,3\n"


def script(tmp_path: Path, out: str, *streams: str, query: str) -> Catalog:
    text = "".join(
        f"CREATE STREAM {name} (ts {kind}, k INT) FROM '{tmp_path / name}' FORMAT csv {rest};"
        for name, kind, rest in (stream.split("|") for stream in streams)
    )
    into = f"INTO '{tmp_path / out}' FORMAT parquet"
    return compile_script(f"{text} CREATE QUERY q AS {query} {into};").catalog


def once(run, catalog: Catalog, tmp_path: Path, *checkpoint: str, **options):
    kept = {"checkpoint": tmp_path / checkpoint[0]} if checkpoint else {}
    return run(catalog, quarantine=tmp_path / "q", **kept, **options)


def reasons(directory: Path) -> list[str]:
    files = sorted(directory.rglob("*.jsonl"))
    return [json.loads(x)["reason"] for p in files for x in p.read_text().splitlines()]


def test_a_row_of_the_year_9999_moves_nothing_and_a_repetition_judges_the_same(spark, tmp_path):
    (tmp_path / "s").mkdir()
    (tmp_path / "s" / "0.csv").write_text(ROWS)
    query = "SELECT k FROM s [RANGE 5 SECONDS]"
    expected, found = (script(tmp_path, out, "s|TIMESTAMP|", query=query) for out in "ef")
    one = once(run_embedded, expected, tmp_path, wall=partial(int, NOON)).queries[0]
    said = reasons(tmp_path / "q")
    two = once(run_on_spark, found, tmp_path, "ck", wall=partial(int, NOON)).queries[0]
    assert net_changes(found, "q") == net_changes(expected, "q") != {}
    assert (one.rows_in, one.quarantined, one.late, one.now) == (2, 2, 0, two.now)
    assert (two.rows_in, two.quarantined, two.late) == (2, 2, 0)
    assert said == reasons(tmp_path / "q")
    assert sum(r.startswith("ahead: ts is 9999-12-31") for r in said) == 1

    # As if Spark had died before its commit: the batch is repeated a hundred years later.
    checkpoint = tmp_path / "ck" / "pipeline-1"
    for noted in (checkpoint / "spark" / "commits").glob("[0-9]*"):
        noted.unlink()
    for published in (tmp_path / "f").iterdir():
        published.unlink()
    again = once(run_on_spark, found, tmp_path, "ck", wall=partial(int, NOON + 10**16)).queries[0]
    assert net_changes(found, "q") == net_changes(expected, "q") != {}
    assert (again.rows_in, again.quarantined) == (2, 2)

    # The next file is judged by what time has come to, not by what was in the quarantine.
    (tmp_path / "s" / "1.csv").write_text("ts,k\n2023-11-14 10:00:09,4\n")
    last = once(run_on_spark, found, tmp_path, "ck", wall=partial(int, NOON)).queries[0]
    assert (last.rows_in, last.late) == (1, 0)


JOIN = "SELECT a.k FROM a [RANGE 50 SECONDS], b [RANGE 50 SECONDS] WHERE a.k = b.k"


def watched(run, catalog: Catalog, tmp_path: Path, **options) -> Report:
    """Run over watched directories until time has come to 59.

    When b is idle and time has come to 29, b wakes up; when it has, a goes on.
    """
    stop, idle = threading.Event(), []

    def hear(progress: Progress) -> None:
        if progress.idle and (progress.now or 0) >= 29 and not idle:
            idle.append(progress.idle)
            arrive(tmp_path / "b/1.csv", "ts,k\n20,2\n40,3\n111,0\n")
        elif idle and not progress.idle and not (tmp_path / "a/1.csv").exists():
            arrive(tmp_path / "a/1.csv", "ts,k\n40,1\n60,0\n")
        if (progress.now or 0) >= 59:
            stop.set()

    end_some_day(stop)
    report = run(
        catalog, once=False, quarantine=tmp_path / "q", on_progress=hear, stop=stop,
        wall=wall_clock, **options,
    )  # fmt: skip
    assert idle == [("b",)]
    return report


def end_some_day(stop: threading.Event) -> None:
    """So that a run that never comes to its end fails, and does not hang."""
    timer = threading.Timer(240, stop.set)
    timer.daemon = True
    timer.start()


def arrive(path: Path, text: str) -> None:
    hidden = path.with_name(f".{path.name}")
    hidden.write_text(text)
    hidden.rename(path)


def test_a_join_goes_on_without_an_idle_stream_and_with_it_when_it_wakes_up(spark, tmp_path):
    """b's 20 is late when it comes, because a has gone on to 29 without b; 40 is in time."""
    found = []
    for run in (run_embedded, run_on_spark):
        root = tmp_path / run.__name__
        for name in ("a", "b"):
            (root / name).mkdir(parents=True)
        (root / "a/0.csv").write_text("ts,k\n10,1\n11,2\n30,3\n")
        (root / "b/0.csv").write_text("ts,k\n12,1\n")
        streams = "a|BIGINT|IDLE AFTER NEVER", "b|BIGINT|SLACK 50 IDLE AFTER 1500 MS"
        catalog = script(root, "out", *streams, query=JOIN)
        checkpoint = {} if run is run_embedded else {"checkpoint": root / "ck"}
        report = watched(run, catalog, root, **checkpoint)
        (query,) = report.queries
        assert (query.late, query.now) == (1, 59)
        assert "IDLE AFTER" in reasons(root / "q")[0]
        found.append(net_changes(catalog, "q"))
    assert found[0] == found[1]
    assert sorted(found[0]) == [12, 40]


def test_an_idle_stream_is_still_idle_for_the_run_that_goes_on(spark, tmp_path):
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    (tmp_path / "a/0.csv").write_text("ts,k\n10,1\n30,3\n")
    (tmp_path / "b/0.csv").write_text("ts,k\n12,1\n")
    streams = "a|BIGINT|IDLE AFTER NEVER", "b|BIGINT|IDLE AFTER 1500 MS"
    catalog = script(tmp_path, "out", *streams, query=JOIN)
    stop = threading.Event()
    end_some_day(stop)
    told: list[Progress] = []

    def hear(progress: Progress) -> None:
        told.append(progress)
        if (progress.now or 0) >= 29:
            stop.set()

    settings = {"checkpoint": tmp_path / "ck", "quarantine": None, "once": False}
    run_on_spark(catalog, on_progress=hear, stop=stop, **settings)
    assert told[-1].idle == ("b",)
    stop = threading.Event()
    (tmp_path / "a/1.csv").write_text("ts,k\n61,1\n")

    def hear_again(progress: Progress) -> None:
        told.append(progress)
        if (progress.now or 0) >= 60:
            stop.set()

    end_some_day(stop)
    run_on_spark(catalog, on_progress=hear_again, stop=stop, **settings)
    assert (told[-1].now, told[-1].idle) == (60, ("b",))
    log = (tmp_path / "ck/pipeline-1/streams/b.log").read_text().splitlines()
    assert sum(json.loads(line).get("idle", False) for line in log) == 1


def test_rows_of_a_dataframe_are_ahead_by_the_time_of_their_micro_batch(spark, tmp_path):
    incoming = tmp_path / "incoming"
    incoming.mkdir()
    lines = [
        '{"ts":"2023-11-14T10:00:00","k":1,"at":"2023-11-14 10:00:00.000000001"}',
        '{"ts":"9999-12-31T00:00:00","k":2}',
    ]
    (incoming / "0.json").write_text("\n".join([*lines, '{"ts":"2023-11-14T10:00:05","k":3}\n']))
    frame = spark.readStream.schema("ts timestamp_ntz, k int, at string").json(str(incoming))
    with windrow.connect(spark=spark, quarantine=tmp_path / "q") as db:
        (query,) = db.execute(
            "CREATE STREAM s (ts TIMESTAMP, k INT, at TIMESTAMP);CREATE QUERY q AS SELECT k FROM s;"
        )
        db.stream("s", frame)
        with pytest.warns(WindrowWarning, match="query q: times were truncated"):
            query.changes()
        db.advance(to="2023-11-14 10:00:05")
        assert sorted(query.answer()["k"].to_pylist()) == [1, 3]
    (reason,) = reasons(tmp_path / "q")
    assert reason.startswith("ahead: ts is 9999-12-31")


@pytest.mark.parametrize(
    ("clause", "words"), [("AHEAD 5", "AHEAD on an integer clock"), ("IDLE AFTER 1 MIN", "advance")]
)
def test_limits_that_cannot_be_judged_of_a_dataframe_are_refused(spark, clause, words):
    frame = spark.readStream.format("rate").load().selectExpr("value AS ts", "value AS k")
    with windrow.connect(spark=spark) as db:
        db.execute(f"CREATE STREAM s (ts BIGINT, k INT) {clause};")
        with pytest.raises(InputError, match=words):
            db.stream("s", frame)


def test_a_connection_delivers_no_row_that_is_ahead(spark, tmp_path):
    with windrow.connect(spark=spark, quarantine=tmp_path) as db:
        (query,) = db.execute(
            "CREATE STREAM s (ts TIMESTAMP, k INT); CREATE QUERY q AS SELECT k FROM s;"
        )
        rows = ["2023-11-14 10:00:00", "9999-12-31 00:00:00", "2023-11-14 10:00:01"]
        db.push("s", {"ts": rows, "k": [1, 2, 3]})
        db.advance(to="2023-11-14 10:00:05")
        assert sorted(query.answer()["k"].to_pylist()) == [1, 3]
        assert (db.count_rejected("s"), db.count_late("s")) == (1, 0)
