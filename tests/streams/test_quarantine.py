"""Refused rows are kept with reason and text, once, and whole."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from windrow.core.errors import InputError, QuarantineError
from windrow.streams import quarantine as pages
from windrow.streams.quarantine import Page, Quarantine
from windrow.tables.parsed_rows import Rejected

ROWS = [Rejected(3, "bad", "a,é"), Rejected(9, "late", "two\nlines")]


def records(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_each_refused_row_is_one_line_with_its_origin(tmp_path):
    quarantine, file = Quarantine(tmp_path), Path("data/a.csv")
    assert quarantine.write("flows", file, ROWS) == 2
    first, second = records(quarantine.path_of("flows", file))
    assert first == {
        "stream": "flows",
        "file": "data/a.csv",
        "row": 3,
        "reason": "bad",
        "text": "a,é",
    }
    assert (second["row"], second["text"]) == (9, "two\nlines")


def test_reading_a_file_again_replaces_its_quarantine_by_the_same(tmp_path):
    quarantine, file = Quarantine(tmp_path), Path("a.csv")
    quarantine.write("s", file, ROWS)
    before = {p: p.read_bytes() for p in tmp_path.rglob("*.jsonl")}
    Quarantine(tmp_path).write("s", file, ROWS)
    assert {p: p.read_bytes() for p in tmp_path.rglob("*.jsonl")} == before
    quarantine.write("s", file, [])
    assert list(tmp_path.rglob("*.jsonl")) == []


def test_files_of_one_name_in_two_directories_do_not_share_a_quarantine(tmp_path):
    quarantine = Quarantine(tmp_path)
    assert quarantine.path_of("s", Path("x/a.csv")) != quarantine.path_of("s", Path("y/a.csv"))


def break_off(quarantine: Quarantine, file: Path) -> None:
    with quarantine.page("s", file) as page:
        page.add(ROWS)
        raise RuntimeError


def test_a_page_that_is_not_finished_leaves_what_was_there(tmp_path):
    quarantine, file = Quarantine(tmp_path), Path("a.csv")
    quarantine.write("s", file, ROWS[:1])
    with pytest.raises(RuntimeError):
        break_off(quarantine, file)
    assert len(records(quarantine.path_of("s", file))) == 1
    assert [p.suffix for p in tmp_path.rglob("*") if p.is_file()] == [".jsonl"]


def test_a_page_for_which_the_disk_has_no_space_is_discarded_without_another_error(tmp_path):
    draft = tmp_path / "draft"
    draft.touch()
    with Path("/dev/full").open("wb") as full:
        page = Page("s", "a.csv", _out=full, _draft=draft)
        page.add(ROWS)
        with pytest.raises(QuarantineError, match="found No space left on device; name another"):
            page.publish(tmp_path / "page")
        page.discard()
    assert list(tmp_path.iterdir()) == []


def test_pushed_rows_are_numbered_and_names_stay_inside_the_directory(tmp_path):
    quarantine = Quarantine(tmp_path / "q")
    assert quarantine.push("../s", []) == 0
    assert quarantine.push("../s", ROWS) == 2
    assert Quarantine(tmp_path / "q").push("../s", ROWS[:1]) == 1
    found = sorted(p.name for p in (tmp_path / "q").rglob("*.jsonl"))
    assert found == ["push-00001.jsonl", "push-00002.jsonl"]
    assert list(tmp_path.iterdir()) == [tmp_path / "q"]


def test_a_quarantine_that_cannot_be_written_says_what_to_set(tmp_path):
    (tmp_path / "q").write_text("a file where a directory should be")
    with pytest.raises(InputError, match=r"name another one with --quarantine"):
        Quarantine(tmp_path / "q").write("s", Path("a.csv"), ROWS)
    with pytest.raises(InputError, match=r"connect\(quarantine="):
        Quarantine(tmp_path / "q").push("s", ROWS)


def test_a_file_of_bad_rows_fills_no_disk_and_all_of_them_are_counted(tmp_path, monkeypatch):
    monkeypatch.setattr(pages, "MOST", 5)
    monkeypatch.setattr(pages, "LONGEST", 10)
    quarantine, file = Quarantine(tmp_path), Path("a.csv")
    rows = [Rejected(i, "bad", "x" * 5 * i) for i in range(1, 9)]
    assert quarantine.write("s", file, rows) == 8
    *written, last = records(quarantine.path_of("s", file))
    assert [r["row"] for r in written] == [1, 2, 3, 4, 5]
    assert written[2]["text"] == "x" * 10 + "... (15 characters)"
    assert last["reason"].startswith("3 more rows of this file were refused")


def test_any_text_can_be_written_down(tmp_path):
    quarantine, file = Quarantine(tmp_path), Path("a.csv")
    quarantine.write("s", file, [Rejected(1, "bad", "half a character: \ud800")])
    assert records(quarantine.path_of("s", file))[0]["text"].startswith("half a character")


def test_a_bounded_quarantine_keeps_the_newest_files_of_each_stream(tmp_path, monkeypatch):
    monkeypatch.setattr(pages, "KEPT_PAGES", 3)
    bounded, other = Quarantine(tmp_path, bounded=True), Quarantine(tmp_path)
    for number in range(5):
        bounded.write("s", Path(f"{number}.csv"), ROWS)
        os.utime(bounded.path_of("s", Path(f"{number}.csv")), (number, number))
        other.write("t", Path(f"{number}.csv"), ROWS)
    assert [path.name[0] for path, _ in bounded.pages("s")] == ["4", "3", "2"]
    assert len(bounded.pages("t")) == 5
    monkeypatch.setattr(pages, "KEPT_BYTES", 10)
    bounded.write("s", Path("9.csv"), ROWS)
    assert [path.name[0] for path, _ in bounded.pages("s")] == ["9"], "the newest stays, whatever"
