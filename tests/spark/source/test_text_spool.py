"""Text is parsed once, when it is admitted; tasks read what was spooled, as often as they like."""

from __future__ import annotations

import errno
import gzip
import json
import os
from pathlib import Path

import pytest

from tests.spark.source.test_source import Source, read, spec
from tests.support.altered import altered
from windrow.core.errors import QuarantineError, StateError
from windrow.result_files import atomic_files
from windrow.spark.source.file_log import FileLog
from windrow.spark.source.file_source import SourceSpec
from windrow.spark.source.text_spool import read_spooled
from windrow.streams.quarantine import Quarantine
from windrow.tables import chunks, csv, jsonlines

ROWS = [(ts, ts % 7) for ts in (3, 1, 9, 2, 8, 12, 11)]
"""With SLACK 2, the row at 2 is late."""
TEXTS = {
    "csv": "ts,k\n" + "".join(f"{ts},{k}\n" for ts, k in ROWS) + "oops,1\n",
    "json": "".join(f'{{"ts": {ts}, "k": {k}}}\n' for ts, k in ROWS) + '{"ts": "x"}\n',
}
FOUND = ([1, 3, 8, 9, 11, 12], {"rows_in": 6, "late": 1, "rejected": 1})


@pytest.fixture(params=["csv", "json", "csv.gz"])
def file(request, tmp_path: Path) -> Path:
    place = tmp_path / "in"
    place.mkdir()
    kind, _, packed = request.param.partition(".")
    path = place / f"a.{request.param}"
    path.write_bytes(gzip.compress(TEXTS[kind].encode()) if packed else TEXTS[kind].encode())
    return path


def of_text(tmp_path: Path, file: Path, **options) -> SourceSpec:
    quarantine = Quarantine(tmp_path / "q")
    return spec(tmp_path, format_=file.name.split(".")[1], quarantine=quarantine, **options)


def admitted(source: Source) -> tuple[dict, dict]:
    start = source.initialOffset()
    return start, source.latestOffset(start, source.getDefaultReadLimit())


def rows_of(source: Source, start: dict, end: dict) -> tuple[list[int], dict]:
    ts, _, counts = read(source, list(source.partitions(start, end)))
    return ts, counts


def spooled(tmp_path: Path) -> list[Path]:
    return sorted((tmp_path / "checkpoint" / "s").glob("*"))


def lines(tmp_path: Path) -> list[tuple[int, str]]:
    pages = sorted((tmp_path / "q").rglob("*.jsonl"))
    found = [json.loads(line) for page in pages for line in page.read_text().splitlines()]
    return [(line["row"], line["text"]) for line in found]


@pytest.fixture
def parsed(monkeypatch) -> list[int]:
    """The bytes of text that are parsed, chunk by chunk."""
    found: list[int] = []

    def counting(real):
        def counted(*arguments, **named):
            for chunk in real(*arguments, **named):
                found.append(len(chunk.data))
                yield chunk

        return counted

    for module in (csv, jsonlines):
        monkeypatch.setattr(module, "chunks", counting(module.chunks))
    return found


def test_text_is_parsed_once_however_often_it_is_read(tmp_path, file, parsed):
    source = Source(of_text(tmp_path, file))
    start, end = admitted(source)
    kind = file.name.split(".")[1]
    header = len("ts,k\n") if kind == "csv" else 0
    assert sum(parsed) == len(TEXTS[kind]) - header
    refused = lines(tmp_path)
    assert sorted(row for row, _ in refused) == [4, 8]
    for _ in range(3):
        assert rows_of(source, start, end) == FOUND
    assert sum(parsed) == len(TEXTS[kind]) - header
    assert lines(tmp_path) == refused


@pytest.mark.parametrize("change", ["grown", "rewritten", "gone"])
def test_a_repeated_micro_batch_reads_the_same_rows_whatever_became_of_the_file(
    tmp_path, file, change
):
    start, end = admitted(Source(of_text(tmp_path, file)))
    if change == "gone":
        file.unlink()
    else:
        file.write_bytes((file.read_bytes() if change == "grown" else b"") + b"20,1\n")
    assert rows_of(Source(of_text(tmp_path, file)), start, end) == FOUND


