"""CREATE ARCHIVE on Spark: the archives that the embedded runner makes of the same script."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from contextlib import contextmanager
from pathlib import Path

import pytest

import windrow
from tests.spark.scripts import run_embedded, run_on_spark, run_two_files, write_streams
from windrow.archive.archive import Archive
from windrow.archive.lifetimes.lifetime_index import LifetimeIndex
from windrow.plan.program import compile_script
from windrow.result_files.commits import commits

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
    write_streams(tmp_path, files=5, rows=90)
    expected, found = (compiled(tmp_path, out) for out in ("expected", "found"))
    reference = run_embedded(expected)
    shown = []
    first = run_two_files(found, tmp_path / "checkpoint")
    assert 1 <= len(commits(tmp_path / "checkpoint" / "pairs" / "results")) < 5
    second = run_on_spark(found, tmp_path / "checkpoint", on_progress=shown.append)
    unfinished = {
        one.name
        for one, whole in zip(first.queries, reference.queries, strict=True)
        if one.rows_out < whole.rows_out
    }
    assert "pairs" in unfinished
    assert {p.query for p in shown if p.rows_out} == unfinished
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


@pytest.mark.slow
@pytest.mark.timeout(900)  # three starts of Spark
def test_a_run_that_is_killed_loses_no_row_and_repeats_none(tmp_path):
    write_streams(tmp_path, files=5, rows=100)
    expected, found = (compiled(tmp_path, out) for out in ("expected", "found"))
    run_embedded(expected)
    for version in (2, 5):  # killed as soon as the archive has come to it
        with other_process(tmp_path) as process:
            seen = tmp_path / "found" / "s" / "versions"
            while process.poll() is None:
                if any(int(path.stem) >= version for path in seen.glob("0*.json")):
                    break
                time.sleep(0.01)
            assert process.poll() is None, "it ended before it could be killed"
    with other_process(tmp_path) as process:
        assert process.wait() == 0
    for name in KINDS:
        assert contents(found, name) == contents(expected, name) != {}


@contextmanager
def other_process(directory):
    """The script on Spark in a process that, with all of its own, does not outlive the block."""
    program = (
        "import sys; from pathlib import Path;"
        "from tests.spark.archive import test_archive_script as t;"
        "where = Path(sys.argv[1]);"
        "t.run_on_spark(t.compiled(where, 'found'), where / 'checkpoint')"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", program, str(directory)],
        cwd=Path(__file__).parents[3],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def test_what_is_pushed_is_archived_when_its_day_is_over(spark, tmp_path):
    rows = {"ts": list(range(150)), "k": [t % 3 for t in range(150)]}
    text = (
        "CREATE STREAM s (ts BIGINT, k INT);"
        f"CREATE ARCHIVE m ON s KEY k WINDOW 3 MINUTES USING DEL(1) INTO '{tmp_path}/m';"
    )
    with windrow.connect(spark=spark) as db:
        db.execute(text)
        db.push("s", rows)
        assert db.archives["m"].waiting == 29  # the last instant is still open
        with Archive.open(db.archives["m"].path).reader() as reader:
            assert sorted(reader.probe(1).column("ts").to_pylist()) == list(range(1, 120, 3))
        db.advance(to=179)
    with Archive.open(tmp_path / "m").reader() as reader:
        assert len(reader.scan()) == 150
