"""Compaction changes the files and nothing else, whenever it is stopped and whoever reads."""

from __future__ import annotations

import shutil
import threading
from pathlib import Path

import pyarrow as pa
import pytest

import windrow
from tests.result_files.disk import Crash, StoppingDisk
from tests.result_files.written import SCHEMA, filled, identity, micro_batch, place, publish
from windrow.core.file_formats import RESULT_ENDINGS
from windrow.result_files import compaction, reader, sinks
from windrow.result_files.commits import last_committed, new_commits
from windrow.result_files.compaction import compact
from windrow.result_files.ownership import prepare
from windrow.result_files.reader import Reading, published_results


def seen(directory: Path) -> tuple[object, ...]:
    """All that a reader can find out."""
    found = windrow.results(directory)
    later = [found.changes(after=n).to_pylist() for n in (-1, 0, 3, 7, found.batch - 1)]
    since = [found.changes(since=n).to_pylist() for n in (35, 10**6)]
    answer = sorted(row["k"] for row in found.answer().to_pylist())
    return later, since, answer, found.batch, found.now, published_results(directory).totals


def expected(batches: int) -> list[tuple[int, str, str]]:
    rows = [sorted((r for part in micro_batch(n) for r in part), key=lambda r: r[0])
            for n in range(batches)]  # fmt: skip
    return [row for batch in rows for row in batch]


