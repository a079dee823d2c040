"""Which days are taken, kept waiting, passed over or refused, and what readers see of them."""

from __future__ import annotations

import sys

import pyarrow as pa
import pytest

from tests.archive.support.disks import Crash, mapped
from tests.archive.support.plain import SCHEMA, bag, table
from windrow.archive.archive import Archive
from windrow.archive.errors import ArchiveError, ConflictError, DayError, SchemeError
from windrow.archive.format.disk import Disk
from windrow.archive.runs.encoding import decode
from windrow.archive.runs.write import write_day
from windrow.archive.versions.pinned_reader import Range
from windrow.archive.wave.operations import apply_all


def archive_at(path, *, window=3, scheme="DEL", n=1, **more) -> Archive:
    return Archive.create(Disk(path), SCHEMA, "key", window=window, scheme=scheme, n=n, **more)


def days_seen(archive: Archive, now: int | None = None, *, soft: bool = False) -> list[int]:
    with archive.reader(now, soft=soft) as reader:
        return sorted(reader.scan(columns=["_day"])["_day"].to_pylist())


def test_what_is_dated_in_the_future_waits_and_expires_nothing(tmp_path):
    archive = archive_at(tmp_path)
    for day in (1, 2):
        archive.append(day, table([("a", day)]), now=day)
    archive.append(99_999, table([("a", 0)]))
    assert days_seen(archive) == [1, 2]
    archive.append(3, table([("a", 3)]), now=3)
    assert days_seen(archive) == [1, 2, 3]
    assert archive.stat().ahead == {99_999: 1}
    assert days_seen(archive, 99_999) == [99_999]


def test_a_day_may_come_in_pieces_before_its_time_and_not_after(tmp_path):
    archive = archive_at(tmp_path)
    archive.append(1, table([("a", 1)]))
    archive.append(1, table([("a", 2)]))
    assert days_seen(archive) == []
    assert days_seen(archive, 1) == [1, 1]
    archive.advance(1)
    assert days_seen(archive) == [1, 1]
    with pytest.raises(DayError, match="late records"):
        archive.append(1, table([("a", 3)]))


def test_days_that_are_passed_without_data_are_empty(tmp_path):
    archive = archive_at(tmp_path, window=5, n=2)
    archive.append(1, table([("a", 1)]), now=1)
    archive.append(4, table([("a", 4)]), now=4)
    assert days_seen(archive) == [1, 4]
    assert archive.stat().now == 4
    archive.append(5, table([]), now=6)
    assert days_seen(archive) == [4]


def test_days_may_come_out_of_order_before_the_window_reaches_them(tmp_path):
    archive = archive_at(tmp_path)
    for day in (3, 1, 2):
        archive.append(day, table([("a", day)]))
    archive.advance(3)
    assert days_seen(archive) == [1, 2, 3]


def test_a_jump_further_than_the_window_is_long_forgets_everything_before(tmp_path):
    archive = archive_at(tmp_path, scheme="REINDEX++", n=2, window=4)
    for day in (1, 2, 3):
        archive.append(day, table([("a", day)]), now=day)
    archive.append(1_000_000, table([("a", 5)]))
    before = archive.stat().version
    archive.advance(1_000_000)
    assert days_seen(archive) == [1_000_000]
    assert archive.stat().version - before <= 2
    assert archive.verify() == []


def test_data_that_would_have_expired_before_it_is_seen_is_refused(tmp_path):
    with pytest.raises(DayError, match="expire before anyone can read them"):
        archive_at(tmp_path).append(1, table([("a", 1)]), now=4)


def test_the_window_does_not_move_back_and_staying_is_no_version(tmp_path):
    archive = archive_at(tmp_path)
    archive.append(5, table([("a", 1)]), now=5)
    version = archive.stat().version
    assert archive.advance(5) == version
    with pytest.raises(DayError, match="cannot move back"):
        archive.advance(4)
    with pytest.raises(DayError, match="older ones have expired"):
        archive.reader(now=4)


def test_an_expired_day_is_seen_by_a_soft_reader_only(tmp_path):
    archive = archive_at(tmp_path, scheme="WATA", n=2, window=4)
    for day in range(1, 7):
        archive.append(day, table([("a", day)]), now=day)
    assert days_seen(archive) == [3, 4, 5, 6]
    assert days_seen(archive, soft=True) == [1, 2, 3, 4, 5, 6]


def test_a_batch_that_is_repeated_is_taken_once(tmp_path):
    archive = archive_at(tmp_path)
    both = {1: table([("a", 1)]), 2: table([("b", 2)])}
    version = archive.append_days(both, batch=("query", 7))
    assert archive.append_days(both, batch=("query", 7)) == version
    archive.append_days({2: table([("c", 2)])}, batch=("another", 7))
    assert days_seen(archive, 2) == [1, 2, 2]


