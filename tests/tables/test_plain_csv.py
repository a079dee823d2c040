"""What is read as plain CSV is what Arrow reads; what is not plain is left alone."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from windrow.core.schema import Field, Schema, Type
from windrow.core.thresholds import lowered_thresholds
from windrow.core.time import Clock
from windrow.plan.catalog import StreamDeclaration
from windrow.plan.nodes import FileSource
from windrow.plan.nodes.stream_relation import CsvOptions
from windrow.tables import csv as csv_reader
from windrow.tables import plain_csv
from windrow.tables.plain_csv import read_plain
from windrow.tables.quotes import plain_row_ends, quoted_row_ends
from windrow.tables.readers import read_file

KINDS = {0: pa.int64(), 2: pa.timestamp("us"), 3: pa.string()}
WIDTH = 5
NUMBERS = st.integers(-(10**19), 10**19).map(str) | st.sampled_from(
    ["", "0", "-0", "-", "00", "007", "+1", "1.0", " 1", "1e3", "x", "9" * 18, "-" + "9" * 18]
)
MOMENTS = st.datetimes().map(str) | st.sampled_from(
    ["", "2024-02-28 00:00:00", "2024-02-29 01:02:03", "2023-02-29 01:02:03", "2024-04-31 00:00:00",
     "2024-12-31 23:59:59.999999", "2024-12-31T23:59:59", "2024-12-31 23:59:60",
     "2024-08-31 00:00:00", "2024-09-31 00:00:00", "1900-03-01 00:00:00", "2000-03-01 00:00:00",
     "1969-12-31 23:59:59.999999", "2024-13-01 00:00:00", "2024-01-01 24:00:00", "2024-01-01",
     "2024-01-01 00:00:00.123", "2024-01-01 00:00:00,123456", "0000-01-01 00:00:00"]
)  # fmt: skip
TEXTS = st.text(st.characters(exclude_characters=',"\r\n', codec="utf-8"), max_size=20)
QUOTED = st.text(st.characters(exclude_characters='"\r', codec="utf-8"), max_size=20).map(
    '"{}"'.format
) | st.sampled_from(['"a""b"', '"a"b', 'a"b"', '""""', '" "', '"\n"', '","'])
FIELDS = TEXTS | QUOTED
ROWS = st.lists(
    st.tuples(NUMBERS | NUMBERS.map('"{}"'.format), FIELDS, MOMENTS | MOMENTS.map('"{}"'.format),
              FIELDS, FIELDS), min_size=1, max_size=6,
)  # fmt: skip


def by_arrow(data: bytes) -> pa.RecordBatch:
    return csv_reader._fields(data, WIDTH, [], CsvOptions(), KINDS)


@settings(max_examples=300)
@given(rows=ROWS, lowered=st.booleans())
def test_plain_rows_are_those_that_arrow_reads(rows, lowered):
    data = "".join(",".join(row) + "\n" for row in rows).encode()
    if lowered:
        with lowered_thresholds():
            found = read_plain(data, WIDTH, ",", '"', KINDS)
    else:
        found = read_plain(data, WIDTH, ",", '"', KINDS)
    if found is not None:
        assert found.to_pydict() == by_arrow(data).to_pydict()


@pytest.fixture(params=[1, 60, 300, 1 << 14])
def piece(request, monkeypatch) -> int:
    """Bytes whose fields are found at once: none, some or all of them 64 at a time."""
    monkeypatch.setattr(plain_csv.PIECE, "value", request.param)
    return request.param


