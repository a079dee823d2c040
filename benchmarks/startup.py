"""How much processor time a command takes that does next to nothing: starting up.

``python -m benchmarks.startup [--quick]`` runs commands as processes of their own, in turns, over
an archive of ten days, and takes the least processor time of each, user and system: what else the
machine does only ever adds. Modules are compiled once, as those of an installed package are. The
ratio is half a second over the slowest command.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.report import finish, quick_asked, save, say, table
from windrow.archive import Archive

ENOUGH = 0.5
"""Seconds that a command may take."""
ENTRY = "import sys; from windrow.cli.main import main; sys.argv[0] = 'windrow'; main()"
SCRIPT = Path(__file__).parents[1] / "examples" / "traffic.cql"


def archive_of_days(path: Path, rows: int) -> None:
    """Ten days of so many rows in a window of seven, by WATA with four constituents."""
    schema = pa.schema({"src": pa.string(), "bytes": pa.int64(), "ts": pa.timestamp("us")})
    archive = Archive.create(path, schema, "src", window=7, scheme="WATA", n=4)
    rng = np.random.default_rng(0)
    for day in range(1, 11):
        hosts = [f"10.0.{i // 256}.{i % 256}" for i in rng.integers(0, 20_000, rows).tolist()]
        times = pa.array(np.arange(rows) + day * 10**9, pa.timestamp("us"))
        columns = {"src": hosts, "bytes": rng.integers(0, 1_500, rows), "ts": times}
        archive.append(day, pa.table(columns), now=day)


def commands(archive: Path) -> dict[str, list[str]]:
    return {
        "--help": ["--help"],
        "archive stat": ["archive", "stat", str(archive)],
        "archive probe": ["archive", "probe", str(archive), "10.0.0.1"],
        "archive vacuum": ["archive", "vacuum", str(archive)],
        "explain": ["explain", str(SCRIPT)],
    }


def processor_seconds(words: Sequence[str], compiled: Path) -> float:
    """What one process takes to run a command; an error if it fails."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment = {**kept, "PYTHONPYCACHEPREFIX": str(compiled)}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-c", ENTRY, *words]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=environment)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime - before.ru_utime) + (after.ru_stime - before.ru_stime)


def measure(words_of: Mapping[str, Sequence[str]], rounds: int, compiled: Path) -> dict[str, float]:
    taken: dict[str, list[float]] = {name: [] for name in words_of}
    for _ in range(rounds):
        for name, words in words_of.items():
            taken[name].append(processor_seconds(words, compiled))
    return {name: min(seconds) for name, seconds in taken.items()}


def run(*, rows: int, rounds: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as directory:
        archive = Path(directory, "week")
        archive_of_days(archive, rows)
        seconds = measure(commands(archive), rounds, Path(directory, "compiled"))
    return {"seconds": seconds, "ratio": ENOUGH / max(seconds.values())}


def main() -> None:
    quick = quick_asked("startup", "Processor time of commands that do next to nothing.")
    results = run(rows=20_000 if quick else 100_000, rounds=3 if quick else 15)
    table(["command", "processor seconds"], results["seconds"].items())
    say()
    if not quick:
        save("startup", results)
    finish(results["ratio"])


if __name__ == "__main__":
    main()
