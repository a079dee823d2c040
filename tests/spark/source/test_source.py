"""The packing source, called as Spark calls it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from windrow.core.errors import InputError, StateError
from windrow.core.time import BEGINNING
from windrow.plan.nodes import StreamScan
from windrow.plan.physical.stages import StageEdge
from windrow.plan.program import compile_script
from windrow.spark.source.batch_tasks import PipelineTasks
from windrow.spark.source.file_log import Entry, FileLog, Stretch
from windrow.spark.source.file_source import (
    LogReader,
    Offset,
    SourceSpec,
    decode_specs,
    encode_specs,
)
from windrow.spark.source.inbox import Inbox
from windrow.spark.source.read_task import StreamTask
from windrow.spark.stage.blobs import unpack
from windrow.spark.stage.routes import Routes
from windrow.streams.quarantine import Quarantine
from windrow.streams.stream_time import StreamTime, from_json, merge_times

BUCKETS = (1, 2)


def spec(
    tmp_path: Path,
    *,
    source: str = "in",
    format_: str = "parquet",
    kind: str = "BIGINT",
    clause: str = "",
    **options,
) -> SourceSpec:
    start = f"FROM '{tmp_path / source}' FORMAT {format_} " if source else ""
    unit = " MICROSECONDS" if kind == "TIMESTAMP" else ""
    compiled = compile_script(
        f"CREATE STREAM s (ts {kind}, k INT) {start}TIMESTAMP BY ts SLACK 2{unit} {clause};"
        f"CREATE QUERY q AS SELECT k FROM s [RANGE 5{unit}];"
    )
    log = str(tmp_path / "checkpoint" / "s.log")
    return SourceSpec(compiled.catalog.streams[0], log, tasks=2, **options)


class Source:
    """The source as Spark calls it, and its log as tasks read it."""

    def __init__(self, source: SourceSpec) -> None:
        declared = source.declaration
        scan = StreamScan(declared.name, declared.schema, declared.clock)
        edge = StageEdge("s#0", "s", scan, None)
        routes = Routes(((0, edge),), BUCKETS)
        self.spec, task = source, StreamTask(source, ((0, routes),))
        self._reader = LogReader([source], str(Path(source.log).parent / "offsets"))
        self._tasks = PipelineTasks((task,), (), ())
        for name in ("initialOffset", "latestOffset", "getDefaultReadLimit"):
            setattr(self, name, getattr(self._reader, name))
        self.prepareForTriggerAvailableNow = self._reader.prepareForTriggerAvailableNow

    def partitions(self, start: Offset, end: Offset) -> list[Stretch]:
        log, first, last = FileLog(Path(self.spec.log), self.spec.start), start["s"], end["s"]
        whole = Stretch(first, log.entries[first:last], log.times[first : last + 1])
        return whole.split(self.spec.tasks)

    def read(self, stretch: Stretch):
        return self._tasks.read((0, stretch), frozenset({0}))


def write(tmp_path: Path, name: str, ts: list[int]) -> None:
    (tmp_path / "in").mkdir(exist_ok=True)
    table = pa.table({"ts": ts, "k": pa.array([t % 7 for t in ts], pa.int32())})
    pq.write_table(table, tmp_path / "in" / f"{name}.parquet")


def triggers(reader: Source) -> list[list[Stretch]]:
    """All micro-batches until nothing new comes."""
    at, batches = reader.initialOffset(), []
    while (end := reader.latestOffset(at, reader.getDefaultReadLimit())) != at:
        batches.append(list(reader.partitions(at, end)))
        at = end
    return batches


def read(reader: Source, stretches: list[Stretch]) -> tuple[list[int], StreamTime, dict]:
    """The timestamps that are sent, the time that is told, and the counts."""
    ts, told, counts = [], [], {}
    for stretch in stretches:
        for batch in reader.read(stretch):
            for bucket, blob in zip(batch["bucket"].to_pylist(), batch["blob"], strict=True):
                assert bucket in BUCKETS
                header, parts = unpack(blob.as_buffer())
                told.append(from_json(header.get("times", {})))
                for name, count in header.get("counts", {}).items():
                    counts[name] = counts.get(name, 0) + count
                for part in parts.values():
                    ts += part["__ts"].to_pylist()
    assert counts.pop("cut") == 0, "no timestamp here is finer than a microsecond"
    return sorted(ts), merge_times(told)["s"], counts


def test_a_specification_survives_being_an_option(tmp_path):
    write(tmp_path, "0", [1])
    assert decode_specs(encode_specs([spec(tmp_path)])) == (spec(tmp_path),)


def test_files_are_admitted_in_their_order_and_each_once(tmp_path):
    for name in ("b", "a", "c"):
        write(tmp_path, name, [1, 2])
    batches = triggers(Source(spec(tmp_path, files=1)))
    names = [[Path(e.path).stem for s in batch for e in s.entries if e.path] for batch in batches]
    assert names == [["a"], ["b"], ["c"]]


def test_small_files_are_taken_together(tmp_path):
    for i in range(9):
        write(tmp_path, str(i), [i])
    (batch,) = triggers(Source(spec(tmp_path)))
    assert len(batch) == 2, "as many partitions as tasks"
    assert sum(len(s.entries) for s in batch) == 9


def test_a_stream_that_is_read_once_ends_after_its_last_file(tmp_path):
    write(tmp_path, "0", [1, 5])
    write(tmp_path, "1", [6, 9])
    reader = Source(spec(tmp_path, once=True, files=1))
    first, second = triggers(reader)
    assert not read(reader, first)[1].over
    assert read(reader, second)[:2] == ([6, 9], StreamTime(9, over=True, at=3))
    assert triggers(Source(spec(tmp_path, once=True)))[0], "a new run finds the same log"


def test_a_stream_without_files_ends_at_once(tmp_path):
    (tmp_path / "in").mkdir()
    reader = Source(spec(tmp_path, once=True))
    (batch,) = triggers(reader)
    assert read(reader, batch) == (
        [],
        StreamTime(over=True, at=1),
        {"rows_in": 0, "late": 0, "rejected": 0},
    )


def test_a_file_that_comes_after_the_start_waits_for_the_next_run(tmp_path):
    write(tmp_path, "0", [1])
    reader = Source(spec(tmp_path, once=True, files=1))
    reader.prepareForTriggerAvailableNow()
    write(tmp_path, "1", [2])
    (batch,) = triggers(reader)
    assert read(reader, batch)[0] == [1]
    after = Source(spec(tmp_path, once=True))
    end = after.latestOffset({"s": 2}, after.getDefaultReadLimit())
    assert read(after, list(after.partitions({"s": 2}, end)))[:2] == (
        [2],
        StreamTime(2, over=True, at=4),
    )


def test_a_micro_batch_that_is_repeated_reads_the_same_files(tmp_path):
    write(tmp_path, "0", [1, 2])
    write(tmp_path, "1", [3])
    reader = Source(spec(tmp_path, files=1))
    batches = triggers(reader)
    write(tmp_path, "00", [9])
    again = Source(spec(tmp_path, files=1))
    for number, batch in enumerate(batches):
        repeated = list(again.partitions({"s": number}, {"s": number + 1}))
        assert read(again, repeated) == read(reader, batch)


def test_a_micro_batch_of_which_one_log_has_entries_gets_none_in_the_others(tmp_path):
    """A run died when it had written the first of two; then more has come of both streams."""
    write(tmp_path, "0", [1])
    one = spec(tmp_path, once=True)
    other = replace(one, declaration=replace(one.declaration, name="t"), log=f"{one.log}.t")

    def look(*specs: SourceSpec, at: Offset) -> Offset:
        reader = LogReader(specs, str(tmp_path / "offsets"))
        return reader.latestOffset(at, reader.getDefaultReadLimit())

    assert look(one, at={"s": 0}) == {"s": 2}, "a file, and the end"
    write(tmp_path, "1", [50])
    begun = look(one, other, at={"s": 0, "t": 0})
    assert begun == {"s": 2, "t": 0}
    (tmp_path / "offsets").mkdir()
    (tmp_path / "offsets" / "0").touch()
    assert look(one, other, at=begun) == {"s": 4, "t": 3}


def test_micro_batches_of_streams_that_nobody_reads_any_more_are_begun_for_their_numbers(tmp_path):
    """A checkpoint was set back to the first one, and the second and third were of others."""
    declared, offsets = spec(tmp_path), tmp_path / "offsets"
    log = FileLog(Path(declared.log))
    log.append([Entry("a", batch=0), Entry("b", batch=3), Entry("c", batch=4)])
    at, begun = {"s": 1, "gone": 7}, []
    (tmp_path / "in").mkdir()
    offsets.mkdir()
    for batch in range(5):
        (offsets / str(batch)).touch()
        reader = LogReader([declared], str(offsets))
        end = reader.latestOffset(at, reader.getDefaultReadLimit())
        begun.append(end != at)
        at = end
    assert begun == [True, True, True, True, False]
    assert at == {"s": 3}


@pytest.mark.parametrize("files", [1, 2, None])
def test_lateness_is_judged_across_files_however_they_are_taken(tmp_path, files):
    write(tmp_path, "0", [10, 4, 12])
    write(tmp_path, "1", [10, 9, 30])
    write(tmp_path, "2", [27, 28, 31])
    reader = Source(spec(tmp_path, files=files, quarantine=Quarantine(tmp_path / "q")))
    results = [read(reader, batch) for batch in triggers(reader)]
    assert sorted(t for ts, *_ in results for t in ts) == [10, 10, 12, 28, 30, 31]
    assert sum(c["late"] for *_, c in results) == 3
    lines = [x for p in (tmp_path / "q").rglob("*.jsonl") for x in p.read_text().splitlines()]
    assert sorted(json.loads(x)["row"] for x in lines) == [1, 2, 2]


@pytest.mark.parametrize("files", [1, 2, None])
def test_rows_ahead_are_judged_across_files_however_they_are_taken(tmp_path, files):
    write(tmp_path, "0", [10, 500, 15])
    write(tmp_path, "1", [25, 30, 41])
    write(tmp_path, "2", [700, 40, 51])
    source = spec(tmp_path, files=files, clause="AHEAD 10", quarantine=Quarantine(tmp_path / "q"))
    reader = Source(source)
    results = [read(reader, batch) for batch in triggers(reader)]
    assert sorted(t for ts, *_ in results for t in ts) == [10, 15, 25, 30, 40]
    assert sum(c["rejected"] for *_, c in results) == 4
    assert results[-1][1].top == 40
    assert [e.top for e in FileLog(Path(source.log)).entries] == [15, 30, 40]
    lines = [x for p in (tmp_path / "q").rglob("*.jsonl") for x in p.read_text().splitlines()]
    assert all("allow more with AHEAD" in x for x in lines)


def test_a_micro_batch_that_is_repeated_judges_by_the_wall_of_its_admission(tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "0.csv").write_text("ts,k\n1970-01-02,1\n1970-02-01,2\n1970-01-02,3\n")
    day = 86_400_000_000
    options = {"format_": "csv", "kind": "TIMESTAMP"}
    reader = Source(spec(tmp_path, **options, wall=lambda: 2 * day))
    (batch,) = triggers(reader)
    found = read(reader, batch)
    assert found[2] == {"rows_in": 2, "late": 0, "rejected": 1}
    later = Source(spec(tmp_path, **options, wall=lambda: 90 * day))
    unlimited = Source(spec(tmp_path, **options, clause="AHEAD UNBOUNDED"))
    for again in (later, unlimited):
        assert read(again, list(again.partitions({"s": 0}, {"s": 1}))) == found


def test_a_stream_that_is_silent_for_too_long_says_so_once_in_its_log(tmp_path):
    write(tmp_path, "0", [1, 5])
    walls = [0]
    reader = Source(spec(tmp_path, idle=30, wall=lambda: walls[-1]))
    assert len(triggers(reader)) == 1
    at = {"s": 1}

    def look(wall: int) -> dict[str, int]:
        walls.append(wall)
        return reader.latestOffset(at, reader.getDefaultReadLimit())

    assert look(29) == at
    at = look(30)
    assert at == {"s": 2}
    assert read(reader, list(reader.partitions({"s": 1}, at)))[1].idle
    assert look(99) == at, "once is enough"
    again = Source(spec(tmp_path, idle=30, wall=lambda: walls[-1]))
    assert triggers(again) == triggers(reader), "a new run finds it in the log"
    write(tmp_path, "1", [9])
    woken = look(100)
    found = read(reader, list(reader.partitions(at, woken)))
    assert found[:2] == ([9], StreamTime(9, at=3))
    at = woken
    assert look(129) == at
    assert look(131) == {"s": 4}


def test_a_stream_that_has_been_read_once_is_over_and_not_idle(tmp_path):
    write(tmp_path, "0", [1, 5])
    walls = iter(range(0, 10_000, 1_000))
    reader = Source(spec(tmp_path, idle=30, once=True, wall=lambda: next(walls)))
    (batch,) = triggers(reader)
    assert read(reader, batch)[1] == StreamTime(5, over=True, at=2)


def test_a_stream_that_was_over_for_a_run_over_files_is_waited_for_by_one_that_goes_on(tmp_path):
    write(tmp_path, "0", [1])
    (batch,) = triggers(Source(spec(tmp_path, once=True)))
    assert read(Source(spec(tmp_path)), batch)[1].over
    live = Source(spec(tmp_path))
    end = live.latestOffset({"s": 2}, live.getDefaultReadLimit())
    assert end == {"s": 3}
    (stretch,) = live.partitions({"s": 2}, end)
    assert read(live, [stretch]) == (
        [],
        StreamTime(1, at=3),
        {"rows_in": 0, "late": 0, "rejected": 0},
    )
    assert live.latestOffset(end, live.getDefaultReadLimit()) == end, "said once"
    again = Source(spec(tmp_path, once=True))
    assert again.latestOffset(end, again.getDefaultReadLimit()) == {"s": 4}, "over again"


def test_reading_again_leaves_the_same_quarantine(tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "0.csv").write_text("ts,k\n1,2\nx,3\n2,y\n3,1\n")
    source = spec(tmp_path, format_="csv", quarantine=Quarantine(tmp_path / "q"))
    reader = Source(source)
    (batch,) = triggers(reader)
    assert read(reader, batch)[2] == {"rows_in": 2, "late": 0, "rejected": 2}
    (page,) = (tmp_path / "q").rglob("*.jsonl")
    before = page.read_bytes()
    read(reader, batch)
    assert page.read_bytes() == before


def test_deliveries_are_read_in_the_order_of_their_numbers(tmp_path):
    inbox = Inbox(tmp_path / "inbox")
    rows = pa.RecordBatch.from_pydict({"ts": [5, 6], "k": pa.array([1, 2], pa.int32())})
    inbox.push(rows, 6)
    inbox.advance(9)
    reader = Source(spec(tmp_path, source="", inbox=str(inbox.directory)))
    (batch,) = triggers(reader)
    assert read(reader, batch)[:2] == ([5, 6], StreamTime(6, 9, at=2))
    inbox.push(rows.slice(2), 40)
    end = reader.latestOffset({"s": 2}, reader.getDefaultReadLimit())
    found = read(reader, list(reader.partitions({"s": 2}, end)))
    assert found[:2] == ([], StreamTime(40, 9, at=3))
    assert Inbox(inbox.directory).next == 3


def test_a_query_that_comes_later_reads_later_deliveries_only(tmp_path):
    inbox = Inbox(tmp_path / "inbox")
    for ts in (5, 8):
        rows = pa.RecordBatch.from_pydict({"ts": [ts], "k": pa.array([1], pa.int32())})
        inbox.push(rows, ts)
    start = StreamTime(5, BEGINNING)
    source = spec(tmp_path, source="", inbox=str(inbox.directory), inbox_from=1, start=start)
    reader = Source(source)
    (batch,) = triggers(reader)
    assert read(reader, batch)[:2] == ([8], StreamTime(8, at=1))


def test_a_log_that_is_shorter_than_the_offsets_is_refused(tmp_path):
    write(tmp_path, "0", [1])
    reader = Source(spec(tmp_path))
    with pytest.raises(StateError, match="does not match the offsets"):
        reader.latestOffset({"s": 7}, reader.getDefaultReadLimit())


def test_a_missing_directory_is_an_error_that_names_it(tmp_path):
    reader = Source(spec(tmp_path))
    with pytest.raises(InputError, match="in: expected a file"):
        reader.latestOffset(reader.initialOffset(), reader.getDefaultReadLimit())
