"""The Python of Spark's workers: on a cluster one that has Windrow, here one that starts soon.

A worker's host may have no Python at all. So the environment of this process is packed
(``windrow.spark.environment``), Spark carries the archive to each executor (``spark.archives``) and
unpacks it in the executor's directory, and ``./windrow_env/bin/python`` there is the interpreter.
Spark starts sources at the driver with that same relative path. So on a cluster the driver's
virtual machine runs in a directory of its own, where that path is a launcher of this interpreter.
Whoever names an interpreter (PYSPARK_PYTHON, ``spark.pyspark.python``) has installed Windrow on the
workers, and nothing is packed. Whoever names an archive as ``...#windrow_env`` has packed it.

Spark puts ``python/lib/pyspark.zip`` first on the path of every Python process that it starts.
Modules in an archive are compiled anew by every process, which is half a second of processor time,
and a run starts several. Where PySpark is installed for the interpreter as well, a small
launcher takes the archives off the path, and the modules come compiled from where they are
installed. It is used for local masters only: other machines have their own interpreters.

The launcher also starts PySpark's daemon, from which workers are forked, with the modules that
tasks need (``windrow.spark.worker_modules``), so that no worker has to import them.

A worker that waits for a task when Spark lets go of it answers into a closed socket, and PySpark's
daemon prints a traceback for that. The launcher starts the daemon without it.
"""

from __future__ import annotations

import atexit
import os
import shlex
import shutil
import site
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pyspark

from windrow.spark.environment.environment_archive import (
    NAME,
    PROGRAM,
    WORKER_PYTHON,
    environment_archive,
)

ARCHIVES = "spark.archives"
PYTHON = "spark.pyspark.python"
PYSPARK_ARCHIVES = "python/lib"
"""Below Spark's home: what it puts on the path of its Python processes."""
INSTALLED = Path(pyspark.__file__).parent
QUIET_DAEMON = """\
import sys
from pyspark import daemon
def say(*words, **how):
    if not any("BrokenPipeError" in str(word) for word in words):
        print(*words, **how)
daemon.print = say
del sys.argv[1]
if sys.argv[1:] == ["pyspark.worker"]:
    try:
        import windrow.spark.worker_modules
    except Exception:
        pass  # the task that needs them says why
daemon.manager()
"""
"""What ``-m pyspark.daemon`` does, with Windrow's modules, and but for words about workers that
Spark has let go of."""


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


def is_installed(package: Path = INSTALLED, places: Iterable[str] | None = None) -> bool:
    """Whether the interpreter finds this PySpark by itself."""
    if places is None:
        named = os.environ.get("PYTHONPATH", "").split(os.pathsep)
        places = [*site.getsitepackages(), site.getusersitepackages(), *filter(None, named)]
    return package.parent.resolve() in {Path(place).resolve() for place in places}


def worker_launcher(python: str = sys.executable, package: Path = INSTALLED) -> str:
    """A command that is ``python`` without Spark's archives on its path; it ends with us.

    Where no script may be run from temporary directories it is ``python`` itself.
    """
    directory = Path(tempfile.mkdtemp(prefix="windrow-python-"))
    atexit.register(shutil.rmtree, directory, ignore_errors=True)
    launcher = directory / "python"
    launcher.write_text(
        "#!/bin/sh\n"
        "path=\n"
        "IFS=:\n"
        "set -f\n"
        "for place in $PYTHONPATH; do\n"
        '  case "$place" in\n'
        f"    {shlex.quote(str(package / PYSPARK_ARCHIVES))}/*.zip) ;;\n"
        f"    {shlex.quote(str(package / 'jars'))}/*.jar) ;;\n"
        '    *) path="${path:+$path:}$place" ;;\n'
        "  esac\n"
        "done\n"
        'PYTHONPATH="$path"\n'
        "export PYTHONPATH\n"
        "unset IFS\n"
        'if [ "$1 $2" = "-m pyspark.daemon" ]; then\n'
        "  shift 2\n"
        f'  exec {shlex.quote(python)} -c {shlex.quote(QUIET_DAEMON)} pyspark.daemon "$@"\n'
        "fi\n"
        f'exec {shlex.quote(python)} "$@"\n'
    )
    launcher.chmod(0o755)
    return str(launcher) if os.name == "posix" and os.access(launcher, os.X_OK) else python