@pytest.mark.parametrize("piece", [1, 7, reader.PIECE.value])
@pytest.mark.parametrize("format_", RESULT_ENDINGS)
def test_a_reader_sees_no_difference(format_: str, piece, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(reader.PIECE, "value", piece)
    where = filled(place(tmp_path / "out", format_), 13)
    before = seen(where.directory)
    rows = windrow.results(where.directory).changes().to_pylist()
    assert [tuple(row.values()) for row in rows] == expected(13)
    done = compact(where.directory)
    assert done is not None
    assert done.before > 13
    assert done.after == 1
    assert seen(where.directory) == before
    assert not list(where.directory.glob("_commit-*"))
    filled(where, 29, first=13)
    twice = seen(where.directory)
    compact(where.directory)
    assert seen(where.directory) == twice
    assert [tuple(r.values()) for r in windrow.results(where.directory).changes().to_pylist()] == (
        expected(29)
    )


@pytest.mark.parametrize("format_", RESULT_ENDINGS)
def test_a_merged_file_is_read_in_pieces_also_if_it_is_deleted_meanwhile(
    format_: str, tmp_path: Path, monkeypatch
) -> None:
    monkeypatch.setattr(reader.PIECE, "value", 4)
    where = filled(place(tmp_path / "out", format_), 13)
    compact(where.directory)
    (segment,) = published_results(where.directory).segments
    reading = Reading(where.directory, format_, SCHEMA)
    tables = reading.tables()
    found = [next(tables)]
    (where.directory / segment.files[0]).unlink()
    found += tables
    assert max(table.num_rows for table in found) <= 4
    rows = pa.concat_tables(found).to_pylist()
    assert [tuple(row.values()) for row in rows] == expected(13)


@pytest.mark.parametrize("format_", RESULT_ENDINGS)
def test_a_row_may_be_longer_than_what_is_parsed_together(
    format_: str, tmp_path: Path, monkeypatch
) -> None:
    monkeypatch.setattr(reader.BLOCK, "value", 1 << 12)
    where = place(tmp_path / "out", format_)
    rows = [(n, "+", f"v{n}" + 'é,"\n' * (3000 if n % 5 == 3 else 40)) for n in range(40)]
    for number in range(4):
        publish(where, number, [rows[10 * number : 10 * number + 10]])
    reading = Reading(where.directory, format_, SCHEMA)
    assert [tuple(r.values()) for t in reading.tables() for r in t.to_pylist()] == rows
    compact(where.directory)
    tables = reading.tables()
    found = [next(tables)]
    next(where.directory.glob("batch-*")).unlink()
    found += tables
    assert [tuple(row.values()) for row in pa.concat_tables(found).to_pylist()] == rows


@pytest.mark.parametrize("most", [1, 12])
def test_files_that_would_be_too_large_are_left_apart(most, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(compaction.ROWS, "value", most)
    where = place(tmp_path / "out")
    for upto in (6, 9, 14):
        filled(where, upto, first=published_results(where.directory).last + 1)
        before = seen(where.directory)
        compact(where.directory)
        assert seen(where.directory) == before
        sizes = [s.rows for s in published_results(where.directory).segments if not s.single]
        assert max(sizes, default=0) <= most


def test_the_number_of_files_stays_small_by_itself(tmp_path: Path) -> None:
    where = filled(place(tmp_path / "out", compact_at=4), 100)
    assert len(list(where.directory.iterdir())) < 30
    rows = windrow.results(where.directory).changes().to_pylist()
    assert [tuple(row.values()) for row in rows] == expected(100)
    publish(where, 99, micro_batch(99))
    publish(where, 50, micro_batch(50))
    rows = windrow.results(where.directory).changes().to_pylist()
    assert [tuple(row.values()) for row in rows] == expected(100), "what is compacted was committed"


@pytest.mark.parametrize("stream", [True, False])
def test_stopped_after_any_operation_it_has_changed_nothing(stream, tmp_path, monkeypatch) -> None:
    whole = tmp_path / "whole"
    where = filled(place(whole, stream=stream), 4)
    compact(whole)
    filled(where, 7, first=4)
    before = seen(whole)
    at = 0
    while True:
        out = tmp_path / str(at)
        shutil.copytree(whole, out)
        with monkeypatch.context() as patch:
            disk = StoppingDisk(patch, at, seed=at)
            try:
                compact(out)
            except Crash:
                stopped = True
            else:
                stopped = False
        assert seen(out) == before, disk.log
        prepare(out, identity(stream=stream))
        compact(out)
        assert seen(out) == before, disk.log
        named = published_results(out).names() | {"_results.json", "_compacted.json"}
        left = {p.name for p in out.iterdir() if not p.name.startswith(".windrow")}
        assert left == named, disk.log
        if not stopped:
            break
        at += 1
    assert at > 12


def test_whoever_reads_while_it_runs_sees_all_of_it(tmp_path: Path) -> None:
    where = place(tmp_path / "out", compact_at=3)
    publish(where, 0, micro_batch(0))
    wrong: list[object] = []
    done = threading.Event()

    def read() -> None:
        found = windrow.results(where.directory)
        while not done.is_set():
            last = found.batch
            rows = [tuple(r.values()) for r in found.changes().to_pylist()]
            complete = [expected(n + 1) for n in range(last, 61)]
            if rows not in complete:
                wrong.append((last, rows))
            found.answer()

    threads = [threading.Thread(target=read) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        for number in range(1, 60):
            publish(where, number, micro_batch(number))
    finally:
        done.set()
        for thread in threads:
            thread.join()
    assert not wrong


def test_the_answer_is_found_without_reading_old_changes(tmp_path, monkeypatch) -> None:
    where = filled(place(tmp_path / "out"), 40)
    compact(where.directory)
    filled(where, 42, first=40)
    before = windrow.results(where.directory).answer().to_pylist()
    for segment in published_results(where.directory).segments[:-2]:
        for name in segment.files:
            (where.directory / name).write_bytes(b"not to be read")
    assert windrow.results(where.directory).answer().to_pylist() == before
    assert {"k": "v41"} in before


def test_new_commits_are_found_also_after_micro_batches_without_one(tmp_path) -> None:
    where = filled(place(tmp_path / "out"), 5)
    assert [c.batch for c in new_commits(where.directory, 1)] == [2, 3, 4]
    assert list(new_commits(where.directory, 4)) == []
    assert last_committed(where.directory, 1) == 4
    compact(where.directory)
    filled(where, 10, first=8)
    assert [c.batch for c in new_commits(where.directory, 4)] == [8, 9]
    assert last_committed(where.directory, 1) == 9


def test_what_was_drained_is_forgotten_and_the_answer_is_not(tmp_path) -> None:
    where = filled(place(tmp_path / "out"), 12)
    before, rows = seen(where.directory), windrow.results(where.directory).changes(after=6)
    compact(where.directory, forget=6)
    found = windrow.results(where.directory)
    assert found.changes() == found.changes(after=2) == rows
    assert seen(where.directory)[2:] == before[2:]
    compact(where.directory, forget=11)
    assert found.changes().num_rows == 0
    assert seen(where.directory)[2:] == before[2:]
    filled(where, 14, first=12)
    assert [tuple(r.values()) for r in found.changes().to_pylist()] == expected(14)[
        len(expected(12)) :
    ]


def test_a_file_that_is_gone_is_named(tmp_path: Path) -> None:
    where = filled(place(tmp_path / "out"), 3)
    next(where.directory.glob("batch-*")).unlink()
    with pytest.raises(
        windrow.core.errors.StateError, match=r"files that its commits name.*batch-"
    ):
        windrow.results(where.directory).changes()


def test_an_answer_whose_file_is_gone_is_an_error_and_not_waited_for(tmp_path: Path) -> None:
    where = filled(place(tmp_path / "out"), 8)
    compact(where.directory)
    next(where.directory.glob("_answer-*")).unlink()
    with pytest.raises(
        windrow.core.errors.StateError,
        match=r"files that its commits name; found no _answer-00000007.parquet; rest",
    ):
        windrow.results(where.directory).answer()


def test_embedded_sinks_compact_and_count_on(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sinks.COMPACT_AT, "value", 4)
    with windrow.connect() as db:
        [q] = db.execute(
            "CREATE STREAM s (ts BIGINT, k INT);"
            "CREATE QUERY q AS SELECT k, COUNT(*) AS n FROM s [RANGE 5] GROUP BY k INTO 'out';"
        )
        for ts in range(40):
            db.push("s", {"ts": [ts], "k": [ts % 3]})
        found = windrow.results("out")
        assert Path("out/_compacted.json").exists()
        assert len(list(Path("out").iterdir())) < 20
        assert found.changes().num_rows == q.rows_out
        assert sorted(map(str, found.answer().to_pylist())) == (
            sorted(map(str, q.answer().to_pylist()))
        )
        assert published_results(Path("out")).totals.rows_in == q.rows_in
