"""Files of every format: clean rows in order, broken rows refused with reason and text."""

from __future__ import annotations

import dataclasses
import gzip
import json
import math
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from windrow.core.errors import InputError
from windrow.core.schema import Field, Schema, Type
from windrow.core.time import Clock
from windrow.plan.catalog import StreamDeclaration
from windrow.plan.nodes import FileSource
from windrow.plan.program import compile_script
from windrow.streams.max_timestamp import greatest_timestamp
from windrow.streams.monitor import InputMonitor
from windrow.tables import chunks, jsonlines
from windrow.tables import csv as csv_reader
from windrow.tables.csv import READ_BY_ARROW
from windrow.tables.file_part import Part
from windrow.tables.parsed_rows import Rejected
from windrow.tables.readers import read_file

SCHEMA = Schema((Field("ts", Type.BIGINT), Field("k", Type.INT), Field("v", Type.DOUBLE),
                 Field("name", Type.STRING)))  # fmt: skip


def stream(form: str) -> StreamDeclaration:
    return StreamDeclaration("s", SCHEMA, 0, Clock.INTEGER, 0, FileSource("x", form))


def read(path: Path, form: str, **options: int) -> tuple[list[tuple], list[Rejected], list[int]]:
    rows, refused, numbers = [], [], []
    for parsed in read_file(path, stream(form), **options):
        rows += [tuple(r.values()) for r in parsed.rows.to_pylist()]
        refused += parsed.rejected
        numbers += parsed.numbers.tolist()
    return rows, refused, numbers


def written(tmp_path: Path, content: bytes, name: str = "a.csv") -> Path:
    path = tmp_path / name
    path.write_bytes(content)
    return path


CSV_FORMS = {
    "plain": b"ts,k,v,name\n1,2,0.5,a\n2,,,\n",
    "CRLF": b"ts,k,v,name\r\n1,2,0.5,a\r\n2,,,\r\n",
    "a byte order mark": b"\xef\xbb\xbfts,k,v,name\n1,2,0.5,a\n2,,,\n",
    "no newline at the end": b"ts,k,v,name\n1,2,0.5,a\n2,,,",
    "another order, more columns": b"x,name,v,k,ts\n9,a,0.5,2,1\n9,,,,2\n",
    "names in another case": b"TS,K,V,Name\n1,2,0.5,a\n2,,,\n",
    "white space and plus signs": b"ts, k ,v,name\n 1,+2, 0.5 ,a\n2,,,\n",
    "quotes": b'"ts","k","v","name"\n"1","2","0.5","a"\n2,"","",\n',
    "blank lines": b"ts,k,v,name\n\n1,2,0.5,a\n\n2,,,\n\n",
}


@pytest.mark.parametrize("form", CSV_FORMS)
def test_every_form_of_csv_gives_the_same_rows(form, tmp_path):
    rows, refused, numbers = read(written(tmp_path, CSV_FORMS[form]), "csv")
    assert rows == [(1, 2, 0.5, "a"), (2, None, None, None)]
    assert (refused, numbers) == ([], [1, 2])


@pytest.mark.parametrize("content", [b"", b"ts,k,v,name", b"ts,k,v,name\n", b"ts,k,v,name\r\n\r\n"])
def test_a_csv_file_without_rows_has_none(content, tmp_path):
    assert read(written(tmp_path, content), "csv") == ([], [], [])


def test_quoted_fields_keep_commas_quotes_newlines_and_emptiness(tmp_path):
    content = b'ts,k,v,name\n1,,,"a,b"\n2,,,"say ""hi"""\n3,,,"two\nlines"\n4,,,""\n5,,,5" pipe\n'
    rows, refused, _ = read(written(tmp_path, content), "csv")
    names = ["a,b", 'say "hi"', "two\nlines", "", '5" pipe']
    assert [r[3] for r in rows] == names
    assert refused == []


