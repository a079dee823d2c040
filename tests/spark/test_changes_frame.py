"""A query's changes as a streaming DataFrame of another job: each once, in order."""

from __future__ import annotations

import sys

import pytest

import windrow
from tests.spark.scripts import compiled, run_embedded, run_on_spark, write_streams
from windrow.core.errors import InputError
from windrow.result_files.compaction import compact
from windrow.spark import changes_stream

QUERY = {"groups": "SELECT k, COUNT(*) AS n, MAX(v) AS top FROM a [RANGE 20] GROUP BY k"}

pytestmark = pytest.mark.spark


def taken(spark, tmp_path, directory) -> list[tuple]:
    """What a job that is started again and again gets, this time."""
    return rows_of(changes_stream(spark, directory), tmp_path / "other")


def rows_of(stream, state) -> list[tuple]:
    """What a job over a stream of changes gets."""
    rows = []

    def take(frame, _batch):
        rows.extend(tuple(row) for row in frame.collect())

    writer = stream.writeStream.foreachBatch(take).trigger(availableNow=True)
    writer.option("checkpointLocation", str(state)).start().awaitTermination()
    return rows


def test_every_change_comes_once_however_often_the_job_stops(spark, tmp_path):
    write_streams(tmp_path, files=2, rows=100)
    found = compiled(tmp_path, QUERY, "found")
    directory = tmp_path / "found" / "groups"
    run_on_spark(found, tmp_path / "checkpoint")
    first = taken(spark, tmp_path, directory)
    assert taken(spark, tmp_path, directory) == []
    (tmp_path / "more").mkdir()
    write_streams(tmp_path / "more", files=3, rows=100)
    for path in sorted((tmp_path / "more" / "a").iterdir())[2:]:
        path.rename(tmp_path / "a" / path.name)
    run_on_spark(found, tmp_path / "checkpoint")
    compact(directory)  # what was read and what was not are one file now
    second = taken(spark, tmp_path, directory)
    assert len(first) > 50
    assert len(second) > 50
    whole = windrow.results(directory).changes()
    assert whole.column_names == ["instant", "change", "k", "n", "top"]
    assert first + second == [tuple(row.values()) for row in whole.to_pylist()]


def test_results_of_an_embedded_run_are_a_stream_too(spark, tmp_path):
    write_streams(tmp_path, files=2, rows=100)
    run_embedded(compiled(tmp_path, QUERY, "found"))
    directory = tmp_path / "found" / "groups"
    rows = taken(spark, tmp_path, directory)
    assert len(rows) == windrow.results(directory).changes().num_rows > 50


def test_what_is_no_directory_of_results_is_refused(spark, tmp_path):
    with pytest.raises(InputError, match="expected the results of a query"):
        changes_stream(spark, tmp_path)


def test_a_query_is_found_by_its_checkpoint_and_name(spark, tmp_path):
    write_streams(tmp_path, files=2, rows=100)
    more = "CREATE QUERY nowhere AS SELECT k FROM b [RANGE 5];"
    run_on_spark(compiled(tmp_path, QUERY, "found", more=more), tmp_path / "checkpoint")
    named = changes_stream(spark, checkpoint=tmp_path / "checkpoint", query="groups")
    assert named.columns == ["instant", "change", "k", "n", "top"]
    for query, reason in (("nowhere", "no INTO"), ("other", "no such query")):
        with pytest.raises(InputError, match=reason):
            changes_stream(spark, checkpoint=tmp_path / "checkpoint", query=query)
    with pytest.raises(InputError, match="checkpoint= and query="):
        changes_stream(spark)


TABLE = """
    CREATE STREAM s (ts BIGINT, k INT);
    CREATE QUERY Recent AS SELECT k, COUNT(*) AS n FROM s [RANGE 1] GROUP BY k INTO '{0}/table';
    CREATE QUERY longer AS SELECT k, COUNT(*) AS n FROM s [RANGE 9] GROUP BY k INTO '{0}/table';
    CREATE QUERY alone AS SELECT k FROM s [RANGE 5] INTO '{0}/alone';
    CREATE QUERY nowhere AS SELECT k FROM s [RANGE 2];
"""


def test_a_connection_gives_the_changes_of_its_queries_as_streams_of_the_session(spark, tmp_path):
    with windrow.connect(spark, checkpoint=tmp_path / "state") as db:
        db.execute(TABLE.format(tmp_path))
        early = db.changes_stream("alone")  # nothing has come yet
        assert early.sparkSession is spark
        db.push("s", {"ts": [1, 1, 2, 4], "k": [1, 1, 2, 1]})
        db.advance(to=5)
        for name in ("recent", "longer", "alone"):  # the first two are in one table
            whole = [tuple(row.values()) for row in db.queries[name].changes().to_pylist()]
            stream = early if name == "alone" else db.changes_stream(name)
            assert rows_of(stream, tmp_path / f"job-{name}") == whole != []
        with pytest.raises(InputError, match="no INTO"):
            db.changes_stream("nowhere")
        with pytest.raises(KeyError, match="there is no other"):
            db.changes_stream("other")
    named = changes_stream(spark, checkpoint=tmp_path / "state", query="RECENT")
    assert named.columns == ["instant", "change", "k", "n"]


def test_an_embedded_connection_says_that_it_has_no_streaming_dataframes():
    with windrow.connect() as db:
        db.execute("CREATE STREAM s (ts BIGINT); CREATE QUERY q AS SELECT ts FROM s [RANGE 1];")
        with pytest.raises(InputError, match="expected a connection on Spark"):
            db.changes_stream("q")


def test_workers_run_this_interpreter_unless_another_one_is_named(spark, tmp_path, monkeypatch):
    write_streams(tmp_path, files=2, rows=100)
    run_embedded(compiled(tmp_path, QUERY, "found"))
    context = spark.sparkContext
    monkeypatch.setattr(context, "pythonExec", "python3")
    assert changes_stream(spark, tmp_path / "found" / "groups").isStreaming
    assert context.pythonExec == sys.executable
    monkeypatch.setattr(context, "pythonExec", "/nowhere/python")
    with pytest.raises(InputError, match="set PYSPARK_PYTHON to one"):
        changes_stream(spark, tmp_path / "found" / "groups")
