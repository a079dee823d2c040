"""What the driver does with a micro-batch of an archived query: once, wherever it dies."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from windrow.archive.archive import Archive
from windrow.archive.errors import ConflictError
from windrow.archive.lifetimes.lifetime_index import LifetimeIndex
from windrow.archive.versions.versions import Versions
from windrow.columns.delta import Delta
from windrow.core.errors import StateError
from windrow.core.time import Clock
from windrow.engine.day_store import store_of
from windrow.plan.program import compile_script
from windrow.result_files.commits import commits
from windrow.spark.archive import filling as module
from windrow.spark.archive.filling import Filling
from windrow.spark.stage.stage_task import Report

STREAM = "CREATE STREAM s (ts BIGINT, k STRING);"
WAVE = "CREATE ARCHIVE m ON s KEY k WINDOW 3 MINUTES USING WATA(2) INTO '{}';"
LIVES = (
    "CREATE VIEW v AS SELECT * FROM s [RANGE 2 MINUTES];"
    "CREATE ARCHIVE m ON v KEY k WINDOW 3 MINUTES USING GRID(2, 2) INTO '{}';"
)
KINDS = {"wave": WAVE, "lives": LIVES}
BATCHES = [(0, 50), (50, 100), (100, 101), (101, 290), (290, 300), (300, 400), (1000, 1170)]


def declared(kind, path):
    (archive,) = compile_script(STREAM + KINDS[kind].format(path)).catalog.archives
    return archive


def delta(first: int, last: int) -> Delta:
    ts = np.arange(first, last, 3)
    rows = pa.record_batch({"ts": ts, "k": [f"k{t % 5}" for t in ts.tolist()]})
    return Delta.insertions(ts, rows, ts + 120)


def micro_batch(filling: Filling, first: int, last: int) -> list[Report]:
    """The rows of two buckets as tasks report them, and time up to ``last``, exclusive."""
    whole = delta(first, last)
    halves = [whole.take(np.arange(i, len(whole), 2)) for i in range(2)]
    counts = {"rows_in": 0, "late": 1, "cut": 2}
    hide = filling.delivery.hide
    return [Report(last - 1, counts, hide([half])) for half in halves]


def contents(kind, path) -> Counter:
    archive = (Archive if kind == "wave" else LifetimeIndex).open(path)
    assert archive.verify() == []
    with archive.reader() as reader:
        found = reader.scan(columns=["ts", "k", "_day"]).to_pylist()
    return Counter(tuple(row.values()) for row in found)


def filled(kind, path, home) -> Filling:
    home.mkdir(exist_ok=True)
    filling = Filling(declared(kind, path), home, "run")
    filling.prepare()
    for number, (first, last) in enumerate(BATCHES):
        filling.publish(number, micro_batch(filling, first, last))
    return filling


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    """What days put in one by one give: those before 1140, when time has come to 1169."""
    found = {}
    for kind in KINDS:
        path = tmp_path_factory.mktemp("expected") / kind
        store = store_of(declared(kind, path))
        whole = [delta(first, last) for first, last in BATCHES]
        for day in range(19):
            store.put(day, {day: [part.filter(part.ts // 60 == day) for part in whole]})
        found[kind] = contents(kind, path)
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_days_that_are_over_are_in_and_the_rest_waits(tmp_path, expected, kind):
    filling = filled(kind, tmp_path / "m", tmp_path / "home")
    assert contents(kind, tmp_path / "m") == expected[kind] != {}
    assert filling.rows_waiting() == 10
    noted = commits(tmp_path / "home")
    assert [(c.late, c.cut) for c in noted] == [(2, 4)] * len(BATCHES)
    found = commits(tmp_path / "home")
    assert sum(c.rows_out for c in found) == sum(len(delta(*b)) for b in BATCHES) - 10
    assert [c.now for c in found] == [last - 1 for _, last in BATCHES]
    named = {p.name for p in module.load_waiting(tmp_path / "home").pieces}
    assert {p.name for p in (tmp_path / "home").glob(".*")} == named


@pytest.mark.parametrize("kind", KINDS)
def test_a_driver_that_dies_anywhere_leaves_every_row_once(tmp_path, monkeypatch, expected, kind):
    """It dies at the k-th file that it would publish, and Spark repeats what it has not noted."""
    left = 0

    class DiedError(Exception):
        pass

    def mortal(call):
        def until(*args):
            nonlocal left
            left -= 1
            if left < 0:
                raise DiedError
            return call(*args)

        return until

    monkeypatch.setattr(Versions, "publish", mortal(Versions.publish))
    monkeypatch.setattr(module, "publish", mortal(module.publish))
    monkeypatch.setattr(module, "remove_unnamed", mortal(module.remove_unnamed))
    archive, home, survived = tmp_path / "m", tmp_path / "home", 0
    deaths = number = 0
    home.mkdir()
    while number < len(BATCHES):
        left, survived = survived, (survived + 1) % 7
        try:
            filling = Filling(declared(kind, archive), home, "run")
            filling.prepare()
            while number < len(BATCHES):
                filling.publish(number, micro_batch(filling, *BATCHES[number]))
                number += 1
        except DiedError:
            deaths += 1
    assert deaths > 10
    assert contents(kind, archive) == expected[kind]
    assert filling.rows_waiting() == 10


def test_what_an_archive_has_is_passed_over_by_a_query_from_the_beginning(tmp_path, expected):
    filled("wave", tmp_path / "m", tmp_path / "home")
    before = Archive.open(tmp_path / "m").stat().version
    again = filled("wave", tmp_path / "m", tmp_path / "other")
    assert Archive.open(tmp_path / "m").stat().version == before
    assert again.rows_waiting() == 10
    assert sum(c.rows_out for c in commits(tmp_path / "other")) == 0


def test_a_day_in_very_many_micro_batches_waits_in_few_files(tmp_path):
    home = tmp_path / "home"
    home.mkdir()
    filling = Filling(declared("wave", tmp_path / "m"), home, "run")
    for number in range(80):
        first = 1 + number * 3 % 50
        filling.publish(number, micro_batch(filling, first, first + 6))
    assert len(list(home.glob(".*"))) <= module.MANY
    assert filling.rows_waiting() == 160
    filling.publish(80, micro_batch(filling, 60, 61))
    assert sum(contents("wave", tmp_path / "m").values()) == 160


def test_days_that_are_still_to_come_by_the_wall_clock_wait_for_it(tmp_path):
    home, shown = tmp_path / "home", 100
    home.mkdir()
    on_times = replace(declared("wave", tmp_path / "m"), clock=Clock.TIMESTAMP)
    filling = Filling(on_times, home, "run", wall=lambda: shown)
    filling.publish(0, micro_batch(filling, 0, 100))
    filling.publish(1, micro_batch(filling, 1000, 1170))  # from the future: what is there must stay
    assert {day for _, _, day in contents("wave", tmp_path / "m")} == {0}
    shown = 119
    filling.publish(2, micro_batch(filling, 1170, 1171))
    assert {day for _, _, day in contents("wave", tmp_path / "m")} == {0, 1}
    shown = 1170
    filling.publish(3, micro_batch(filling, 1171, 1172))
    assert {day for _, _, day in contents("wave", tmp_path / "m")} == {16, 17, 18}


def test_an_archive_that_lost_days_is_refused(tmp_path):
    filled("wave", tmp_path / "m", tmp_path / "home")
    with pytest.raises(StateError, match="lacks days"):
        filled("wave", tmp_path / "elsewhere", tmp_path / "home")


def test_another_writer_that_was_faster_is_no_reason_to_give_up(tmp_path, monkeypatch, expected):
    publish, times = Versions.publish, 0

    def slow(versions, manifest):
        nonlocal times
        times += 1
        if times % 3 == 0:
            raise ConflictError("somebody was faster")
        publish(versions, manifest)

    monkeypatch.setattr(Versions, "publish", slow)
    filled("wave", tmp_path / "m", tmp_path / "home")
    assert times > 9
    assert contents("wave", tmp_path / "m") == expected["wave"]