BROKEN_CSV = {
    "text for a number": (b"1,x,0.5,a", "column k: expected INT, found 'x'", 1),
    "a number out of range": (b"1,3000000000,0.5,a", "column k: expected INT", 1),
    "a huge timestamp": (b"99999999999999999999,1,0.5,a", "column ts: expected BIGINT", None),
    "no timestamp": (b",1,0.5,a", "every row needs its timestamp", None),
    "too few fields": (b"1,2", "expected 4 fields, found 2", None),
    "too many fields": (b"1,2,3,4,5", "expected 4 fields, found 5", None),
    "bytes that are not UTF-8": (b"1,2,0.5,\xff", "expected STRING in UTF-8, found bytes", 1),
    "too few fields that are no UTF-8": (b"1,\xff,3", "expected 4 fields, found 3", None),
    "too many fields that are no UTF-8": (b"1,2,3,\xff,\xc3\xa9", "found 5", None),
}


@pytest.mark.parametrize("case", BROKEN_CSV)
@pytest.mark.parametrize("block", [16, 1 << 20])
def test_a_broken_csv_row_is_refused_alone_with_reason_text_and_number(
    case, block, tmp_path, monkeypatch
):
    monkeypatch.setattr(csv_reader, "BLOCK", max(block, 64))
    line, reason, ts = BROKEN_CSV[case]
    good = b"".join(b"%d,1,1.5,n\n" % i for i in range(20))
    content = b"ts,k,v,name\n" + good + line + b"\n" + good
    rows, refused, numbers = read(written(tmp_path, content), "csv")
    assert [r[0] for r in rows] == [*range(20), *range(20)]
    assert numbers == [*range(1, 21), *range(22, 42)]
    assert [(r.row, r.ts) for r in refused] == [(21, ts)]
    assert reason in refused[0].reason
    assert refused[0].text == line.decode(errors="replace")


def test_a_quote_that_never_ends_is_said_to_be_one(tmp_path):
    rows, refused, _ = read(written(tmp_path, b'ts,k,v,name\n1,1,1,a\n2,1,1,"b\n3,1\n'), "csv")
    assert [r[0] for r in rows] == [1]
    assert "a quoted field is not closed" in refused[0].reason


def test_a_missing_csv_column_is_an_error_that_lists_what_is_there(tmp_path):
    with pytest.raises(InputError, match=r"a\.csv: expected one column 'k'.*ts, kk, v, name"):
        read(written(tmp_path, b"ts,kk,v,name\n1,2,3,a\n"), "csv")


def json_line(**values: object) -> bytes:
    return json.dumps({"ts": 1, "k": 2, "v": 0.5, "name": "a", **values}).encode()


BROKEN_JSON = {
    "broken JSON": (b'{"ts": 1,', "broken JSON at column 10", None),
    "no object": (b"[1]", "expected a JSON object, found list", None),
    "a bare null": (b"null", "expected a JSON object, found NoneType", None),
    "two objects": (b'{"ts":1}{"ts":2}', "broken JSON", None),
    "an object and a null": (b'{"ts":1}null{"ts":2}', "broken JSON", None),
    "text for a number": (json_line(k="x"), "column k: expected INT, found 'x'", 1),
    "a fraction": (json_line(k=1.5), "column k: expected INT, found 1.5", 1),
    "a number for text": (json_line(name=5), "column name: expected STRING, found 5", 1),
    "a huge integer": (json_line(ts=2**64), "column ts: expected BIGINT, found 18446744", None),
    "a number beyond all decimals": (
        b'{"ts": 1, "name": 1e99999999999999999999}', "found Infinity", 1,
    ),
    "no timestamp": (json_line(ts=None), "every row needs its timestamp", None),
    "bytes that are not UTF-8": (b'{"ts": 1, "name": "\xff"}', "column name: expected", 1),
    "half a character": (b'{"ts": 1, "name": "\\ud800"}', "column name: expected STRING", 1),
}  # fmt: skip


def test_a_number_beyond_all_decimals_that_nobody_wants_refuses_no_row(tmp_path):
    line = b'{"ts": 2, "other": 1e99999999999999999999, "name": ["a", 1e400]}'
    rows, refused, _ = read(written(tmp_path, json_line() + b"\n" + line, "a.json"), "json")
    assert [row[3] for row in rows] == ["a", '["a",1E+400]']
    assert not refused


