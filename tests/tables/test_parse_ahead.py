"""Chunks that are parsed in threads come out in order, each once, and errors in their place."""

from __future__ import annotations

import threading

import pytest

from windrow.plan.program import compile_script
from windrow.tables import chunks, read_ahead
from windrow.tables.chunks import Chunk
from windrow.tables.file_part import WHOLE
from windrow.tables.readers import read_file


@pytest.fixture(autouse=True)
def _in_threads(monkeypatch):
    monkeypatch.setattr(read_ahead.LARGE_CHUNK, "value", 1)


def pieces(count: int) -> list[Chunk]:
    return [Chunk(b"%d" % n, WHOLE) for n in range(count)]


@pytest.mark.parametrize("count", [0, 1, 2, 3, 10])
def test_chunks_come_in_their_order(count):
    given = pieces(count)
    found = list(read_ahead.parse_ahead(iter(given), lambda chunk: int(chunk.data)))
    assert found == list(zip(given, range(count), strict=True))


def test_two_are_parsed_at_a_time():
    both = threading.Barrier(2, timeout=60)
    found = read_ahead.parse_ahead(iter(pieces(4)), lambda _: both.wait())
    assert len(list(found)) == 4


def test_an_error_of_the_text_comes_after_the_chunks_before_it():
    def broken():
        yield from pieces(3)
        raise OSError("gone")

    found = []
    with pytest.raises(OSError, match="gone"):
        found.extend(n for _, n in read_ahead.parse_ahead(broken(), lambda c: int(c.data)))
    assert found == [0, 1, 2]


def test_an_error_of_a_parser_comes_in_place_of_its_chunk():
    def sixth(chunk):
        return 6 // (3 - int(chunk.data))

    found = []
    with pytest.raises(ZeroDivisionError):
        found.extend(n for _, n in read_ahead.parse_ahead(iter(pieces(6)), sixth))
    assert found == [2, 3, 6]


def test_a_file_is_read_the_same_in_threads_as_without(tmp_path, monkeypatch):
    lines = [f"{n},{'x' if n % 7 == 3 else n}{',more' if n % 11 == 5 else ''}" for n in range(500)]
    path = tmp_path / "rows.csv"
    path.write_text("\n".join(["ts,n", *lines, ""]))
    script = f"CREATE STREAM s (ts BIGINT, n BIGINT) FROM '{path}';"
    declaration = compile_script(script).catalog.declarations["s"]
    monkeypatch.setattr(chunks.FIRST_BLOCK, "value", 300)
    monkeypatch.setattr(chunks.ROWS, "value", 20)
    threaded = list(read_file(path, declaration))
    monkeypatch.setattr(read_ahead.LARGE_CHUNK, "value", 1 << 30)
    plain = list(read_file(path, declaration))
    assert len(plain) > 5
    for one, other in zip(threaded, plain, strict=True):
        assert one.rows == other.rows
        assert one.numbers.tolist() == other.numbers.tolist()
        assert (one.rejected, one.after) == (other.rejected, other.after)
    numbers = [n for p in plain for n in [*p.numbers.tolist(), *(r.row for r in p.rejected)]]
    assert sorted(numbers) == list(range(1, 501))
