"""Bytes that are not those that were written, and manifests that come from elsewhere."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import resource
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from tests.archive.support.edited import newest, signed
from tests.archive.support.plain import SCHEMA, named, table
from windrow.archive.archive import Archive, open_archive
from windrow.archive.errors import ArchiveError, DamagedError, StorageError, translate_os_errors
from windrow.archive.format.disk import Disk, Written
from windrow.archive.lifetimes.lifetime_index import LifetimeIndex
from windrow.archive.lifetimes.partition_grid import Grid
from windrow.archive.versions.manifest import Manifest
from windrow.core.errors import WindrowError

DAYS = 5


def archive_of_days(path: Path, **options: Any) -> Archive:
    chosen = {"window": 4, "scheme": "REINDEX++", "n": 2, **options}
    archive = Archive.create(Disk(path), SCHEMA, "key", **chosen)
    for day in range(1, DAYS + 1):
        rows = [(f"k{i % 7}", i) for i in range(1100 if day == 4 else 3)]
        archive.append_days({day: table(rows)}, now=day, batch=("source", day))
    archive.append(DAYS + 3, table([("late", 1)]))
    archive.vacuum()
    return archive


def index_of_lifetimes(path: Path) -> LifetimeIndex:
    index = LifetimeIndex.create(Disk(path), SCHEMA, "key", longest=8, interval=2, grid=Grid(2, 2))
    for now in (2, 4, 6):
        index.insert(now, table([("a", now), ("b", now)]), pa.array([now + 3, now + 8]))
    index.migrate(grid=Grid(1, 2), how="drain")
    index.insert(8, table([("a", 8)]), pa.array([12]))
    index.vacuum()
    return index


KINDS = [archive_of_days, index_of_lifetimes]


@pytest.mark.parametrize("make", KINDS)
def test_no_flipped_bit_of_a_manifest_goes_unnoticed(make, tmp_path):
    text = newest(make(tmp_path)).read_bytes()
    for place in range(len(text)):
        for bit in range(place % 3, 8, 3):
            flipped = bytearray(text)
            flipped[place] ^= 1 << bit
            with pytest.raises(ArchiveError):
                Manifest.from_json(bytes(flipped), "here")


def changes(value: Any) -> Iterator[Any]:
    """The same JSON with something of it gone, or something else in its place."""
    if isinstance(value, dict | list):
        keys = list(value) if isinstance(value, dict) else list(range(min(len(value), 2)))
        for key in keys:
            for part in (None, 7.5, "..", [["x"]]):
                changed = value.copy()
                changed[key] = part
                yield changed
            for part in changes(value[key]):
                changed = value.copy()
                changed[key] = part
                yield changed
            rest = value.copy()
            del rest[key]
            yield rest


@pytest.mark.parametrize("make", KINDS)
def test_a_manifest_that_makes_no_sense_is_called_damaged_wherever_it_does_not(make, tmp_path):
    archive = make(tmp_path / "a")
    path, told = newest(archive), 0
    whole = path.read_bytes()
    value = json.loads(whole)
    del value["checksum"]
    Manifest.from_json(signed(value), "here")
    for changed in changes(value):
        path.write_bytes(signed(changed))
        try:
            open_archive(archive.disk).verify()
        except WindrowError:
            told += 1
    assert told > 200


def test_a_manifest_is_the_version_that_its_name_says(tmp_path):
    archive = archive_of_days(tmp_path)
    path = newest(archive)
    path.with_name(f"{int(path.stem) + 1:020d}.json").write_bytes(path.read_bytes())
    with pytest.raises(DamagedError, match=f"found version {int(path.stem)}"):
        Archive.open(tmp_path)


@pytest.mark.parametrize("name", ["../secret", "/etc/secret", "a/b", "", ".", "..", "a.b", "a\\b"])
@pytest.mark.parametrize("field", ["name", "format"])
def test_a_manifest_cannot_name_files_outside_the_archive(field, name, tmp_path):
    archive = archive_of_days(tmp_path / "a")
    value = json.loads(newest(archive).read_bytes())
    del value["checksum"]
    old = value["runs"][0][field]
    value["runs"][0][field] = name
    if field == "name":
        value["body"] = json.loads(json.dumps(value["body"]).replace(old, name.replace("\\", "/")))
    newest(archive).write_bytes(signed(value))
    with pytest.raises(DamagedError, match="no run's name"):
        Archive.open(tmp_path / "a")


def test_files_that_others_left_in_the_folders_disturb_nobody(tmp_path):
    archive = archive_of_days(tmp_path)
    copy = newest(archive).with_name("00000000000000000003 (1).json")
    copy.write_text("whatever")
    for folder in ("versions", "leases", "retired"):
        (tmp_path / folder / ".DS_Store").write_text("")
        (tmp_path / folder / "a-b.json").write_text("{}")
    archive.append(DAYS + 1, table([("a", 1)]), now=DAYS + 1)
    archive.vacuum()
    assert Archive.open(tmp_path).verify() == []
    assert copy.exists()
    assert (tmp_path / "leases" / ".DS_Store").exists()


def damaged(archive: Archive, suffix: str) -> Path:
    """The largest run of the newest version with a flipped bit."""
    names = named(archive)
    files = (p for p in (archive.disk.root / "runs").glob(f"*{suffix}") if p.stem in names)
    path = max(files, key=lambda p: p.stat().st_size)
    flipped = bytearray(path.read_bytes())
    flipped[len(flipped) // 2] ^= 1
    path.write_bytes(flipped)
    return path


@pytest.mark.parametrize("suffix", ["arrow", "directory"])
@pytest.mark.parametrize("technique", ["packed shadow", "simple shadow"])
def test_damage_is_not_copied_under_a_checksum_that_vouches_for_it(technique, suffix, tmp_path):
    archive = archive_of_days(tmp_path, scheme="DEL", n=1, technique=technique)
    path = damaged(archive, suffix)
    archive = Archive.open(archive.disk)
    with pytest.raises(DamagedError, match=path.name):
        archive.append(DAYS + 1, table([("a", 1)]), now=DAYS + 1)
    with pytest.raises(DamagedError, match=path.name):
        archive.migrate(n=2)
    assert [problem.where for problem in archive.verify()] == [f"runs/{path.name}"]


def test_damage_does_not_get_into_another_partitioning_either(tmp_path):
    index = index_of_lifetimes(tmp_path)
    for path in (tmp_path / "runs").glob("*.arrow"):
        flipped = bytearray(path.read_bytes())
        flipped[len(flipped) // 2] ^= 1
        path.write_bytes(flipped)
    with pytest.raises(DamagedError, match="checksum"):
        index.migrate(grid=Grid(2, 2))


@pytest.mark.parametrize("change", [lambda b: b[:-1], lambda b: b + b"x", lambda b: b""])
@pytest.mark.parametrize("suffix", ["arrow", "directory"])
def test_a_file_of_another_length_is_called_damaged_when_it_is_opened(suffix, change, tmp_path):
    archive = archive_of_days(tmp_path, scheme="DEL", n=1)
    path = damaged(archive, suffix)
    path.write_bytes(change(path.read_bytes()))
    archive = Archive.open(archive.disk)
    with archive.reader() as reader, pytest.raises(DamagedError, match=path.name):
        reader.scan()


@pytest.mark.parametrize("make", KINDS)
@pytest.mark.parametrize("suffix", ["arrow", "directory"])
def test_a_damaged_head_or_foot_is_no_error_of_three_libraries_down(suffix, make, tmp_path):
    archive = make(tmp_path)
    path = min((tmp_path / "runs").glob(f"*{suffix}"))
    whole = path.read_bytes()
    for place in (*range(0, len(whole), 61), *range(len(whole) - 40, len(whole))):
        flipped = bytearray(whole)
        flipped[place] ^= 16
        path.write_bytes(flipped)
        found = [problem.where for problem in open_archive(archive.disk).verify()]
        assert found == [f"runs/{path.name}"]
        if suffix == "directory":
            with contextlib.suppress(DamagedError), open_archive(archive.disk).reader() as reader:
                reader.sources()
                assert reader._live(None, None)


def test_a_sector_that_cannot_be_read_is_a_problem_that_verify_names(tmp_path):
    class FailingDisk(Disk):
        def sum(self, name: str) -> Written:
            if name == bad:
                with translate_os_errors(self.path(name)):
                    raise OSError(errno.EIO, os.strerror(errno.EIO))
            return super().sum(name)

    archive = archive_of_days(tmp_path)
    bad = f"runs/{min(named(archive))}.arrow"
    problems = Archive.open(FailingDisk(tmp_path)).verify()
    assert [problem.where for problem in problems] == [bad]
    assert "Input/output error" in str(problems[0])


def test_an_archive_may_have_more_runs_than_a_process_may_open_files(tmp_path):
    archive = Archive.create(
        Disk(tmp_path), SCHEMA, "key", window=60, scheme="DEL", n=1, technique="in-place",
        growth=1000.0,
    )  # fmt: skip
    for day in range(1, 61):
        archive.append(day, table([("a", day)]), now=day)
    assert len(named(archive)) == 60
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    open_now = len(list(Path("/proc/self/fd").iterdir()))
    with archive.reader() as reader:
        resource.setrlimit(resource.RLIMIT_NOFILE, (open_now + 20, limits[1]))
        try:
            assert len(reader.probe("a")) == 60
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, limits)


def test_too_many_open_files_are_told_with_what_to_do(tmp_path):
    archive = archive_of_days(tmp_path)
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, limits[1]))
    try:
        with pytest.raises(StorageError, match="ulimit"):
            archive.reader()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
