"""Which parts of files are read next: once each, whole rows only, and never another file's."""

from __future__ import annotations

import gzip
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from windrow.core.errors import InputError
from windrow.core.schema import Field, Schema, Type
from windrow.core.time import Clock, wall_clock
from windrow.plan.catalog import StreamDeclaration
from windrow.plan.nodes import FileSource
from windrow.streams.finished_files import ASKED, AT_REST, FinishedFiles
from windrow.streams.growing_files import LEFT_ALONE, SETTLING, Arrivals
from windrow.tables.readers import check_whole, read_file

SCHEMA = Schema((Field("ts", Type.BIGINT), Field("k", Type.BIGINT)))
HOUR, MINUTE = LEFT_ALONE // 1000, SETTLING // 1000


class Reader:
    """Reads what arrives, as a feed does; ``later`` moves its clock."""

    def __init__(self, directory: Path, form: str, *, patient: bool = False) -> None:
        source = FileSource(str(directory), form)
        self.declaration = StreamDeclaration("s", SCHEMA, 0, Clock.INTEGER, 0, source)
        self.later = 0
        self.arrivals = Arrivals(
            source, self.declaration, lambda: wall_clock() + self.later, patient=patient
        )

    def look(self) -> list[tuple[int, int] | str]:
        """The rows that have come, and what is refused."""
        found: list[tuple[int, int] | str] = []
        for arrival in self.arrivals.look():
            if arrival.refused:
                self.arrivals.gave_up(arrival)
                found.append(arrival.words)
                continue
            rows, after = [], None
            try:
                list(check_whole(arrival.path, self.declaration))
                for parsed in read_file(arrival.path, self.declaration, part=arrival.part):
                    rows += [tuple(r.values()) for r in parsed.rows.to_pylist()]
                    rows += [r.reason for r in parsed.rejected]
                    after = parsed.after
            except InputError as error:
                refusal = self.arrivals.note_failure(arrival, str(error), some=bool(rows))
                found += rows + ([refusal.words] if refusal else [])
            else:
                self.arrivals.took(arrival, after)
                found += rows
        return found + [a.words for a in self.arrivals.unfinished_rows()]


def test_a_file_that_grows_is_read_line_by_line_and_never_half_a_value(tmp_path):
    reader, file = Reader(tmp_path, "csv", patient=True), tmp_path / "a.csv"
    content = b"ts,k\n1,10\n2,20\n3,30\n"
    rows = []
    for end in range(len(content) + 1):
        file.write_bytes(content[:end])
        rows += reader.look()
        assert rows == [(1, 10), (2, 20), (3, 30)][: max(0, content[:end].count(b"\n") - 1)]


def test_a_header_alone_is_whole_and_rows_below_it_are_read_when_they_come(tmp_path):
    reader, file = Reader(tmp_path, "csv"), tmp_path / "a.csv"
    file.write_text("ts,k\n")
    assert reader.look() == reader.look() == []
    with file.open("a") as more:
        more.write("1,")
    (waits,) = reader.look()
    assert "row 1: the file ends in the middle of this row" in waits
    with file.open("a") as more:
        more.write("10\n2,20\n")
    assert reader.look() == [(1, 10), (2, 20)]


def test_each_file_is_read_once_and_a_touch_changes_nothing(tmp_path):
    reader = Reader(tmp_path, "csv")
    (tmp_path / "a.csv").write_text("ts,k\n1,1\n")
    assert reader.look() == [(1, 1)]
    (tmp_path / "b.csv").write_text("ts,k\n2,1\n")
    (tmp_path / "a.csv").touch()
    assert reader.look() == [(2, 1)]
    assert reader.look() == []


REWRITTEN = {
    "shorter": b"ts,k\n1,1\n",
    "other rows": b"ts,k\n1,1\n2,3\n",
    "other rows and longer": b"ts,k\n1,1\n9,9\n3,3\n",
    "another header": b"tt,k\n1,1\n2,2\n3,3\n",
    "empty": b"",
}


