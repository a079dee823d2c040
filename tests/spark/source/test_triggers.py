"""What one trigger takes of a backlog, a burst or one long file is bounded, and nothing is lost."""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.spark.source.test_source import Source, read, spec, write
from windrow.plan.program import compile_script
from windrow.spark.source import file_source, pace, stream_files
from windrow.spark.source.file_log import FileLog, Stretch
from windrow.spark.source.file_source import SETTLED, LogReader, SourceSpec
from windrow.streams.quarantine import Quarantine

LIMIT = 1 << 15


@pytest.fixture
def small(tmp_path: Path, monkeypatch) -> Path:
    """Where files go; triggers take little."""
    monkeypatch.setattr(pace.START, "value", LIMIT)
    monkeypatch.setattr(pace, "LEAST", LIMIT)
    monkeypatch.setattr(pace, "MOST", LIMIT)
    monkeypatch.setattr(pace, "A_FILE", 1 << 10)
    monkeypatch.setattr("windrow.spark.source.stream_files.A_FILE", 1 << 10)
    (tmp_path / "in").mkdir()
    return tmp_path / "in"


def text(rows: range) -> str:
    return "ts,k\n" + "".join(f"{ts},1\n" for ts in rows)


def run(source: SourceSpec, batches: list[list[Stretch]] | None = None) -> tuple[list[int], dict]:
    """All that comes until nothing does, micro-batch by micro-batch."""
    reader, rows, counted = Source(source), list[int](), dict[str, int]()
    at = reader.initialOffset()
    while (end := reader.latestOffset(at, reader.getDefaultReadLimit())) != at:
        batch = reader.partitions(at, end)
        ts, _, counts = read(reader, batch)
        rows += ts
        for name, count in counts.items():
            counted[name] = counted.get(name, 0) + count
        if batches is not None:
            batches.append(batch)
        at = end
    return rows, counted


def sizes(batches: list[list[Stretch]]) -> list[int]:
    return [sum(stretch.size for stretch in batch) for batch in batches]


@pytest.mark.parametrize("once", [False, True])
def test_a_backlog_of_many_files_is_worked_off_in_many_triggers(small, tmp_path, once):
    for number in range(600):
        (small / f"{number:04d}.csv").write_text(text(range(10 * number, 10 * number + 10)))
    batches: list[list[Stretch]] = []
    rows, counts = run(spec(tmp_path, format_="csv", once=once), batches)
    assert rows == list(range(6000))
    assert (counts["late"], counts["rejected"]) == (0, 0)
    files = [sum(e.path is not None for s in batch for e in s.entries) for batch in batches]
    assert max(files) == LIMIT // (1 << 10), "small files count as more than they have"
    assert len(batches) >= 600 // max(files)


def test_a_burst_of_ten_times_the_rate_is_spread_over_triggers(small, tmp_path):
    source = Source(spec(tmp_path, format_="csv"))
    at, now, taken = source.initialOffset(), 0, list[int]()
    for step, rate in enumerate([100] * 5 + [1000] * 20 + [100] * 5):
        (small / f"{step:04d}.csv").write_text(text(range(now, now + rate)))
        now += rate
        if step % 10 == 9 or rate == 100:  # a burst comes faster than triggers do
            at, found = source.latestOffset(at, source.getDefaultReadLimit()), at
            taken.append(sum(s.size for s in source.partitions(found, at)))
    while (end := source.latestOffset(at, source.getDefaultReadLimit())) != at:
        taken.append(sum(s.size for s in source.partitions(at, end)))
        at = end
    assert max(taken) <= LIMIT
    assert len(read(source, source.partitions(source.initialOffset(), at))[0]) == now
    assert taken[0] < 1000, "a live stream gives what is there"


