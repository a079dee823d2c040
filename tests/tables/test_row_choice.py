"""Rows that fail a condition are left out of a batch, and nothing else about it changes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest

from windrow.columns.evaluate import selection_mask
from windrow.core.thresholds import lowered_thresholds
from windrow.plan.catalog import StreamDeclaration
from windrow.plan.expressions import Expression
from windrow.plan.nodes import Selection, walk
from windrow.plan.program import compile_script
from windrow.streams.monitor import InputMonitor
from windrow.tables.parsed_rows import Parsed, Rejected
from windrow.tables.readers import read_file

ROWS = 500
CONDITIONS = (
    "k = 'a'", "k <> 'a' AND n > 3", "k IS NULL", "k = other", "n IN (1, 5)", "k = 'z'",
    "NOT (k = 'a')", "n >= 0 OR n < 0 OR n IS NULL", "k LIKE 'b%' OR other = 'v7'",
)  # fmt: skip


def declared(where: str, form: str) -> tuple[StreamDeclaration, Expression]:
    catalog = compile_script(f"""
        CREATE STREAM s (ts BIGINT, k STRING, n BIGINT, other STRING) FROM 'x' FORMAT {form}
        TIMESTAMP BY ts SLACK 3;
        SELECT ts, k, n, other FROM s WHERE {where};
    """).catalog
    (selection,) = (n for n in walk(catalog.queries[0].plan) if isinstance(n, Selection))
    return catalog.streams[0], selection.predicate


def rows(*, bad: bool = False) -> pa.Table:
    random = np.random.default_rng(5)
    ts = np.arange(ROWS) + random.integers(-6, 6, ROWS)
    return pa.table(
        {
            "ts": pa.array(ts, mask=np.arange(ROWS) % 50 == 49 if bad else None),
            "k": pa.array([None if i == 4 else "abcb"[i] for i in random.integers(0, 4, ROWS)]),
            "n": pa.array(random.integers(0, 9, ROWS), mask=random.random(ROWS) < 0.1),
            "other": pa.array([f"v{i}" for i in random.integers(0, 300, ROWS)]),
        }
    )


def written(place: Path, table: pa.Table, form: str, how: str = "") -> Path:
    path = place / f"a.{form}"
    if form == "parquet":
        names = {"plain": False, "": True, "some": ["other"]}[how]
        pq.write_table(table, path, row_group_size=170, use_dictionary=names)
    elif form == "csv":
        pa_csv.write_csv(table, path)
    else:
        path.write_text(table.to_pandas().to_json(orient="records", lines=True))
    return path


def chosen(whole: Parsed, condition: Expression) -> pa.RecordBatch:
    return whole.rows.filter(pa.array(selection_mask(condition, whole.rows)))


def joined(batches: Iterator[Parsed], condition: Expression | None) -> pa.Table:
    found = [b.rows if condition is None else chosen(b, condition) for b in batches]
    return pa.Table.from_batches(found).combine_chunks()


@pytest.mark.parametrize("least", [False, True])
@pytest.mark.parametrize("where", CONDITIONS)
@pytest.mark.parametrize(
    ("form", "how"), [("parquet", ""), ("parquet", "plain"), ("parquet", "some"), ("csv", ""),
                      ("json", "")],
)  # fmt: skip
def test_the_other_rows_and_all_times_are_there(form, how, where, least, tmp_path):
    declaration, condition = declared(where, form)
    path = written(tmp_path, rows(), form, how)
    with lowered_thresholds() if least else nullcontext():
        whole = list(read_file(path, declaration, 64))
        some = list(read_file(path, declaration, 64, condition=condition))
    assert joined(some, None) == joined(whole, condition)
    assert [n for p in some for n in p.numbers] == [n for p in whole for n in p.numbers]
    every = [t for p in some for t in p.texts(np.arange(len(p)))]
    assert every == [t for p in whole for t in p.texts(np.arange(len(p)))]
    times = [t for p in some for t in (p.rows["ts"].to_pylist() if not p.choice else p.choice.ts)]
    assert times == [t for p in whole for t in p.rows["ts"].to_pylist()]


@pytest.mark.parametrize("least", [False, True])
@pytest.mark.parametrize("where", CONDITIONS)
@pytest.mark.parametrize("form", ["parquet", "csv"])
def test_late_rows_and_refused_ones_are_the_same(form, where, least, tmp_path):
    declaration, condition = declared(where, form)
    path = written(tmp_path, rows(bad=True), form)
    monitors = InputMonitor(declaration), InputMonitor(declaration)
    found: tuple[list[Rejected], list[Rejected]] = [], []
    with lowered_thresholds() if least else nullcontext():
        for monitor, told, asked in zip(monitors, found, (None, condition), strict=True):
            for parsed in read_file(path, declaration, 64, condition=asked):
                told.extend(parsed.rejected)
                told.extend(monitor.accept(parsed).rejections(parsed, declaration))
    assert sorted(found[0], key=lambda r: r.row) == sorted(found[1], key=lambda r: r.row)
    assert len(found[0]) > ROWS // 50
    whole, some = monitors
    assert some.state() == whole.state()
    kept = whole.waiting.filter(selection_mask(condition, whole.waiting.rows))
    left = some.waiting.filter(selection_mask(condition, some.waiting.rows))
    assert left.rows == kept.rows
    assert left.ts.tolist() == kept.ts.tolist()


def test_no_row_is_left_out_of_a_file_in_which_another_column_may_be_refused(tmp_path):
    declaration, condition = declared("k = 'a'", "parquet")
    table = rows()
    wider = table.set_column(2, "n", table["n"].cast(pa.float64()))
    (parsed,) = read_file(written(tmp_path, wider, "parquet"), declaration, condition=condition)
    assert parsed.choice is None
    assert len(parsed.rows) == ROWS


def test_all_rows_count_if_a_condition_cannot_be_computed(tmp_path):
    declaration, condition = declared("CAST(other AS BIGINT) > 2", "parquet")
    for parsed in read_file(written(tmp_path, rows(), "parquet"), declaration, condition=condition):
        assert parsed.choice is None