LONG = st.text(st.characters(exclude_characters=',"\r\n', codec="utf-8"), max_size=150) | st.text(
    st.characters(exclude_characters='"\r', codec="utf-8"), max_size=150
).map('"{}"'.format)
MANY = st.lists(
    st.tuples(
        st.integers(-(10**17), 10**17).map(str) | st.just(""), LONG,
        st.sampled_from(["", "2024-02-28 00:00:00", "2024-02-28 00:00:01.000001"]), LONG, LONG,
    ), min_size=1, max_size=30,
)  # fmt: skip


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=MANY)
def test_rows_are_the_same_wherever_a_piece_ends(rows, piece):
    data = "".join(",".join(row) + "\n" for row in rows).encode()
    found = read_plain(data, WIDTH, ",", '"', KINDS)
    assert found is not None
    assert found.to_pydict() == by_arrow(data).to_pydict()


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    count=st.integers(1, 40), odd=st.sampled_from([b'"', b"\r", b"\xff", b",", b"\n", b"x"]),
    at=st.integers(0, 2000),
)  # fmt: skip
def test_a_byte_that_is_not_plain_is_noticed_wherever_it_stands(count, odd, at, piece):
    row = b"12345678,some text that is longer,2024-02-28 00:00:01.000001,,and some more of it\n"
    data = row * count
    at %= len(data)
    data = data[:at] + odd + data[at:]
    found = read_plain(data, WIDTH, ",", '"', KINDS)
    if odd in b"\r\xff,":
        assert found is None
    elif found is not None:
        assert found.to_pydict() == by_arrow(data).to_pydict()


@pytest.mark.parametrize("at", range(82))
def test_a_quote_that_stands_alone_is_noticed_wherever_it_stands(at, piece):
    row = b"12345678,some text that is longer,2024-02-28 00:00:01.000001,,and some more of it\n"
    data = row * 3
    for place in (at, at + len(row), at + 2 * len(row)):
        assert read_plain(data[:place] + b'"' + data[place:], WIDTH, ",", '"', KINDS) is None


PIECES = st.sampled_from(
    [b"\n", b",", b'"', b'"', b'","', b'""', b'"\n"', b"a", b"some text", b"\r", b'","a","b"\n',
     b"\xff", b"x" * 61]
)  # fmt: skip


@settings(max_examples=500)
@given(text=st.lists(PIECES, min_size=1, max_size=40).map(b"".join), state=st.integers(0, 3))
def test_rows_end_where_they_do_byte_by_byte(text, state):
    slow, fast = np.zeros(3, np.int64), np.zeros(3, np.int64)
    how = (np.frombuffer(text, np.uint8), state, ord('"'), ord(","))
    quoted_row_ends(*how, slow)
    if plain_row_ends(*how, fast):
        assert fast.tolist() == slow.tolist()


def test_text_is_looked_through_many_bytes_at_a_time_if_quotes_are_around_whole_fields():
    found = np.zeros(3, np.int64)
    row = b'1,"some text, and more\nof it",,"",2.5\n'
    text = np.frombuffer(row * 20 + b'1,"', np.uint8)
    assert plain_row_ends(text, 0, ord('"'), ord(","), found)
    assert found.tolist() == [len(row), 20 * len(row), 2]
    assert not plain_row_ends(np.frombuffer(b'1,a"b"\n', np.uint8), 0, ord('"'), ord(","), found)


STREAM = StreamDeclaration(
    "s",
    Schema((Field("n", Type.BIGINT), Field("a", Type.STRING), Field("ts", Type.TIMESTAMP),
            Field("b", Type.STRING))),
    2, Clock.TIMESTAMP, 0, FileSource("x", "csv"),
)  # fmt: skip
GOOD = b"%d,text %d,2024-05-01 10:00:%02d.001000,another\xc3\xa9 text that goes on for a while,z\n"
HOSTILE = st.sampled_from(
    [b"\n", b"\r\n", b"\r", b",", b",,,,,,\n", b'"', b'""', b'"a,b\nc"', b'1,"x",', b"\xff\xfe",
     b"\x00", b"\xef\xbb\xbf", b"007,", b"+1,", b" 1,", b"1e3,", b"x,", b"-,",
     b"2024-02-30 00:00:00,",
     b"2024-05-01T10:00:00,", b"2024-05-01 10:00:00,", b"1,2,3\n", b"\xe2\x82", b"9" * 19 + b","]
) | st.binary(max_size=6)  # fmt: skip


@st.composite
def hostile_files(draw) -> bytes:
    """Good rows into which something is put here and there, and which may break off."""
    text = b"n,a,ts,b,c\n" + b"".join(GOOD % (i, i, i) for i in range(draw(st.integers(0, 20))))
    for odd in draw(st.lists(HOSTILE, max_size=3)):
        at = draw(st.integers(0, len(text)))
        text = text[:at] + odd + text[at + draw(st.integers(0, 2)) :]
    if draw(st.booleans()):
        text = text[: draw(st.integers(0, len(text)))]
    return draw(st.sampled_from([b"", b"\xef\xbb\xbf"])) + text


