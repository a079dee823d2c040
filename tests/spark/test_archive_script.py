"""CREATE ARCHIVE on Spark: the archives that the embedded runner makes of the same script."""

from __future__ import annotations

import threading
from collections import Counter

import pytest

from tests.spark.scripts import run_embedded, run_on_spark, write_streams
from windrow.archive.archive import Archive
from windrow.archive.lifetimes.index import LifetimeIndex
from windrow.engine.commits import commits
from windrow.plan.program import compile_script

pytestmark = pytest.mark.spark

KINDS = {"seen": Archive, "pairs": LifetimeIndex}


def compiled(directory, out: str):
    text = "".join(
        f"CREATE STREAM {s} (ts BIGINT, k INT, v BIGINT) FROM '{directory / s}' FORMAT parquet "
        "TIMESTAMP BY ts SLACK 4;\n"
        for s in "ab"
    )
    return compile_script(
        text + "CREATE VIEW both AS SELECT a.k, a.v, b.v AS w FROM a [RANGE 600], b [RANGE 90] "
        "WHERE a.k = b.k;"
        f"CREATE ARCHIVE seen ON b KEY k WINDOW 7 MINUTES USING WATA(3) INTO '{directory}/{out}/s';"
        f"CREATE ARCHIVE pairs ON both KEY k WINDOW 2 MINUTES USING GRID(2, 2) "
        f"INTO '{directory}/{out}/p' FORMAT parquet;"
    ).catalog


def contents(catalog, name) -> Counter:
    declared = next(a for a in catalog.archives if a.name == name)
    archive = KINDS[name].open(declared.path)
    assert archive.verify() == []
    with archive.reader() as reader:
        names = [*archive.layout.schema.names, "_day"]
        return Counter(tuple(r.values()) for r in reader.scan(columns=names).to_pylist())


def test_a_script_archives_on_spark_what_it_archives_embedded_also_if_stopped_in_the_middle(
    spark, tmp_path
):
    write_streams(tmp_path, files=3, rows=150)
    expected, found = (compiled(tmp_path, out) for out in ("expected", "found"))
    reference = run_embedded(expected)
    stop, shown = threading.Event(), []

    def on_progress(progress):
        if progress.query == "pairs" and progress.batches >= 1:
            stop.set()

    first = run_on_spark(found, tmp_path / "checkpoint", on_progress=on_progress, stop=stop)
    assert 1 <= len(commits(tmp_path / "checkpoint" / "pairs" / "results")) < 3
    second = run_on_spark(found, tmp_path / "checkpoint", on_progress=shown.append)
    assert {p.query for p in shown if p.rows_out} == set(KINDS)
    for name in KINDS:
        assert contents(found, name) == contents(expected, name) != {}
    for one, two, whole in zip(first.queries, second.queries, reference.queries, strict=True):
        assert (two.name, two.now, two.waiting) == (whole.name, whole.now, whole.waiting)
        assert one.rows_in + two.rows_in == whole.rows_in
        assert one.rows_out + two.rows_out == whole.rows_out
        assert two.destination.is_relative_to(tmp_path / "found")

    run_embedded(found)  # from the beginning: everything is there
    for name in KINDS:
        assert contents(found, name) == contents(expected, name)
