"""How the columns of Parquet runs are encoded: small, and readable by others."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from windrow.archive.archive import Archive
from windrow.archive.format.disk import Disk
from windrow.archive.format.layout import Layout
from windrow.archive.runs.parquet_entries import LONGEST, SHORTEST, choose_encodings, group_rows
from windrow.archive.runs.run import ALL, Run
from windrow.archive.runs.write import write_day

ROWS = 3 * SHORTEST
RNG = np.random.default_rng(7)


def some(values, kind=None) -> pa.Array:
    return pa.array(values, kind)


COLUMNS = {
    "word": some([f"w{n}" for n in RNG.integers(0, 5, ROWS)]),
    "url": some([f"http://{n:x}.example/{n}" for n in RNG.integers(0, 2**60, ROWS)]),
    "when": some(np.cumsum(RNG.integers(0, 10**6, ROWS)), pa.timestamp("us")),
    "size": some(RNG.integers(0, 1500, ROWS)),
    "any": some(RNG.integers(-(2**62), 2**62, ROWS)),
    "small": some(RNG.integers(-100, 100, ROWS), pa.int8()),
    "level": some(RNG.normal(size=ROWS)),
    "yes": some(RNG.random(ROWS) < 0.5),
    "on": some([dt.date(2020, 1, 1) + dt.timedelta(int(n)) for n in RNG.integers(0, 900, ROWS)]),
    "cost": some([Decimal(int(n)) / 100 for n in RNG.integers(0, 10**6, ROWS)]),
    "gap": some([None if n % 7 else int(n) for n in RNG.integers(0, 10**6, ROWS)]),
    "tags": some([["a", "b"][: n % 3] for n in range(ROWS)]),
    "place": some([{"x": int(n), "y": "q"} for n in RNG.integers(0, 9, ROWS)]),
}
TABLE = pa.table({"key": some(np.sort(RNG.integers(0, 200, ROWS))), **COLUMNS})


def written(tmp_path, table=TABLE) -> Run:
    disk, layout = Disk(tmp_path), Layout(table.schema, ("key",))
    disk.make_folder("runs")
    ref, _ = write_day(disk, layout, {}, layout.entries(table, 1), "run", "parquet")
    return Run(disk, layout, ref)


def ways_of(run: Run) -> dict[str, tuple[str, str]]:
    group = pq.ParquetFile(run._disk.path(run.ref.entries_file)).metadata.row_group(1)
    columns = [group.column(i) for i in range(group.num_columns)]
    return {
        c.path_in_schema: (
            "dictionary" if c.has_dictionary_page else c.encodings[-1],
            c.compression,
        )
        for c in columns
    }


def test_what_repeats_has_a_dictionary_and_numbers_are_deltas_and_text_is_compressed(tmp_path):
    ways = ways_of(written(tmp_path))
    assert ways["word"] == ("dictionary", "UNCOMPRESSED")
    assert ways["url"] == ("PLAIN", "ZSTD")
    assert ways["when"] == ways["size"] == ("DELTA_BINARY_PACKED", "UNCOMPRESSED")
    assert ways["level"] == ("PLAIN", "UNCOMPRESSED")
    assert ways["tags.list.element"] == ways["place.y"] == ("dictionary", "ZSTD")


def test_it_is_shorter_than_with_dictionaries_and_compression_everywhere(tmp_path):
    run = written(tmp_path)
    pq.write_table(TABLE, tmp_path / "plain", compression="zstd", row_group_size=SHORTEST)
    assert run.ref.entries.size < (tmp_path / "plain").stat().st_size


def test_others_read_the_same_values(tmp_path):
    path = str(written(tmp_path)._disk.path("runs/run.parquet"))
    for read in (pq.read_table(path), duckdb.read_parquet(path).to_arrow_table()):
        found = read.select(TABLE.column_names).cast(TABLE.schema)
        assert found.num_rows == ROWS
        assert found.sort_by([("key", "ascending"), ("url", "ascending")]).equals(
            TABLE.sort_by([("key", "ascending"), ("url", "ascending")])
        )


@pytest.mark.parametrize("columns", [TABLE.column_names, ["url", "word"], ["place", "_day"]])
def test_a_bucket_is_the_rows_of_the_file(tmp_path, columns):
    run = written(tmp_path)
    schema = pa.schema([run.layout.reader_schema({}).field(name) for name in columns])
    for key in (0, 17, 199):
        start, stop = run.directory.find(key)
        found = pa.Table.from_batches(run.entries.bucket(start, stop, schema, ALL), schema)
        rows = pa.Table.from_batches(run.entries.rows(start, stop, schema, ALL), schema)
        assert found.num_rows == stop - start > 0
        assert found.equals(rows)
        found.validate(full=True)


def test_a_long_run_has_longer_row_groups_within_bounds():
    assert group_rows(10) == group_rows(1_000_000) == SHORTEST
    assert group_rows(2_000_000) == 2_000
    assert group_rows(10**9) == LONGEST


def test_a_short_run_is_not_tried_out(tmp_path):
    few = TABLE.slice(0, 10)
    assert set(choose_encodings(few.select(["key", "any"])).compressions.values()) == {"zstd"}
    assert written(tmp_path, few).ref.rows == 10


def test_a_bucket_without_its_masked_days(tmp_path):
    archive = Archive.create(
        tmp_path, TABLE.schema, "key", window=5, scheme="WATA", n=2, format="parquet"
    )
    for day in range(1, 8):
        archive.append(day, TABLE.slice(day, 60), now=day)
    with archive.reader() as reader:
        for key in set(TABLE.column("key").slice(0, 70).to_pylist()):
            found = reader.probe(key, columns=["any", "_day"]).to_pylist()
            expected = [
                {"any": row["any"], "_day": day}
                for day in range(3, 8)
                for row in TABLE.slice(day, 60).select(["key", "any"]).to_pylist()
                if row["key"] == key
            ]
            assert sorted(map(repr, found)) == sorted(map(repr, expected))
