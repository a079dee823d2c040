"""The virtual machine that Spark runs in, as a process: how it is started, and how it ended.

What it and the Python workers below it write to standard error is kept, the last of it and in
memory only: it is shown to nobody as long as they live, and often says why one of them died. So
does what the kernel tells of memory, read from files that Linux has; elsewhere nothing is known,
and nothing is said.
"""

from __future__ import annotations

import logging
import os
import re
import signal
import subprocess
import threading
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkRuntimeError
from pyspark.java_gateway import launch_gateway

from windrow.core.errors import WindrowError
from windrow.result_files.directory_lock import handles_for_child
from windrow.spark.run.spark_settings import is_submitted

LINES = 400
"""Of standard error that are kept."""
PATIENCE = 5.0
"""Seconds that a process that does not answer may take to be seen as ended."""
TELLING = re.compile(
    r"OutOfMemoryError|insufficient memory|Could not reserve|Could not create the Java|"
    r"Invalid \w+ heap size|Unrecognized (VM )?option|"
    r"bad_alloc|MemoryError|Fatal Python error|ModuleNotFoundError|ImportError|"
    r"UnsupportedClassVersionError|No space left"
)
"""Lines that say why a process ended."""
SHUT_DOWN = re.compile(r"^$|SparkContext was shut ?down|stopped SparkContext|shutdown in progress")
"""What is said, if anything, by a virtual machine that is about to end."""
OUT_OF_MEMORY = 52
"""The exit code of Spark's processes for an OutOfMemoryError that nobody caught."""
SIZES = (("GB", 2**30), ("MB", 2**20), ("kB", 2**10))
COUNTERS = (Path("/sys/fs/cgroup/memory.events"), Path("/proc/vmstat"))
"""Where the kernel counts the processes that it has killed for want of memory."""


class MachineError(WindrowError):
    """The virtual machine has died, or could not be started; the query is not to blame."""


