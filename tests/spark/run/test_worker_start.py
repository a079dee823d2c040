"""Spark's Python processes import what they need, compiled, and do not collect it as garbage."""

from __future__ import annotations

import gc
import os
import socket
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pyarrow as pa
import pytest

from tests.support.altered import altered
from windrow.spark.frozen_imports import freeze_imports
from windrow.spark.run import worker_environment
from windrow.spark.run.worker_environment import is_installed, worker_launcher


def said(*command: str, **environment: str) -> list[str]:
    found = subprocess.run(
        command, check=True, capture_output=True, text=True, env={**os.environ, **environment}
    )
    return found.stdout.split()


def test_the_launcher_takes_sparks_archives_off_the_path_and_nothing_else(tmp_path):
    package = tmp_path / "its place" / "pyspark"
    launcher = worker_launcher(sys.executable, package)
    mine = [str(tmp_path / "mine"), str(tmp_path / "mine.zip"), str(package / "python")]
    archives = [f"{package}/python/lib/pyspark.zip", f"{package}/jars/spark-core.jar"]
    code = "import os, sys; print(os.environ['PYTHONPATH'], sys.argv[1:])"
    path = ":".join([archives[0], mine[0], archives[1], *mine[1:]])
    found = subprocess.run(
        [launcher, "-c", code, "a b", "$c"],
        check=True, capture_output=True, text=True, env={"PYTHONPATH": path},
    )  # fmt: skip
    assert found.stdout == f"{':'.join(mine)} ['a b', '$c']\n"


@pytest.fixture
def short_path():
    """A directory for sockets, whose paths may have a hundred characters."""
    with tempfile.TemporaryDirectory() as directory:
        yield directory


@pytest.mark.parametrize("has_windrow", [True, False])
def test_a_worker_that_spark_lets_go_of_says_nothing(short_path, tmp_path, has_windrow):
    if not has_windrow:
        (tmp_path / "windrow.py").write_text("raise ValueError('of no use')")
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    command = [worker_launcher(sys.executable), "-m", "pyspark.daemon", "pyspark.worker"]
    environment = {
        **os.environ, "PYTHON_UNIX_DOMAIN_ENABLED": "true", "SPARK_REUSE_WORKER": "1",
        "PYTHON_WORKER_FACTORY_SOCK_DIR": short_path, "PYTHONPATH": path,
    }  # fmt: skip
    with subprocess.Popen(
        command, env=environment,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as process:  # fmt: skip
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        (length,) = struct.unpack("!i", process.stdout.read(4))
        place = process.stdout.read(length).decode()
        with socket.socket(socket.AF_UNIX) as spark:
            spark.connect(place)
            (worker,) = struct.unpack("!i", spark.recv(4))
            assert has_kernels(process.pid) == has_windrow
        end = time.monotonic() + 60
        while Path(f"/proc/{worker}").exists() and time.monotonic() < end:
            time.sleep(0.05)
        process.stdin.close()
        said = process.stderr.read().decode()
    assert not Path(f"/proc/{worker}").exists()
    assert said == ""


def test_where_no_script_can_be_run_the_interpreter_is_called_itself(monkeypatch):
    monkeypatch.setattr(worker_environment, "os", altered(os, access=lambda *_: False))
    assert worker_launcher() == sys.executable


def test_only_a_pyspark_that_the_interpreter_finds_by_itself_is_used(tmp_path):
    place = tmp_path / "site-packages"
    assert is_installed(place / "pyspark", [str(tmp_path), str(place)])
    assert not is_installed(place / "pyspark", [str(tmp_path)])


def test_what_is_imported_is_frozen_once_and_only_in_workers():
    before = gc.get_freeze_count()
    freeze_imports()
    assert gc.get_freeze_count() == before
    code = (
        "import gc; from windrow.spark.frozen_imports import freeze_imports as freeze\n"
        "for _ in range(2):\n"
        "    freeze(); print(gc.get_freeze_count()); kept = [[] for _ in range(99)]\n"
        "import fractions; freeze(); print(gc.get_freeze_count())\n"
    )
    first, again, more = map(
        int, said(sys.executable, "-c", code, SPARK_PYTHON_RUNTIME="PYTHON_WORKER")
    )
    assert 0 < first == again < more


def has_kernels(process: int) -> bool:
    """Whether a process has loaded what runs kernels."""
    return "llvmlite" in Path(f"/proc/{process}/maps").read_text()


@pytest.mark.spark
def test_workers_are_forked_from_a_process_that_has_imported_what_tasks_need(spark):
    def look(batches):
        list(batches)
        yield pa.record_batch({"parent": [os.getppid()]})

    (found,) = spark.range(1, numPartitions=1).mapInArrow(look, "parent long").collect()
    assert has_kernels(found.parent)


@pytest.mark.spark
def test_workers_are_frozen_and_have_the_pyspark_that_is_installed(spark):
    def look(batches):
        import pyspark  # noqa: PLC0415 - as the worker finds it

        list(batches)
        freeze_imports()
        yield pa.record_batch(
            {
                "pid": [os.getpid()],
                "frozen": [gc.get_freeze_count()],
                "pyspark": [pyspark.__file__],
            }
        )

    frame = spark.range(1, numPartitions=1).mapInArrow(
        look, "pid long, frozen long, pyspark string"
    )
    # The end of the first task imports something, so the second freezes once more.
    _, first, again = (frame.collect()[0] for _ in range(3))
    assert first.frozen > 0
    assert first.pid != again.pid or first.frozen >= again.frozen > 0.9 * first.frozen
    assert Path(first.pyspark).is_file(), "no member of an archive, which would have to be compiled"
