"""What is noted of micro-batches: whole or not at all, and damage does not go unseen."""

from __future__ import annotations

import json

import pytest

from windrow.core.errors import StateError
from windrow.spark.checkpoint.batch_logs import (
    BatchNotes,
    checksums_of,
    damage_of,
    offsets_text,
    read_batch_log,
)
from windrow.spark.stage.state_files import RETAINED

BEGINNING = {"a": 0, "b": 0}


def test_a_micro_batch_that_was_begun_and_not_ended_is_found(tmp_path):
    notes = BatchNotes(tmp_path / "spark", RETAINED)
    assert notes.open(BEGINNING) == (-1, BEGINNING, True)
    notes.begin(0, {"a": 2, "b": 1})
    assert BatchNotes(tmp_path / "spark", RETAINED).open(BEGINNING) == (0, {"a": 2, "b": 1}, False)
    notes.end(0)
    assert BatchNotes(tmp_path / "spark", RETAINED).open(BEGINNING) == (0, {"a": 2, "b": 1}, True)
    assert "c" in BatchNotes(tmp_path / "spark", RETAINED).open({**BEGINNING, "c": 0})[1], (
        "a new stream"
    )


def test_the_last_ones_are_there_to_go_back_to_and_no_more(tmp_path):
    notes, last = BatchNotes(tmp_path, RETAINED), 3 * RETAINED
    notes.open(BEGINNING)
    for batch in range(last + 1):
        notes.begin(batch, {"a": batch})
        notes.end(batch)
    for name in ("offsets", "commits"):
        there = sorted(int(path.name) for path in (tmp_path / name).iterdir())
        assert there == list(range(last - RETAINED, last + 1))


def test_what_a_run_of_sparks_has_left_goes_too(tmp_path):
    notes = BatchNotes(tmp_path, RETAINED)
    notes.open(BEGINNING)
    for batch in (0, 1, 2 + RETAINED):
        notes.begin(batch, {"a": batch})
    for batch in (0, 1):
        checksums_of(tmp_path / "offsets" / str(batch)).touch()
    BatchNotes(tmp_path, RETAINED).open(BEGINNING)
    assert [path.name for path in (tmp_path / "offsets").iterdir()] == [str(2 + RETAINED)]


def test_checksums_of_another_file_of_the_name_do_not_stay(tmp_path):
    notes = BatchNotes(tmp_path, RETAINED)
    notes.open(BEGINNING)
    checksums_of(tmp_path / "offsets" / "0").write_bytes(b"crc\0\0\0\2\0\1\2\3\4")
    notes.begin(0, {"a": 1})
    assert damage_of(tmp_path / "offsets" / "0") == ""


def test_no_changed_digit_of_an_offset_goes_unseen(tmp_path):
    notes = BatchNotes(tmp_path, RETAINED)
    notes.open(BEGINNING)
    notes.begin(7, {"a": 1234, "b": 98})
    path = tmp_path / "offsets" / "7"
    assert read_batch_log(path.parent).whole[7][1] == {"a": 1234, "b": 98}
    whole = path.read_bytes()
    start = whole.rindex(b"\n") + 1
    for at in range(start, len(whole)):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        assert list(read_batch_log(path.parent).damaged) == [7]
    for size in range(len(whole)):
        path.write_bytes(whole[:size])
        assert list(read_batch_log(path.parent).damaged) == [7]


def test_a_checkpoint_with_rows_of_dataframes_wants_them_again(tmp_path):
    notes = BatchNotes(tmp_path / "spark", RETAINED)
    notes.open(BEGINNING)
    (tmp_path / "spark" / "offsets" / "0").write_text('v1\n{}\n{"a":1}\n{"other":5}')
    with pytest.raises(StateError, match="has rows of streaming DataFrames"):
        BatchNotes(tmp_path / "spark", RETAINED).open(BEGINNING)


@pytest.mark.parametrize("settings", [{}, {"conf": {"x": "1"}, "crc32": 5}])
def test_settings_of_another_micro_batch_are_kept_but_for_the_checksum(tmp_path, settings):
    (tmp_path / "3").write_text(offsets_text(settings, {"a": 1}))
    known, offsets = read_batch_log(tmp_path).whole[3]
    assert offsets == {"a": 1}
    assert known["conf"] == settings.get("conf", {})
    assert json.loads(offsets_text(settings, {"a": 2}).splitlines()[1]) != known
