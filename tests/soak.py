"""``python -m tests.soak [--batches 2000]``: whether a run that is left alone stays as it was.

``windrow run`` on ``local[2]`` over a stream of CSV and one of Parquet, each of which gets a file
when the last one has been worked off, so that there are as many micro-batches as files; some rows
are late or cannot be read. Files that have been read are removed after a while, as their owner
would do it. Prints what there was around the first hundred micro-batches and around the last: files
in the checkpoint, the results and the quarantine, memory by kind of process, time per micro-batch.
Stops by itself when all is done or time is up; ends with 1 if files or memory have grown.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq

from tests.faults.processes import MARK, kill, processes
from windrow.result_files.commits import last_committed

SCRIPT = """
CREATE STREAM a (ts BIGINT, k INT, v BIGINT) FROM 'in/a' FORMAT csv TIMESTAMP BY ts SLACK 4;
CREATE STREAM b (ts BIGINT, k INT, v BIGINT) FROM 'in/b' FORMAT parquet TIMESTAMP BY ts SLACK 4;
CREATE QUERY sums AS SELECT k, SUM(v) AS total FROM a [RANGE 300] GROUP BY k INTO 'out/sums';
CREATE QUERY pairs AS SELECT a.v, COUNT(*) AS n FROM a [RANGE 60], b [RANGE 60]
  WHERE a.k = b.k GROUP BY a.v INTO 'out/pairs' FORMAT csv;