@pytest.mark.parametrize("case", REWRITTEN)
def test_a_file_that_is_rewritten_is_refused_in_words_once_and_the_others_go_on(case, tmp_path):
    reader = Reader(tmp_path, "csv")
    (tmp_path / "a.csv").write_bytes(b"ts,k\n1,1\n2,2\n")
    assert reader.look() == [(1, 1), (2, 2)]
    (tmp_path / "a.csv").write_bytes(REWRITTEN[case])
    (tmp_path / "b.csv").write_text("ts,k\n5,5\n")
    refused, row = reader.look()
    assert refused.startswith(f"{tmp_path / 'a.csv'}: expected a file that grows at its end only")
    assert row == (5, 5)
    (tmp_path / "a.csv").write_bytes(REWRITTEN[case] + b"7,7\n")
    assert reader.look() == []


def test_a_compressed_file_is_read_when_it_is_whole_and_not_when_it_grew_after(tmp_path):
    reader, file = Reader(tmp_path, "csv", patient=True), tmp_path / "a.csv.gz"
    packed = gzip.compress(b"ts,k\n" + b"".join(b"%d,%d\n" % (i, i) for i in range(2000)))
    for end in range(0, len(packed), 400):
        file.write_bytes(packed[:end])
        assert reader.look() == [], "it is being written"
    reader.later = MINUTE + 1
    (refused,) = reader.look()
    assert refused.startswith(f"{file}: expected a readable csv file; found Truncated")
    assert reader.look() == [], "that is said once"
    file.write_bytes(packed)
    assert len(reader.look()) == 2000, "but it may still become whole"
    file.write_bytes(packed + gzip.compress(b"1,1\n"))
    (refused,) = reader.look()
    assert "expected a compressed or parquet file that stays as it was read" in refused


def test_a_parquet_file_without_its_end_waits_for_it(tmp_path):
    reader, file = Reader(tmp_path, "parquet", patient=True), tmp_path / "a.parquet"
    pq.write_table(pa.table({"ts": [1, 2], "k": [3, 4]}), file)
    whole = file.read_bytes()
    for end in (0, 3, 50, len(whole) - 1):
        file.write_bytes(whole[:end])
        assert reader.look() == []
    file.write_bytes(whole)
    assert reader.look() == [(1, 3), (2, 4)]


@pytest.mark.parametrize("form", ["csv", "json", "parquet"])
def test_what_cannot_be_read_is_said_at_once_without_patience(form, tmp_path):
    reader = Reader(tmp_path, form)
    (tmp_path / "a").write_bytes(b"PAR1 no" if form == "parquet" else b"x\n{,\n")
    assert len(reader.look()) >= 1
    assert reader.look() == []


def test_a_last_row_without_a_newline_is_said_to_wait_and_counts_after_an_hour(tmp_path):
    patient, reader = Reader(tmp_path, "csv", patient=True), Reader(tmp_path, "csv")
    (tmp_path / "a.csv").write_text("ts,k\n1,1\n2,2")
    row, refused = reader.look()
    assert (row, refused[:40]) == ((1, 1), f"{tmp_path / 'a.csv'}, row 2: the file ends"[:40])
    assert patient.look() == [(1, 1)]
    patient.later = MINUTE + 1
    assert patient.look() == [refused]
    assert patient.look() == reader.look() == []
    patient.later = reader.later = HOUR + 1
    assert patient.look() == reader.look() == [(2, 2)]
    with (tmp_path / "a.csv").open("a") as file:
        file.write("0\n3,3\n")
    said, then = reader.look()
    assert ("may be half a row" in said, then) == (True, (3, 3))


def test_a_file_that_nobody_wrote_to_for_an_hour_is_read_to_its_end(tmp_path):
    reader = Reader(tmp_path, "csv", patient=True)
    reader.later = HOUR + 1
    (tmp_path / "a.csv").write_text("ts,k\n1,1\n2,2")
    (tmp_path / "b.csv").write_text("ts,k")
    assert reader.look() == [(1, 1), (2, 2)]
    assert reader.look() == []
    (tmp_path / "a.csv").write_text("ts,k\n1,1\n2,2\n3,3\n")
    (tmp_path / "b.csv").write_text("ts,k\n4,4\n")
    assert reader.look() == [(3, 3), (4, 4)]


