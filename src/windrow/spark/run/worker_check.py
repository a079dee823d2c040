"""Asking the workers of a cluster whether they can work: one small job before any query.

What is missing on a worker would otherwise show as a query that fails in the middle, with a
traceback of another machine. The job also waits until there are executors, so that the number of
cores is known when queries are laid out.
"""

from __future__ import annotations

import os
import re
import socket
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark import SparkContext
from pyspark.errors import PySparkException

from windrow.core.errors import InputError
from windrow.spark.run.failures import SparkError, whole_text

NO_WINDROW = re.compile(r"No module named '(windrow|pyspark|pyarrow|numba)[^\n]*")
NO_PYTHON = re.compile(r"Cannot run program [^\n]*|PYTHON_VERSION_MISMATCH[^\n]*|GLIBC_[^\n]*")


SEND = (
    "leave PYSPARK_PYTHON unset (and open the session with windrow.spark.spark_session): then "
    "this environment is sent to the workers"
)
NO_EXECUTOR_AFTER = 20.0
"""Seconds after which it is said that the cluster has given no executor yet."""
NO_MORE_AFTER = 3.0
"""Seconds after the last executor that is waited for another."""


@dataclass(frozen=True)
class SharedPaths:
    """What a run reads and writes, by who needs it; its workers have to see the same."""

    read: Mapping[str, Path] = field(default_factory=dict)
    write: Mapping[str, Path] = field(default_factory=dict)


def check_workers(
    context: SparkContext, paths: SharedPaths, on_work: Callable[[str], None] = lambda _: None
) -> None:
    """InputError if a worker lacks Windrow as it is here, or does not see one of the paths."""
    _check_driver(context)
    _wait_for_executors(context, on_work)
    tasks = max(2, context.defaultParallelism)
    read, write = ({who: _existing(p) for who, p in d.items()} for d in (paths.read, paths.write))
    look = _Look(version("windrow"), read, write)
    try:
        refusals = context.parallelize(range(tasks), tasks).mapPartitions(look).collect()
    except (Py4JJavaError, PySparkException) as failure:
        raise python_error(context.pythonExec, failure) from failure
    for refusal in refusals:
        raise refusal.error(context.pythonExec)


def _check_driver(context: SparkContext) -> None:
    """InputError if a relative path of the workers' Python leads nowhere at the driver."""
    python = context.pythonExec
    if "/" not in python or Path(python).is_absolute():
        return
    machine: Any = context._jvm  # noqa: SLF001 - the directory is that of the virtual machine
    directory = machine.java.lang.System.getProperty("user.dir")
    if not Path(directory, python).exists():
        raise InputError(
            where=f"the driver, in {directory}",
            expected=f"{python}, with which Spark starts sources beside the driver",
            found="no such file",
            remedy="unpack the archive of `windrow pack` there; if this process has had another "
            "session before, open this one in a new process",
        )


def _wait_for_executors(context: SparkContext, on_work: Callable[[str], None]) -> None:
    """As long as the cluster takes for the first: it may be busy, or start machines.

    The others follow soon, and how many cores there are decides how queries are laid out, so it is
    waited until no more come.
    """
    spark: Any = context._jsc.sc()  # noqa: SLF001 - no other way to ask for them
    began = last = time.monotonic()
    there, said = 0, False
    while there == 0 or time.monotonic() - last < NO_MORE_AFTER:
        if spark.isStopped():
            raise SparkError(
                "the cluster has given no executor, and ended the application",
                where=str(context.master),
                remedy="check the master's log; run again with -v to see Spark's own",
            )
        found = len(spark.statusTracker().getExecutorInfos()) - 1  # the driver is one of them
        if found > there:
            there, last = found, time.monotonic()
        if not there and not said and time.monotonic() - began > NO_EXECUTOR_AFTER:
            on_work(_waiting(context))
            said = True
        time.sleep(0.1)


def _waiting(context: SparkContext) -> str:
    conf = context.getConf()
    memory, cores = (conf.get(f"spark.executor.{what}", "") for what in ("memory", "cores"))
    wanted = f"{memory or '1g'} of memory" + (f" and {cores} cores" if cores else "")
    return (
        f"waiting for executors: {context.master} has given none yet; "
        f"is there a worker with {wanted} free?"
    )


def _existing(path: Path) -> str:
    """What there is by now of a path: it, or the directory that it will be in."""
    found = path.absolute()
    while not found.exists() and found != found.parent:
        found = found.parent
    return str(found)


@dataclass(frozen=True)
class _Refusal:
    host: str
    who: str = ""
    path: str = ""
    verb: str = ""
    version: str = ""

    def error(self, python: str) -> InputError:
        if self.version:
            return InputError(
                where=f"worker {self.host}, {python}",
                expected=f"windrow {version('windrow')}, as here",
                found=f"windrow {self.version}",
                remedy=f"install the same version there, or {SEND}",
            )
        return InputError(
            where=self.path if self.who == self.path else f"{self.who}, {self.path}",
            expected="a path that driver and workers share",
            found=f"worker {self.host}, which cannot {self.verb} it",
            remedy="use a directory that is mounted at the same path everywhere, such as a network "
            "disk",
        )


@dataclass(frozen=True)
class _Look:
    """The job's function: what is wrong where it runs, nothing if all is well."""

    version: str
    read: Mapping[str, str]
    write: Mapping[str, str]

    def __call__(self, _: Iterable[int]) -> Iterator[_Refusal]:
        host = socket.gethostname()
        if version("windrow") != self.version:
            yield _Refusal(host, version=version("windrow"))
        for verb, paths, mode in (("read", self.read, os.R_OK), ("write to", self.write, os.W_OK)):
            for who, path in paths.items():
                if not os.access(path, mode):
                    yield _Refusal(host, who, path, verb)


def python_error(python: str, failure: BaseException) -> Exception:
    text = whole_text(failure)
    if found := NO_WINDROW.search(text):
        return InputError(
            where=f"the workers' Python, {python}",
            expected="an interpreter with Windrow",
            found=found[0].strip(),
            remedy=f"install Windrow there, or {SEND}",
        )
    if found := NO_PYTHON.search(text):
        return InputError(
            where=f"the workers' Python, {python}",
            expected="an interpreter of the same version as here, which workers can start",
            found=found[0].strip()[:300],
            remedy=f"set PYSPARK_PYTHON to one, or {SEND}; they need a C library as new as the one "
            "here",
        )
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return SparkError(
        "the workers could not do a first small task",
        found=(lines or ["no reason given"])[0][:300],
        remedy="run again with -v to see Spark's own log; an executor's is in its work directory",
    )
