"""A standalone cluster whose workers share nothing with the driver but a directory."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pyspark
import pytest

import windrow
from tests.cluster.demo_run import WINDROW, DemoRun, compare_with_embedded
from tests.cluster.standalone import Cluster, standalone_cluster
from tests.docs.blocks import blocks
from tests.spark.scripts import write_streams
from tests.support.bucket_fixtures import running_server, server, url
from tests.support.without_spark import run_without_spark
from windrow.object_store.object_path import path_of
from windrow.plan.program import compile_script

__all__ = ["running_server", "server", "url"]

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


IN_A_BUCKET = """
CREATE STREAM a (ts BIGINT, k INT, v BIGINT) FROM '{0}/a' FORMAT parquet TIMESTAMP BY ts SLACK 4;
CREATE STREAM b (ts BIGINT, k INT, v BIGINT) FROM '{0}/b' FORMAT parquet TIMESTAMP BY ts SLACK 4;
CREATE QUERY pairs AS SELECT a.k, a.v, b.v AS w FROM a [RANGE 60], b [RANGE 90] WHERE a.k = b.k
  INTO '{1}/pairs';
CREATE QUERY sums AS SELECT k, SUM(v) AS v FROM a [RANGE 60] GROUP BY k INTO '{1}/sums';
"""


def test_with_checkpoint_and_results_in_a_bucket_workers_share_no_disk_for_them(
    cluster, server, url, tmp_path
):
    """Each run has executors of its own, which find the state of the last one in the bucket. What
    a worker refuses is there too."""
    write_streams(tmp_path, files=4, rows=60)
    late = pa.table({"ts": [0], "k": pa.array([1], pa.int32()), "v": [1]})
    pq.write_table(late, tmp_path / "a" / "9-late.parquet")
    here, source = cluster.base / "with a bucket", cluster.shared / "streams"
    here.mkdir()
    settings = [f"spark.executorEnv.{name}={text}" for name, text in server.environment.items()]
    conf = [word for setting in settings for word in ("--conf", setting)]
    environment = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1"}
    environment.pop("PYSPARK_PYTHON", None)
    (here / "x.cql").write_text(IN_A_BUCKET.format(source, f"{url}/found"))
    for first in (0, 2):
        for stream in "ab":
            (source / stream).mkdir(parents=True, exist_ok=True)
            for file in sorted((tmp_path / stream).iterdir())[first : first + 2 + first]:
                shutil.copy(file, source / stream)
        done = subprocess.run(
            [*WINDROW, "run", "x.cql", "--once", "--master", cluster.url,
             "--checkpoint", f"{url}/checkpoint", *conf],
            cwd=here, env=environment, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr[-3000:]
        expected = compile_script(IN_A_BUCKET.format(source, tmp_path / "expected")).catalog
        run_without_spark(expected, tmp_path / "checkpoint")
    for query in ("pairs", "sums"):
        found, expected = (
            Counter(map(str, windrow.results(f"{place}/{query}").changes().to_pylist()))
            for place in (f"{url}/found", tmp_path / "expected")
        )
        assert found == expected != Counter()
    assert "late" in "".join(
        p.read_text() for p in path_of(f"{url}/checkpoint/quarantine").glob("a/*")
    )