@pytest.mark.parametrize("case", BROKEN_JSON)
@pytest.mark.parametrize("chunk", [100, 1 << 20])
def test_a_broken_json_line_is_refused_alone_with_reason_text_and_number(
    case, chunk, tmp_path, monkeypatch
):
    monkeypatch.setattr(jsonlines, "CHUNK", chunk)
    line, reason, ts = BROKEN_JSON[case]
    good = b"".join(json_line(ts=i) + b"\n" for i in range(20))
    path = written(tmp_path, good + line + b"\n" + good, "a.json")
    rows, refused, numbers = read(path, "json")
    assert [r[0] for r in rows] == [*range(20), *range(20)]
    assert numbers == [*range(1, 21), *range(22, 42)]
    assert [(r.row, r.ts) for r in refused] == [(21, ts)]
    assert reason in refused[0].reason
    assert refused[0].text == line.decode(errors="replace")


def test_lists_of_different_things_where_json_should_have_a_number_refuse_their_rows_only(tmp_path):
    lines = [json_line(ts=i, k=k) for i, k in enumerate([[1], ["a"], 5, [True], [[1]]])]
    rows, refused, _ = read(written(tmp_path, b"\n".join(lines), "a.json"), "json")
    assert [row[:2] for row in rows] == [(2, 5)]
    assert [r.reason for r in refused] == [
        f"column k: expected INT, found {found}" for found in ("[1]", '["a"]', "[true]", "[[1]]")
    ]


def test_a_time_in_json_that_is_no_utf_8_refuses_its_row_only(tmp_path):
    schema = Schema((Field("ts", Type.TIMESTAMP),))
    declaration = dataclasses.replace(stream("json"), schema=schema, clock=Clock.TIMESTAMP)
    lines = b'{"ts": "\xff"}\n{"ts": "\\ud800"}\n{"ts": "2026-03-01 09:00:00"}\n'
    (parsed,) = read_file(written(tmp_path, lines, "a.json"), declaration)
    assert parsed.numbers.tolist() == [3]
    assert all("ts: expected TIMESTAMP, found '" in r.reason for r in parsed.rejected)


JSON_FORMS = {
    "plain": b'{"ts":1,"k":2,"v":1,"name":"\xc3\xa9"}\n{"ts":2}\n',
    "CRLF": b'{"ts":1,"k":2,"v":1,"name":"\xc3\xa9"}\r\n{"ts":2}\r\n',
    "a byte order mark": b'\xef\xbb\xbf{"ts":1,"k":2,"v":1,"name":"\xc3\xa9"}\n{"ts":2}\n',
    "no newline at the end": b'{"ts":1,"k":2,"v":1,"name":"\\u00e9"}\n{"ts":2}',
    "other keys": b'{"x":{"k":[null]},"name":"\xc3\xa9","v":1.0,"k":2,"ts":1}\n{"ts":2,"k":null}\n',
    "numbers as text": b'{"ts":"1","k":"2","v":"1","name":"\xc3\xa9"}\n{"ts":2}\n',
    "whole numbers as fractions": b'{"ts":1.0,"k":2.0,"v":1,"name":"\xc3\xa9"}\n{"ts":2}\n',
}


@pytest.mark.parametrize("form", JSON_FORMS)
def test_every_form_of_json_gives_the_same_rows(form, tmp_path):
    rows, refused, numbers = read(written(tmp_path, JSON_FORMS[form], "a.json"), "json")
    assert rows == [(1, 2, 1.0, "é"), (2, None, None, None)]
    assert (refused, numbers) == ([], [1, 2])


def test_blank_json_lines_are_passed_over_but_counted(tmp_path):
    rows, _, numbers = read(written(tmp_path, b'\n{"ts":1}\n\n{"ts":2}\n', "a.json"), "json")
    assert ([r[0] for r in rows], numbers) == ([1, 2], [2, 4])
    assert read(written(tmp_path, b"", "b.json"), "json") == ([], [], [])


def test_an_object_or_a_list_is_json_text_where_a_string_is_declared(tmp_path):
    nested = b'{"a b": [1, 2.50, 12345678901234567.125, null], "c": {"d": "\\u00e9\\"", "e": true}}'
    lines = [b'{"ts":1,"v":1.5,"name":' + nested + b"}", b'{"ts":2,"v":0.5,"name":"x"}',
             b'{"ts":3,"k":{},"name":[]}', b'{"ts":4,"name":[]}']  # fmt: skip
    lines.append(b'{"ts":5,"name":' + b"[" * 700 + b"]" * 700 + b"}")
    content = b"".join(line + b"\n" for line in lines)
    rows, refused, _ = read(written(tmp_path, content, "a.json"), "json")
    text = '{"a b":[1,2.50,12345678901234567.125,null],"c":{"d":"é\\"","e":true}}'
    assert rows == [(1, None, 1.5, text), (2, None, 0.5, "x"), (4, None, None, "[]")]
    assert [(r.row, r.reason) for r in refused] == [
        (3, "column k: expected INT, found {}"),
        (5, "it is nested too deeply"),
    ]