CREATE ARCHIVE kept ON b KEY k WINDOW 20 MINUTES USING WATA(3) INTO 'out/kept';
"""
TICKS, ROWS, KEYS = 30, 400, 50
PLACES = ("checkpoint", "out/sums", "out/pairs", "out/kept", "quarantine", "in")
STAY = ("quarantine",)
"""Where files stay until their owner removes them."""
EVERY = 10
"""Micro-batches between two looks at files and memory."""
KEPT = 50
"""Files of each stream that are left in place after they were read."""
BAD_EVERY = 100
"""Steps between two with rows that cannot be used: their pages in the quarantine stay for good."""
FIRST_RESULT = 240.0
A_BATCH = 60.0
GROWTH = 1.25
"""Times the first hundred that files and memory may take in the last."""


@dataclass(frozen=True)
class Look:
    """Files by place, bytes of the checkpoint, and resident megabytes by kind of process."""

    batch: int
    files: dict[str, int]
    megabytes: dict[str, float]
    memory: dict[str, float]


@dataclass
class Soaked:
    """What was seen; ``seconds`` are those of each micro-batch, drop to commit."""

    seconds: list[float] = field(default_factory=list)
    looks: list[Look] = field(default_factory=list)
    problem: str = ""

    def span(self) -> int:
        return min(100, max(1, len(self.seconds) // 3))

    def rows(self) -> Iterator[tuple[str, float, float, bool]]:
        """Name, first, last, and whether growth counts."""
        n = self.span()
        warm = len(self.seconds) // 20  # processes start, windows fill
        first = [x for x in self.looks if warm <= x.batch <= warm + n]
        last = [x for x in self.looks if x.batch > len(self.seconds) - n]
        for place in PLACES:
            counts = place not in STAY
            yield (
                f"files in {place}",
                _peak(first, "files", place),
                _peak(last, "files", place),
                (counts),
            )
        for place in ("checkpoint", "out/sums", "out/pairs"):
            found = _peak(first, "megabytes", place), _peak(last, "megabytes", place)
            yield f"MB in {place}", *found, False
        for kind in sorted({kind for look in self.looks for kind in look.memory}):
            yield f"MB of {kind}", _peak(first, "memory", kind), _peak(last, "memory", kind), True
        spent = [self.seconds[warm : warm + n], self.seconds[-n:]]
        for name, q in (("median", 50), ("95 %", 95)):
            one, other = (float(np.percentile(part or [0], q)) for part in spent)
            yield f"ms per batch, {name}", 1000 * one, 1000 * other, False

    def grown(self) -> list[str]:
        """What takes more at the end, beyond what a few files or megabytes make."""
        return [n for n, one, other, counts in self.rows() if counts and other > one * GROWTH + 20]


def _peak(looks: list[Look], part: str, name: str) -> float:
    return float(max((getattr(look, part).get(name, 0) for look in looks), default=0))


class Soak:
    """One run below ``directory``."""

    def __init__(self, directory: Path, seed: int = 1) -> None:
        self.directory = directory
        self._rng = np.random.default_rng(seed)
        self._known = -1
        self._mark = f"soak-{uuid.uuid4().hex}"
        for name in ("in/a", "in/b", "later"):
            (directory / name).mkdir(parents=True)
        (directory / "script.cql").write_text(SCRIPT)

    def run(self, batches: int, end: float) -> Soaked:
        """Micro-batch after micro-batch, until there were enough or it is too late."""
        found = Soaked()
        with (self.directory / "run.err").open("wb") as err:
            process = self._start(err)
            try:
                for step in range(batches):
                    before, began = self._last(), time.monotonic()
                    self._give(step)
                    limit = began + (A_BATCH if step else FIRST_RESULT)
                    while self._last() <= before and time.monotonic() < min(limit, end):
                        if process.poll() is not None:
                            found.problem = f"it ended, exit {process.returncode}: {self._words()}"
                            return found
                        time.sleep(0.005)
                    if time.monotonic() > end:
                        break
                    if self._last() <= before:
                        found.problem = f"no micro-batch for step {step} within {A_BATCH:.0f} s"
                        return found
                    found.seconds.append(time.monotonic() - began)
                    if step % EVERY == 0:
                        found.looks.append(self._look(step))
            finally:
                kill(processes(self._mark))
                process.wait()
        return found

    def _start(self, err: object) -> subprocess.Popen[bytes]:
        root = Path(__file__).parents[1]
        command = [sys.executable, "-m", "tests.faults.windrow", "run", "script.cql"]
        command += ["--checkpoint", "checkpoint", "--quarantine", "quarantine"]
        command += ["--master", "local[2]"]
        path = os.pathsep.join((str(root), str(root / "src")))
        return subprocess.Popen(
            command, cwd=self.directory, stdout=subprocess.DEVNULL, stderr=err,  # type: ignore[arg-type]
            env={**os.environ, MARK: self._mark, "PYTHONPATH": path},
        )  # fmt: skip

    def _give(self, step: int) -> None:
        """The next file of each stream, and one less of those that have been read."""
        self._write("b", step, "parquet")
        self._write("a", step, "csv")
        old = step - KEPT
        if old >= 0:
            for path in (self.directory / "in").glob(f"*/{old:06d}.*"):
                path.unlink()

    def _write(self, stream: str, step: int, ending: str) -> None:
        rng = self._rng
        ts = np.sort(rng.integers(step * TICKS, (step + 1) * TICKS, ROWS))
        columns = {"ts": ts, "k": rng.integers(0, KEYS, ROWS), "v": rng.integers(0, 30, ROWS)}
        path = self.directory / "later" / f"{stream}.{ending}"
        if ending == "csv":
            pc.write_csv(pa.table(columns), path)
            if step % BAD_EVERY == 1:
                with path.open("a") as file:
                    file.write(f"oops,1,1\n{step * TICKS - 20},1,1\n")  # unreadable, and late
        else:
            pq.write_table(pa.table(columns), path)
        path.rename(self.directory / "in" / stream / f"{step:06d}.{ending}")

    def _last(self) -> int:
        """The last micro-batch with rows of the stream that comes last."""
        place = self.directory / "out" / "sums"
        if place.is_dir():
            self._known = last_committed(place, self._known)
        return self._known

    def _look(self, batch: int) -> Look:
        files, megabytes = {}, {}
        for place in PLACES:
            found = [p for p in (self.directory / place).rglob("*") if p.is_file()]
            files[place] = len(found)
            megabytes[place] = sum(_size(p) for p in found) / 2**20
        memory: dict[str, float] = {}
        for process in processes(self._mark):
            kind = {"worker": "Python workers", "daemon": "Python workers"}.get(
                process.kind, process.kind
            )
            memory[kind] = memory.get(kind, 0.0) + _resident(process.pid)
        return Look(batch, files, megabytes, memory)

    def _words(self) -> str:
        lines = (self.directory / "run.err").read_text().splitlines()
        return (lines or ["nothing said"])[-1][:200]


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def _resident(pid: int) -> float:
    """Megabytes; what is shared with others counts in part."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0.0
    return next((int(x.split()[1]) / 1024 for x in lines if x.startswith("Pss:")), 0.0)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.soak")
    parser.add_argument("--batches", type=int, default=2000)
    parser.add_argument("--minutes", type=float, default=38.0, help="stop after that")
    asked = parser.parse_args()
    directory = Path(tempfile.mkdtemp(prefix="windrow-soak-"))
    try:
        found = Soak(directory).run(asked.batches, time.monotonic() + 60 * asked.minutes)
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    say(f"{len(found.seconds)} micro-batches, {found.span()} at each end compared")
    say(f"{'':<28}{'first':>10}{'last':>10}")
    for name, first, last, _ in found.rows():
        say(f"{name:<28}{first:>10,.0f}{last:>10,.0f}")
    if found.problem:
        say(found.problem)
    grown = found.grown()
    say(f"grown: {', '.join(grown)}" if grown else "flat")
    return 1 if grown or found.problem else 0


def say(words: str) -> None:
    sys.stdout.write(words + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
