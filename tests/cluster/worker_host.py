"""A process as if on a host of its own: its own directories, none of the driver's environment.

Where namespaces are allowed (as root, or where users may make them) the host sees neither the
source tree, nor the home, nor the interpreter, nor the temporary files of the driver: only the
system, its Spark and Java, its own directory and the shared one. Elsewhere it has another home, an
empty environment and another directory, and still could read what it does not know of.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
SYSTEM = {Path(p) for p in ("/", "/usr", "/usr/local", "/opt", "/bin", "/home")}
UNSHARE = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
AS_ROOT = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
ISOLATE = r"""
set -e
base=$1 host=$2 spark=$3 java=$4; shift 4
mount -t tmpfs none /mnt
mkdir /mnt/shared /mnt/host /mnt/spark /mnt/java
mount --bind "$base/shared" /mnt/shared; mount --bind "$host" /mnt/host
mount --bind "$spark" /mnt/spark; mount --bind "$java" /mnt/java
while [ "$1" != -- ]; do mount -t tmpfs none "$1"; shift; done; shift
mkdir -p "$base/shared" "$host"
mount --bind /mnt/shared "$base/shared"; mount --bind /mnt/host "$host"
mount --bind /mnt/spark "$host/spark"; mount --bind /mnt/java "$host/java"
umount -l /mnt
cd "$host/home"
exec "$@"
"""


PATIENCE = 20.0
"""Seconds that killed processes may take to be gone."""
DIES_WITH_US = ["setpriv", "--pdeathsig", "KILL"] if shutil.which("setpriv") else []
"""In front of a command: it ends, with all in its namespace, even if this process is killed."""


@cache
def can_isolate() -> bool:
    """Whether this user may make namespaces and mounts here."""
    try:
        probe = [*UNSHARE, *AS_ROOT, "mount", "-t", "tmpfs", "none", "/mnt"]
        return subprocess.run(probe, capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        return False


def hidden_places(base: Path) -> list[str]:
    """What the driver's environment consists of, outermost directories only."""
    asked = (ROOT, Path.home(), sys.prefix, sys.base_prefix, tempfile.gettempdir(), base)
    places = {Path(place).resolve() for place in asked} - SYSTEM
    return sorted(str(p) for p in places if not places & set(p.parents))


@dataclass
class Host:
    """``base`` holds ``shared/``, which all hosts see, and a directory for each host."""

    base: Path
    name: str
    spark: Path
    java: Path
    process: subprocess.Popen[bytes] = field(init=False)

    @property
    def directory(self) -> Path:
        return self.base / self.name

    @property
    def log(self) -> Path:
        return self.directory / "log"

    def start(self, *command: str, **environment: str) -> None:
        """Start a class of Spark's there."""
        for name in ("home", "work", "local", "spark", "java"):
            (self.directory / name).mkdir(parents=True)
        isolated = can_isolate()
        spark = self.directory / "spark" if isolated else self.spark
        java = self.directory / "java" if isolated else self.java
        clean = {
            "PATH": "/usr/bin:/bin",
            "HOME": str(self.directory / "home"),
            "SPARK_HOME": str(spark),
            "JAVA_HOME": str(java),
            "SPARK_DAEMON_MEMORY": "400m",
            "SPARK_LOCAL_DIRS": str(self.directory / "local"),
            **environment,
        }
        words = ["bash", str(spark / "bin" / "spark-class"), *command]
        if isolated:
            places = [str(self.base), str(self.directory), str(self.spark), str(self.java)]
            hide = [*places, *hidden_places(self.base), "--"]
            words = [*UNSHARE, *AS_ROOT, "bash", "-c", ISOLATE, "isolate", *hide, *words]
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [*DIES_WITH_US, *words], env=clean, cwd=self.directory / "home",
                stdin=subprocess.DEVNULL,
                stdout=log, stderr=log, start_new_session=True,
            )  # fmt: skip

    def processes(self) -> list[int]:
        """All of them, by id, as long as they run."""
        parents = {number: parent for number, _, parent in running_processes()}
        found = [self.process.pid]
        for one in found:
            found += [child for child, parent in parents.items() if parent == one]
        return found

    def send(self, number: signal.Signals) -> None:
        """A signal to each process of the host, the first one last."""
        for process in reversed(self.processes()):
            try:
                os.kill(process, number)
            except ProcessLookupError:
                continue

    def kill(self) -> None:
        """As if the power went; all that was started there is gone afterwards."""
        if self.process.poll() is not None:
            return
        started = set(self.processes())
        self.send(signal.SIGKILL)
        self.process.wait()
        until = time.monotonic() + PATIENCE
        while left := started & {number for number, *_ in running_processes()}:
            if time.monotonic() > until:
                raise RuntimeError(
                    f"{self.name}: processes {sorted(left)} were killed and still run"
                )
            time.sleep(0.05)


def running_processes() -> Iterator[tuple[int, str, int]]:
    """Number, state and parent of each; those that have ended and nobody has asked for are none."""
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, parent = entry.read_text().rpartition(")")[2].split()[:2]
        except OSError:  # it has just ended
            continue
        if state not in "ZX":
            yield int(entry.parent.name), state, int(parent)
