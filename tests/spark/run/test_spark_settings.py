"""What users say to Spark is checked where it is said; no Spark is started here."""

from __future__ import annotations

import socket
from pathlib import Path
from types import SimpleNamespace

import pytest

from windrow.core.errors import InputError
from windrow.spark.environment.environment_archive import WORKER_PYTHON
from windrow.spark.run import worker_check
from windrow.spark.run.failures import SparkError
from windrow.spark.run.spark_settings import (
    check_modules,
    check_settings,
    parse_settings,
    private_checkpoint,
    refuse_silent_master,
)
from windrow.spark.run.worker_check import _check_driver


def test_the_last_value_of_a_setting_counts_and_values_may_have_equals_signs():
    pairs = ["spark.a=1", " spark.b = -Dx=y ", "spark.a=2"]
    assert parse_settings(pairs) == {"spark.a": "2", "spark.b": "-Dx=y"}


@pytest.mark.parametrize(
    ("pair", "words"),
    [
        ("spark.executor.memory", r"--conf: expected KEY=VALUE.*found 'spark.executor.memory'"),
        ("=3", "expected KEY=VALUE"),
        ("executor.memory=2g", r"begins with spark\.; found 'executor.memory'; did you mean"),
        ("spark.master=yarn", "spark.master; give it with --master"),
        ("spark.submit.pyFiles=a.py", "give modules with --py-files"),
        ("spark.sql.adaptive.enabled=true", "leave it out: it is off"),
        ("spark.submit.deployMode=cluster", "expected client.*use spark-submit"),
    ],
)
def test_what_cannot_be_set_is_refused_with_what_to_do(pair, words):
    with pytest.raises(InputError, match=words):
        parse_settings([pair])


def test_settings_from_python_become_text_and_relative_paths_are_those_of_this_directory():
    given = {"spark.ui.enabled": True, "spark.cores.max": 4, "spark.archives": "a.tgz#x,hdfs:/b"}
    assert check_settings(given) == {
        "spark.ui.enabled": "true",
        "spark.cores.max": "4",
        "spark.archives": f"{Path.cwd() / 'a.tgz#x'},hdfs:/b",
    }


def test_modules_are_files_that_python_can_import_from(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "one.py").touch()
    (tmp_path / "two.zip").touch()
    found = check_modules(["one.py,two.zip", "hdfs:///three.py"])
    assert found == [str(tmp_path / "one.py"), str(tmp_path / "two.zip"), "hdfs:///three.py"]
    with pytest.raises(InputError, match=r"--py-files: expected a file; found four\.py, which"):
        check_modules(["four.py"])
    with pytest.raises(InputError, match=r"end in \.py, \.zip or \.egg; found 'package'"):
        check_modules(["package"])


def test_a_checkpoint_of_the_drivers_own_is_refused_on_a_cluster():
    assert "--checkpoint" in str(private_checkpoint("spark://h:7077"))


def test_a_master_at_which_nobody_answers_is_named_at_once():
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        silent = f"127.0.0.1:{server.getsockname()[1]}"  # bound, but not listening
        with pytest.raises(InputError, match=rf"{silent}.*Connection refused.*master's web page"):
            refuse_silent_master(f"spark://{silent}")
        with socket.create_server(("127.0.0.1", 0)) as answering:
            heard = f"127.0.0.1:{answering.getsockname()[1]}"
            refuse_silent_master(f"spark://{silent},{heard}")
    refuse_silent_master("yarn")
    with pytest.raises(InputError, match=r"expected spark://HOST:PORT.*found 'spark://host'"):
        refuse_silent_master("spark://host")


class Context:
    """As much of a SparkContext as a check of the driver looks at."""

    def __init__(self, python: str, directory: Path) -> None:
        self.pythonExec = python
        system = SimpleNamespace(getProperty=lambda _: str(directory))
        self._jvm = SimpleNamespace(java=SimpleNamespace(lang=SimpleNamespace(System=system)))


def test_a_relative_path_of_python_has_to_lead_somewhere_at_the_driver_too(tmp_path):
    with pytest.raises(InputError, match=r"the driver, in .*unpack the archive of `windrow pack`"):
        _check_driver(Context(WORKER_PYTHON, tmp_path))
    (tmp_path / "windrow_env" / "bin").mkdir(parents=True)
    (tmp_path / "windrow_env" / "bin" / "python").touch()
    _check_driver(Context(WORKER_PYTHON, tmp_path))
    _check_driver(Context("python3", tmp_path / "nowhere"))


class Cluster:
    """A SparkContext whose executors come one after the other, as ``counts`` says."""

    master = "spark://h:7077"

    def __init__(self, *counts: int | None) -> None:
        self._counts = [*counts]
        self.asked = 0
        self._jsc = SimpleNamespace(sc=lambda: self)

    def isStopped(self) -> bool:  # noqa: N802 - Spark's name
        return self._counts[0] is None

    def statusTracker(self) -> SimpleNamespace:  # noqa: N802
        self.asked += 1
        count = self._counts.pop(0) if len(self._counts) > 1 else self._counts[0]
        return SimpleNamespace(getExecutorInfos=lambda: [None] * (count + 1))

    def getConf(self) -> dict[str, str]:  # noqa: N802
        return {"spark.executor.memory": "9g"}


def test_executors_are_waited_for_until_no_more_come(monkeypatch):
    monkeypatch.setattr(worker_check, "NO_MORE_AFTER", 0.35)
    monkeypatch.setattr(worker_check, "NO_EXECUTOR_AFTER", 0.0)
    cluster, said = Cluster(0, 0, 1, 1, 2), []
    worker_check._wait_for_executors(cluster, said.append)
    assert cluster.asked > 5, "it went on waiting when the second had come"
    (words,) = said
    assert words.startswith("waiting for executors: spark://h:7077 has given none yet")
    assert words.endswith("is there a worker with 9g of memory free?")


def test_an_application_that_the_cluster_ends_is_not_waited_for():
    with pytest.raises(SparkError, match="given no executor, and ended the application"):
        worker_check._wait_for_executors(Cluster(0, None), lambda _: None)
