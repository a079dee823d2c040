"""A script over files is planned with what their first rows say, and a checkpoint keeps that."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest
from typer.testing import CliRunner

from tests.support.bucket_fixtures import running_server, server, url
from windrow.cli.main import app
from windrow.core.errors import StateError
from windrow.core.thresholds import lowered_thresholds
from windrow.engine.observed import observe_files, overlap
from windrow.object_store.object_path import path_of
from windrow.plan.costs.flows import StreamStatistics
from windrow.plan.program import compile_script
from windrow.plan.strategy import Strategy
from windrow.spark.checkpoint.plan_statistics import (
    STATISTICS,
    keep_statistics,
    read_statistics,
)
from windrow.spark.checkpoint.script_record import read_script, write_script

__all__ = ["running_server", "server", "url"]

SCRIPT = """
CREATE STREAM hits (ts BIGINT, page STRING, ok BOOLEAN) TIMESTAMP BY ts FROM 'hits' FORMAT csv;
CREATE STREAM bans (ts BIGINT, page STRING) TIMESTAMP BY ts FROM 'bans.csv' FORMAT csv;
CREATE QUERY open AS SELECT h.ts, h.page FROM hits [RANGE 200 SECONDS] AS h
  WHERE ok AND NOT EXISTS (SELECT * FROM bans [RANGE 200 SECONDS] AS b WHERE b.page = h.page);
"""


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Four hits a second on 40 pages, half of them ok; a ban every second, of the first 20."""
    monkeypatch.chdir(tmp_path)
    number = np.arange(2_000)
    (tmp_path / "hits").mkdir()
    pages = [f"p{n % 40}" for n in number]
    hits = pa.table({"ts": number // 4, "page": pages, "ok": (number // 40) % 2 == 0})
    pyarrow.csv.write_csv(hits, tmp_path / "hits" / "a.csv")
    bans = pa.table({"ts": number[:500], "page": [f"p{n % 20}" for n in number[:500]]})
    pyarrow.csv.write_csv(bans, tmp_path / "bans.csv")
    (tmp_path / "q.cql").write_text(SCRIPT)
    return tmp_path


def observed() -> StreamStatistics | None:
    compiled = compile_script(SCRIPT)
    return observe_files(compiled.catalog, [q.plan for q in compiled.queries])


@pytest.mark.usefixtures("files")
def test_first_rows_say_rates_values_selectivities_and_how_keys_overlap() -> None:
    seen = observed()
    assert seen is not None
    assert seen.rates == {"hits": pytest.approx(4.0), "bans": pytest.approx(1.0)}
    assert (seen.distinct["hits.page"], seen.distinct["bans.page"]) == (40, 20)
    assert list(seen.selectivities.values()) == [pytest.approx(0.5)]
    assert seen.overlaps["hits.page=bans.page"] == ((0.0, 0.5), (pytest.approx(1 / 20), 0.5))


def test_a_stream_without_a_readable_file_is_one_of_which_nothing_is_known(files: Path) -> None:
    (files / "bans.csv").write_text("no,such\n1,2\n")
    seen = observed()
    assert seen is not None
    assert set(seen.rates) == {"hits"}
    (files / "hits" / "a.csv").unlink()
    assert observed() is None


@pytest.mark.usefixtures("files")
def test_no_more_than_a_sample_is_read() -> None:
    with lowered_thresholds():
        seen = observed()
    assert seen is not None
    assert seen.distinct["hits.page"] == 1


def test_values_that_a_sample_has_not_share_what_is_rare() -> None:
    mine = pa.array([f"v{n}" for n in range(100)])
    theirs = pa.array(["v0", "v1", *["other"] * 98])
    assert overlap(mine, theirs) == ((pytest.approx(2 / 100 / 100), 1.0),)


@pytest.mark.usefixtures("files")
def test_a_checkpoint_keeps_what_it_was_planned_with(tmp_path: Path) -> None:
    checkpoint, seen = tmp_path / "state", observed()
    assert keep_statistics(checkpoint, lambda: seen) == seen == read_statistics(checkpoint)
    assert keep_statistics(checkpoint, lambda: StreamStatistics({"hits": 9.0})) == seen
    plans = compile_script(SCRIPT, None, Strategy.UPA, seen)
    write_script(checkpoint, plans.catalog, Strategy.UPA)
    (saved,) = read_script(checkpoint).catalog.queries
    assert saved.plan == plans.queries[0].plan
    assert saved.plan.edge == plans.queries[0].plan.edge is not None


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize("stored", [False, True], ids=["on disk", "in a bucket"])
def test_of_two_runs_that_begin_at_once_both_follow_the_first(
    tmp_path: Path, url: str, stored: bool
) -> None:
    checkpoint = path_of(f"{url}/state") if stored else tmp_path / "state"
    seen = StreamStatistics({"hits": 9.0})

    def overtaken() -> StreamStatistics | None:
        assert keep_statistics(checkpoint, lambda: seen) == seen
        return observed()

    assert keep_statistics(checkpoint, overtaken) == seen
    assert keep_statistics(checkpoint, observed) == seen


@pytest.mark.usefixtures("files")
def test_a_checkpoint_that_was_begun_without_figures_goes_on_without(tmp_path: Path) -> None:
    (tmp_path / "state").mkdir()
    (tmp_path / "state" / "script.json").write_text("{}")
    assert keep_statistics(tmp_path / "state", observed) is None


@pytest.mark.usefixtures("files")
def test_a_run_that_was_killed_before_it_had_kept_them_leaves_a_new_checkpoint(
    tmp_path: Path,
) -> None:
    (tmp_path / "state").mkdir()
    (tmp_path / "state" / ".statistics.json.0af1").write_text('{"rat')
    assert keep_statistics(tmp_path / "state", observed) == read_statistics(tmp_path / "state")
    assert read_statistics(tmp_path / "state") is not None


def test_damaged_figures_are_named(tmp_path: Path) -> None:
    (tmp_path / STATISTICS).write_text('{"rates": {}}')
    with pytest.raises(StateError, match=r"plans of the checkpoint .* damaged"):
        read_statistics(tmp_path)


@pytest.mark.parametrize("stored", [False, True], ids=["on disk", "in a bucket"])
def test_explain_and_run_show_plans_by_observed_figures(
    files: Path, url: str, stored: bool
) -> None:
    checkpoint = f"{url}/state" if stored else "state"
    keep_statistics(path_of(checkpoint), observed)
    runner = CliRunner()
    assumed = runner.invoke(app, ["explain", "q.cql"]).output
    planned = runner.invoke(app, ["explain", "q.cql", "--checkpoint", checkpoint]).output
    assert "expected to expire early" not in assumed
    assert "(500 partitions)" in assumed
    assert "(10 partitions)" in planned
    assert "expected to expire early" in planned
    (files / "q.cql").write_text(SCRIPT.replace("CREATE QUERY open AS", "EXPLAIN"))
    shown = runner.invoke(app, ["run", "q.cql", "--runner", "embedded", "--once"]).output
    assert "expected to expire early" in shown
