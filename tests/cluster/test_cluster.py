"""A standalone cluster whose workers share nothing with the driver but a directory."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pyspark
import pytest

import windrow
from tests.cluster.demo_run import DemoRun, compare_with_embedded
from tests.cluster.standalone import Cluster, standalone_cluster
from tests.docs.blocks import blocks

pytestmark = [pytest.mark.slow, pytest.mark.spark, pytest.mark.timeout(900)]

ROWS = 60_000
PAGE = Path(__file__).parents[2] / "docs" / "cluster.md"
SCRIPT = """
CREATE STREAM calls (at BIGINT, caller STRING) FROM '{0}/calls.csv' FORMAT csv TIMESTAMP BY at;
CREATE QUERY busy AS SELECT caller, COUNT(*) AS calls FROM calls [RANGE 10 SECONDS] GROUP BY caller
  INTO '{0}/busy' FORMAT parquet;
"""


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    """Its directories are removed: each executor has an environment of 700 MB in them."""
    with (
        tempfile.TemporaryDirectory(prefix="windrow-cluster-") as place,
        standalone_cluster(Path(place, "base")) as started,
    ):
        yield started


def test_spark_submit_runs_a_script_as_the_page_says(cluster):
    here = cluster.base / "submitting"
    here.mkdir()
    files = {block.file: block.text for block in blocks(PAGE) if block.file}
    (here / "windrow_main.py").write_text(files["windrow_main.py"])
    (here / "flows.cql").write_text(SCRIPT.format(cluster.shared))
    (cluster.shared / "calls.csv").write_text("at,caller\n1,ann\n2,bob\n3,ann\n")
    (here / "windrow").write_text(
        f"#!/bin/sh\nexec {shlex.quote(sys.executable)} "
        '-c "from windrow.cli.main import main; main()" "$@"\n'
    )
    (here / "windrow").chmod(0o755)
    command = files["submit.sh"].rstrip().replace("spark://host:7077", cluster.url)
    command = command.replace("/shared/", f"{cluster.shared}/") + " --once\n"
    programs = [str(here), str(Path(pyspark.__file__).parent / "bin"), os.environ["PATH"]]
    environment = {**os.environ, "PATH": ":".join(programs), "SPARK_LOCAL_IP": "127.0.0.1"}
    done = subprocess.run(
        ["sh", "-ec", command], cwd=here, env=environment,
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    answer = windrow.results(cluster.shared / "busy").answer().to_pylist()
    assert {(row["caller"], row["calls"]) for row in answer} == {("ann", 2), ("bob", 1)}


def test_a_worker_that_dies_in_the_middle_of_a_stage_changes_no_answer(cluster):
    run = DemoRun(cluster, ROWS)
    try:
        kill = run.kill_busy_worker()
        assert run.finish() == 0, run.said
    finally:
        run.stop()
    left = [host for address, host in cluster.workers.items() if address != kill.address]
    assert [host.process.poll() for host in left] == [None], "nobody restarted anything"
    answers = compare_with_embedded(run.directory, ROWS)
    assert not answers.differing
    assert all(answers.instants.values())
