"""What a script's archive holds depends on the days, not on how they were put or who died."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import windrow
from windrow.archive.archive import Archive
from windrow.archive.errors import HalfwayError, StorageError
from windrow.archive.format.disk import Disk
from windrow.archive.lifetimes.lifetime_index import LifetimeIndex
from windrow.archive.versions.versions import Versions
from windrow.core.warnings import WindrowWarning

STREAM = "CREATE STREAM s (ts BIGINT, k STRING, v BIGINT);"
ARCHIVES = {
    "wave": "CREATE ARCHIVE m ON s KEY k WINDOW 6 MINUTES USING WATA(3) INTO '{}';",
    "lives": "CREATE VIEW pairs AS SELECT a.k, a.v, b.v AS w FROM s [RANGE 130 SECONDS] AS a, "
    "s [RANGE 200 SECONDS] AS b WHERE a.k = b.k AND a.v < b.v;"
    "CREATE ARCHIVE m ON pairs KEY k WINDOW 4 MINUTES USING GRID(2, 2) INTO '{}';",
}
INSTANTS = [*range(0, 600, 13), *range(1500, 1800, 17)]  # days 10 to 24 are empty


def rows(first: int, last: int) -> dict[str, list[object]]:
    ts = [t for t in INSTANTS if first <= t < last]
    return {"ts": ts, "k": [f"k{t % 3}" for t in ts], "v": ts}


def filled(kind: str, path, cuts, strategy: str = "upa") -> None:
    with windrow.connect(strategy=strategy) as db:
        db.execute(STREAM + ARCHIVES[kind].format(path))
        for first, last in zip([0, *cuts], [*cuts, 1800], strict=True):
            db.push("s", rows(first, last))
            db.advance(to=last - 1)


def contents(kind: str, path) -> Counter:
    archive = (Archive if kind == "wave" else LifetimeIndex).open(path)
    assert archive.verify() == []
    with archive.reader() as reader:
        names = [*archive.layout.schema.names, "_day"]
        return Counter(tuple(r.values()) for r in reader.scan(columns=names).to_pylist())


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    """By day: what a minute at a time gives."""
    found = {}
    for kind in ARCHIVES:
        path = tmp_path_factory.mktemp("whole") / kind
        filled(kind, path, list(range(60, 1800, 60)))
        found[kind] = contents(kind, path)
        assert len({row[-1] for row in found[kind]}) > 1
    return found


@pytest.mark.parametrize("kind", ARCHIVES)
@settings(max_examples=6)
@given(cuts=st.lists(st.integers(1, 1799), max_size=6, unique=True))
def test_how_many_days_are_put_at_once_does_not_matter(tmp_path_factory, expected, kind, cuts):
    path = tmp_path_factory.mktemp("cut") / kind
    filled(kind, path, sorted(cuts))
    assert contents(kind, path) == expected[kind]


@pytest.mark.parametrize("kind", ARCHIVES)
@pytest.mark.parametrize("strategy", ["nt", "direct"])
def test_every_strategy_archives_the_same(tmp_path, expected, kind, strategy):
    filled(kind, tmp_path / "m", [400, 1600], strategy)
    assert contents(kind, tmp_path / "m") == expected[kind]


@pytest.mark.parametrize("kind", ARCHIVES)
@pytest.mark.parametrize("cuts", [[300], [290, 1000]])
def test_a_writer_that_dies_between_two_versions_leaves_no_day_twice(
    tmp_path, monkeypatch, expected, kind, cuts
):
    publish, left = Versions.publish, 0

    def dying(versions, manifest):
        nonlocal left
        left -= 1
        if left < 0:
            raise StorageError("the power is gone")
        publish(versions, manifest)

    monkeypatch.setattr(Versions, "publish", dying)
    for survived in range(60):
        left, path = survived, tmp_path / str(survived)
        try:
            filled(kind, path, cuts)
        except (StorageError, HalfwayError):
            left = 1_000
            filled(kind, path, cuts)
            assert contents(kind, path) == expected[kind]
        else:
            break
    assert 2 < survived < 59


def kept_files(path) -> tuple[int, set[str]]:
    """How many versions there are, and the runs that are there though no version names them."""
    index = windrow.archive.open(path)
    named = {run.name for run in Versions(index.disk).newest().runs}
    stems = {name.rpartition(".")[0] for name in index.disk.names("runs")}
    retired = index.disk.names("retired")
    return len(Versions(index.disk).numbers()) + len(retired), stems - named


@pytest.mark.parametrize("kind", ARCHIVES)
def test_what_past_days_needed_is_removed_with_every_day(tmp_path, expected, kind):
    with windrow.connect() as db:
        db.execute(STREAM + ARCHIVES[kind].format(tmp_path / "m"))
        for first in range(0, 1800, 60):
            db.push("s", rows(first, first + 60))
            db.advance(to=first + 59)
            assert kept_files(tmp_path / "m") == (1, set())
    assert contents(kind, tmp_path / "m") == expected[kind]


@pytest.mark.parametrize("kind", ARCHIVES)
def test_a_reader_keeps_what_it_reads_until_it_is_closed(tmp_path, kind):
    path = tmp_path / "m"
    with windrow.connect() as db:
        db.execute(STREAM + ARCHIVES[kind].format(path))
        db.push("s", rows(0, 300))
        db.advance(to=299)
        with windrow.archive.open(path).reader() as reader:
            before = reader.scan().to_pylist()
            db.push("s", rows(300, 1700))
            db.advance(to=1699)
            assert kept_files(path)[1]
            assert reader.scan().to_pylist() == before != []
        db.push("s", rows(1700, 1800))
        db.advance(to=1799)
        assert kept_files(path) == (1, set())


@pytest.mark.parametrize("kind", ARCHIVES)
def test_a_vacuum_that_cannot_work_now_ends_no_run(tmp_path, monkeypatch, expected, kind):
    """A second one is at it, or files cannot be deleted: the day is in; the next one works."""
    path, delete = tmp_path / "m", Disk.delete

    def refusing(disk, name):
        if name.startswith("runs/"):
            raise StorageError(where=disk.where(name), found="Input/output error")
        delete(disk, name)

    with windrow.connect() as db:
        db.execute(STREAM + ARCHIVES[kind].format(path))
        db.push("s", rows(0, 300))
        disk = windrow.archive.open(path).disk
        other = disk.try_hold("vacuum.lock")
        db.push("s", rows(300, 400))
        disk.unlock(other)
        assert kept_files(path)[0] > 1
        monkeypatch.setattr(Disk, "delete", refusing)
        with pytest.warns(WindrowWarning, match="stay until the next day.*Input/output error"):
            db.push("s", rows(400, 500))
        monkeypatch.setattr(Disk, "delete", delete)
        db.push("s", rows(500, 600))
        assert kept_files(path) == (1, set())
        db.push("s", rows(600, 1800))
        db.advance(to=1799)
    assert contents(kind, path) == expected[kind]