@pytest.mark.parametrize("once", [False, True])
@pytest.mark.parametrize("format_", ["csv", "json"])
def test_a_long_text_is_read_piece_by_piece_with_the_rows_of_the_whole(
    small, tmp_path, once, format_
):
    rows = [*range(20_000), "oops", *range(20_000, 40_000), 7, *range(40_000, 50_000)]
    lines = {
        "csv": "ts,k\n" + "".join(f"{ts},1\n" for ts in rows),
        "json": "".join(f'{{"ts": {json.dumps(ts)}, "k": 1}}\n' for ts in rows),
    }[format_]
    (small / f"0.{format_}").write_text(lines)
    batches: list[list[Stretch]] = []
    source = spec(tmp_path, format_=format_, once=once, quarantine=Quarantine(tmp_path / "q"))
    found, counts = run(source, batches)
    assert found == list(range(50_000))
    assert (counts["late"], counts["rejected"]) == (1, 1)
    pages = sorted((tmp_path / "q").rglob("*.jsonl"))
    told = [json.loads(line) for page in pages for line in page.read_text().splitlines()]
    assert sorted(line["row"] for line in told) == [20_001, 40_002]
    assert max(sizes(batches)) <= LIMIT
    assert len(batches) >= len(lines) // LIMIT
    parts = {len([e for s in batch for e in s.entries if e.path]) for batch in batches}
    assert max(parts) == source.tasks, "a piece for each task"


def test_a_run_that_stops_in_the_middle_of_a_long_text_goes_on_there(small, tmp_path):
    (small / "0.csv").write_text(text(range(30_000)))
    rows, at = [], {"s": 0}
    while True:
        source = Source(spec(tmp_path, format_="csv"))  # every micro-batch by another run
        end = source.latestOffset(at, source.getDefaultReadLimit())
        if end == at:
            break
        rows += read(source, source.partitions(at, end))[0]
        at = end
    assert rows == list(range(30_000))


def test_a_row_that_is_longer_than_a_piece_is_read(small, tmp_path, monkeypatch):
    monkeypatch.setattr(pace.START, "value", 64)
    monkeypatch.setattr(pace, "LEAST", 64)
    (small / "0.csv").write_text('ts,k,more\n1,1,"' + "x" * 5000 + '"\n' + "2,1,\n" * 100)
    rows, _ = run(spec(tmp_path, format_="csv"))
    assert rows == [1] + [2] * 100


@pytest.mark.parametrize("format_", ["csv", "parquet"])
def test_what_a_trigger_takes_is_bounded_by_memory_too(small, tmp_path, monkeypatch, format_):
    monkeypatch.setattr(pace.START, "value", 1 << 30)
    monkeypatch.setattr(pace.MEMORY, "value", 1 << 16)
    for number in range(20):
        rows = range(1000 * number, 1000 * number + 1000)
        if format_ == "csv":
            (small / f"{number:02d}.csv").write_text(text(rows))
        else:
            columns = {"ts": list(rows), "k": pa.array([1] * 1000, pa.int32())}
            pq.write_table(pa.table(columns), small / f"{number:02d}.parquet")
    batches: list[list[Stretch]] = []
    found, _ = run(spec(tmp_path, format_=format_), batches)
    assert found == list(range(20_000))
    assert len(batches) >= 20 * 1000 * 12 / (1 << 16) - 1
    assert max(len([e for s in b for e in s.entries if e.path]) for b in batches) <= 7


