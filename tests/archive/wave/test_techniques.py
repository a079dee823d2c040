"""What each update technique writes, and when runs are merged."""

from __future__ import annotations

import hypothesis.strategies as st
import pytest
from hypothesis import given

from tests.archive.support.plain import SCHEMA, table
from windrow.archive.archive import Archive
from windrow.archive.format.disk import Disk, Written
from windrow.archive.format.layout import Layout
from windrow.archive.format.run_ref import RunRef
from windrow.archive.versions.manifest import Manifest
from windrow.archive.wave.operations import Add, Build, Copy, Delete, Drop, Pack, Rename
from windrow.archive.wave.techniques import (
    Copied,
    Draft,
    InPlace,
    Merged,
    PackedShadow,
    SimpleShadow,
    overgrown,
)
from windrow.archive.wave.wave import Index, Part, Settings, Wave

NOTHING = Written(0, 0)


def run(name: str, *days: int, rows: int = 10) -> RunRef:
    return RunRef(name, "arrow", tuple((day, rows) for day in days), None, NOTHING, NOTHING)


def carried_out(indexes, ahead, technique, *operations):
    draft = Draft(indexes, ahead)
    for operation in operations:
        draft.carry_out(operation)
    return {
        name: plan.parts if isinstance(plan, Index) else plan.pieces
        for name, plan in draft.finish(technique).items()
    }


OLD = run("old", 1, 2, 3)
NEW = run("new", 11)
INDEXES = {"I1": Index((1, 2, 3), (Part(OLD),)), "I2": Index((4,), (Part(run("other", 4)),))}
DEL_DAY = (Delete("I1", (1,)), Add("I1", (11,)))


def test_in_place_adds_the_new_run_and_masks_the_expired_day():
    done = carried_out(INDEXES, {11: [NEW]}, InPlace(2.0), *DEL_DAY)
    assert done["I1"] == (Part(OLD, (1,)), Part(NEW))
    assert done["I2"] == INDEXES["I2"].parts


def test_simple_shadow_copies_what_was_there_and_then_does_the_same():
    done = carried_out(INDEXES, {11: [NEW]}, SimpleShadow(2.0), *DEL_DAY)
    assert done["I1"] == (Copied(Part(OLD, (1,)), "I1"), Part(NEW))


def test_packed_shadow_merges_once_what_is_left_with_what_is_new():
    done = carried_out(INDEXES, {11: [NEW]}, PackedShadow(), *DEL_DAY)
    assert done["I1"] == (Merged((Part(OLD, (1,)), Part(NEW))),)


def test_building_takes_days_from_wherever_they_are_and_a_day_alone_is_not_written_again():
    done = carried_out(INDEXES, {11: [NEW]}, InPlace(2.0), Build("I1", (2, 3, 11)))
    assert done["I1"] == (Merged((Part(OLD, (1,)), Part(NEW))),)
    alone = carried_out(INDEXES, {11: [NEW]}, PackedShadow(), Drop("I1"), Build("I1", (11,)))
    assert alone["I1"] == (Part(NEW),)


def test_an_index_and_its_copy_share_what_is_written():
    operations = (Build("Temp", (2, 11)), Copy("Temp", "I1"), Add("I1", (3,)))
    done = carried_out(INDEXES, {11: [NEW]}, InPlace(9.0), *operations)
    whole = Merged((Part(OLD, (1, 3)), Part(NEW)))
    assert done["Temp"] == (whole,)
    assert done["I1"] == (whole, Merged((Part(OLD, (1, 2)),)))


def test_a_renamed_index_replaces_the_one_of_that_name():
    indexes = {**INDEXES, "T1": Index((2, 3), (Part(run("t", 2, 3)),))}
    done = carried_out(indexes, {11: [NEW]}, InPlace(2.0), Add("T1", (11,)), Rename("T1", "I1"))
    assert "T1" not in done
    assert done["I1"] == (Part(run("t", 2, 3)), Part(NEW))


def test_a_temporary_index_is_not_shadowed():
    indexes = {**INDEXES, "T1": Index((2, 3), (Part(run("t", 2, 3)),))}
    done = carried_out(indexes, {11: [NEW]}, SimpleShadow(2.0), Add("T1", (11,)))
    assert done["T1"] == (Part(run("t", 2, 3)), Part(NEW))


@given(
    st.lists(st.integers(1, 50), min_size=1, max_size=60),
    st.sampled_from([1.08, 1.5, 2.0, 4.0]),
)
def test_an_index_that_only_grows_keeps_within_its_room(sizes, growth):
    technique = InPlace(growth)
    pieces: tuple = ()
    for day, rows in enumerate(sizes):
        indexes = {"I1": Index(tuple(range(day)), tuple(pieces))}
        draft = Draft(indexes, {day: [run(str(day), day, rows=rows)]})
        draft.carry_out(Add("I1", (day,)) if day else Build("I1", (0,)))
        pieces = tuple(
            p if isinstance(p, Part) else Part(as_run(p, day))
            for p in draft.finish(technique)["I1"].pieces
        )
        first, *rest = pieces
        assert sum(p.rows for p in rest) <= (growth - 1) * first.rows
        assert sum(p.rows for p in pieces) == sum(sizes[: day + 1])


def as_run(piece: Merged, number: int) -> RunRef:
    days = sorted((day, rows) for part in piece.parts for day, rows in part.run.days)
    return RunRef(f"m{number}", "arrow", tuple(days), None, NOTHING, NOTHING)


def test_what_is_mostly_dead_is_merged():
    mostly = Part(run("r", 1, 2, 3), (1, 2))
    assert overgrown((mostly,), 2.0)
    assert not overgrown((mostly,), 3.0)