def test_without_its_spool_a_micro_batch_reads_the_text_again_and_judges_it_alike(tmp_path, file):
    source = Source(of_text(tmp_path, file))
    start, end = admitted(source)
    refused = lines(tmp_path)
    (path,) = spooled(tmp_path)
    whole = path.read_bytes()
    for length in range(0, len(whole) - 8, 97):
        path.write_bytes(whole[:length])
        assert read_spooled(Path(source.spec.log), path.name) is None
    assert rows_of(source, start, end) == FOUND
    path.unlink()
    assert rows_of(source, start, end) == FOUND
    assert lines(tmp_path) == refused


def test_what_is_spooled_goes_when_its_micro_batch_is_over(tmp_path):
    (tmp_path / "in").mkdir()
    run = Source(spec(tmp_path, format_="csv", files=1))
    at, names = run.initialOffset(), set()
    for number in range(5):
        (tmp_path / "in" / f"{number}.csv").write_text(f"ts,k\n{number},1\n")
        at = run.latestOffset(at, run.getDefaultReadLimit())
        (path,) = spooled(tmp_path)
        names.add(path.name)
    assert len(names) == 5
    run.latestOffset(at, run.getDefaultReadLimit())
    assert spooled(tmp_path) == []


def test_a_run_removes_what_a_dead_one_has_spooled_and_not_admitted(tmp_path, monkeypatch):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "0.csv").write_text("ts,k\n1,1\n")
    with monkeypatch.context() as patch:
        patch.setattr(FileLog, "append", lambda *_: pytest.fail("died"))
        with pytest.raises(pytest.fail.Exception, match="died"):
            admitted(Source(spec(tmp_path, format_="csv")))
    (left,) = spooled(tmp_path)
    source = Source(spec(tmp_path, format_="csv"))
    start, end = admitted(source)
    assert [p.name for p in spooled(tmp_path)] != [left.name]
    assert len(spooled(tmp_path)) == 1
    assert rows_of(source, start, end)[0] == [1]


def test_a_file_without_a_whole_row_leaves_nothing_in_the_spool(tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "0.csv").write_text("ts,k\n1")
    start, end = admitted(Source(spec(tmp_path, format_="csv")))
    assert (start == end, spooled(tmp_path)) == (True, [])


def test_a_large_file_is_spooled_chunk_by_chunk(tmp_path, monkeypatch):
    monkeypatch.setattr(chunks.FIRST_BLOCK, "value", 1 << 10)
    monkeypatch.setattr(chunks.ROWS, "value", 1)
    (tmp_path / "in").mkdir()
    text = "ts,k\n" + "".join(f"{ts},1\n" for ts in range(20_000))
    (tmp_path / "in" / "0.csv").write_text(text)
    source = Source(spec(tmp_path, format_="csv"))
    start, end = admitted(source)
    (path,) = spooled(tmp_path)
    found = read_spooled(Path(source.spec.log), path.name)
    assert found is not None
    assert max(batch.num_rows for batch in found.batches) < 2_000
    assert rows_of(source, start, end)[0] == list(range(20_000))


def test_a_full_disk_is_an_error_and_not_a_refused_file(tmp_path, file, monkeypatch):
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    source = of_text(tmp_path, file)
    with monkeypatch.context() as patch:
        patch.setattr(atomic_files, "os", altered(os, fsync=full))
        with pytest.raises(StateError, match="No space left on device"):
            admitted(Source(source))
    assert (spooled(tmp_path), FileLog(Path(source.log)).entries) == ([], [])
    again = Source(source)
    assert rows_of(again, *admitted(again)) == FOUND


def test_a_quarantine_that_cannot_be_written_is_an_error_and_not_a_refused_file(tmp_path, file):
    (tmp_path / "q").write_text("a file stands where the directory should be")
    source = of_text(tmp_path, file)
    with pytest.raises(QuarantineError, match="--quarantine"):
        admitted(Source(source))
    assert FileLog(Path(source.log)).entries == []
