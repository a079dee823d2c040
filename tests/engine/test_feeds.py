"""Runs and connections over files that are being written, broken, or gone."""

from __future__ import annotations

import gzip
import json
import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import windrow
from tests.support.runs import run_embedded
from windrow.core.errors import InputError
from windrow.core.time import wall_clock
from windrow.engine.feeds import Feed
from windrow.engine.progress import Progress, Report
from windrow.plan.program import compile_script
from windrow.streams.growing_files import SETTLING
from windrow.streams.monitor import InputMonitor
from windrow.streams.quarantine import Quarantine
from windrow.tables.parsed_rows import Parsed

SCRIPT = (
    "CREATE STREAM s (ts BIGINT, k BIGINT) FROM '{}' FORMAT {} TIMESTAMP BY ts;"
    "CREATE QUERY q AS SELECT ts, k FROM s [UNBOUNDED];"
)


def start(
    tmp_path: Path, form: str = "csv", *, once: bool = True
) -> tuple[threading.Thread, threading.Event, dict[str, Progress], list[Report]]:
    catalog = compile_script(SCRIPT.format(tmp_path / "in", form)).catalog
    stop, progress, reports = threading.Event(), {}, []

    def work() -> None:
        report = run_embedded(
            catalog, once=once, quarantine=tmp_path / "q", stop=stop,
            on_progress=lambda p: progress.update({p.query: p}), wall=wall_clock,
        )  # fmt: skip
        reports.append(report)

    return threading.Thread(target=work), stop, progress, reports


def answer(tmp_path: Path, form: str = "csv") -> tuple[list[int], tuple[str, ...]]:
    """The answer of a run over what is there, and what it refused."""
    thread, _, progress, reports = start(tmp_path, form)
    thread.run()
    (query,) = reports[0].queries
    return sorted(query.answer["ts"].to_pylist()), progress["q"].refused


def quarantined(tmp_path: Path) -> list[dict[str, object]]:
    pages = sorted((tmp_path / "q").rglob("*.jsonl"))
    return [json.loads(line) for page in pages for line in page.read_text().splitlines()]


@pytest.fixture
def inbox(tmp_path: Path) -> Path:
    (tmp_path / "in").mkdir()
    return tmp_path / "in"


def test_a_half_written_file_is_read_as_it_grows_while_it_is_watched(inbox, tmp_path):
    (inbox / "a.csv").write_text("ts,k\n1,10\n2,2")
    thread, stop, progress, reports = start(tmp_path, once=False)
    thread.start()

    def wait_for_time(now: int) -> None:
        deadline = time.monotonic() + 60
        while "q" not in progress or (progress["q"].now or 0) < now:
            assert time.monotonic() < deadline
            assert thread.is_alive()
            time.sleep(0.02)

    try:
        wait_for_time(0)
        with (inbox / "a.csv").open("a") as file:
            file.write('0\n3,30\n4,"40')
        wait_for_time(2)
        with (inbox / "a.csv").open("a") as file:
            file.write('"\n5,50\n')
        wait_for_time(4)
    finally:
        stop.set()
        thread.join()
    found = reports[0].queries[0].answer.to_pylist()
    assert [r["k"] for r in found][:4] == [10, 20, 30, 40], "the last instant is open"
    assert quarantined(tmp_path) == []


def test_a_run_over_a_half_written_file_says_what_it_did_not_read(inbox, tmp_path):
    (inbox / "a.csv").write_text("ts,k\n1,10\n2,2")
    found, (said,) = answer(tmp_path)
    assert found == [1]
    assert said.startswith(f"{inbox / 'a.csv'}, row 2: the file ends in the middle of this row")
    assert [(r["row"], r["text"]) for r in quarantined(tmp_path)] == [(2, "2,2")]


def test_a_half_row_that_is_read_after_all_is_not_counted_as_put_aside(inbox, tmp_path):
    declared = compile_script(SCRIPT.format(inbox, "csv")).catalog.find("s")
    later = [0]
    feed = Feed(
        InputMonitor(declared), Quarantine(tmp_path / "q"), patient=True,
        wall=lambda: wall_clock() + later[0],
    )  # fmt: skip

    def read() -> tuple[int, int]:
        feed.look()
        while feed.step() is not None:
            pass
        assert len(quarantined(tmp_path)) == feed.monitor.rejected
        return feed.monitor.accepted, feed.monitor.rejected

    (inbox / "a.csv").write_text("ts,k\n1,10\n2,2")
    assert read() == (1, 0), "it is given a minute"
    later[0] = SETTLING // 1000 + 1
    assert read() == (1, 1)
    with (inbox / "a.csv").open("a") as file:
        file.write("0\n3,x\n4,40\n")
    assert read() == (3, 1), "another row is quarantined"


BAD = {
    "csv": b"no,such,columns\n1,2,3\n",
    "csv.gz": gzip.compress(b"ts,k\n1,1\n" * 1000)[:50],
    "json.zst": b"not compressed at all",
    "parquet": b"PAR1 not really",
}


