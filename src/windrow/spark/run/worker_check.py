"""Asking the workers of a cluster whether they can work: one small job before any query.

What is missing on a worker would otherwise show as a query that fails in the middle, with a
traceback of another machine. The job also waits until there are executors, so that the number of
cores is known when queries are laid out.
"""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from py4j.protocol import Py4JJavaError
from pyspark import SparkContext

from windrow.core.errors import InputError
from windrow.spark.run.failures import SparkError, whole_text

NO_WINDROW = re.compile(r"No module named '(windrow|pyspark|pyarrow|numba)[^\n]*")
NO_PYTHON = re.compile(r"Cannot run program [^\n]*|PYTHON_VERSION_MISMATCH[^\n]*|GLIBC_[^\n]*")


@dataclass(frozen=True)
class SharedPaths:
    """What a run reads and writes, of which its workers have to see the same."""

    read: tuple[Path, ...] = ()
    write: tuple[Path, ...] = ()


def check_workers(context: SparkContext, paths: SharedPaths) -> None:
    """InputError if a worker lacks Windrow as it is here, or does not see one of the paths."""
    tasks = max(2, context.defaultParallelism)
    read, write = (tuple(_existing(found)) for found in (paths.read, paths.write))
    look = _Look(version("windrow"), read, write)
    try:
        refusals = context.parallelize(range(tasks), tasks).mapPartitions(look).collect()
    except Py4JJavaError as failure:
        raise _no_python(context.pythonExec, failure) from failure
    for refusal in refusals:
        raise refusal.error(context.pythonExec)


def _existing(paths: Iterable[Path]) -> Iterator[str]:
    """What there is by now of each path: it, or the directory that it will be in."""
    for path in paths:
        found = path.absolute()
        while not found.exists() and found != found.parent:
            found = found.parent
        if found != found.parent:
            yield str(found)


@dataclass(frozen=True)
class _Refusal:
    host: str
    path: str = ""
    verb: str = ""
    version: str = ""

    def error(self, python: str) -> InputError:
        if self.version:
            return InputError(
                where=f"worker {self.host}, {python}",
                expected=f"windrow {version('windrow')}, as here",
                found=f"windrow {self.version}",
                remedy="install the same version there, or leave PYSPARK_PYTHON unset: then this "
                "environment is sent to the workers",
            )
        return InputError(
            where=self.path,
            expected="a path that driver and workers share",
            found=f"worker {self.host}, which cannot {self.verb} it",
            remedy="use a directory that is mounted at the same path everywhere, such as a network "
            "disk",
        )


@dataclass(frozen=True)
class _Look:
    """The job's function: what is wrong where it runs, nothing if all is well."""

    version: str
    read: tuple[str, ...]
    write: tuple[str, ...]

    def __call__(self, _: Iterable[int]) -> Iterator[_Refusal]:
        host = socket.gethostname()
        if version("windrow") != self.version:
            yield _Refusal(host, version=version("windrow"))
        for verb, paths, mode in (("read", self.read, os.R_OK), ("write to", self.write, os.W_OK)):
            yield from (_Refusal(host, p, verb) for p in paths if not os.access(p, mode))


def _no_python(python: str, failure: Py4JJavaError) -> Exception:
    text = whole_text(failure)
    if found := NO_WINDROW.search(text):
        return InputError(
            where=f"the workers' Python, {python}",
            expected="an interpreter with Windrow",
            found=found[0].strip(),
            remedy="install Windrow there, or leave PYSPARK_PYTHON unset: then this environment is "
            "sent to the workers",
        )
    if found := NO_PYTHON.search(text):
        return InputError(
            where=f"the workers' Python, {python}",
            expected="an interpreter of the same version as here, which workers can start",
            found=found[0].strip()[:300],
            remedy="set PYSPARK_PYTHON to one, or leave it unset: then this environment is sent to "
            "the workers, which need a C library as new as the one here",
        )
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return SparkError(
        "the workers could not do a first small task",
        found=(lines or ["no reason given"])[0][:300],
        remedy="run again with -v to see Spark's own log; an executor's is in its work directory",
    )
