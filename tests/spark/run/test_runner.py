"""Whole scripts on Spark: the answers of the embedded runner, also across stops and failures."""

from __future__ import annotations

import shutil
import threading
from dataclasses import replace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.spark.scripts import compiled, net_changes, run_embedded, run_on_spark, write_streams
from windrow.core.errors import InputError, StateError
from windrow.plan.catalog import Destination
from windrow.plan.program import compile_script
from windrow.result_files.commits import commits

pytestmark = pytest.mark.spark

TWO_STAGES = {
    "pairs": "SELECT a.v, COUNT(*) AS n FROM a [RANGE 20], b [RANGE 10] "
    "WHERE a.k = b.k GROUP BY a.v",
    "sums": "SELECT k, SUM(v) AS total FROM b [RANGE 60 SLIDE 20] GROUP BY k",
}


@pytest.mark.slow  # test_demo_script has a stop in the middle too
def test_a_run_that_is_stopped_in_the_middle_goes_on_without_a_row_twice_or_missing(
    spark, tmp_path
):
    write_streams(tmp_path, files=5)
    expected, found = (compiled(tmp_path, TWO_STAGES, out) for out in ("expected", "found"))
    reference = run_embedded(expected)
    stop = threading.Event()

    def on_progress(progress):
        if progress.query == "pairs" and progress.batches >= 2:
            stop.set()

    first = run_on_spark(found, tmp_path / "checkpoint", on_progress=on_progress, stop=stop)
    done = [len(commits(tmp_path / "found" / name)) for name in TWO_STAGES]
    assert 2 <= done[0] < 5
    second = run_on_spark(found, tmp_path / "checkpoint")
    assert len(commits(tmp_path / "found" / "pairs")) >= 5
    for name in TWO_STAGES:
        assert net_changes(found, name) == net_changes(expected, name) != {}
    runs = zip(first.queries, second.queries, reference.queries, strict=True)
    for one, two, whole in runs:
        assert two.now == whole.now
        assert (
            one.rows_in + two.rows_in == whole.rows_in == (3_000 if one.name == "pairs" else 1_500)
        )
        assert two.destination == tmp_path / "found" / two.name

    again = run_on_spark(found, tmp_path / "checkpoint")
    assert [q.rows_in for q in again.queries] == [0, 0], "there is nothing left to do"
    assert [q.answer.num_rows for q in again.queries] == [q.answer.num_rows for q in second.queries]


def test_a_batch_that_failed_or_was_not_noted_is_repeated_without_a_row_twice_or_missing(
    spark, tmp_path
):
    queries = {"pairs": TWO_STAGES["pairs"]}
    write_streams(tmp_path, files=4)
    expected, found = (compiled(tmp_path, queries, out) for out in ("expected", "found"))
    broken = tmp_path / "a" / "02.parquet"
    whole = broken.read_bytes()
    broken.write_bytes(whole[:4] + bytes(200) + whole[204:])  # the footer is whole, a page is not
    run_embedded(expected, tmp_path / "put-aside")
    quarantine = tmp_path / "quarantine"
    (page,) = (p.relative_to(tmp_path / "put-aside") for p in tmp_path.glob("put-aside/a/02*"))
    (quarantine / page / "in the way").mkdir(parents=True)
    with pytest.raises(InputError, match=r"quarantined.*; name another one with --quarantine"):
        run_on_spark(found, tmp_path / "checkpoint", quarantine=quarantine)
    assert len(commits(tmp_path / "found" / "pairs")) == 2

    noted = sorted((tmp_path / "checkpoint" / "pipeline-1" / "spark" / "commits").glob("[0-9]*"))
    noted[-1].unlink()  # as if Spark had died after the sink's commit
    published = sorted(p.name for p in (tmp_path / "found" / "pairs").iterdir())
    shutil.rmtree(quarantine / page)
    run_on_spark(found, tmp_path / "checkpoint", quarantine=quarantine)
    assert set(published) <= {p.name for p in (tmp_path / "found" / "pairs").iterdir()}
    assert net_changes(found, "pairs") == net_changes(expected, "pairs") != {}


