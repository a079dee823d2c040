"""Results and archives in an object store, from Spark: those of the embedded runner."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter

import pytest

import windrow
from tests.spark.scripts import run_embedded, run_on_spark, write_streams
from tests.support.bucket_fixtures import running_server, server, url
from windrow.archive.archive import Archive
from windrow.object_store.bucket import Bucket
from windrow.plan.program import compile_script

__all__ = ["running_server", "server", "url"]

pytestmark = pytest.mark.spark


@pytest.fixture
def workers(spark, server, monkeypatch, tmp_path):
    """Workers that are given what names the store; those of a session have its environment."""
    for name, value in server.environment.items():
        monkeypatch.setitem(spark.sparkContext.environment, name, value)
    monkeypatch.setitem(
        spark.sparkContext.environment, "WINDROW_CACHE_DIR", str(tmp_path / "cache of workers")
    )


def compiled(directory, place: str):
    text = "".join(
        f"CREATE STREAM {s} (ts BIGINT, k INT, v BIGINT) FROM '{directory / s}' FORMAT parquet "
        "TIMESTAMP BY ts SLACK 4;\n"
        for s in "ab"
    )
    return compile_script(
        text + f"CREATE QUERY pairs AS SELECT a.k, a.v, b.v AS w FROM a [RANGE 60], b [RANGE 90] "
        f"WHERE a.k = b.k INTO '{place}/pairs';"
        f"CREATE QUERY low AS SELECT k, v FROM a [RANGE 60] WHERE v < 40 INTO '{place}/low';"
        f"CREATE QUERY high AS SELECT k, v FROM a [RANGE 60] WHERE v > 60 INTO '{place}/high';"
        f"CREATE ARCHIVE seen ON b KEY k WINDOW 7 MINUTES USING WATA(3) INTO '{place}/seen';"
    ).catalog


def changes(place: str) -> Counter:
    return Counter(map(str, windrow.results(place).changes().to_pylist()))


@pytest.mark.usefixtures("workers")
def test_a_script_that_is_run_again_has_written_what_it_writes_embedded(tmp_path, url):
    write_streams(tmp_path, files=3, rows=60)
    found = compiled(tmp_path, f"{url}/found")
    run_embedded(compiled(tmp_path, tmp_path / "expected"))
    first = run_on_spark(found, tmp_path / "checkpoint")
    names = {q: set(Bucket(f"{url}/found/{q}").list_folder("")) for q in ("pairs", "low", "high")}
    again = run_on_spark(found, tmp_path / "checkpoint")
    assert [q.rows_in for q in first.queries] != [q.rows_in for q in again.queries]
    for query, before in names.items():
        assert changes(f"{url}/found/{query}") == changes(str(tmp_path / "expected" / query))
        assert set(Bucket(f"{url}/found/{query}").list_folder("")) >= before
    archives = [Archive.open(f"{url}/found/seen"), Archive.open(tmp_path / "expected" / "seen")]
    rows = []
    for archive in archives:
        assert archive.verify() == []
        with archive.reader() as reader:
            rows.append(Counter(map(str, reader.scan().to_pylist())))
    assert rows[0] == rows[1]
    assert sum(rows[0].values()) > 0


READS = """
import sys
import pyarrow as pa
from windrow.spark import spark_session
from windrow.archive import Archive
from windrow.spark.archive import register

schema = pa.schema({"k": pa.string(), "v": pa.int64()})
spark = spark_session("local[2]")
register(spark)
for form in ("arrow", "parquet"):
    place = f"{sys.argv[1]}/{form}"
    archive = Archive.create(place, schema, "k", window=3, scheme="DEL", n=1, format=form)
    archive.append(1, pa.table({"k": ["a", "b"], "v": [1, 2]}), now=1)
    archive.append(2, pa.table({"k": ["a"], "v": [3]}), now=2)
    frame = spark.read.format("windrow").load(place)
    print(sorted(map(tuple, frame.select("k", "v").collect())))
    print([row.v for row in frame.where("k = 'b'").collect()])
"""


@pytest.mark.slow
def test_an_archive_is_a_data_frame(url, tmp_path):
    """In a session of its own: what plans a query has the environment of Spark's machine."""
    done = subprocess.run(
        [sys.executable, "-c", READS, url], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == 2 * ["[('a', 1), ('a', 3), ('b', 2)]", "[2]"]
