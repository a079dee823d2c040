"""The file log survives crashes, and never forgets or invents an entry."""

from __future__ import annotations

import pytest

from windrow.core.errors import StateError
from windrow.spark.source.file_log import (
    KEPT_ENTRIES,
    Entry,
    FileLog,
    LogMovedError,
    ends_idle,
    last_batch_in,
)
from windrow.streams.horizon import UNLIMITED, Horizon

ENTRIES = [
    Entry("/in/the/directory/of/the/stream/0.parquet", 10, 5),
    Entry("/in/the/directory/of/the/stream/1.parquet", 10, 3),
    Entry(advance=9),
    Entry(end=True),
]
OLD = (
    b'{"path":"/in/the/directory/of/the/stream/0.parquet","size":10,"top":5,"advance":null,"end":false,"inbox":null,"origin":null,'
    b'"late":0,"rejected":0}\n'
)


def test_entries_and_times_are_the_same_when_the_log_is_opened_again(tmp_path):
    log = FileLog(tmp_path / "s.log")
    log.append(ENTRIES[:2])
    log.append(ENTRIES[2:])
    again = FileLog(tmp_path / "s.log")
    assert again.entries == log.entries == ENTRIES
    assert again.times == log.times


def test_the_running_maximum_before_each_entry_is_known(tmp_path):
    log = FileLog(tmp_path / "s.log")
    log.append(ENTRIES)
    assert [t.top for t in log.times[1:]] == [5, 5, 5, 5]
    assert [t.over for t in log.times] == [False, False, False, False, True]
    assert log.times[-1].advanced == 9


@pytest.mark.parametrize("keep", range(0, 60, 7))
def test_a_line_that_a_crash_left_unfinished_is_cut_off(tmp_path, keep):
    path = tmp_path / "s.log"
    FileLog(path).append(ENTRIES[:1])
    whole = path.read_bytes()
    FileLog(path).append(ENTRIES[1:2])
    path.write_bytes(path.read_bytes()[: len(whole) + keep])
    log = FileLog(path)
    assert log.entries == ENTRIES[:1]
    log.append(ENTRIES[2:])
    assert FileLog(path).entries == [ENTRIES[0], *ENTRIES[2:]]


def test_a_log_from_before_there_were_horizons_judges_its_files_as_it_did(tmp_path):
    (tmp_path / "s.log").write_bytes(OLD)
    (entry,) = FileLog(tmp_path / "s.log").entries
    assert entry == Entry("/in/the/directory/of/the/stream/0.parquet", 10, 5)
    assert not entry.horizon.is_bounded


def test_the_horizon_of_a_file_is_the_same_when_the_log_is_opened_again(tmp_path):
    entries = [
        Entry("/in/the/directory/of/the/stream/0.parquet", 10, 5).judged_by(Horizon(7, 99)),
        Entry("/in/the/directory/of/the/stream/1.parquet", 10, 5).judged_by(Horizon(7)),
        Entry("/in/2", 10, 5).judged_by(UNLIMITED),
    ]
    FileLog(tmp_path / "s.log").append(entries)
    found = [entry.horizon for entry in FileLog(tmp_path / "s.log").entries]
    assert found == [Horizon(7, 99), Horizon(7), UNLIMITED]


def test_a_stream_is_idle_until_its_next_file_or_its_end(tmp_path):
    log = FileLog(tmp_path / "s.log")
    log.append(
        [
            Entry("/in/the/directory/of/the/stream/0.parquet", 10, 5),
            Entry(idle=True),
            Entry(advance=9),
            Entry("/in/the/directory/of/the/stream/1.parquet", 10, 6),
        ]
    )
    log.append([Entry(idle=True), Entry(end=True)])
    assert [t.idle for t in log.times] == [False, False, True, True, False, True, False]


def test_the_last_line_tells_whether_a_stream_is_idle_and_the_micro_batch(tmp_path):
    path = tmp_path / "s.log"
    assert not ends_idle(path)
    assert last_batch_in(path) == -1
    log = FileLog(path)
    log.append([Entry(f"/in/{'x' * 4000}{i}", 10, 5) for i in range(9)])
    assert not ends_idle(path)
    log.append([Entry(idle=True, batch=7)])
    assert ends_idle(path)
    assert last_batch_in(path) == 7
    path.write_bytes(path.read_bytes() + b'{"pa')
    assert not ends_idle(path), "half a line says nothing"


def test_a_damaged_line_is_an_error_that_names_it(tmp_path):
    path = tmp_path / "s.log"
    FileLog(path).append(ENTRIES)
    lines = path.read_text().splitlines(keepends=True)
    lines[1] = "{broken\n"
    path.write_text("".join(lines))
    with pytest.raises(StateError, match=r"s\.log, line 2"):
        FileLog(path)


def test_a_process_of_a_dead_run_cannot_write_to_a_log_that_has_moved_on(tmp_path):
    left_behind, goes_on = FileLog(tmp_path / "s.log"), FileLog(tmp_path / "s.log")
    goes_on.append(ENTRIES[:1])
    with pytest.raises(LogMovedError, match="another process has written"):
        left_behind.append(ENTRIES[:1])
    goes_on.append(ENTRIES[1:2])
    assert FileLog(tmp_path / "s.log").entries == ENTRIES[:2]


def test_the_log_knows_where_each_micro_batch_ended(tmp_path):
    log = FileLog(tmp_path / "s.log")
    log.append(
        [
            Entry("/in/the/directory/of/the/stream/0.parquet", batch=0),
            Entry("/in/the/directory/of/the/stream/1.parquet", batch=0),
        ]
    )
    log.append([Entry("/in/2", batch=3)])
    assert [log.until(batch) for batch in range(-1, 5)] == [0, 2, 2, 2, 3, 3]


@pytest.mark.usefixtures("sizes")
def test_entries_that_were_read_long_ago_are_in_the_file_alone(tmp_path):
    log = FileLog(tmp_path / "s.log")
    for batch in range(60):
        log.append([Entry(f"/{batch}", 9, batch, inbox=batch, batch=batch)])
        log.forget_before(batch)
        assert len(log.entries) == len(log.times) - 1 == log.count - log.forgotten
        assert len(log.entries) <= max(2 * KEPT_ENTRIES.value + 2, 3)
    again = FileLog(tmp_path / "s.log")
    assert (log.count, log.last_delivered) == (again.count, again.last_delivered) == (60, 59)
    assert log.entries == again.entries[log.forgotten :]
    assert log.times == again.times[log.forgotten :]
    assert log.from_number(58) == again.from_number(58) == again.entries[58:]
    assert [log.until(batch) for batch in (58, 59)] == [59, 60]
    log.append([Entry(end=True, batch=60)])
    assert FileLog(tmp_path / "s.log").count == 61
