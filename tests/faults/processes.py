"""The processes of a run: found by a mark that all of them inherit, told apart by what they do.

Only what was started here bears the mark, so nothing else can be killed, and a process is found
even when its parent is dead.
"""

from __future__ import annotations

import os
import random
import signal
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

MARK = "WINDROW_FAULTS"
PROC = Path("/proc")
KINDS = ("driver", "jvm", "worker", "source", "daemon", "all", "point")


@dataclass(frozen=True)
class Process:
    pid: int
    parent: int
    kind: str
    work: str
    """Of a worker or daemon: what it does for Spark."""


def processes(mark: str) -> list[Process]:
    """The living processes whose mark begins so."""
    lines = {}
    for directory in PROC.iterdir():
        if directory.name.isdigit():
            with suppress(OSError):
                if f"\0{MARK}={mark}".encode() in b"\0" + (directory / "environ").read_bytes():
                    stat = (directory / "stat").read_text()
                    state, parent = stat[stat.rindex(")") + 2 :].split()[:2]
                    if state not in "ZX":
                        words = (directory / "cmdline").read_bytes().decode().split("\0")
                        lines[int(directory.name)] = (int(parent), words)
    return [
        Process(pid, parent, *_kind(words, lines.get(parent, (0, []))[1]))
        for pid, (parent, words) in lines.items()
    ]


def _kind(words: list[str], above: list[str]) -> tuple[str, str]:
    if words[0].endswith("java"):
        return "jvm", ""
    if "pyspark.daemon" in words:
        work = words[words.index("pyspark.daemon") + 1].rpartition(".")[2]
        return ("worker" if "pyspark.daemon" in above else "daemon"), work
    if words[1:2] == ["-m"] and words[2].startswith("pyspark."):  # not the script that starts Java
        return "source", words[2].rpartition(".")[2]
    return ("driver" if any(w.endswith("windrow") for w in words[:3]) else "other"), ""


def victims(mark: str, kind: str, rng: random.Random) -> list[Process]:
    """Whom to kill: one of the kind, or all that there are."""
    found = processes(mark)
    if kind == "all":
        return found if any(p.kind == "jvm" for p in found) else []
    same = sorted((p for p in found if p.kind == kind), key=lambda p: p.pid)
    return [rng.choice(same)] if same else []


def kill(chosen: list[Process]) -> None:
    for process in chosen:
        with suppress(ProcessLookupError):
            os.kill(process.pid, signal.SIGKILL)


def wait_for_none(mark: str, seconds: float) -> list[Process]:
    """Wait until all are gone; those that are not, in the end."""
    end = time.monotonic() + seconds
    while (left := processes(mark)) and time.monotonic() < end:
        time.sleep(0.1)
    return left


def own_workers() -> list[int]:
    """The Python processes in which tasks of this process's Spark run; sources are others."""
    below: dict[int, list[int]] = {}
    for directory in PROC.iterdir():
        if directory.name.isdigit():
            with suppress(OSError):
                stat = (directory / "stat").read_text()
                parent = int(stat[stat.rindex(")") + 2 :].split()[1])
                below.setdefault(parent, []).append(int(directory.name))
    found, waiting = [], [os.getpid()]
    while waiting:
        for pid in below.get(waiting.pop(), ()):
            waiting.append(pid)
            with suppress(OSError):
                if b"pyspark.daemon" in (PROC / str(pid) / "cmdline").read_bytes():
                    found.append(pid)
    return found


def kill_own_workers() -> None:
    """Let all state that is in memory be gone."""
    for pid in own_workers():
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