class Machine:
    """A virtual machine: its process, if it was started from here, and the last that it said."""

    def __init__(self) -> None:
        self.memory = MemoryWatch.begin()
        self._lines: deque[str] = deque(maxlen=LINES)
        self._process: subprocess.Popen[bytes] | None = None
        self._listener: threading.Thread | None = None

    def launch(self, conf: SparkConf, *, quiet: bool, directory: Path | None = None) -> Any:
        """Start it, in ``directory`` or here, and return PySpark's gateway to it."""
        where = {} if directory is None else {"cwd": str(directory)}
        try:
            gateway = self._launched_quietly(conf, where) if quiet else _launched(conf, **where)
        except (PySparkRuntimeError, Py4JError, OSError) as failure:  # it may die at any point
            raise self._could_not_start() from failure
        return self.adopt(gateway)

    def adopt(self, gateway: Any) -> Any:
        """Watch one that somebody else has started."""
        self._process = getattr(gateway, "proc", None)
        return gateway

    def _launched_quietly(self, conf: SparkConf, where: Mapping[str, str]) -> Any:
        """Before any setting is read it speaks of modules, log profiles and native libraries."""
        _hush_py4j()
        reading, writing = os.pipe()
        with Path(os.devnull).open("w") as nowhere, os.fdopen(writing, "wb") as errors:
            source = os.fdopen(reading, "rb")
            self._listener = threading.Thread(target=self._listen, args=(source,), daemon=True)
            self._listener.start()
            return _launched(conf, **where, stdout=nowhere, stderr=errors)

    def _listen(self, errors: IO[bytes]) -> None:
        with errors:
            for line in errors:
                self._lines.append(line.decode(errors="replace").rstrip())

    def last_words(self) -> str:
        """The last line that says why something ended, if there is one."""
        found = [line.strip() for line in tuple(self._lines) if TELLING.search(line)]
        reasons = [line for line in found if "Could not create" not in line]  # it says no reason
        return (reasons or found or [""])[-1][:300]

    def _last_complaint(self) -> str:
        lines = [line.strip() for line in tuple(self._lines) if line.strip()]
        lines = [line for line in lines if not line.startswith("at ")]  # where in Spark
        complaints = [line for line in lines if re.search(r"(Exception|[Ee]rror)\b", line)]
        last = (complaints or lines or ["no reason given"])[-1][:300]
        return re.sub(r'^Exception in thread "main" [\w.$]+: ', "", last)

    def exit_code(self, patience: float = 0.0) -> int | None:
        """How it ended; None while it runs."""
        if self._process is None:
            return None
        try:
            return self._process.wait(patience)
        except subprocess.TimeoutExpired:
            return None

    def death(self, patience: float) -> MachineError | None:
        """The error to report if it has ended, though nobody stopped it."""
        code = self.exit_code(patience)
        return None if code is None else self._died(code)

    def _died(self, code: int) -> MachineError:
        reasons = filter(None, (exit_in_words(code), self.last_words(), self.memory.words()))
        starved = code in (-signal.SIGKILL, 128 + signal.SIGKILL, OUT_OF_MEMORY)
        more = (
            "; if memory is short, run fewer queries at once, or give it more with "
            "PYSPARK_SUBMIT_ARGS='--driver-memory 4g pyspark-shell'"
        )
        return MachineError(
            "the Java virtual machine that Spark runs in has died",
            found="; ".join(reasons),
            remedy="run the same command again: with --checkpoint it resumes after the last "
            f"complete micro-batch{more if starved or 'emory' in self.last_words() else ''}",
        )

    def refusal(self, failure: Exception) -> MachineError:
        """The error to report if Spark did not start in it: a setting is wrong, or it died."""
        said = _text(failure)
        died = self.death(PATIENCE if not said else 0.0)
        if died is not None:
            return died
        causes = re.findall(
            r"^(?:: |Caused by: )?[\w.$]+(?:Error|Exception): (.+)$", said, re.MULTILINE
        )
        return MachineError(
            "Spark could not be started",
            found=(causes or said.splitlines() or ["no reason given"])[-1 if causes else 0][:300],
            remedy="check what it names: --master, Spark's settings, memory and disk",
        )

    def _could_not_start(self) -> MachineError:
        if self._listener is not None:
            self._listener.join(PATIENCE)
        said = self.last_words() or (self._last_complaint() if self._lines else "")
        remedy = "check what it names" if said else "run the same command again"
        return MachineError(
            "the Java virtual machine that Spark runs in could not be started",
            where=f"JAVA_HOME={os.environ.get('JAVA_HOME', '')}",
            found=said or "it ended without output, as a killed process does",
            remedy=f"{remedy}; `--runner embedded` needs no Java",
        )


def _text(failure: BaseException) -> str:
    """What an error says; those of a virtual machine that is dead cannot be asked any more."""
    try:
        return str(failure)
    except Exception:
        return ""


def _launched(conf: SparkConf, **output: Any) -> Any:
    """It writes where this process may write, so it holds the locks of that too."""
    with handles_for_child() as handles:
        arguments = {**output, "pass_fds": handles}
        return launch_gateway(conf, arguments)  # type: ignore[no-untyped-call]


def exit_in_words(code: int) -> str:
    """What an exit code means.

    >>> exit_in_words(-9)
    'it was killed (SIGKILL, exit code 137), as the kernel does when memory runs out'
    >>> exit_in_words(134), exit_in_words(1)
    ('it was ended by a signal (SIGABRT, exit code 134)', 'its exit code was 1')
    """
    number = -code if code < 0 else code - 128
    if code == OUT_OF_MEMORY:
        return f"it ran out of memory (exit code {code})"
    if number == signal.SIGKILL:
        return (
            f"it was killed (SIGKILL, exit code {128 + number}), "
            "as the kernel does when memory runs out"
        )
    if number in {s.value for s in signal.Signals}:
        return f"it was ended by a signal ({signal.Signals(number).name}, exit code {128 + number})"
    return f"its exit code was {code}"