@pytest.mark.parametrize(
    ("technique", "written"),
    [("in-place", 100), ("simple shadow", 400), ("packed shadow", 500), ("packed at rest", 100)],
)
def test_entries_written_for_a_day_are_those_of_the_technique(technique, written, tmp_path):
    """DEL with one constituent of four days: the day; and a copy of three; or a rewrite of four."""
    archive = Archive.create(
        Disk(tmp_path),
        SCHEMA,
        "key",
        window=4,
        scheme="DEL",
        n=1,
        technique=technique,
        growth=9.0,
    )
    rows = [(str(i), i) for i in range(100)]
    for day in range(1, 5):
        archive.append(day, table(rows), now=day)
    before = set(archive.disk.names("runs"))
    archive.append(5, table(rows), now=5)
    new = {n.rpartition(".")[0] for n in set(archive.disk.names("runs")) - before}
    with archive._versions.lease() as lease:
        kept = {r.name: r.rows for r in lease.manifest.runs}
    assert sum(kept.get(name, 100) for name in new) == written  # not kept: the day by itself


def filled(tmp_path, days: int, technique=None, scheme="WATA", n=3) -> Archive:
    archive = Archive.create(
        Disk(tmp_path), SCHEMA, "key", window=7, scheme=scheme, n=n, technique=technique,
        growth=9.0,
    )  # fmt: skip
    for day in range(1, days + 1):
        archive.append(day, table([(str(i), day) for i in range(10)]), now=day)
    return archive


def test_wata_packs_a_constituent_when_its_last_day_is_in_and_rewrites_none_before(tmp_path):
    """W = 7, n = 3: three days to a constituent, one run for each until then."""
    archive = filled(tmp_path, 7)
    assert archive.stat().settings.technique == "packed at rest"
    seen = []
    for day in range(8, 14):
        archive.append(day, table([(str(i), day) for i in range(10)]), now=day)
        (index,) = (i for i in archive.stat().indexes if day in i.days)
        seen.append((len(index.days), index.runs))
        assert all(i.packed for i in archive.stat().indexes if i.name != index.name)
        assert archive.verify() == []
    assert seen == [(2, 2), (3, 1), (1, 1), (2, 2), (3, 1), (1, 1)]


def test_the_plan_shows_when_constituents_are_packed_and_that_is_when_they_are(tmp_path):
    archive = filled(tmp_path, 9)
    planned = {day: step.after for day, step in archive.plan(7)}
    for day, after in planned.items():
        before = {i.name: i.packed for i in archive.stat().indexes}
        archive.append(day, table([("k", day)] * 10), now=day)
        (index,) = (i for i in archive.stat().indexes if day in i.days)
        packed = len(index.days) > 1 and index.packed
        assert after == ((Pack(index.name),) if packed else ()), (day, before)
    assert sum(map(len, planned.values())) == 2


def test_data_can_be_queried_before_its_constituent_is_packed(tmp_path):
    archive = filled(tmp_path, 8)
    archive.append(9, table([("k", 9)]), now=9)
    added, packed = archive._versions.numbers()[-2:]
    with archive._versions.lease() as lease:
        assert lease.manifest.version == packed
    counts = [len(archive._versions.read(v).runs) for v in (added, packed)]
    assert counts[0] - counts[1] == 2  # three runs have become one
    seen = Wave.of(archive._versions.read(added)).constituents()
    assert sum(9 in index.days and len(index.parts) == 3 for index in seen.values()) == 1


def test_a_packing_that_did_not_come_to_be_is_made_up_for_by_the_next_day(tmp_path):
    archive = filled(tmp_path, 8)
    disk = archive.disk
    archive.append(9, table([("k", 9)]), now=9)
    newest = archive._versions.numbers()[-1]
    disk.delete(f"versions/{newest:020d}.json")  # as if the writer had died before it
    archive = Archive.open(disk)
    assert not all(i.packed for i in archive.stat().indexes)
    archive.append(10, table([("k", 10)]), now=10)
    assert all(i.packed for i in archive.stat().indexes)
    with archive.reader() as reader:
        assert len(reader.probe("k")) == 2


def test_an_index_that_has_outgrown_its_room_is_packed_after_its_day_can_be_queried(tmp_path):
    archive = Archive.create(
        Disk(tmp_path), SCHEMA, "key", window=21, scheme="WATA", n=3, growth=2.0
    )
    runs = []
    for day in range(1, 22):
        archive.append(day, table([("k", day)] * 10), now=day)
        runs.append(next(i.runs for i in archive.stat().indexes if day in i.days))
    assert runs[:13] == [1, 2, 1, 2, 3, 4, 1, 2, 3, 1, 1, 2, 1]  # of ten days the tenth packs all


def test_under_del_all_but_the_constituent_of_the_day_are_packed(tmp_path):
    archive = filled(tmp_path, 12, "packed at rest", "DEL", 2)
    for day in range(13, 20):
        archive.append(day, table([("k", day)] * 10), now=day)
        touched = {o.target for o in archive.plan(1)[0][1].transition}
        assert all(i.packed for i in archive.stat().indexes if i.name not in touched)


def test_a_wave_survives_json(tmp_path):
    settings = Settings(4, "DEL", 2, "in-place")
    operations = (*DEL_DAY, Build("T0", (3,)), Copy("T0", "T1"), Rename("T1", "I2"), Drop("T0"))
    wave = Wave(settings, 11, None, INDEXES, {12: (NEW,)}, operations, True, {"q": 4})
    manifest = wave.manifest(3, "token", Layout(SCHEMA, ("key",)), "arrow", {"key": "int8"})
    again = Manifest.from_json(manifest.to_json(), "here")
    assert again.to_json() == manifest.to_json()
    assert Wave.of(again) == wave