def test_a_stream_that_is_far_ahead_waits_for_one_that_its_job_reads_too(
    small, tmp_path, monkeypatch
):
    monkeypatch.setattr(stream_files.AHEAD, "value", 3000)
    compiled = compile_script(
        "".join(
            f"CREATE STREAM {s} (ts BIGINT, k INT) FROM '{tmp_path / s}' FORMAT csv SLACK 0;"
            for s in ("dense", "sparse")
        )
    )
    for stream, step in (("dense", 1), ("sparse", 40)):
        (tmp_path / stream).mkdir()
        for number in range(40_000 // 1000 // step + 1):
            rows = range(1000 * number * step, 1000 * (number + 1) * step, step)
            (tmp_path / stream / f"{number:04d}.csv").write_text(text(rows))
    (tmp_path / "sparse" / "9999.csv").write_text(text(range(80_000, 1_000_000, 400)))
    specs = [
        SourceSpec(
            declared, str(tmp_path / f"{declared.name}.log"), tasks=2, partners=("dense", "sparse")
        )
        for declared in compiled.catalog.streams
    ]
    reader = LogReader(specs, str(tmp_path / "offsets"))
    at, tops = reader.initialOffset(), []
    while (end := reader.latestOffset(at, reader.getDefaultReadLimit())) != at:
        at = end
        logs = {s.name: FileLog(Path(s.log)) for s in specs}
        tops.append({name: log.times[-1].top for name, log in logs.items()})
    assert [len(list((tmp_path / s.name).iterdir())) for s in specs] == [41, 3]
    assert tops[-1] == {"dense": 40_999, "sparse": 999_600}
    waiting = [found["sparse"] for found in tops if found["dense"] < 39_000]
    assert len(waiting) > 5
    assert max(waiting) < 80_000


@pytest.mark.parametrize("before", [(), ("1.csv",), ("below/1.csv",)])
@pytest.mark.parametrize("way", ["a new file", "growth"])
@pytest.mark.parametrize("source", ["in", "in/**/*.csv"])
def test_what_comes_while_the_source_watches_is_in_its_answer(tmp_path, before, way, source):
    place = tmp_path / "in"
    (place / "below").mkdir(parents=True)
    for number, name in enumerate(before):
        (place / name).write_text(text(range(number, number + 1)))
    if way == "growth" and not before:
        pytest.skip("nothing there that could grow")
    watched = spec(tmp_path, source=source, format_="csv")
    reader = LogReader([watched], str(tmp_path / "offsets"), watched=30.0)
    at = reader.initialOffset()
    if before:
        at = reader.latestOffset(at, reader.getDefaultReadLimit())

    def come() -> None:
        (place / ".hidden").touch()  # wakes the source, and is nothing to read
        if way == "growth":
            with (place / before[-1]).open("a") as file:
                file.write("7,1\n")
        else:
            (place / ".9").write_text(text(range(7, 8)))
            (place / ".9").rename(place / "9.csv")

    timer = threading.Timer(0.05, come)
    timer.start()
    end = reader.latestOffset(at, reader.getDefaultReadLimit())
    timer.join()
    assert end == {"s": at["s"] + 1}
    assert FileLog(Path(watched.log)).times[-1].top == 7


def test_a_source_that_watches_in_vain_answers_as_one_that_does_not(tmp_path):
    write(tmp_path, "1", [1, 2])
    watching = LogReader([spec(tmp_path)], str(tmp_path / "offsets"), watched=0.03)
    at = watching.latestOffset(watching.initialOffset(), watching.getDefaultReadLimit())
    assert at == {"s": 1}
    assert watching.latestOffset(at, watching.getDefaultReadLimit()) == at


def test_files_are_listed_seldom_while_nothing_seems_to_change_and_again_in_time(
    tmp_path, monkeypatch
):
    for name in "12":
        (tmp_path / "in" / name).mkdir(parents=True)
        (tmp_path / "in" / name / "x.csv").write_text(text(range(int(name), int(name) + 1)))
    watched = spec(tmp_path, source="in", format_="csv")
    reader = LogReader([watched], str(tmp_path / "offsets"), watched=0.001)
    at = reader.latestOffset(reader.initialOffset(), reader.getDefaultReadLimit())
    time.sleep(2 * SETTLED / 1e9)  # until then another change may have the same time
    looks = []
    entries_for = LogReader._entries_for
    monkeypatch.setattr(LogReader, "_entries_for", lambda *a: looks.append(1) or entries_for(*a))
    monkeypatch.setattr(file_source, "LISTING", 1e-9)
    for _ in range(5):
        assert reader.latestOffset(at, reader.getDefaultReadLimit()) == at
    assert len(looks) == 1
    with (tmp_path / "in" / "1" / "x.csv").open("a") as grows:  # not the one that was read last
        grows.write("7,1\n")
    until = time.monotonic() + 20
    while reader.latestOffset(at, reader.getDefaultReadLimit()) == at:
        assert time.monotonic() < until
    assert FileLog(Path(watched.log)).times[-1].top == 7
