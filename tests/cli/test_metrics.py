"""``windrow run --metrics PORT``: a scrape on loopback, while a run goes on."""

from __future__ import annotations

import re
import socket
import threading
import urllib.request
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families
from typer.testing import CliRunner

from tests.support.checkpoints import NOON, SECOND, HandMade
from windrow.cli.main import app
from windrow.cli.metrics import Metrics, serve_metrics
from windrow.core.errors import InputError
from windrow.core.time import Clock
from windrow.engine.progress import Lateness, Progress

SCRIPT = """
CREATE STREAM s (ts BIGINT, k STRING) FROM '{0}/in' FORMAT csv;
CREATE QUERY counts AS SELECT k, COUNT(*) AS n FROM s [RANGE 2] GROUP BY k;
"""


def scrape(url):
    with urllib.request.urlopen(url, timeout=10) as answer:
        assert answer.headers["Content-Type"].startswith("text/plain")
        text = answer.read().decode()
    samples = (s for family in text_string_to_metric_families(text) for s in family.samples)
    return {(s.name, *s.labels.values()): s.value for s in samples}


def progress(**more):
    known = {"query": "busy", "rows_in": 10, "rows_out": 4, "now": NOON, "clock": Clock.TIMESTAMP}
    counts = {"quarantined": 3, "late": 1, "batches": 2}
    return Progress(**{**known, **counts, **more})


@pytest.fixture
def served():
    said = []
    with serve_metrics(0, said.append) as metrics:
        (words,) = said
        yield metrics, words.removeprefix("metrics at ")


def test_what_runners_tell_is_served_on_loopback_only(served):
    metrics, url = served
    assert url.startswith("http://127.0.0.1:")
    assert not [name for name in scrape(url) if name[0].startswith("windrow_")]
    metrics.show(progress())
    metrics.show(progress(query="ints", clock=Clock.INTEGER, now=7, idle=("s",)))
    found = scrape(url)
    assert found["windrow_rows_in_total", "busy"] == 10
    assert found["windrow_rows_out_total", "busy"] == 4
    assert found["windrow_quarantined_rows_total", "busy"] == 3
    assert found["windrow_late_rows_total", "busy"] == 1
    assert found["windrow_batches_total", "busy"] == 2
    assert found["windrow_watermark_seconds", "busy"] == NOON / SECOND
    assert found["windrow_lag_seconds", "busy"] > 0
    assert found["windrow_watermark_ticks", "ints"] == 7
    assert found["windrow_idle_streams", "ints"] == 1
    assert ("windrow_lag_seconds", "ints") not in found
    assert found[("process_cpu_seconds_total",)] > 0


def test_a_checkpoint_adds_streams_state_and_micro_batches(served, tmp_path):
    metrics, url = served
    made = HandMade(tmp_path)
    made.home = made.home.without(["pairs"])
    metrics.follow(made.path)
    found = scrape(url)
    assert found["windrow_pipeline_running", "pipeline-1"] == 1
    assert found["windrow_pipeline_batch", "pipeline-1"] == 2
    assert found["windrow_pipeline_batch_seconds", "pipeline-1"] == 0.2
    assert found["windrow_stream_files_total", "pipeline-1", "flows"] == 3
    assert found["windrow_stream_files_waiting", "pipeline-1", "flows"] == 0
    assert found["windrow_stream_lag_seconds", "pipeline-1", "flows"] > 0
    assert found["windrow_state_bytes", "pipeline-1", "busy"] > 0
    late = [found["windrow_query_late", "pipeline-1", name] for name in ("busy", "pairs")]
    assert late == [0, 1]


def test_a_checkpoint_that_is_not_there_yet_takes_nothing_away(tmp_path):
    metrics = Metrics(lambda: NOON)
    metrics.show(progress())
    metrics.follow(tmp_path / "none")
    assert any(family.name == "windrow_lag_seconds" for family in metrics.collect())


def test_the_page_names_every_metric(served, tmp_path):
    page = (Path(__file__).parents[2] / "docs" / "operations.md").read_text()
    metrics, url = served
    late = {"busy": Lateness(NOON, 4.0, 10, 3, 2.0, 6.0), "calm": Lateness(NOON, 1.0, 5, 1, 1, 1)}
    metrics.show(progress(lateness=late))
    metrics.show(progress(query="ints", clock=Clock.INTEGER, now=7))
    metrics.follow(HandMade(tmp_path).path)
    found = scrape(url)
    assert found["windrow_answers_late_seconds", "busy"] == 4
    assert found["windrow_late_answers_total", "busy"] == 4
    names = {name for name, *_ in found if name.startswith("windrow_")}
    assert names == set(re.findall(r"`(windrow_\w+)`", page))


def test_the_port_is_free_again_afterwards():
    said = []
    with serve_metrics(0, said.append):
        port = int(said[0].rpartition("/")[0].rpartition(":")[2])
    with serve_metrics(port, said.append):
        assert said[1] == said[0]


def test_a_port_that_is_taken_is_refused_before_anything_runs(tmp_path):
    (tmp_path / "in").mkdir()
    script = tmp_path / "s.cql"
    script.write_text(SCRIPT.format(tmp_path))
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        words = ["run", str(script), "--runner", "embedded", "--once", "--metrics", str(port)]
        found = CliRunner().invoke(app, words)
    assert found.exit_code == 2
    assert found.stderr == (
        f"error: --metrics {port}: expected a free port of 127.0.0.1; found one that another "
        "process uses; choose another one, or 0 for any that is free\n"
    )


@pytest.mark.parametrize("port", [-1, 65_536])
def test_what_is_no_port_is_refused(port):
    words = f"--metrics {port}: expected a free port"
    with pytest.raises(InputError, match=words), serve_metrics(port, print):
        pass


def test_an_embedded_run_is_scraped_while_it_goes_on(tmp_path, monkeypatch):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.csv").write_text("ts,k\n1,a\n2,b\nbad,c\n3,a\n")
    script = tmp_path / "s.cql"
    script.write_text(SCRIPT.format(tmp_path))
    seen, url = {}, threading.Event()
    show = Metrics.show

    def look(self, progress):
        show(self, progress)
        seen.update(scrape(f"http://127.0.0.1:{port}/metrics"))
        url.set()

    monkeypatch.setattr(Metrics, "show", look)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    words = ["run", str(script), "--runner", "embedded", "--once", "--metrics", str(port)]
    found = CliRunner().invoke(app, [*words, "--quarantine", str(tmp_path / "bad")])
    assert found.exit_code == 0, found.output
    assert f"metrics at http://127.0.0.1:{port}/metrics" in found.stderr
    assert url.is_set()
    assert seen["windrow_rows_in_total", "counts"] == 3
    assert seen["windrow_quarantined_rows_total", "counts"] == 1
    assert seen["windrow_watermark_ticks", "counts"] == 3
