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
    rows = []

    def take(frame, _batch):
        rows.extend(tuple(row) for row in frame.collect())

    stream = changes_stream(spark, directory)
    writer = stream.writeStream.foreachBatch(take).trigger(availableNow=True)
    writer.option("checkpointLocation", str(tmp_path / "other")).start().awaitTermination()
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
