"""What is appended may be a table, batches, a data frame or files, and is the same records."""

from __future__ import annotations

import gzip
import json
from datetime import datetime
from decimal import Decimal
from pathlib import Path

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from tests.archive.support.plain import bag
from windrow.archive import Archive
from windrow.archive.errors import ArchiveError, LifetimeError
from windrow.archive.lifetimes.lifetime_index import LifetimeIndex
from windrow.cli.main import app
from windrow.core.errors import InputError, WindrowError

SCHEMA = pa.schema(
    {"k": pa.string(), "n": pa.int16(), "at": pa.timestamp("us"), "p": pa.decimal128(9, 2)}
)
ROWS = pa.table(
    {
        "k": ["00123", "b,c", "é", None],
        "n": [1, -2, 3, None],
        "at": [datetime(2026, 3, 1, 2, 3, 4, 5), datetime(1969, 1, 1), None, datetime(2026, 3, 2)],
        "p": [Decimal("1.10"), Decimal("-2.00"), None, Decimal(7)],
    },
    schema=SCHEMA,
)
WIDE = ROWS.append_column("unasked", pa.array([1, 2, 3, 4])).select([4, 3, 2, 1, 0])


def to_csv(path, table=ROWS):
    pyarrow.csv.write_csv(table, path)


def to_json(path, table=ROWS):
    path.write_text("".join(json.dumps(row, default=str) + "\n" for row in table.to_pylist()))


def to_parquet(path, table=ROWS):
    pq.write_table(table, path)


def to_arrow(path, table=ROWS):
    with pa.ipc.new_file(path, table.schema) as writer:
        writer.write_table(table)


def zipped(write):
    def written(path, table=ROWS):
        plain = path.with_name(f"_{path.stem}")
        write(plain, table)
        path.write_bytes(gzip.compress(plain.read_bytes()))
        plain.unlink()

    return written


FILES = {
    "day.csv": to_csv,
    "day.csv.gz": zipped(to_csv),
    "day.json": to_json,
    "day.jsonl.gz": zipped(to_json),
    "day.parquet": to_parquet,
    "day.arrow": to_arrow,
    "day.feather": to_arrow,
}
GIVEN = {
    "a table": lambda: WIDE,
    "a batch": lambda: WIDE.to_batches()[0],
    "batches": lambda: WIDE.to_batches(max_chunksize=1),
    "batches of several schemas": lambda: [
        WIDE.slice(0, 1).to_batches()[0],
        ROWS.slice(1, 3).cast(SCHEMA.set(1, pa.field("n", pa.int64()))).to_batches()[0],
    ],
    "tables": lambda: iter([WIDE.slice(0, 3), ROWS.slice(3)]),
    "a reader": lambda: WIDE.to_reader(max_chunksize=1),
    "Polars": lambda: pl.DataFrame(WIDE),
    "pandas": lambda: WIDE.to_pandas(types_mapper=pd.ArrowDtype),
    "DuckDB": lambda: duckdb.from_arrow(WIDE),
    "no batches": list,
}


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def made(name="a", schema=SCHEMA):
    return Archive.create(name, schema, "k", window=7, scheme="DEL", n=1)


def held(archive):
    with archive.reader() as reader:
        return bag(reader.scan())


@pytest.mark.parametrize("what", GIVEN)
def test_whatever_exports_arrow_is_taken_in_the_archives_types(what):
    archive = made()
    archive.append(1, GIVEN[what](), now=1)
    assert held(archive) == ([] if what == "no batches" else bag(ROWS))


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("kind", [str, Path, lambda name: [name], lambda name: (Path(name),)])
def test_a_file_is_taken_as_the_command_line_takes_it(name, kind):
    FILES[name](Path(name))
    archive, other = made(), made("other")
    archive.append(1, kind(name), now=1)
    arguments = ["archive", "append", "other", name, "--day", "1"]
    assert CliRunner().invoke(app, arguments).exit_code == 0
    assert held(archive) == held(other) == bag(ROWS)


def test_several_files_directories_and_patterns_are_the_files_one_after_the_other():
    Path("more").mkdir()
    names = [Path(name) for name in FILES] + [Path("more", name) for name in FILES]
    for path in names:
        FILES[path.name](path)
    archive = made()
    archive.append_days({1: names, 2: "more", 3: ["more/*.csv", "day.parquet"]}, now=3)
    with archive.reader() as reader:
        found = [bag(reader.scan(day, day)) for day in (1, 2, 3)]
    assert found == [sorted(bag(ROWS) * times, key=repr) for times in (14, 7, 2)]