@pytest.mark.parametrize("ending", BAD)
def test_a_file_that_cannot_be_read_is_quarantined_and_the_others_are_read(ending, inbox, tmp_path):
    form = ending.partition(".")[0]
    (inbox / f"b.{ending}").write_bytes(BAD[ending])
    for name, ts in (("a", 1), ("c", 3)):
        path = inbox / f"{name}.{form}"
        if form == "parquet":
            pq.write_table(pa.table({"ts": [ts], "k": [ts]}), path)
        else:
            path.write_text(f"ts,k\n{ts},1\n" if form == "csv" else f'{{"ts":{ts},"k":1}}\n')
    found, (said,) = answer(tmp_path, form)
    assert found == [1, 3]
    assert said.startswith(f"{inbox / f'b.{ending}'}: expected")
    (record,) = quarantined(tmp_path)
    assert (record["row"], record["reason"]) == (None, said)


@pytest.mark.parametrize("ending", BAD)
def test_if_no_file_can_be_read_that_is_an_error(ending, inbox, tmp_path):
    (inbox / f"b.{ending}").write_bytes(BAD[ending])
    with pytest.raises(InputError, match="expected"):
        answer(tmp_path, ending.partition(".")[0])


def test_a_parquet_file_with_a_damaged_page_gives_what_comes_before_it(inbox, tmp_path):
    pq.write_table(pa.table({"ts": [1], "k": [1]}), inbox / "a.parquet")
    table = pa.table({"ts": list(range(2, 4002)), "k": [7] * 4000})
    pq.write_table(table, inbox / "b.parquet", row_group_size=1000, compression="gzip")
    content = bytearray((inbox / "b.parquet").read_bytes())
    middle = pq.ParquetFile(inbox / "b.parquet").metadata.row_group(2).column(0).data_page_offset
    content[middle + 40 : middle + 400] = b"\xff" * 360
    (inbox / "b.parquet").write_bytes(content)
    found, (said,) = answer(tmp_path, "parquet")
    assert found[0] == 1
    assert len(found) < 4001
    assert "b.parquet: expected a readable parquet file" in said


@pytest.mark.skipif(os.getuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read_is_passed_over(inbox, tmp_path):
    (inbox / "a.csv").write_text("ts,k\n1,1\n")
    (inbox / "b.csv").write_text("ts,k\n2,1\n")
    (inbox / "b.csv").chmod(0)
    found, (said,) = answer(tmp_path)
    assert (found, "Permission denied" in said) == ([1], True)


def test_a_file_that_is_gone_when_its_turn_comes_is_passed_over(inbox, tmp_path, monkeypatch):
    (inbox / "a.csv").write_text("ts,k\n1,1\n")
    (inbox / "b.csv").symlink_to(tmp_path / "elsewhere.csv")
    (tmp_path / "elsewhere.csv").write_text("ts,k\n2,1\n")
    look = windrow.streams.growing_files.Arrivals.look

    def and_remove(self):
        found = look(self)
        (tmp_path / "elsewhere.csv").unlink(missing_ok=True)
        return found

    monkeypatch.setattr("windrow.streams.growing_files.Arrivals.look", and_remove)
    found, (said,) = answer(tmp_path)
    assert found == [1]
    assert "b.csv: expected a readable csv file; found [Errno 2] No such file" in said


def test_a_connection_reads_what_grew_and_a_late_query_sees_the_same(inbox):
    db = windrow.connect()
    (inbox / "a.csv").write_text("ts,k\n1,1\n2,2\n3")
    [first] = db.execute(SCRIPT.format(inbox, "csv"))
    with (inbox / "a.csv").open("a") as file:
        file.write(",3\n4,4\n5,")
    db.advance(to=3)
    [second] = db.execute("CREATE QUERY r AS SELECT ts, k FROM s [UNBOUNDED];")
    rows = [{"ts": t, "k": t} for t in (1, 2, 3)]
    assert first.answer().to_pylist() == second.answer().to_pylist() == rows
    (inbox / "a.csv").write_text("ts,k\n1,2\n2,1\n3,3\n4,4\n5,5\n")
    with pytest.raises(InputError, match="the file unchanged, for a query that was added"):
        db.execute("CREATE QUERY t AS SELECT ts FROM s [UNBOUNDED];")


def test_a_file_whose_reading_was_interrupted_is_not_taken_as_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "in").mkdir()
    with windrow.connect() as connection:
        (tmp_path / "in" / "1.csv").write_text("ts,k\n1,1\n")
        connection.execute(SCRIPT.format(tmp_path / "in", "csv"))
        (tmp_path / "in" / "2.csv").write_text("ts,k\n2,2\n")
        with monkeypatch.context() as patch:
            patch.setattr("windrow.engine.feeds.read_file", interrupted)
            with pytest.raises(KeyboardInterrupt):
                connection.advance(to=5)
        with pytest.raises(windrow.StateError, match=r"2\.csv: .* reading it was interrupted"):
            connection.advance(to=5)


def interrupted(*_: object, **__: object) -> Iterator[Parsed]:
    raise KeyboardInterrupt
    yield
