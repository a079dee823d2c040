"""The file log survives crashes, and never forgets or invents an entry."""

from __future__ import annotations

import pytest

from windrow.core.errors import StateError
from windrow.spark.filelog import Entry, FileLog, LogMovedError

ENTRIES = [Entry("/in/0", 10, 5), Entry("/in/1", 10, 3), Entry(advance=9), Entry(end=True)]


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
    log.append([Entry("/in/0", batch=0), Entry("/in/1", batch=0)])
    log.append([Entry("/in/2", batch=3)])
    assert [log.until(batch) for batch in range(-1, 5)] == [0, 2, 2, 2, 3, 3]