def test_files_longer_than_memory_are_sorted_in_turns(monkeypatch):
    rows = pa.table({"k": [f"k{i % 7}" for i in range(5_000)], "n": range(5_000)})
    pq.write_table(rows, "long.parquet")
    to_arrow(Path("long.arrow"), rows)  # one batch
    turns = []
    archive = made(schema=pa.schema({"k": pa.string(), "n": pa.int64()}))
    entries = type(archive.layout).entries
    monkeypatch.setattr("windrow.archive.wave.writer.AT_ONCE.value", 20_000)
    monkeypatch.setattr("windrow.tables.typed_files.ROWS.value", 500)
    monkeypatch.setattr(
        type(archive.layout),
        "entries",
        lambda layout, table, *rest: turns.append(table.nbytes) or entries(layout, table, *rest),
    )
    archive.append(1, ["long.parquet", "long.arrow"], now=1)
    assert max(turns) <= 20_000
    assert len(turns) >= 2 * rows.nbytes / 20_000
    assert held(archive) == sorted(bag(rows) * 2, key=repr)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("no.csv", "k,n,at,p\na,1,2026-03-01,1.25\nb,one,2026-03-01,1\n"),
        ("no.csv", "k,m,at,p\na,1,2026-03-01,1.25\n"),
        ("no.json", '{"k": "a", "n": 70000}\n'),
        ("no.parquet", "no parquet at all"),
        ("no.arrow", "nor arrow"),
    ],
)
def test_a_file_that_does_not_fit_is_refused_as_on_the_command_line_and_nothing_is_taken(
    name, text
):
    to_csv(Path("good.csv"))
    Path(name).write_text(text)
    archive = made()
    with pytest.raises(InputError) as refused:
        archive.append(1, ["good.csv", name], now=1)
    arguments = ["archive", "append", "a", "good.csv", name, "--day", "1"]
    said = CliRunner().invoke(app, arguments).output
    assert " ".join(said.split()) == " ".join(f"error: {refused.value}".split())
    assert (archive.stat().version, archive.stat().ahead) == (1, {})


def test_a_path_with_nothing_there_is_said_to_be_one():
    to_csv(Path("day.csv"))
    with pytest.raises(InputError, match=r"nothing there; did you mean day\.csv\?"):
        made().append(1, "dya.csv")


@pytest.mark.parametrize(
    ("data", "found"),
    [
        ({"k": ["a"]}, "found dict"),
        ([{"k": "a"}], "found list with dict in it"),
        (["a.csv", 3], "found list with str in it"),
        (7, "found int"),
        (None, "found NoneType"),
        (b"day.csv", "found bytes"),
        (pa.array([1, 2]), "found pyarrow.lib.Int64Array"),
        (pa.chunked_array([[1, 2]]), "found pyarrow.lib.ChunkedArray"),
        (pd.DataFrame({"k": [1, "a"]}), "found pandas.core.frame.DataFrame"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_is_no_records_is_refused_in_words(data, found):
    index = LifetimeIndex.create("i", SCHEMA, "k", longest=9, interval=1)
    for take in (lambda: made().append(1, data), lambda: index.insert(1, data, [5])):
        with pytest.raises(ArchiveError, match="data: expected a table") as refused:
            take()
        assert found in str(refused.value)
        assert "pyarrow.table" in refused.value.remedy


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (pa.table({"k": ["a"]}), "no n, at, p"),
        (pa.table([["a"], ["b"]], ["k", "k"]), "found the columns k, k"),
        (ROWS.set_column(1, "n", pa.array([2**40] * 4)), "column n: expected values of the type"),
        (ROWS.set_column(1, "n", pa.array([[1]] * 4)), "column n: expected values of the type"),
    ],
)
def test_columns_that_do_not_fit_are_named(data, said):
    with pytest.raises(WindrowError, match="data") as refused:
        made().append(1, data)
    assert said in str(refused.value)


@pytest.mark.parametrize("name", FILES)
def test_records_of_files_with_lifetimes_end_when_a_column_says(name):
    schema = pa.schema({"k": pa.string(), "n": pa.int16()})
    rows = ROWS.select(["k", "n"]).append_column("until", pa.array([3, 4, 5, 6]))
    FILES[name](Path(name), rows)
    index = LifetimeIndex.create("i", schema, "k", longest=9, interval=1)
    assert index.insert(1, Path(name), "until").dead == 0
    index.insert(2, rows, "until")
    index.insert(2, [], "until")
    index.insert(2, name, [9, 9, 9, 9])
    with index.reader(now=5) as reader:
        found = sorted(reader.scan().column("k").to_pylist(), key=repr)
    left = ["00123", "b,c", "é", None]
    assert found == sorted([*left, left[3], left[3]], key=repr)


def test_expiries_may_be_a_column_of_the_records_and_must_be_times_or_numbers():
    schema = pa.schema({"k": pa.string(), "until": pa.int64()})
    index = LifetimeIndex.create("i", schema, "k", longest=9, interval=1)
    rows = pa.table({"k": ["a", "b"], "until": [3, 5]})
    index.insert(1, pl.DataFrame(rows), "until")
    with index.reader(now=4) as reader:
        assert reader.scan().to_pylist() == [{"k": "b", "until": 5}]
    with pytest.raises(LifetimeError, match="64-bit integers"):
        index.insert(1, rows, "k")
    with pytest.raises(ArchiveError, match="no end"):
        index.insert(1, rows, "end")