json_values = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    records=st.lists(st.dictionaries(st.sampled_from(["ts", "k", "v", "name", "x"]), json_values))
)
def test_arrow_and_the_slow_way_read_the_same_from_json(records, tmp_path):
    content = b"".join(json.dumps(r).encode() + b"\n" for r in records)
    path = written(tmp_path, content, "a.json")
    with pytest.MonkeyPatch.context() as patch:
        fast = read(path, "json")
        patch.setattr(jsonlines, "_columns", lambda *_: None)
        slow = read(path, "json")
    assert repr(fast) == repr(slow)


def parquet(tmp_path: Path, table: pa.Table, **options: object) -> Path:
    path = tmp_path / "a.parquet"
    pq.write_table(table, path, **options)
    return path


def test_parquet_rows_that_do_not_fit_are_refused_as_json(tmp_path):
    table = pa.table({"ts": [1, None, 3], "k": [2, 2, 2**40], "v": [math.nan, 1, 2],
                      "name": ["é", "b", "c"], "more": [0, 0, 0]})  # fmt: skip
    rows, refused, numbers = read(parquet(tmp_path, table), "parquet")
    assert repr(rows) == "[(1, 2, nan, 'é')]"
    assert numbers == [1]
    assert [(r.row, r.ts) for r in refused] == [(2, None), (3, 3)]
    assert json.loads(refused[1].text) == {"ts": 3, "k": 2**40, "v": 2.0, "name": "c"}


@pytest.mark.parametrize("form", ["csv", "json", "parquet"])
@pytest.mark.parametrize("content", [b"PAR1 no, not really", bytes(range(256))])
def test_what_is_not_parquet_or_not_csv_at_all_is_an_error_or_refused(form, content, tmp_path):
    path = written(tmp_path, content, "a")
    if form == "json":
        rows, refused, _ = read(path, form)
        assert rows == []
        assert refused
    else:
        with pytest.raises(InputError, match=str(path)):
            read(path, form)


def test_a_file_that_is_not_there_is_an_error(tmp_path):
    for form in ("csv", "json", "parquet"):
        with pytest.raises(InputError, match=r"none\.csv"):
            read(tmp_path / "none.csv", form)