def test_the_data_of_several_days_is_kept_whole_or_not_at_all(tmp_path):
    archive = archive_at(tmp_path)
    wrong = pa.table({"key": ["a"], "other": [1]})
    with pytest.raises(ArchiveError, match="no value"):
        archive.append_days({1: table([("a", 1)]), 2: wrong})
    assert archive.stat().ahead == {}


def test_data_of_types_that_do_not_fit_is_refused_and_those_that_fit_are_converted(tmp_path):
    archive = archive_at(tmp_path)
    with pytest.raises(
        ArchiveError, match="column value: expected values of the type int64; found string"
    ):
        archive.append(1, pa.table({"key": ["a"], "value": ["no number"]}))
    narrow = pa.table(
        {"value": pa.array([1], pa.int8()), "key": pa.array(["a"]).dictionary_encode()}
    )
    archive.append(1, narrow, now=1)
    with archive.reader() as reader:
        assert bag(reader.scan()) == [("a", 1)]


def test_columns_are_chosen_and_unknown_ones_are_told(tmp_path):
    archive = archive_at(tmp_path)
    archive.append(1, table([("a", 1), ("b", 2)]), now=1)
    with archive.reader() as reader:
        assert reader.probe("b", columns=["value"]).to_pylist() == [{"value": 2}]
        assert reader.probe("b", columns=["_day", "value"]).to_pylist() == [{"_day": 1, "value": 2}]
        with pytest.raises(ArchiveError, match="expected some of key, value, _day; found other"):
            reader.scan(columns=["other"])


def test_a_closed_reader_says_so_and_its_answers_stay(tmp_path):
    archive = archive_at(tmp_path)
    archive.append(1, table([("a", 1)]), now=1)
    with archive.reader() as reader:
        answer = reader.probe("a")
    with pytest.raises(ArchiveError, match="closed"):
        reader.probe("a")
    archive.advance(9)
    archive.vacuum()
    assert decode(answer).to_pylist() == [{"key": "a", "value": 1}]


def test_there_is_one_archive_to_a_directory(tmp_path):
    archive_at(tmp_path)
    with pytest.raises(ConflictError, match="open it, or choose another path"):
        archive_at(tmp_path)
    with pytest.raises(ArchiveError, match="no version of one"):
        Archive.open(tmp_path / "elsewhere")


@pytest.mark.parametrize(
    "wrong",
    [
        {"scheme": "LRU"},
        {"n": 4},
        {"n": 0},
        {"scheme": "WATA", "n": 1},
        {"technique": "in place"},
        {"growth": 1.0},
        {"format": "csv"},
        {"window": 40_000, "n": 2},
    ],
    ids=str,
)
def test_settings_that_cannot_be_are_refused(wrong, tmp_path):
    with pytest.raises((ArchiveError, SchemeError)):
        archive_at(tmp_path / "a", **wrong)
    assert not (tmp_path / "a" / "versions").exists()


@pytest.mark.parametrize("form", ["arrow", "parquet"])
def test_keys_with_several_values_and_composite_keys_are_kept_through_merges(form, tmp_path):
    schema = pa.schema([("words", pa.list_(pa.string())), ("doc", pa.int64())])
    archive = Archive.create(
        Disk(tmp_path),
        schema,
        ["words", "doc"],
        window=3,
        scheme="REINDEX",
        n=1,
        format=form,
    )
    for day in (1, 2, 3, 4):
        data = pa.table({"words": [["war", "peace"], [f"day {day}"]], "doc": [day, 10]}, schema)
        archive.append(day, data, now=day)
    with archive.reader() as reader:
        wars = [(["war", "peace"], day) for day in (2, 3, 4)]
        assert bag(reader.probe(("war",))) == wars
        assert bag(reader.probe(("war", 3))) == wars[1:2]
        assert bag(reader.probe([("war",), ("war", 3), ("peace", 4)])) == wars
        assert bag(reader.probe(Range(("day 3",), ("peace", 3)))) == [
            (["day 3"], 10),
            (["day 4"], 10),
            *wars[:2],
        ]
        assert len(reader.scan(3, 3)) == 2


def test_the_plan_of_coming_days_is_what_they_then_ask_for(tmp_path):
    archive = archive_at(tmp_path, scheme="REINDEX+", n=2, window=6)
    archive.append(1, table([("a", 1)]), now=1)
    planned = archive.plan(8)
    assert [day for day, _ in planned] == list(range(2, 10))
    for day, step in planned:
        assert archive.plan()[0] == (day, step)
        archive.advance(day)


