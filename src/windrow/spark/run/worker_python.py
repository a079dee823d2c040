"""The command that Spark starts its Python processes with, so that each of them starts soon.

Spark puts ``python/lib/pyspark.zip`` first on the path of every Python process that it starts.
Modules in an archive are compiled anew by every process, which is half a second of processor time,
and a query starts a dozen of them. Where PySpark is installed for the interpreter as well, a small
launcher takes the archives off the path, and the modules come compiled from where they are
installed. It is used for local masters only: other machines have their own interpreters.

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
from collections.abc import Iterable
from pathlib import Path

import pyspark

ARCHIVES = "python/lib"
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
daemon.manager()
"""
"""What ``-m pyspark.daemon`` does, but for words about workers that Spark has let go of."""


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
        f"    {shlex.quote(str(package / ARCHIVES))}/*.zip) ;;\n"
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