WATCHED: list[Machine] = []
"""The machine of this process: there is one at a time."""


def start_machine(conf: SparkConf, *, quiet: bool, directory: Path | None = None) -> None:
    """Start a virtual machine with a SparkContext in it, unless there is one."""
    if SparkContext._gateway is not None or is_submitted():  # noqa: SLF001
        return
    machine = Machine()
    gateway = machine.launch(conf, quiet=quiet, directory=directory)
    WATCHED[:] = [machine]
    try:
        SparkContext(gateway=gateway, conf=conf)
    except Exception as failure:
        raise machine.refusal(failure) from failure


def death_of_machine(failure: BaseException) -> MachineError | None:
    """The error to report if ``failure`` came of the death of this process's virtual machine."""
    unanswered = isinstance(failure, Py4JError | ConnectionError | EOFError)
    answered = isinstance(failure, Py4JJavaError) and not SHUT_DOWN.search(_text(failure))
    return _machine().death(PATIENCE if unanswered and not answered else 0.0)


def check_machine() -> None:
    """MachineError if this process's virtual machine has died."""
    died = _machine().death(0.0)
    if died is not None:
        raise died


def circumstances() -> str:
    """What is known of the reason why a process of Spark's has died."""
    machine = _machine()
    return "; ".join(filter(None, (machine.last_words(), machine.memory.words())))


def _machine() -> Machine:
    if not WATCHED:
        WATCHED.append(Machine())
        WATCHED[-1].adopt(SparkContext._gateway)  # noqa: SLF001
    return WATCHED[-1]


def _hush_py4j() -> None:
    """Py4J logs with tracebacks that nobody answers; what that means is said in words."""
    logging.getLogger().addFilter(_is_not_of_py4j)  # some of it goes to the root logger itself
    py4j = logging.getLogger("py4j")
    py4j.addHandler(logging.NullHandler())
    py4j.propagate = False


def _is_not_of_py4j(record: logging.LogRecord) -> bool:
    return "py4j" not in record.pathname


@dataclass(frozen=True)
class MemoryWatch:
    """How many processes the kernel had killed when the watch began."""

    counters: Sequence[Path] = COUNTERS
    before: int = 0

    @classmethod
    def begin(cls, counters: Sequence[Path] = COUNTERS) -> MemoryWatch:
        return cls(counters, _killed(counters))

    def count_killed(self) -> int:
        """Processes that the kernel has killed for want of memory since."""
        return max(0, _killed(self.counters) - self.before)

    def words(self) -> str:
        """What is known of memory now, for people."""
        known = []
        if killed := self.count_killed():
            processes = "a process" if killed == 1 else f"{killed} processes"
            known.append(
                f"the kernel has killed {processes} since the start because memory ran out"
            )
        free = available()
        if free is not None:
            known.append(f"{size_in_words(free)} of memory are free now")
        return ", ".join(known)


def _killed(counters: Sequence[Path]) -> int:
    """The first counter that there is; that of a container knows of no others' processes."""
    for path in counters:
        with suppress(OSError):
            found = re.search(r"^oom_kill (\d+)$", path.read_text(), re.MULTILINE)
            if found is not None:
                return int(found[1])
    return 0


def available(meminfo: Path = Path("/proc/meminfo")) -> int | None:
    """Bytes that processes could still have."""
    with suppress(OSError):
        found = re.search(r"^MemAvailable:\s+(\d+) kB$", meminfo.read_text(), re.MULTILINE)
        if found is not None:
            return int(found[1]) * 1024
    return None


def size_in_words(size: int) -> str:
    """A number of bytes as people say it.

    >>> size_in_words(3 * 2**30 // 2), size_in_words(999)
    ('1.5 GB', '999 bytes')
    """
    for unit, bytes_ in SIZES:
        if size >= bytes_:
            return f"{size / bytes_:.1f} {unit}"
    return f"{size} bytes"
