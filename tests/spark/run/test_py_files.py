"""CREATE FUNCTION on Spark: the workers have the module that --py-files names, and only then."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
CREATE FUNCTION rounded_up (amount DECIMAL(10, 2)) RETURNS DECIMAL(10, 2) AS 'tariffs:rounded_up';
CREATE STREAM payments (ts BIGINT, k STRING, amount DECIMAL(10, 2)) FROM 'payments.csv';
CREATE QUERY sums AS
  SELECT k, SUM(rounded_up(amount)) AS total FROM payments [RANGE 5 SECONDS] GROUP BY k
  INTO 'out' FORMAT csv;
"""
MODULE = """
def rounded_up(amount):
    return amount.quantize(type(amount)("0.1"), "ROUND_UP")
"""


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.timeout(600)
def test_a_function_of_a_module_that_is_sent_runs_on_the_workers(tmp_path: Path) -> None:
    elsewhere, here = tmp_path / "modules", tmp_path / "run"
    elsewhere.mkdir()
    here.mkdir()
    (elsewhere / "tariffs.py").write_text(MODULE)
    (here / "script.cql").write_text(SCRIPT)
    (here / "payments.csv").write_text("ts,k,amount\n1,a,0.11\n2,b,19.99\n3,a,0.20\n")
    program = str(Path(sys.executable).with_name("windrow"))
    command = [program, "run", "script.cql", "--once"]
    command += ["--master", "local[2]"]
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}

    def run(*options: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*command, *options], cwd=here, env=environment, capture_output=True, text=True,
            timeout=280, check=False,
        )  # fmt: skip

    assert "send it to the workers with --py-files" in " ".join(run().stderr.split())
    sent = run("--py-files", str(elsewhere / "tariffs.py"), "--overwrite")
    assert sent.returncode == 0, sent.stderr
    lines = [line for path in (here / "out").glob("*.csv") for line in path.read_text().split()]
    assert lines[1:] == ['1,"+","a",0.20', '2,"+","b",20.00', '3,"-","a",0.20', '3,"+","a",0.40']
