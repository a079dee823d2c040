"""Queries that share their selection on Spark: one streaming query, each query's own results."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import windrow
from tests.spark.scripts import (
    net_changes,
    run_embedded,
    run_on_spark,
    run_two_files,
    write_streams,
)
from windrow.core.errors import StateError
from windrow.engine.progress import Report
from windrow.plan.catalog import Catalog
from windrow.plan.program import compile_script
from windrow.result_files.commits import commits
from windrow.spark.checkpoint.query_groups import PREFIX, SEATS
from windrow.spark.run.spark_pipeline import Pipeline

pytestmark = pytest.mark.spark

SUMS = "SELECT k, COUNT(*) AS n, SUM(v) AS t FROM a [RANGE 40] WHERE v BETWEEN {} AND {} "
SUMS += "GROUP BY k"
PASSED = "SELECT k, v FROM a WHERE v >= {} AND v < {}"
RANGES = [(0, 9), (5, 30), (31, 31), (20, 49), (60, 70)]


def script(directory: Path, out: str, queries: dict[str, tuple[str, str]]) -> Catalog:
    """``queries``: by name, what is selected and INTO what format, if any."""
    text = (
        f"CREATE STREAM a (ts BIGINT, k INT, v BIGINT) FROM '{directory / 'a'}' FORMAT parquet "
        "TIMESTAMP BY ts SLACK 4;\n"
    )
    for name, (query, format_) in queries.items():
        into = f" INTO '{directory / out / name}' FORMAT {format_}" if format_ else ""
        text += f"CREATE QUERY {name} AS {query}{into};\n"
    return compile_script(text).catalog


def summed(formats: str = "parquet") -> dict[str, tuple[str, str]]:
    return {f"q{i}": (SUMS.format(*r), formats) for i, r in enumerate(RANGES)}


def bag(table) -> Counter[str]:
    return Counter(repr(tuple(row.values())) for row in table.to_pylist())


def same_reports(one: Report, other: Report) -> None:
    for ours, theirs in zip(one.queries, other.queries, strict=True):
        assert ours.name == theirs.name
        assert (ours.rows_in, ours.now, ours.late) == (theirs.rows_in, theirs.now, theirs.late)
        if ours.name[0] == "q":
            assert bag(ours.answer) == bag(theirs.answer), ours.name
        else:  # a stream, of which the last rows are shown, wherever a micro-batch ends
            assert ours.rows_out == theirs.rows_out, ours.name
            assert (ours.answer.num_rows > 0) == (theirs.answer.num_rows > 0), ours.name


@pytest.fixture
def started(monkeypatch) -> list[str]:
    """The names of the jobs that were started."""
    names: list[str] = []
    start = Pipeline._start

    def noting(self):
        names.extend(job.declaration.name for job in self.jobs.values())
        return start(self)

    monkeypatch.setattr(Pipeline, "_start", noting)
    return names


def test_a_script_answers_as_embedded_with_one_streaming_query_per_group(
    spark, tmp_path, started, capsys
):
    write_streams(tmp_path, files=3)
    queries = summed() | {f"s{i}": (PASSED.format(*r), "") for i, r in enumerate(RANGES)}
    queries["shown"] = (PASSED.format(3, 4), "console")
    queries["q3"] = (SUMS.format(20, 49), "csv")
    catalogs = [script(tmp_path, out, queries) for out in ("expected", "found")]
    reference = run_embedded(catalogs[0])
    printed = capsys.readouterr().out
    report = run_on_spark(catalogs[1], tmp_path / "checkpoint")
    shown = capsys.readouterr().out
    assert set(started) == {"q0 and 4 more", "s0 and 5 more"}
    same_reports(report, reference)
    for name, (_, format_) in queries.items():
        if format_ in ("parquet", "csv"):
            assert net_changes(catalogs[1], name) == net_changes(catalogs[0], name)
    assert net_changes(catalogs[1], "q1") != net_changes(catalogs[1], "q0") != {}
    assert all(q.rows_out > 0 for q in report.queries if q.name not in ("q4", "s2", "s4"))
    assert printed.startswith("shown\n")
    assert shown.startswith("shown\n")
    homes = sorted(p.name for p in (tmp_path / "checkpoint").glob("[!.]*") if p.is_dir())
    assert homes == ["pipeline-1", f"{PREFIX}q0", f"{PREFIX}s0"]


@pytest.mark.usefixtures("shuffled")
def test_a_run_that_is_stopped_and_a_batch_that_is_repeated_leave_no_row_twice_or_missing(
    spark, tmp_path, started
):
    write_streams(tmp_path, files=5)
    expected, found = (script(tmp_path, out, summed()) for out in ("expected", "found"))
    reference = run_embedded(expected)
    first = run_two_files(found, tmp_path / "checkpoint")
    home, pipeline = (tmp_path / "checkpoint" / n for n in (f"{PREFIX}q0", "pipeline-1"))
    done = commits(home / "results")
    assert 2 <= len(done) < 5
    # As if the driver had died in the middle of the last commit: some queries have published,
    # others and the group have not, Spark has not noted the micro-batch nor planned the next.
    last = done[-1]
    for path in (pipeline / "spark" / "offsets").glob("[0-9]*"):
        if int(path.name) > last.batch:
            path.unlink()
            path.with_name(f".{path.name}.crc").unlink(missing_ok=True)
    (pipeline / "spark" / "commits" / str(last.batch)).unlink(missing_ok=True)
    last.path(home / "results").unlink()
    for name in ("q1", "q3"):
        last.path(tmp_path / "found" / name).unlink(missing_ok=True)
    published = {p for p in (tmp_path / "found" / "q0").iterdir() if p.name[0] != "."}
    second = run_on_spark(found, tmp_path / "checkpoint")
    assert published <= set((tmp_path / "found" / "q0").iterdir())
    for name in summed():
        assert net_changes(found, name) == net_changes(expected, name)
    assert net_changes(found, "q1") != {}
    for one, two, whole in zip(first.queries, second.queries, reference.queries, strict=True):
        assert two.now == whole.now
        assert one.rows_in + two.rows_in >= whole.rows_in
        assert bag(two.answer) == bag(whole.answer)


def test_queries_of_a_connection_share_and_say_so_as_embedded(spark, tmp_path, started):
    rng = np.random.default_rng(1)
    table = pa.table({"ts": np.arange(200) // 4, "k": rng.integers(0, 3, 200).astype(np.int32),
                      "v": rng.integers(0, 50, 200)})  # fmt: skip
    text = "CREATE STREAM a (ts BIGINT, k INT, v BIGINT) TIMESTAMP BY ts;"
    text += "".join(f"CREATE QUERY q{i} AS {SUMS.format(*r)};" for i, r in enumerate(RANGES[:3]))
    found = []
    for session in (None, spark):
        with windrow.connect(spark=session) as db:
            queries = db.execute(text)
            explained = db.explain("EXPLAIN q1;")
            db.push("a", table.slice(0, 120))
            db.advance(to=25)
            first = [bag(q.answer()) for q in queries]
            db.push("a", table.slice(120))
            db.advance(to=60)
            changes = [bag(q.changes()) for q in queries]
            found.append((explained, first, [bag(q.answer()) for q in queries], changes))
    assert found[0] == found[1]
    assert "it shares its selection with 2 other queries, indexed on a.v" in found[1][0]
    assert all(found[1][1])
    assert set(started) == {"q0 and 2 more"}


@pytest.mark.slow
def test_a_group_goes_on_when_queries_come_and_go_but_not_when_one_is_changed(
    spark, tmp_path, started
):
    write_streams(tmp_path, files=5)
    whole = script(tmp_path, "found", summed())
    run_two_files(whole, tmp_path / "checkpoint")
    queries = summed()
    queries["q9"] = (SUMS.format(10, 12), "parquet")
    del queries["q0"], queries["q2"], queries["q3"]
    changed = script(tmp_path, "found", {**queries, "q1": (SUMS.format(5, 31), "parquet")})
    with pytest.raises(StateError, match="query q1 does not belong to this script"):
        run_on_spark(changed, tmp_path / "checkpoint")
    started.clear()
    found, expected = (script(tmp_path, out, queries) for out in ("found", "expected"))
    report = run_on_spark(found, tmp_path / "checkpoint")
    assert set(started) == {"q1 and 1 more", "q9"}
    reference = run_embedded(expected)
    for ours, theirs in zip(report.queries, reference.queries, strict=True):
        assert bag(ours.answer) == bag(theirs.answer)
        assert net_changes(found, ours.name) == net_changes(expected, theirs.name)
    assert (tmp_path / "checkpoint" / f"{PREFIX}q0" / SEATS).exists()


@pytest.mark.slow
def test_a_thousand_queries_are_one_streaming_query(spark, tmp_path, started):
    write_streams(tmp_path, files=2)
    queries = {f"s{i}": (PASSED.format(i % 50, i % 50 + 1 + i // 50), "") for i in range(1_000)}
    catalogs = [script(tmp_path, out, queries) for out in ("expected", "found")]
    reference = run_embedded(catalogs[0])
    report = run_on_spark(catalogs[1], tmp_path / "checkpoint")
    assert set(started) == {"s0 and 999 more"}
    same_reports(report, reference)