def all_of(path: Path, columns: frozenset[int] | None) -> object:
    """What there is to know of a file, or why it cannot be read."""
    rows, numbers, refused = [], [], []
    try:
        for parsed in read_file(path, STREAM, columns=columns):
            rows += parsed.rows.to_pylist()
            numbers += parsed.numbers.tolist()
            refused += [replace(r) for r in parsed.rejected]
    except Exception as error:
        return rows, numbers, refused, type(error), str(error)
    return rows, numbers, refused


@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=hostile_files(), seen=st.none() | st.frozensets(st.integers(0, 3)))
def test_hostile_files_are_read_with_the_kernel_as_without(content, seen, piece, tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes(content)
    with pytest.MonkeyPatch.context() as changed:
        changed.setattr(csv_reader.WORTH_A_KERNEL, "value", 1)
        with_kernel = all_of(path, seen)
        changed.setattr(csv_reader.WORTH_A_KERNEL, "value", 1 << 30)
        changed.setattr(csv_reader, "KERNEL", "a module that is not loaded")
        without = all_of(path, seen)
    assert with_kernel == without


def test_small_chunks_are_read_by_the_kernel_too_when_it_is_loaded(tmp_path, monkeypatch):
    path = tmp_path / "a.csv"
    path.write_bytes(b"n,a,ts,b\n1,x,2024-05-01 10:00:00,y\n")
    by_kernel: list[int] = []
    monkeypatch.setattr(
        plain_csv, "read_plain", lambda *how: by_kernel.append(how[1]) or read_plain(*how)
    )
    found = all_of(path, None)
    assert by_kernel == [4]
    monkeypatch.setattr(csv_reader, "KERNEL", "a module that is not loaded")
    assert all_of(path, None) == found
    assert by_kernel == [4]


PLAIN = b"1,a,2024-05-01 10:00:00.001000,b,c\n,,,,\n-12,\xc3\xa9,2024-05-02 10:00:00,,x\n"


def test_numbers_moments_texts_and_nothing_are_plain():
    found = read_plain(PLAIN, WIDTH, ",", '"', KINDS)
    assert found is not None
    assert found.to_pydict() == by_arrow(PLAIN).to_pydict()
    assert found.column("0").to_pylist() == [1, None, -12]
    assert found.column("3").to_pylist() == ["b", None, None]


@pytest.mark.parametrize(
    "data",
    [
        PLAIN + b'1,"a"b,,b,c\n', PLAIN + b'1,"a""b",,b,c\n', PLAIN[:-1],
        PLAIN.replace(b"\n", b"\r\n"), PLAIN + b"\n", PLAIN + b"1,2,,\n",
        PLAIN + b"1,2,,3,4,5\n", PLAIN + b"one,2,,3,4\n",
        PLAIN + b"1,2,soon,3,4\n",
    ],
)  # fmt: skip
def test_what_is_not_plain_is_left_to_arrow(data):
    assert read_plain(data, WIDTH, ",", '"', KINDS) is None


def test_types_that_are_not_plain_are_left_to_arrow():
    assert read_plain(b"1,2\n", 2, ",", '"', {0: pa.float64()}) is None
    assert read_plain(b"1\n", 1, ",", '"', {0: pa.int64()}) is None


def test_every_day_of_four_centuries_is_that_of_arrow():
    days = pa.array(range(-150_000, 0, 1), pa.int64())
    moments = pc.cast(pc.multiply(days, 86_400_000_000), pa.timestamp("us"))
    texts = pc.strftime(moments, "%Y-%m-%d %H:%M:%S").to_pylist()
    plain = [text for text in texts if text[4:10] != "-02-29"]
    data = "".join(f"1,{text[:19]}\n" for text in plain).encode()
    found = read_plain(data, 2, ",", '"', {1: pa.timestamp("us")})
    assert found is not None
    assert len(plain) == len(texts) - 100
    expected = [
        m for m, text in zip(moments.to_pylist(), texts, strict=True) if "-02-29" not in text
    ]
    assert found.column("1").to_pylist() == expected
