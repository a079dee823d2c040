"""What is said of a virtual machine that ended, and of memory; no Spark is started here."""

from __future__ import annotations

import subprocess
import sys
import threading

import pytest
from py4j.protocol import Py4JJavaError, Py4JNetworkError

from windrow.plan.program import compile_script
from windrow.spark.run import machine
from windrow.spark.run.machine import (
    Machine,
    MachineError,
    MemoryWatch,
    available,
    death_of_machine,
)
from windrow.spark.run.spark_job import Feed
from windrow.spark.run.spark_runtime import OnSpark
from windrow.spark.run.status_writer import RunRecorder


@pytest.fixture
def watched(monkeypatch):
    found = Machine()
    monkeypatch.setattr(machine, "WATCHED", [found])
    return found


def ended(program: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", program])


@pytest.mark.parametrize(
    ("program", "words"),
    [
        ("import os; os.kill(os.getpid(), 9)", "SIGKILL, exit code 137"),
        ("raise SystemExit(52)", r"ran out of memory \(exit code 52\)"),
        ("raise SystemExit(3)", "its exit code was 3"),
    ],
)
def test_a_machine_that_died_is_reported_with_its_exit_code_and_what_to_do(watched, program, words):
    watched._process = ended(program)
    found = death_of_machine(Py4JNetworkError("Answer from Java side is empty"))
    assert isinstance(found, MachineError)
    assert str(found).startswith("the Java virtual machine that Spark runs in has died; found it")
    with pytest.raises(MachineError, match=words):
        raise found
    assert "run the same command again" in found.remedy
    assert ("--driver-memory" in found.remedy) == ("3)" not in program)


def test_a_machine_that_lives_is_not_reported(watched):
    watched._process = ended("import time; time.sleep(60)")
    try:
        assert death_of_machine(TypeError("a defect")) is None
    finally:
        watched._process.kill()
        watched._process.wait()


def test_the_last_words_are_those_that_tell(watched):
    said = ["WARN something", "java.lang.OutOfMemoryError: Java heap space", "\tat x.y.Z(Z.java:3)"]
    watched._lines.extend(said)
    assert machine.circumstances().startswith("java.lang.OutOfMemoryError: Java heap space")


def test_a_machine_that_cannot_start_says_why(monkeypatch, tmp_path):
    home = tmp_path / "bin"
    home.mkdir()
    (home / "java").write_text("#!/bin/sh\necho 'Could not reserve enough space' >&2; exit 1\n")
    (home / "java").chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(MachineError, match=r"could not be started.*Could not reserve enough space"):
        Machine().launch(None, quiet=True)


@pytest.mark.parametrize(
    ("said", "words"),
    [
        (
            (
                'Exception in thread "main" org.apache.spark.SparkException: No memory\n'
                "\tat org.apache.spark.SparkSubmitArguments.error(SparkSubmitArguments.scala:670)\n"
            ),
            "found No memory; check what it names",
        ),
        (
            (
                "Invalid maximum heap size: -Xmxlots\n"
                "Error: Could not create the Java Virtual Machine.\n"
                "Error: A fatal exception has occurred. Program will exit.\n"
            ),
            "found Invalid maximum heap size: -Xmxlots; check",
        ),
    ],
)
def test_a_setting_that_keeps_java_from_starting_is_named(watched, said, words):
    watched._lines.extend(said.splitlines())
    assert words in str(watched._could_not_start())


def test_a_machine_that_is_killed_while_it_starts_is_said_to_have_ended(monkeypatch, tmp_path):
    home = tmp_path / "bin"
    home.mkdir()
    script = (
        "#!/bin/sh\nkill -9 $(cut -d' ' -f4 /proc/$PPID/stat) $PPID\n"  # who waits for its words
    )
    (home / "java").write_text(script)
    (home / "java").chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(MachineError, match=r"ended without output.*; run the same command again"):
        Machine().launch(None, quiet=True)


def refuse(*_: object, **__: object) -> None:
    raise ConnectionRefusedError(111, "Connection refused")


def test_a_machine_that_dies_when_it_has_just_started_is_said_to_have_ended(monkeypatch):
    monkeypatch.setattr(machine, "launch_gateway", refuse)
    with pytest.raises(MachineError, match=r"could not be started.*; run the same command again"):
        Machine().launch(None, quiet=True)


def test_a_machine_that_dies_while_a_session_is_opened_is_reported(watched):
    watched._process = ended("raise SystemExit(137)")
    script = "CREATE STREAM s (ts BIGINT) FROM 'in' FORMAT csv; CREATE QUERY q AS SELECT ts FROM s;"
    catalog = compile_script(script).catalog
    runtime = OnSpark(refuse, None, "upa", Feed(once=True))
    with pytest.raises(MachineError, match="SIGKILL, exit code 137"):
        runtime.start(runtime.jobs(catalog.queries, (), catalog), catalog)


def test_a_setting_that_spark_refuses_is_no_defect(watched):
    watched._process = ended("import time; time.sleep(60)")
    said = (
        "An error occurred\n: org.apache.spark.SparkException: Could not parse Master URL: 'foo'\n"
    )
    try:
        found = watched.refusal(RuntimeError(said))
    finally:
        watched._process.kill()
        watched._process.wait()
    assert str(found).startswith("Spark could not be started; found Could not parse Master URL")


class DeadError(Py4JJavaError):
    """As Py4J's errors are whose virtual machine cannot be asked any more."""

    def __init__(self) -> None:
        pass

    def __str__(self) -> str:
        raise ConnectionRefusedError


def test_an_error_of_a_machine_that_cannot_be_asked_any_more_is_its_death(watched):
    watched._process = ended("import time; time.sleep(0.3); raise SystemExit(143)")
    found = death_of_machine(DeadError())
    assert "SIGTERM, exit code 143" in str(found)


class Unanswered:
    """A pipeline whose virtual machine does not answer."""

    has_started = True

    def __init__(self, directory) -> None:
        self.recorder = RunRecorder(directory)

    @property
    def active(self) -> bool:
        raise Py4JNetworkError("Answer from Java side is empty")


def test_a_machine_that_ends_with_a_run_that_is_stopped_is_no_news(watched, tmp_path):
    watched._process = ended("raise SystemExit(143)")
    stop = threading.Event()
    runtime = OnSpark(lambda: None, None, "upa", Feed(once=True), stop=stop)
    runtime.pipelines.append(Unanswered(tmp_path))
    with pytest.raises(MachineError, match="SIGTERM"):
        runtime.work(once=True)
    stop.set()
    assert runtime.work(once=True) is None


def test_the_kernels_count_of_processes_killed_for_memory_is_compared(tmp_path):
    events = tmp_path / "memory.events"
    events.write_text("low 0\noom 3\noom_kill 4\noom_group_kill 0\n")
    watch = MemoryWatch.begin([tmp_path / "none", events])
    assert watch.count_killed() == 0
    assert "kernel" not in watch.words()
    events.write_text("low 0\noom 3\noom_kill 6\noom_group_kill 0\n")
    assert watch.count_killed() == 2
    assert watch.words().startswith(
        "the kernel has killed 2 processes since the start because memory ran out"
    )
    (tmp_path / "meminfo").write_text("MemTotal: 9 kB\nMemAvailable:    2048 kB\n")
    assert available(tmp_path / "meminfo") == 2 * 2**20
