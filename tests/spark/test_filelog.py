"""The file log survives crashes, and never forgets or invents an entry."""

from __future__ import annotations

import pytest

from windrow.core.errors import StateError
from windrow.spark.filelog import Entry, FileLog

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
