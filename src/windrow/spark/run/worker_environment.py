"""How Python workers of a cluster come by an interpreter with Windrow, and where the driver has it.

A worker's host may have no Python at all. So the environment of this process is packed
(``windrow.spark.environment``), Spark carries the archive to each executor (``spark.archives``) and
unpacks it in the executor's directory, and ``./windrow_env/bin/python`` there is the interpreter.

Spark starts sources at the driver with that same relative path. So on a cluster the driver's
virtual machine runs in a directory of its own, where that path is a launcher of this interpreter.

Whoever names an interpreter (PYSPARK_PYTHON, ``spark.pyspark.python``) has installed Windrow on the
workers, and nothing is packed. Whoever names an archive as ``...#windrow_env`` has packed it.
"""

from __future__ import annotations

import atexit
import os
import shlex
import shutil
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from windrow.spark.environment.environment_archive import (
    NAME,
    PROGRAM,
    WORKER_PYTHON,
    environment_archive,
)
from windrow.spark.run.worker_python import is_installed, worker_launcher

ARCHIVES = "spark.archives"
PYTHON = "spark.pyspark.python"


@dataclass(frozen=True)
class WorkerEnvironment:
    """``python`` is what executors start; the driver's machine runs in ``directory``, if any."""

    python: str
    directory: Path | None = None
    settings: Mapping[str, str] = field(default_factory=dict)


def environment_on_cluster(
    settings: Mapping[str, str], on_work: Callable[[str], None] = lambda _: None
) -> WorkerEnvironment:
    """What the workers of a cluster run in; ``settings`` are the user's."""
    named = settings.get(PYTHON) or os.environ.get("PYSPARK_PYTHON")
    if named and named != WORKER_PYTHON:
        return WorkerEnvironment(named)
    directory = Path(tempfile.mkdtemp(prefix="windrow-driver-"))
    atexit.register(shutil.rmtree, directory, ignore_errors=True)
    _put_launcher(directory / NAME / PROGRAM)
    archives = [part for part in settings.get(ARCHIVES, "").split(",") if part]
    if not any(part.endswith(f"#{NAME}") for part in archives):
        link = directory / "environment.tar.gz"
        _link(environment_archive(on_work=on_work), link)
        archives.append(f"{link}#{NAME}")
    return WorkerEnvironment(WORKER_PYTHON, directory, {ARCHIVES: ",".join(archives)})


def _put_launcher(path: Path) -> None:
    """No link: an interpreter that is called by one does not find its virtual environment."""
    path.parent.mkdir(parents=True)
    python = worker_launcher() if is_installed() else sys.executable
    path.write_text(f'#!/bin/sh\nexec {shlex.quote(python)} "$@"\n')
    path.chmod(0o755)


def _link(archive: Path, link: Path) -> None:
    """A name of its own for the archive, which the cache may forget while executors still come."""
    try:
        os.link(archive, link)
    except OSError:  # another disk
        shutil.copyfile(archive, link)
