"""The same script over the same input, on Spark, from the beginning to the end in one run."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.faults.plan import SCRIPT, Input

LONGEST = 600.0


def run_undisturbed(directory: Path, steps: int, seed: int, runner: str = "spark") -> None:
    given = Input(directory, steps, seed)
    given.give(steps)
    (directory / "script.cql").write_text(SCRIPT)
    root = Path(__file__).parents[2]
    with (directory / "run.err").open("wb") as err:
        subprocess.run(
            [sys.executable, "-m", "tests.faults.windrow", "run", "script.cql", "--once",
             "--runner", runner],
            cwd=directory,
            env={**os.environ, "PYTHONPATH": os.pathsep.join((str(root), str(root / "src")))},
            stdout=subprocess.DEVNULL,
            stderr=err,
            check=True,
            timeout=LONGEST,
        )  # fmt: skip