def test_compressed_files_are_read_and_truncated_ones_are_errors(tmp_path):
    content = b"ts,k,v,name\n" + b"".join(b"%d,1,1.5,name%d\n" % (i, i) for i in range(5000))
    packed = gzip.compress(content)
    rows, _, _ = read(written(tmp_path, packed, "a.csv.gz"), "csv")
    assert [r[0] for r in rows] == list(range(5000))
    with pytest.raises(InputError, match=r"b\.csv\.gz"):
        read(written(tmp_path, packed[: len(packed) // 2], "b.csv.gz"), "csv")


def test_batches_hold_at_most_the_rows_asked_for_and_all_of_them(tmp_path):
    lines = [b"%d,%s,1,a\n" % (i, b"x" if i % 7 == 0 else b"1") for i in range(50)]
    path = written(tmp_path, b"ts,k,v,name\n" + b"".join(lines))
    parts = list(read_file(path, stream("csv"), rows_per_batch=8))
    assert max(len(p) for p in parts) == 8
    order = [n for p in parts for n in sorted([*p.numbers.tolist(), *(r.row for r in p.rejected)])]
    assert order == list(range(1, 51))
    assert parts[0].texts(np.array([0]))[0] == "1,1,1,a"


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    lines=st.lists(
        st.sampled_from(
            [b"%d,1,1,a", b"%d,x,1,a", b"x%d,1,1,a", b"%d,1", b"%d,1,1,\xff", b"%d,\xff"]
        ),
        max_size=12,
    ),
    stamps=st.lists(st.integers(-9, 99), min_size=12, max_size=12),
)
def test_the_top_of_a_file_is_where_a_monitor_stands_after_it(lines, stamps, tmp_path):
    body = b"".join(line % ts + b"\n" for line, ts in zip(lines, stamps, strict=False))
    path = written(tmp_path, b"ts,k,v,name\n" + body)
    monitor = InputMonitor(stream("csv"))
    for parsed in read_file(path, stream("csv")):
        monitor.accept(parsed)
    assert greatest_timestamp(path, stream("csv")) == monitor.top


@pytest.mark.parametrize("statistics", [True, False])
@pytest.mark.parametrize("kind", [pa.int64(), pa.int32(), pa.float64(), pa.string()])
def test_the_top_of_a_parquet_file_is_the_same_with_and_without_statistics(
    statistics, kind, tmp_path
):
    stamps = pa.array([5, None, 40, 7, 12]).cast(kind)
    table = pa.table({"ts": stamps, "k": [1] * 5, "v": [1.0] * 5, "name": ["a"] * 5})
    path = parquet(tmp_path, table, write_statistics=statistics, row_group_size=2)
    assert greatest_timestamp(path, stream("parquet")) == 40
    assert greatest_timestamp(parquet(tmp_path, table.slice(0, 0)), stream("parquet")) is None


@pytest.mark.parametrize("kind", ["ms", "us", "ns"])
@pytest.mark.parametrize("zone", [None, "+02:00"])
def test_the_top_of_moments_is_in_microseconds_of_utc(kind, zone, tmp_path):
    fields = (Field("ts", Type.TIMESTAMP),)
    declaration = dataclasses.replace(
        stream("parquet"), schema=Schema(fields), clock=Clock.TIMESTAMP
    )
    table = pa.table(
        {"ts": pa.array([3, 1], pa.timestamp("s", zone)).cast(pa.timestamp(kind, zone))}
    )
    path = parquet(tmp_path, table)
    assert greatest_timestamp(path, declaration) == 3_000_000
    (parsed,) = read_file(path, declaration)
    assert parsed.rows.column(0).cast(pa.int64()).to_pylist() == [3_000_000, 1_000_000]


LONG = b"x" * 300


@pytest.mark.parametrize("ending", ["", ".gz", ".zst"])
@pytest.mark.parametrize("row", [b"2,1,1," + LONG, b'2,1,1,"b' + b"\n3,1,1,c" * 40 + b'"', LONG])
def test_a_csv_row_that_is_too_long_is_refused_alone(row, ending, tmp_path, monkeypatch):
    monkeypatch.setattr(csv_reader, "BLOCK", 64)
    content = b"ts,k,v,name\n1,1,1,a\n" + row + b"\n3,1,1,c\n"
    rows, refused, numbers = read(packed(tmp_path, content, "a.csv" + ending), "csv")
    assert ([r[0] for r in rows], numbers) == ([1, 3], [1, 3])
    assert [(r.row, r.ts) for r in refused] == [(2, None)]
    assert refused[0].reason.startswith("expected a row of at most 64 bytes, found a longer one")
    assert ("quoted field" in refused[0].reason) == (b'"' in row)
    assert row.startswith(refused[0].text.encode())


@pytest.mark.parametrize("ending", ["", ".gz", ".zst"])
def test_a_json_line_that_is_too_long_is_refused_alone(ending, tmp_path, monkeypatch):
    monkeypatch.setattr(jsonlines, "CHUNK", 64)
    long = b'{"ts":2,"name":"' + LONG + b'"}'
    content = b'{"ts":1}\n' + long + b'\n{"ts":3}\n'
    rows, refused, numbers = read(packed(tmp_path, content, "a.json" + ending), "json")
    assert ([r[0] for r in rows], numbers) == ([1, 3], [1, 3])
    assert [(r.row, r.reason) for r in refused] == [
        (2, "expected a row of at most 64 bytes, found a longer one")
    ]
    assert long.startswith(refused[0].text.encode())


def packed(tmp_path: Path, content: bytes, name: str) -> Path:
    path = tmp_path / name
    with pa.output_stream(path, compression="detect") as stream:
        stream.write(content)
    return path


@pytest.mark.parametrize("form", ["csv", "json"])
def test_a_file_without_a_newline_is_one_refused_row_and_readers_may_stop_meanwhile(form, tmp_path):
    start = b"ts,k,v,name\n" if form == "csv" else b""
    path = written(tmp_path, start, f"a.{form}")
    with path.open("ab") as file:
        file.truncate(400 << 20)  # zeros that take no room on disk
    batches = list(read_file(path, stream(form)))
    assert [len(b) for b in batches] == [0] * len(batches)
    assert len(batches) > 5, "a batch without rows now and then"
    (refused,) = [r for b in batches for r in b.rejected]
    assert "at most 4 MiB, found a longer one" in refused.reason
    assert len(refused.text) <= 1000


def test_a_long_header_is_an_error_and_blank_lines_before_it_are_not(tmp_path, monkeypatch):
    content = b"\xef\xbb\xbf\r\n\nts,k,v,name\n1,,,\n"
    rows, _, numbers = read(written(tmp_path, content), "csv")
    assert (rows, numbers) == ([(1, None, None, None)], [1])
    monkeypatch.setattr(csv_reader, "BLOCK", 64)
    with pytest.raises(InputError, match="a header of at most 64 bytes"):
        read(written(tmp_path, b"ts,k,v,name" + b"," * 200), "csv")


@pytest.mark.parametrize("block", [1 << 17, 1])
def test_a_byte_order_mark_inside_a_file_is_text_wherever_a_chunk_begins(
    block, tmp_path, monkeypatch
):
    monkeypatch.setattr(chunks.FIRST_BLOCK, "value", block)
    monkeypatch.setattr(chunks.ROWS, "value", 1)
    content = b"name,ts,k,v\na,1,,\n" + b"\xef\xbb\xbfb,2,,\n" * 2
    rows, refused, _ = read(written(tmp_path, content), "csv")
    assert ([row[3] for row in rows], refused) == (["a", "\ufeffb", "\ufeffb"], [])


@pytest.mark.parametrize("column", ["name", "NAME"])
def test_a_header_with_a_field_that_python_would_not_take_is_an_error(column, tmp_path):
    content = b"ts,k,v,name," + b"x" * 200_000 + b"\n1,1,1,a,\n"
    with pytest.raises(InputError, match=r"a\.csv: expected a header"):
        read(written(tmp_path, content), "csv")


GROWING = {
    "csv": b'ts,k,v,name\n1,1,1.5,"a\nb"\n2,x,1,"c ""d"", 5"\n\n3,1\n44,7,0.25,e" f\n5,,,"g\n"\n',
    "json": b'{"ts":1,"name":"a"}\n{"ts":2,"k":"x"}\n\n{"ts":3\n{"ts":44}\n{"ts":5,"v":[}]}\n',
}


@pytest.mark.parametrize("form", GROWING)
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(cuts=st.lists(st.integers(0, 70)), limit=st.sampled_from([20, 1 << 20]))
def test_a_file_that_grows_gives_the_rows_of_the_whole_file(form, cuts, limit, tmp_path):
    content = GROWING[form]
    path = tmp_path / f"a.{form}"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(csv_reader, "BLOCK", max(limit, 20))
        patch.setattr(jsonlines, "CHUNK", limit)
        path.write_bytes(content)
        whole = read(path, form)
        rows, refused, numbers, part = [], [], [], Part()
        for stop in [*sorted(cuts), len(content)]:
            path.write_bytes(content[:stop])
            for parsed in read_file(path, stream(form), part=dataclasses.replace(part, stop=stop)):
                rows += [tuple(r.values()) for r in parsed.rows.to_pylist()]
                refused += parsed.rejected
                numbers += parsed.numbers.tolist()
                part = parsed.after or part
    assert (rows, numbers) == (whole[0], whole[2])
    assert [(r.row, r.reason) for r in refused] == [(r.row, r.reason) for r in whole[1]]


def test_a_last_row_without_its_newline_waits_for_it_but_a_whole_object_does_not(tmp_path):
    def taken(name: str, content: bytes, form: str) -> list[int]:
        path = written(tmp_path, content, name)
        return [t for p in read_file(path, stream(form), part=Part()) for t in p.numbers.tolist()]

    assert taken("a.csv", b"ts,k,v,name\n1,,,\n2,,,", "csv") == [1]
    assert taken("a.csv", b"ts,k,v,name", "csv") == []
    assert taken("a.json", b'{"ts":1}\n{"ts":2}', "json") == [1, 2]
    assert taken("a.json", b'{"ts":1}\n{"ts":2,"v":{}', "json") == [1]


def test_a_row_that_was_taken_without_its_newline_and_went_on_is_refused_in_words(tmp_path):
    path = written(tmp_path, b"ts,k,v,name\n1,,,\n2,1,2,a")
    *_, last = read_file(path, stream("csv"), part=Part(final=True))
    assert last.numbers.tolist() == [2]
    for more, reasons, then in ((b"\n3,,,\n", [], [3]), (b"bc\n3,,,\n", [2], [3])):
        written(tmp_path, b"ts,k,v,name\n1,,,\n2,1,2,a" + more)
        grown = list(read_file(path, stream("csv"), part=last.after))
        assert [n for p in grown for n in p.numbers.tolist()] == then
        refused = [r for p in grown for r in p.rejected]
        assert [r.row for r in refused] == reasons
        assert all("may be half a row" in r.reason for r in refused)


@pytest.mark.parametrize("kind", ["BOOLEAN", "INT", "BIGINT", "FLOAT", "DOUBLE", "STRING",
                                  "TIMESTAMP", "DATE"])  # fmt: skip
def test_a_value_is_the_same_whether_arrow_reads_its_column_or_its_text(tmp_path, kind):
    """Each text stands alone in a file, and beside one that sends all of the file the other way."""
    texts = [
        "1", " 1", "1\t", "+1", "-0", "0x1f", "1.5", "1e3", "1e400", "nan", "-inf", "true", "False",
        "TRUE", " true", "2024-05-01", "2024-05-01 10:00", "2024-05-01T10:00:00Z", "3000000000",
        "2024-05-01 10:00:00.123456", "2024-05-01 10:00:00.123456789", "2024-05-01 10:00:00+02:00",
        " 2024-05-01 ", "", '""', '" "', "x", '"x ""y"""', "caf\xe9", "99999999999999999999",
    ]  # fmt: skip
    assert Type(kind) in READ_BY_ARROW
    script = f"CREATE STREAM s (ts BIGINT, v {kind}) FROM '{tmp_path}' FORMAT csv;"
    declaration = compile_script(script).catalog.declarations["s"]
    for number, text in enumerate(texts):
        found = []
        for other in ("1,", "bad,"):
            path = tmp_path / f"{number}.csv"
            path.write_text(f"ts,v\n2,{text}\n{other}\n")
            batches = list(read_file(path, declaration))
            rows = [row for p in batches for row in p.rows.to_pylist() if row["ts"] == 2]
            found.append((str(rows), [r for p in batches for r in p.rejected if r.row == 1]))
        assert found[0] == found[1], text


UNSEEN = b"""ts,k,v,name,note
1,2,0.5,a,b
2,two,0.5,a,b
3,2,0.5,"a\xff",b
4,2,0.5,a
5,2,0.5,"a\n,a",b
six,2,0.5,a,b
7,2,0.5,,"\xc3\xa9"
8,,,a,\xc3
"""


@pytest.mark.parametrize("block", [16, 1 << 20])
@pytest.mark.parametrize("seen", [{0}, {0, 1}, {0, 4}, {0, 1, 2, 3, 4}])
def test_rows_do_not_depend_on_which_columns_anybody_looks_at(seen, block, tmp_path, monkeypatch):
    monkeypatch.setattr(csv_reader, "BLOCK", block)
    path = written(tmp_path, UNSEEN)
    schema = Schema((*SCHEMA.fields, Field("note", Type.STRING)))
    declared = dataclasses.replace(stream("csv"), schema=schema)
    everything, some = (
        list(read_file(path, declared)),
        list(read_file(path, declared, columns=frozenset(seen))),
    )
    assert sum(len(parsed) for parsed in some) == (2 if block == 16 else 3)
    for whole, part in zip(everything, some, strict=True):
        assert part.numbers.tolist() == whole.numbers.tolist()
        assert part.rejected == whole.rejected
        assert part.rows.schema == whole.rows.schema
        for column in seen:
            assert part.rows.column(column) == whole.rows.column(column)
        assert part.texts(np.arange(len(part))) == whole.texts(np.arange(len(whole)))


def test_texts_that_nobody_looks_at_are_not_made(tmp_path):
    path = written(tmp_path, b"ts,k,v,name\n1,2,0.5,a\n")
    (parsed,) = read_file(path, stream("csv"), columns=frozenset({0, 1}))
    assert parsed.rows.to_pylist() == [{"ts": 1, "k": 2, "v": 0.5, "name": None}]
