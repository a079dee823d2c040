"""Chunks hold whole rows, however the text comes and whatever it is."""

from __future__ import annotations

import tracemalloc
from dataclasses import replace
from io import BytesIO

from hypothesis import given
from hypothesis import strategies as st

from windrow.tables.chunks import CsvRowEnds, LineEnds, chunks
from windrow.tables.file_part import Part


def csv_rows(text: bytes) -> list[bytes]:
    """The slow twin: one character after the other."""
    rows, row, state = [], b"", "start"
    for i in range(len(text)):
        c = text[i : i + 1]
        row += c
        if state == "quoted":
            state = "quote" if c == b'"' else "quoted"
        elif c == b'"' and state in ("start", "quote"):
            state = "quoted"
        elif c == b"\n":
            rows.append(row)
            row, state = b"", "start"
        else:
            state = "start" if c == b"," else "field"
    return [*rows, row] if row else rows


def lines(text: bytes) -> list[bytes]:
    return text.splitlines(keepends=True)


TEXTS = st.lists(st.sampled_from([b"a", b",", b'"', b"\n", b'""', b',"', b'",', b"bcdef"])).map(
    b"".join
)


def check(text: bytes, cuts: list[int], limit: int, ends, rows_of) -> None:
    given_rows: list[bytes | None] = []
    part = Part()
    for stop in [*sorted(cuts), len(text)]:
        rest = BytesIO(text[part.start : stop])
        for chunk in chunks(rest.read, part, ends(), limit):
            given_rows += rows_of(chunk.data)
            given_rows += [None] if chunk.reason else []
            part = replace(chunk.after)
    rows = rows_of(text)
    if rows and not rows[-1].endswith(b"\n") and len(rows[-1]) <= limit:
        rows.pop()  # it waits
    if rows and len(rows_of(rows[-1] + b"x")) == 1 and len(rows[-1]) <= limit:
        rows.pop()  # its newlines are inside quotes
    assert given_rows == [None if len(row) > limit else row for row in rows]


@given(text=TEXTS, cuts=st.lists(st.integers(0, 30)), limit=st.integers(3, 20))
def test_rows_of_csv_are_those_of_the_slow_twin_however_the_text_comes(text, cuts, limit):
    check(text, cuts, limit, CsvRowEnds, csv_rows)


@given(text=TEXTS, cuts=st.lists(st.integers(0, 30)), limit=st.integers(3, 20))
def test_lines_are_lines_however_the_text_comes(text, cuts, limit):
    check(text, cuts, limit, LineEnds, lines)


def test_a_row_that_never_ends_takes_no_memory():
    block = b"x" * (1 << 20)
    left = iter(range(500))

    def read(_size: int) -> bytes:
        return block if next(left, None) is not None else b""

    tracemalloc.start()
    found = [c for c in chunks(read, Part(), CsvRowEnds(), 1 << 20) if c.reason]
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(found) == 1
    assert peak < 16 << 20


def test_returns_alone_end_rows_too():
    text = b'1,a\r2,"b\rc"\r3,d\r4'
    (chunk,) = list(chunks(BytesIO(text).read, Part(), CsvRowEnds(), 100))
    assert (chunk.data, chunk.after.start) == (text[:-1], len(text) - 1)
