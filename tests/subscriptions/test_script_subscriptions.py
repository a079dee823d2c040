"""Subscriptions from files and tables, in both forms, and what is said of broken ones."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from windrow.core.errors import InputError
from windrow.core.schema import Type
from windrow.core.time import Clock
from windrow.core.warnings import WindrowWarning
from windrow.plan.nodes import FileSource
from windrow.subscriptions.script_subscriptions import attributes_in, load
from windrow.subscriptions.subscriptions import Subscriptions

ATTRIBUTES = {"bytes": Type.BIGINT, "src": Type.STRING}
ROWS = pa.record_batch({"bytes": [50, 150, 200, 5000, None], "src": ["a", "a", "b", "c", "a"]})
CSV = """id,bytes,src,owner
small,"[1, 100)",,ann
mid,"[100, 200]",a,bob
mid,,b,bob
big,> 1000,"in ('c', 'd')",
"""
EXPECTED = {(0, "small"), (1, "mid"), (2, "mid"), (3, "big")}


def found(subscriptions: Subscriptions) -> set[tuple[int, str]]:
    matches = subscriptions.match(ROWS)
    return set(zip(matches["row"].to_pylist(), matches["subscription"].to_pylist(), strict=True))


def test_csv_json_and_parquet_hold_the_same(tmp_path):
    (tmp_path / "a.csv").write_text(CSV)
    rows = [
        {"id": "small", "bytes": "[1, 100)"},
        {"id": "mid", "bytes": "[100, 200]", "src": "a"},
        {"id": "mid", "src": "b"},
        {"id": "big", "bytes": "> 1000", "src": ["c", "d"]},
    ]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows))
    columns = {n: [str(r[n]) if n in r else None for r in rows] for n in ("id", "bytes", "src")}
    columns["src"][3] = "in (c, d)"
    pq.write_table(pa.table(columns), tmp_path / "a.parquet")
    for name, kind in (("a.csv", "csv"), ("a.jsonl", "json"), ("a.parquet", "parquet")):
        path = tmp_path / name
        assert found(load(FileSource(str(path), kind), ATTRIBUTES)) == EXPECTED
        assert attributes_in(path, kind)[:2] == ["bytes", "src"]


def test_a_file_without_identifiers_is_refused_before_its_columns_are_looked_for(tmp_path):
    (tmp_path / "a.csv").write_text("name,bytes\nx,> 5\n")
    with pytest.raises(InputError, match="expected a column id; found name, bytes"):
        attributes_in(tmp_path / "a.csv", "csv")


def test_minima_and_maxima_are_included_unless_bounds_say_otherwise(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(
        "id,bytes_min,bytes_max,bytes_bounds\nboth,50,200,\nopen,50,200,()\n"
        "low,,150,[)\nhigh,200,,\nno,49.5,50.5,[]\n"
    )
    assert found(load(FileSource(str(path), "csv"), {"bytes": Type.BIGINT})) == {
        (0, "both"), (1, "both"), (2, "both"), (1, "open"), (0, "low"), (2, "high"), (3, "high"),
        (0, "no"),
    }  # fmt: skip
    table = pa.table({"ID": [1, 2], "Bytes_Min": [100, None], "bytes_max": [None, 50]})
    ours = Subscriptions({"bytes": Type.BIGINT}, ids=pa.int64())
    ours.add(table)
    assert found(ours) == {(0, 2), (1, 1), (2, 1), (3, 1)}


def test_a_directory_of_files_is_one_set_of_subscriptions(tmp_path):
    for number in range(3):
        (tmp_path / f"{number}.csv").write_text(f"id,bytes\ns{number},{50 * number}\n")
    ours = load(FileSource(str(tmp_path), "csv"), {"bytes": Type.BIGINT})
    assert len(ours) == 3
    assert found(ours) == {(0, "s1")}


def test_entries_begin_and_end_at_the_instants_in_the_file(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("id,x,since,until\na,*,2024-01-01 00:00:01,\nb,*,,2024-01-01 00:00:02\n")
    ours = load(FileSource(str(path), "csv"), {"x": Type.INT}, Clock.TIMESTAMP)
    start = int(np.datetime64("2024-01-01", "us").astype(np.int64))
    ts = start + 1_000_000 * np.arange(4)
    matches = ours.match(pa.record_batch({"x": pa.array([1] * 4, pa.int32())}), ts)
    assert set(zip(*matches.to_pydict().values(), strict=True)) == {
        (0, "b"), (1, "a"), (1, "b"), (2, "a"), (3, "a"),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("id,bytes\na,1\nb,> x\n", "a.csv, line 3: expected BIGINT, found 'x' in bytes"),
        ("id,bytes\na,1\n,2\n", "a.csv, line 3: expected an id, found none"),
        ("id,bytes\na,\n", "a.csv, line 2: expected a condition on bytes, found none"),
        ("id,bytes\na,[1, 2]\n", "a.csv, line 2: expected 2 fields; found 3"),
        ('id,bytes,note\na,1,"x\ny"\nb,?,\n', "a.csv, line 4: expected BIGINT, found '?'"),
        ("name,bytes\na,1\n", "a.csv: expected a column id; found name, bytes"),
        ("id,byte\na,1\n", "expected a column bytes, or bytes_min and bytes_max"),
        ("id,bytes,bytes_min\na,1,1\n", "expected either bytes, or bytes_min and bytes_max"),
        ("id,bytes_min,bytes_bounds\na,1,[[\n", "expected one of [] [) (] (), found '[['"),
        ("id,bytes,since\na,1,soon\n", "expected BIGINT, found 'soon' in since"),
        ("id,bytes\na,x\nb,y\nc,1\n", "1 more rows are wrong"),
    ],
)
def test_a_broken_file_is_an_error_with_its_line(tmp_path, text, said):
    path = tmp_path / "a.csv"
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        load(FileSource(str(path), "csv"), {"bytes": Type.BIGINT})
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("line", "said"), [("{", "line 2: expected a JSON object"), ("[1]", "line 2"),
                       ('{"id": "b", "bytes": "x"}', "line 2: expected BIGINT, found 'x'")]
)  # fmt: skip
def test_a_broken_line_of_json_is_an_error_with_its_line(tmp_path, line, said):
    path = tmp_path / "a.json"
    path.write_text(f'{{"id": "a", "bytes": 1}}\n{line}\n')
    with pytest.raises(InputError) as caught:
        load(FileSource(str(path), "json"), {"bytes": Type.BIGINT})
    assert said in str(caught.value)


def test_a_file_that_is_none_is_named(tmp_path):
    path = tmp_path / "a.parquet"
    path.write_text("no parquet")
    with pytest.raises(InputError, match=r"a\.parquet: expected a readable parquet file"):
        load(FileSource(str(path), "parquet"), {"bytes": Type.BIGINT})


def test_an_attribute_that_is_none_is_refused():
    ours = Subscriptions(ATTRIBUTES)
    with pytest.raises(InputError, match="did you mean 'bytes'"):
        ours.add([{"id": "a", "byte": 1}])


@pytest.mark.parametrize("kind", [Type.BIGINT, Type.DOUBLE])
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_minimum_above_its_maximum_is_warned_of(tmp_path, kind, ending):
    path = tmp_path / f"a.{ending}"
    table = pa.table({"id": ["a", "b"], "x_min": [1.0, 5.0], "x_max": [2.0, 3.0]})
    if ending == "csv":
        path.write_text("id,x_min,x_max\na,1,2\nb,5,3\n")
    else:
        pq.write_table(table, path)
    with pytest.warns(WindrowWarning, match="the lower bound 5.* is above the upper bound 3"):
        load(FileSource(str(path), ending), {"x": kind})


def test_two_columns_of_one_attribute_are_refused(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("id,x,X\na,> 5,> 6\n")
    with pytest.raises(InputError, match="columns of different names; found x twice"):
        load(FileSource(str(path), "csv"), {"x": Type.BIGINT})
