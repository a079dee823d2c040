"""``windrow status`` as people and programs read it."""

from __future__ import annotations

import io
import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from rich.console import Console
from typer.testing import CliRunner

from tests.support import checkpoints
from tests.support.altered import altered
from tests.support.checkpoints import NOON, SECOND, HandMade
from windrow.cli import status
from windrow.cli.main import app
from windrow.cli.status import status_view
from windrow.engine.progress import Lateness
from windrow.spark.checkpoint import checkpoint_status as status_module
from windrow.spark.checkpoint.checkpoint_status import Condition, checkpoint_status
from windrow.spark.checkpoint.query_status import Standing
from windrow.spark.checkpoint.run_record import End, Mishap
from windrow.spark.source.file_log import Entry

GOLDEN = """\
STATE: run by process PID on node1, `windrow run traffic.cql`, started 2023-11-14 22:13:20+00:00

pipeline-1: running, batch 2, done 10.0 s ago, in 0.20 s (mean 0.30 s), 1 restart

stream                 time         lag  files    size  files/s  bytes/s  waiting  refused
flows   2023-11-14 22:12:00  1 min 30 s      3  3.0 kB    0.083  83.3 kB        0        0
hosts   2023-11-14 22:11:55  1 min 35 s      3  3.0 kB    0.083      1 B        0        0  idle

query  rows in  rows/s  rows out            watermark         lag  late  rejected   state  standing
busy       300     8.3        30  2023-11-14 22:11:59  1 min 31 s     3         6  1.1 kB  up to date
pairs      300       -        30  2023-11-14 22:11:59  1 min 31 s     3         6  2.2 kB  failed

pairs: failed after batch 2: query pairs: CAST(a AS INT): found 'x'
quarantine of flows: 1 file, 2.5 kB, in BAD
last error, 2023-11-14 22:13:18+00:00: query pairs: CAST(a AS INT): found 'x'
"""  # noqa: E501


@pytest.fixture
def made(tmp_path, monkeypatch):
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    for module in (status_module, checkpoints):
        node1 = altered(socket, gethostname=lambda: "node1")
        monkeypatch.setattr(module, "socket", node1)
    monkeypatch.setattr(status, "wall_clock", lambda: NOON + 10 * SECOND)
    monkeypatch.setattr(status_module, "_start_of", lambda pid: None)
    made = HandMade(tmp_path)
    os.utime(made.path / ".windrow.lock", (NOON / 1e6, NOON / 1e6))
    yield made
    monkeypatch.undo()
    time.tzset()


def said(*words):
    found = CliRunner().invoke(app, ["status", *map(str, words)])
    assert found.exit_code == 0, found.output
    return found.stdout


def test_a_running_pipeline_for_people(made):
    made.log("hosts", Entry(idle=True, batch=2))
    page = made.root / "bad" / "flows" / "x.jsonl"
    page.parent.mkdir(parents=True)
    page.write_text("x" * 2500)
    made.home = made.home.without(["pairs"])
    why = Mishap(NOON - 2 * SECOND, "query pairs: CAST(a AS INT): found 'x'")
    made.write(failures={"pairs": why}, error=why, restarts=1)
    shown = "\n".join(line.rstrip() for line in said(made.path).splitlines()) + "\n"
    names = {str(made.path): "STATE", str(made.root / "bad"): "BAD", str(os.getpid()): "PID"}
    for name, short in names.items():
        shown = shown.replace(name, short)
    assert shown == GOLDEN


def test_a_stopped_one_has_no_rates(made):
    made.write(end=End.STOPPED)
    shown = said(made.path)
    assert "last run by process" in shown
    assert "pipeline-1: stopped, batch 2" in shown
    assert shown.splitlines()[5].split()[-4:] == ["-", "-", "0", "0"]