def test_an_object_needs_no_newline(tmp_path):
    reader, file = Reader(tmp_path, "json"), tmp_path / "a.json"
    file.write_text('{"ts":1,"k":1}\n{"ts":2,"k":2}')
    assert reader.look() == [(1, 1), (2, 2)]
    file.write_text('{"ts":1,"k":1}\n{"ts":2,"k":2}\n{"ts":3,"k":')
    (waits,) = reader.look()
    assert "row 3: the file ends in the middle" in waits
    file.write_text('{"ts":1,"k":1}\n{"ts":2,"k":2}\n{"ts":3,"k":3}\n')
    assert reader.look() == [(3, 3)]


def test_a_file_that_vanishes_before_it_is_read_is_said_to_be_gone(tmp_path):
    reader = Reader(tmp_path, "csv", patient=True)
    (tmp_path / "a.csv").write_text("ts,k\n1,1\n")
    found = reader.arrivals.look()
    (tmp_path / "a.csv").unlink()
    refused = reader.arrivals.note_failure(found[0], "no such file")
    assert refused is not None


FILES = 12
TURNS = 1 + FILES // 4
"""Looks until each file at rest was asked for its size, with four of them to a look."""


@pytest.fixture
def at_rest(tmp_path, monkeypatch) -> tuple[Reader, list[str]]:
    """A reader of files of which all are at rest, and those that looks ask for their sizes."""
    asked, is_same = list[str](), FinishedFiles.is_same

    def counted(self, name, *size):
        asked.append(name[-1])
        return is_same(self, name, *size)

    monkeypatch.setattr(ASKED, "value", 4)
    reader = Reader(tmp_path, "csv")
    for number in range(FILES):
        (tmp_path / f"{number:02d}.csv").write_text(f"ts,k\n{number},1\n")
    assert len(reader.look()) == FILES
    reader.later = AT_REST // 1000
    assert reader.look() == reader.look() == []
    monkeypatch.setattr(FinishedFiles, "is_same", counted)
    return reader, asked


def test_of_files_at_rest_each_look_asks_some_and_every_one_has_its_turn(at_rest, tmp_path):
    reader, asked = at_rest
    for look in range(TURNS):
        assert reader.look() == []
        assert len(asked) == (look + 1) * FILES // TURNS
    assert sorted(asked) == sorted(path.name for path in tmp_path.iterdir())
    for number in range(FILES):
        with (tmp_path / f"{number:02d}.csv").open("a") as more:
            more.write(f"{number},2\n")
    rows = [row for _ in range(TURNS) for row in reader.look()]
    assert sorted(rows) == [(number, 2) for number in range(FILES)]


def test_a_file_at_rest_that_goes_on_is_asked_again_at_each_look(at_rest, tmp_path):
    reader, _ = at_rest
    reader.later = 0  # what is written now is new
    for number in range(3):
        with (tmp_path / "07.csv").open("a") as more:
            more.write(f"{number},3\n")
        wait = 1 if number else TURNS
        assert [row for _ in range(wait) for row in reader.look()] == [(number, 3)]


def test_a_new_file_beside_those_at_rest_is_read_at_once(at_rest, tmp_path):
    reader, asked = at_rest
    (tmp_path / "new.csv").write_text("ts,k\n99,1\n")
    assert reader.look() == [(99, 1)]
    assert len(asked) == FILES // TURNS + 1


def test_a_file_whose_last_row_waits_does_not_rest(at_rest, tmp_path):
    reader, _ = at_rest
    with (tmp_path / "new.csv").open("w") as new:
        new.write("ts,k\n98,1\n99")
        new.flush()
        assert [row for row in reader.look() if isinstance(row, tuple)] == [(98, 1)]
        for _ in range(4):
            assert reader.look() == []
        new.write(",1\n")
    assert reader.look() == [(99, 1)]


@pytest.mark.parametrize("case", REWRITTEN)
def test_a_file_at_rest_that_is_rewritten_is_refused_in_its_turn(case, at_rest, tmp_path):
    reader, _ = at_rest
    (tmp_path / "03.csv").write_bytes(REWRITTEN[case].replace(b"1,1", b"1,12"))
    found = [words for _ in range(TURNS) for words in reader.look()]
    (words,) = found
    assert "expected a file that grows at its end only" in str(words)