@pytest.mark.parametrize("scheme", ["REINDEX++", "RATA"])
def test_a_plan_leaves_out_what_was_done_while_the_day_was_awaited(scheme, tmp_path):
    archive = archive_at(tmp_path, scheme=scheme, n=4, window=10)
    archive.append_days({day: table([("a", day)]) for day in range(2, 12)}, now=11)
    state = {index.name: index.days for index in archive.stat().indexes}
    for day, step in archive.plan(15):
        assert archive.plan()[0][1].before == ()
        assert archive.plan()[0][1].operations == step.operations[len(step.before) :]
        state = apply_all(state, archive.plan()[0][1].operations + archive.plan(2)[1][1].before)
        archive.advance(day)
        assert state == {index.name: index.days for index in archive.stat().indexes}


def test_a_days_data_longer_than_is_sorted_at_once_is_one_run(tmp_path, monkeypatch):
    monkeypatch.setattr("windrow.archive.wave.writer.AT_ONCE.value", 1_000)
    archive = archive_at(tmp_path, technique="in-place")
    rows = [(str(i % 7), i) for i in range(1_000)]
    archive.append(1, table(rows), now=1)
    archive.append(2, table(rows).to_batches(max_chunksize=10), now=2)
    assert [index.runs for index in archive.stat().indexes] == [2]
    assert archive.verify() == []
    with archive.reader() as reader:
        assert bag(reader.probe("3", 1, 1)) == sorted((r for r in rows if r[0] == "3"), key=repr)
    archive.vacuum()
    assert len(archive.disk.names("runs")) == 4


def test_runs_that_others_write_for_a_session_are_safe_from_vacuum_and_kept_by_its_commit(tmp_path):
    archive = archive_at(tmp_path, window=3)
    with archive.session() as session:
        layout, runs, chosen = session.base.layout, [], []
        for task in range(3):
            rows = [(f"k{i % 5}", i) for i in range(2_000)]
            entries = layout.entries(table(rows), 1)
            elsewhere = Disk(tmp_path)
            ref, encodings = write_day(
                elsewhere, layout, {}, entries, session.name(f"task{task}"), "arrow"
            )
            runs.append(ref)
            chosen.append(encodings)
        archive.vacuum()
        session.commit({1: runs}, now=1, encodings=chosen)
    assert archive.verify() == []
    assert archive.stat().encodings == {"key": "int8"}
    with archive.reader() as reader:
        assert len(reader.probe("k3")) == 3 * 400


def test_work_that_a_crash_left_undone_is_done_when_the_window_is_told_to_stay(tmp_path):
    archive = archive_at(tmp_path, scheme="RATA", n=2, window=4)
    with pytest.raises(Crash):
        Archive.open(StopsAtSecondVersion(tmp_path)).append(1, table([("a", 1)]), now=1)
    version = archive.stat().version
    assert {index.name for index in archive.stat().indexes} == {"I1", "I2"}
    assert archive.advance(1) == version + 1
    assert {index.name for index in archive.stat().indexes} > {"I1", "I2"}
    assert archive.advance(1) == version + 1
    assert archive.verify() == []


class StopsAtSecondVersion(Disk):
    links = 0

    def link(self, name: str, new: str) -> None:
        self.links += 1
        if self.links == 2:
            raise Crash
        super().link(name, new)


@pytest.mark.skipif(sys.platform != "linux", reason="mappings are listed on Linux")
@pytest.mark.parametrize("scheme", ["DEL", "REINDEX"])
def test_a_writer_that_never_reads_lets_go_of_runs_that_were_merged_and_removed(scheme, tmp_path):
    archive = archive_at(tmp_path, scheme=scheme, technique="packed shadow")
    for day in range(1, 12):
        archive.append(day, table([("a", day), ("b", day)]), now=day)
        archive.vacuum()
    assert mapped(tmp_path) == []


@pytest.mark.parametrize("form", ["arrow", "parquet"])
def test_a_record_whose_search_field_has_no_value_is_found_by_scans(form, tmp_path):
    schema = pa.schema([("words", pa.list_(pa.string())), ("doc", pa.int64())])
    archive = Archive.create(tmp_path, schema, "words", window=2, scheme="DEL", n=1, format=form)
    words = [[], ["a", "b"], None, ["a", None], [], ["c"]]
    for day in (1, 2, 3):
        archive.append(day, pa.table({"words": words, "doc": range(6)}, schema), now=day)
    found = list(zip(words, range(6), strict=True))
    with archive.reader() as reader:
        assert bag(reader.scan(3)) == sorted(found, key=repr)
        assert bag(reader.probe("a", 2, 2)) == sorted([found[1], found[3]], key=repr)
    assert archive.verify() == []


def test_names_that_differ_by_case_only_are_refused(tmp_path):
    for name, other in (("K", "k"), ("_Day", "_day"), ("_EXP", "_exp")):
        schema = pa.schema([("k", pa.string()), (name, pa.int64())])
        with pytest.raises(
            ArchiveError, match=f"column {name}: expected a name .* from {other} by"
        ):
            Archive.create(tmp_path / name, schema, "k", window=3, scheme="DEL", n=1)