SHAPE = {
    "checkpoint": str,
    "at": int,
    "process": {"pid": int, "host": str, "command": str, "since": int, "alive": bool},
    "pipelines": [
        {
            "name": str,
            "condition": str,
            "batch": int,
            "batch_at": int,
            "batch_seconds": float,
            "mean_batch_seconds": float,
            "restarts": int,
            "last_error": {"at": int, "text": str},
            "streams": [
                {
                    "name": str,
                    "clock": str,
                    "time": int,
                    "lag_seconds": float,
                    "files": int,
                    "size": int,
                    "files_per_second": float,
                    "bytes_per_second": float,
                    "files_refused": int,
                    "files_waiting": int,
                    "waiting_seconds": float,
                    "idle": bool,
                    "over": bool,
                }
            ],
            "queries": [
                {
                    "name": str,
                    "queries": [str],
                    "standing": str,
                    "reason": str,
                    "clock": str,
                    "watermark": int,
                    "lag_seconds": float,
                    "rows_in": int,
                    "rows_out": int,
                    "late": int,
                    "rejected": int,
                    "rows_in_per_second": float,
                    "rows_out_per_second": float,
                    "state_bytes": int,
                    "batch": int,
                    "streams": [str],
                    "results": str,
                    "lateness": {
                        "busy": {
                            "answered": int,
                            "seconds": float,
                            "executions": int,
                            "late": int,
                            "mean": float,
                            "greatest": float,
                        }
                    },
                }
            ],
        }
    ],
    "quarantine": [{"stream": str, "directory": str, "files": int, "size": int}],
    "late_queries": [str],
    "last_error": {"at": int, "text": str},
}


def shape_of(value):
    if isinstance(value, dict):
        return {name: shape_of(part) for name, part in value.items()}
    if isinstance(value, list):
        return [shape_of(value[0])]
    return type(value)


def test_json_has_all_of_it_under_names_that_stay(made):
    page = made.root / "bad" / "flows" / "x.jsonl"
    page.parent.mkdir(parents=True)
    page.write_text("x")
    made.source("flows", "waits.csv")
    made.home = made.home.without(["pairs"])
    late = {"busy": {"busy": Lateness(NOON, 0.0, 5, 1, 2.0, 2.0)}}
    made.write(error=Mishap(NOON, "no"), lateness=late)
    (line,) = said(made.path, "--json").splitlines()
    found = json.loads(line)
    assert shape_of(found) == SHAPE
    assert found["late_queries"] == ["pairs"]


def test_what_is_not_known_is_null(made):
    (made.home.directory / "status.json").unlink()
    found = json.loads(said(made.path, "--json"))["pipelines"][0]
    assert (found["condition"], found["batch"], found["batch_seconds"]) == ("unknown", 2, None)


@pytest.mark.parametrize("as_json", [True, False])
def test_watching_looks_again_until_it_is_interrupted(as_json, made, monkeypatch):
    looks = []

    def sleep(seconds):
        looks.append(seconds)
        made.batch(2 + len(looks))
        if len(looks) == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr(status, "time", SimpleNamespace(sleep=sleep))  # other threads sleep too
    shown = said(made.path, "--watch", *(["--json"] if as_json else []))
    if as_json:
        batches = [json.loads(line)["pipelines"][0]["batch"] for line in shown.splitlines()]
        assert batches == [2, 3, 4]
    else:
        assert [f"batch {n}" in shown for n in range(2, 6)] == [True, True, True, False]
    assert looks == [2.0] * 3


def test_the_page_shows_the_columns_and_the_standings_that_there_are(made):
    page = (Path(__file__).parents[2] / "docs" / "operations.md").read_text()
    shown = said(made.path).splitlines()
    headings = [line.split() for line in shown if line.startswith(("stream ", "query "))]
    documented = [line.split() for line in page.splitlines()]
    assert len(headings) == 2
    assert all(heading in documented for heading in headings)
    assert all(f"| `{standing}` |" in page for standing in Standing)
    assert all(f"`{condition}`" in page for condition in Condition)


@pytest.mark.parametrize("width", [80, 60])
def test_a_narrow_terminal_folds_and_leaves_nothing_out(width, made):
    made.write(error=Mishap(NOON, "so " * 60 + "it ended"))
    console = Console(file=io.StringIO(), force_terminal=True, width=width, color_system=None)
    console.print(status_view(checkpoint_status(made.path, status.wall_clock)))
    shown = console.file.getvalue()
    assert "…" not in shown
    assert "ended" in shown
    assert max(map(len, shown.splitlines())) <= width


def test_no_checkpoint_is_said_in_words(tmp_path):
    found = CliRunner().invoke(app, ["status", str(tmp_path / "none")])
    assert found.exit_code == 2
    assert "expected a directory that was passed to --checkpoint; found no such" in found.stderr


def test_a_look_needs_neither_spark_nor_compilers(tmp_path):
    made = HandMade(tmp_path)
    code = (
        "import sys; from windrow.cli.main import main\n"
        "try: main()\n"
        "finally: print(sorted({'pyspark', 'numba', 'pandas', 'duckdb', 'sqlglot'} &"
        " set(sys.modules)), file=sys.stderr)"
    )
    command = [sys.executable, "-c", code, "status", str(made.path)]
    found = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "pipeline-1: running" in found.stdout
    assert found.stderr.strip() == "[]"
