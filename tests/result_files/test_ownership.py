"""Results belong to a run: others neither add to them nor remove them, unless they are told to."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import windrow
from tests.result_files.disk import Crash, StoppingDisk
from tests.result_files.written import filled, identity, micro_batch, place, publish
from tests.support.runs import run_embedded
from windrow.core.errors import StateError
from windrow.core.file_formats import RESULT_ENDINGS
from windrow.plan.program import compile_script
from windrow.result_files.compaction import compact
from windrow.result_files.ownership import prepare

SCRIPT = """
    CREATE STREAM s (ts BIGINT, w BIGINT) FROM 'in.csv' FORMAT csv;
    CREATE QUERY seen AS SELECT w FROM s INTO 'out' FORMAT csv;
    CREATE QUERY more AS SELECT w FROM s INTO 'more';
"""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("in.csv").write_text("ts,w\n1,10\n2,20\n")


def run(script: str = SCRIPT, **more: bool) -> None:
    run_embedded(
        compile_script(script).catalog,
        once=True, quarantine=None, on_progress=lambda _: None, **more,
    )  # fmt: skip


def names(directory: str = "out") -> set[str]:
    return {p.name for p in Path(directory).iterdir()}


def test_a_second_run_needs_to_be_told_to_overwrite() -> None:
    run()
    before = names(), names("more")
    Path("in.csv").write_text("ts,w\n1,11\n")
    with pytest.raises(StateError) as caught:
        run()
    assert "found those of query seen, of another run" in str(caught.value)
    assert "name another directory" in str(caught.value)
    assert "--overwrite" in str(caught.value)
    assert "connect(..., overwrite=True)" in str(caught.value)
    assert (names(), names("more")) == before
    run(overwrite=True)
    assert windrow.results("out").changes()["w"].to_pylist() == [11]
    assert windrow.results("more").changes()["w"].to_pylist() == [11]


def test_nothing_is_overwritten_if_one_directory_is_refused() -> None:
    run(SCRIPT.replace("INTO 'out' FORMAT csv", ""))
    Path("out").mkdir()
    with pytest.raises(StateError, match="INTO 'more'"):
        run()
    assert names() == {".windrow.lock"}


def test_results_stay_if_the_run_that_would_replace_them_cannot_begin() -> None:
    run()
    before = names()
    with pytest.raises(windrow.core.errors.InputError, match="nothing there"):
        run(SCRIPT.replace("in.csv", "none.csv"), overwrite=True)
    assert names() == before
    assert windrow.results("out").changes().num_rows == 2


def test_a_run_that_has_left_no_results_is_in_nobodys_way() -> None:
    Path("in.csv").write_text("ts,w\n")
    run()
    Path("in.csv").write_text("ts,w\n1,11\n")
    run()
    assert windrow.results("out").changes()["w"].to_pylist() == [11]


def test_what_dead_runs_left_is_removed_at_the_next_start(tmp_path: Path) -> None:
    where = filled(place(tmp_path / "out"), 3)
    ours = [".batch-0123", "._commit-00000003.json.abc", "batch-00000003-00000.csv"]
    others = [
        "notes.txt",
        ".hidden",
        "." + 32 * "a",
        "batch-mine.csv",
        "_answer.txt",
        ".windrow.lock",
    ]
    for name in [*ours, *others]:
        (where.directory / name).write_text("")
    before = windrow.results(where.directory).changes().to_pylist()
    prepare(where.directory, identity())
    assert not names() & set(ours)
    assert names() >= set(others)
    assert windrow.results(where.directory).changes().to_pylist() == before


def test_a_run_that_has_lost_its_directory_says_so(tmp_path: Path) -> None:
    where = filled(place(tmp_path / "out"), 2)
    prepare(where.directory, identity(run="other"), overwrite=True)
    with pytest.raises(StateError, match="expected the results of this run; found those of anoth"):
        publish(where, 2, micro_batch(2))
    (where.directory / "_results.json").unlink()
    with pytest.raises(StateError, match="found none any more"):
        publish(where, 2, micro_batch(2))


def test_results_do_not_change_their_format_or_columns(tmp_path: Path) -> None:
    filled(place(tmp_path / "out", "csv"), 2)
    with pytest.raises(StateError, match="results with the format of the script; found csv"):
        prepare(tmp_path / "out", identity("json"))


@pytest.mark.parametrize("format_", RESULT_ENDINGS)
def test_a_micro_batch_is_there_whole_or_not_at_all_wherever_publishing_stops(
    format_: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    states = [windrow.results(filled(place(tmp_path / f"{n}", format_), n).directory).changes()
              for n in (3, 4)]  # fmt: skip
    at = 0
    while True:
        where = filled(place(tmp_path / f"at{at}", format_), 3)
        with monkeypatch.context() as patch:
            disk = StoppingDisk(patch, at, seed=at)
            try:
                publish(where, 3, micro_batch(3))
            except Crash:
                stopped = True
            else:
                stopped = False
        found = windrow.results(where.directory).changes()
        assert found in states, disk.log
        prepare(where.directory, identity(format_))
        assert windrow.results(where.directory).changes() == found, disk.log
        publish(where, 3, micro_batch(3))
        assert windrow.results(where.directory).changes() == states[1], disk.log
        if not stopped:
            assert found == states[1]
            break
        at += 1
    assert at >= 6


def test_files_are_synced_before_their_names_and_names_before_the_commit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    where = filled(place(tmp_path / "out"), 1)
    disk = StoppingDisk(monkeypatch, None)
    publish(where, 1, micro_batch(1))
    done = [name for name, _ in disk.log]
    files = sum(p.name.startswith("batch-00000001") for p in where.directory.iterdir())
    assert done == [
        *["write"] * files, "write", "sync",
        *["rename"] * files, "sync_names", "rename", "sync_names",
    ]  # fmt: skip


def test_overwriting_leaves_the_old_results_or_none_wherever_it_stops(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = 0
    while True:
        where = filled(place(tmp_path / f"at{at}"), 5)
        compact(where.directory)
        filled(where, 8, first=5)
        old = windrow.results(where.directory).changes()
        with monkeypatch.context() as patch:
            disk = StoppingDisk(patch, at, seed=at)
            try:
                prepare(where.directory, identity(run="new"), overwrite=True)
            except Crash:
                stopped = True
            else:
                stopped = False
        found = windrow.results(where.directory).changes()
        assert found == old or not found.num_rows, disk.log
        prepare(where.directory, identity(run="new"), overwrite=True)
        assert names(str(where.directory)) - {".windrow.compacting"} == {"_results.json"}
        if not stopped:
            break
        at += 1
    assert at > 10


def test_a_group_that_is_called_by_other_members_goes_on_with_its_results(tmp_path: Path) -> None:
    filled(place(tmp_path / "out"), 3)
    known = identity()
    prepare(tmp_path / "out", replace(known, query="q1 and 3 others"))
    assert len(windrow.results(tmp_path / "out").changes()) > 0
    with pytest.raises(StateError, match="expected results with the format of the script"):
        prepare(tmp_path / "out", replace(known, format="csv"))
