"""Damaged checkpoints are found out, and what can be done is said; made by hand, without Spark."""

from __future__ import annotations

import json
import struct
import zlib
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from windrow.core.errors import StateError
from windrow.operators.base import Saved
from windrow.spark.checkpoint.batch_logs import checksums_of, damage_of
from windrow.spark.checkpoint.repair import planned_repair
from windrow.spark.checkpoint.survey import quick_survey, survey, surveyed_directories
from windrow.spark.source.file_log import Entry, FileLog
from windrow.spark.stage.state_files import BucketFiles, Contents, StateCommits, Version

BATCHES = 4
FIRST, SECOND = "0.3", "0.5"
"""Stages and buckets that have state."""


def write(path: Path, content: bytes) -> None:
    """A file with Hadoop's checksums beside it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    sums = [zlib.crc32(content[at : at + 512]) for at in range(0, len(content), 512)]
    checksums_of(path).write_bytes(b"crc\0" + struct.pack(f">i{len(sums)}I", 512, *sums))


@pytest.fixture
def home(tmp_path):
    """Four batches that are over; the second bucket lives on the segment of batch 2 to the end."""
    directory = tmp_path / "checkpoint" / "pipeline-1"
    spark = directory / "spark"
    write(spark / "metadata", b'{"id":"x"}')
    (directory.parent / "q").mkdir()
    (directory.parent / "q" / "windrow.json").write_text(
        json.dumps({"version": 1, "fingerprint": "f", "run": "r", "buckets": [0, 1]})
    )
    known = {"version": 1, "run": "r", "members": ["q", None], "left": []}
    (directory / "pipeline.json").write_text(json.dumps(known))
    files = [tmp_path / f"{batch}.csv" for batch in range(BATCHES)]
    for file in files:
        file.touch()
    log = FileLog(directory / "streams" / "s.log")
    log.append([Entry(str(f), batch=batch) for batch, f in enumerate(files)])
    for batch in range(BATCHES):
        lines = ["v1", json.dumps({"at": "x" * 600}), json.dumps({"S": batch + 1})]
        write(spark / "offsets" / str(batch), "\n".join(lines).encode())
        write(spark / "commits" / str(batch), b'v1\n{"nextBatchWatermarkMs":0}')
    contents = {FIRST: Contents(), SECOND: Contents()}
    for batch in range(BATCHES):
        named = {}
        for key, before in contents.items():
            files = BucketFiles(directory / "state", *map(int, key.split(".")))
            kept = batch < 3 or key == FIRST
            put = {f"r{batch}": pa.record_batch({"k": np.arange(200) + batch})} if kept else {}
            drop = [f"r{batch - 1}"] if put else []
            saved = Saved(put, drop, {"now": batch})
            named[key], contents[key] = files.write(batch, before, saved)
        StateCommits(directory / "state").publish(batch, Version(named))
    return directory


def state(home: Path, key: str, batch: int) -> str:
    """The file of state that a micro-batch wrote."""
    (path,) = (home / "state" / key).glob(f"{batch:08d}-*")
    return str(path.relative_to(home))


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def remove(path: Path) -> None:
    path.unlink()


def test_a_whole_checkpoint_has_no_problems_and_needs_no_repair(home):
    found = survey(home)
    assert (found.problems, found.whole, found.last) == ((), 3, 3)
    assert planned_repair(home) is None
    assert surveyed_directories(home.parent) == [home]


def test_a_batch_that_was_begun_and_not_ended_is_no_damage(home):
    (home / "spark" / "commits" / "3").unlink()
    flip(home / state(home, FIRST, 3))  # it is written again
    assert survey(home).problems == ()
    assert survey(home).whole == 2


def test_a_note_that_is_missing_of_a_batch_after_which_another_was_begun_is_no_damage(home):
    for batch in (2, 3):
        (home / "spark" / "commits" / str(batch)).unlink()
    assert survey(home).problems == ()
    assert survey(home).whole == 2


@pytest.mark.parametrize("damage", [cut, flip, remove])
@pytest.mark.parametrize(
    ("file", "whole", "kept"),
    [
        ("spark/offsets/3", 2, {"offsets/2", "commits/2"}),
        ("spark/commits/3", 2, {"offsets/3", "commits/2"}),
        ("state/commits/3.json", 2, {"offsets/3", "commits/2"}),
        ("state/commits/1.json", 3, {"offsets/3", "commits/3"}),
        ((FIRST, 3), 2, {"offsets/3", "commits/2"}),
        ((SECOND, 2), 1, {"offsets/2", "commits/1"}),  # the one after needs it too
        ((FIRST, 1), 3, {"offsets/3", "commits/3"}),
    ],
)
def test_a_damaged_file_is_named_and_repair_goes_back_to_the_last_whole_batch(
    home, file, whole, kept, damage
):
    if (file, damage) in [("spark/commits/3", remove), ("state/commits/1.json", remove)]:
        pytest.skip("nobody needs it")
    if isinstance(file, tuple):
        file = state(home, *file)
    damage(home / file)
    found = survey(home)
    assert home / file in {problem.path for problem in found.problems}
    assert (found.whole, found.hopeless) == (whole, ())
    repair = planned_repair(home)
    assert repair is not None
    assert repair.repeated == (None if whole == 3 else (whole + 1, 3))
    before = {p.relative_to(home) for p in home.rglob("*") if p.is_file()}
    place = repair.carry_out()
    if repair.moves:
        assert place == home / "removed-1"
        moved = {p.relative_to(place) for p in place.rglob("*") if p.is_file()}
        after = {p.relative_to(home) for p in home.rglob("*") if p.is_file()} - {
            (place / p).relative_to(home) for p in moved
        }
        assert moved | after == before, "nothing is lost"
    newest = {
        f"{log}/{max(int(p.name) for p in (home / 'spark' / log).glob('[0-9]*'))}"
        for log in ("offsets", "commits")
    }
    assert newest == kept
    assert (survey(home).problems, survey(home).whole) == ((), whole)


def test_if_no_batch_is_whole_everything_is_read_again(home):
    for batch in range(BATCHES):
        flip(home / state(home, FIRST, batch))
    repair = planned_repair(home)
    assert repair is not None
    assert repair.repeated == (0, 3)
    repair.carry_out()
    assert not (home / "spark").exists()
    assert not (home / "state").exists()
    assert (survey(home).problems, survey(home).last) == ((), -1)


def test_metadata_that_is_damaged_is_written_anew(home):
    cut(home / "spark" / "metadata")
    repair = planned_repair(home)
    assert repair is not None
    assert repair.repeated is None
    repair.carry_out()
    assert set(json.loads((home / "spark" / "metadata").read_text())) == {"id"}
    assert survey(home).problems == ()


def damage_log(home: Path) -> None:
    path = home / "streams" / "s.log"
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join([lines[0], "{broken\n", *lines[2:]]))


def lose_a_file(home: Path) -> None:
    flip(home / state(home, SECOND, 2))
    (home.parents[1] / "3.csv").unlink()


def forget_batches(home: Path) -> None:
    """As Spark does after some."""
    for name in ("spark/offsets/0", "spark/commits/0", "state/commits/0.json"):
        (home / name).unlink()
    for batch in range(1, BATCHES):
        flip(home / state(home, FIRST, batch))


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda home: cut(home / "../q/windrow.json"), r"windrow\.json: .*cut short"),
        (lambda home: remove(home / "../q/windrow.json"), r"windrow\.json: .*missing"),
        (lambda home: cut(home / "pipeline.json"), r"pipeline\.json: .*cut short"),
        (damage_log, r"s\.log, line 2"),
        (
            lambda home: remove(home / "streams" / "s.log"),
            "it lacks entries: the offsets count 4",
        ),
        (lose_a_file, r"3\.csv: .*must be read again for batch 3"),
        (forget_batches, "batches before 1 are gone"),
    ],
)
def test_what_cannot_be_repaired_is_said(home, damage, words):
    damage(home)
    assert survey(home).hopeless
    with pytest.raises(StateError, match=words) as error:
        planned_repair(home)
    assert "cannot be repaired" in str(error.value)
    assert "restore all of the checkpoint from a copy, or start over" in str(error.value)


def test_a_last_line_that_is_cut_short_is_no_damage(home):
    with (home / "streams" / "s.log").open("a") as file:
        file.write('{"path": "/in/9", "si')
    assert survey(home).problems == ()


@pytest.mark.parametrize("damage", [cut, flip, remove])
def test_a_run_does_not_begin_a_batch_anew_whose_offsets_are_gone(home, damage):
    assert quick_survey(home) == []
    damage(home / "spark" / "offsets" / "3")
    assert [problem.path.name for problem in quick_survey(home)] == ["3"]


def test_no_checkpoint_is_said_to_be_none(tmp_path):
    with pytest.raises(StateError, match="no checkpoint of a query"):
        surveyed_directories(tmp_path)


def test_checksums_are_those_of_every_stretch(tmp_path):
    write(tmp_path / "f", bytes(range(256)) * 9)
    assert damage_of(tmp_path / "f") == ""
    for at in (0, 511, 512, 2303):
        content = bytearray(bytes(range(256)) * 9)
        content[at] ^= 8
        (tmp_path / "f").write_bytes(content)
        assert f"after byte {at // 512 * 512}" in damage_of(tmp_path / "f")
    (tmp_path / "f").write_bytes(bytes(range(256)) * 9 + b"x")
    assert "differs" in damage_of(tmp_path / "f")
    (tmp_path / ".f.crc").write_bytes(b"no")
    assert "are damaged" in damage_of(tmp_path / "f")