def test_a_script_that_was_changed_does_not_go_on_from_the_old_checkpoint(spark, tmp_path):
    write_streams(tmp_path, files=1, rows=20)
    query = {"q": "SELECT k FROM a [RANGE 5]"}
    run_on_spark(compiled(tmp_path, query, "out"), tmp_path / "checkpoint")
    query["q"] = "SELECT k FROM a [RANGE 6]"
    with pytest.raises(StateError, match="query q does not belong to this script"):
        run_on_spark(compiled(tmp_path, query, "out"), tmp_path / "checkpoint")


@pytest.mark.slow
@pytest.mark.parametrize("format_", ["csv", "json"])
def test_text_results_say_the_same_as_those_of_the_embedded_runner(spark, tmp_path, format_):
    write_streams(tmp_path, files=2, rows=100)
    queries = {"q": "ISTREAM(SELECT DISTINCT k, v FROM a [RANGE 9])"}
    expected, found = (compiled(tmp_path, queries, out, format_) for out in ("expected", "found"))
    run_embedded(expected)
    run_on_spark(found, tmp_path / "checkpoint")
    assert net_changes(found, "q") == net_changes(expected, "q") != {}


def test_rows_that_cannot_be_used_are_counted_and_kept_as_the_embedded_runner_does(spark, tmp_path):
    write_streams(tmp_path, files=1, rows=20)
    table = pa.table({"ts": ["90", "x", "1", "95"], "k": ["1", "2", "3", "y"], "v": ["1"] * 4})
    pq.write_table(table, tmp_path / "a" / "99.parquet")
    catalogs = [compiled(tmp_path, {"q": "SELECT k FROM a [RANGE 5]"}, o) for o in ("e", "f")]
    (one,) = run_embedded(catalogs[0], tmp_path / "qe").queries
    (two,) = run_on_spark(catalogs[1], tmp_path / "checkpoint", quarantine=tmp_path / "qf").queries
    assert (two.quarantined, two.late, two.rows_in) == (one.quarantined, one.late, one.rows_in)
    assert two.quarantined > two.late > 0
    lines = [[len(p.read_text().splitlines()) for p in (tmp_path / q).rglob("*.jsonl")]
             for q in ("qe", "qf")]  # fmt: skip
    assert lines[0] == lines[1] == [two.quarantined]


def test_the_console_shows_changes_as_a_plain_table_and_the_report_counts_a_stream(
    spark, tmp_path, capsys
):
    write_streams(tmp_path, files=1, rows=40)
    queries = {"q": "SELECT k, v FROM a [RANGE 5]", "came": "ISTREAM(SELECT k, v FROM a [RANGE 5])"}
    catalog = compiled(tmp_path, queries, "out", "console")
    came = replace(catalog.find("came"), into=Destination("out", "console", limit=3))
    one, stream = run_on_spark(catalog.adding(came), tmp_path / "checkpoint").queries
    shown = capsys.readouterr().out
    assert (one.destination, one.total) == (None, None)
    assert (stream.total, stream.answer.num_rows) == (40, 10)
    tables = [t.splitlines() for t in shown.split("\n\n") if t.strip()]
    assert all(t[1].startswith("instant  change  k") for t in tables)
    changes = [len(t) - 3 for t in tables if t[0] == "q"]
    assert sum(changes) == one.rows_out > 20
    some = [t for t in tables if t[0] == "came"]
    assert any(t[-1].startswith("... and ") for t in some)
    assert all(len(t) <= 3 + 3 + 1 for t in some)


def test_other_separators_quotes_and_no_header_are_read_as_embedded(spark, tmp_path):
    (tmp_path / "s.csv").write_text("1;'a;b'\n2;'it''s'\nx;y\n3;c\n")
    script = """
        CREATE STREAM s (ts BIGINT, name STRING) FROM '{0}/s.csv'
          FORMAT csv (SEPARATOR ';', QUOTE '''', HEADER false);
        CREATE QUERY q AS SELECT name FROM s [RANGE 5] INTO '{0}/{1}' FORMAT csv;
    """
    expected, found = (
        compile_script(script.format(tmp_path, out)).catalog for out in ("expected", "found")
    )
    embedded, on_spark = run_embedded(expected), run_on_spark(found, tmp_path / "checkpoint")
    assert net_changes(found, "q") == net_changes(expected, "q") != {}
    assert [q.quarantined for q in embedded.queries] == [q.quarantined for q in on_spark.queries]
