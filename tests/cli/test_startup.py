"""Commands that look something up load nothing that takes longer than they do."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

from windrow.archive import Archive, Grid, LifetimeIndex

HEAVY = ("numba", "pandas", "duckdb", "pyarrow.dataset", "pydantic", "pyspark", "sqlglot")
RUN = """
import atexit, json, sys
atexit.register(lambda: print(json.dumps(sorted(sys.modules)), file=sys.stderr))
sys.argv = ["windrow", *sys.argv[1:]]
from windrow.cli.main import main
main()
"""
ROWS = pa.table({"host": [f"h{i % 700}" for i in range(9_000)], "bytes": range(9_000)})


@pytest.fixture(scope="module")
def archives(tmp_path_factory):
    """An archive of days and an index of lifetimes, large enough for sums of their pages."""
    root = tmp_path_factory.mktemp("startup")
    days = Archive.create(root / "days", ROWS.schema, "host", window=3, scheme="WATA", n=2)
    for day in range(1, 5):
        days.append(day, ROWS, now=day)
    index = LifetimeIndex.create(
        root / "grid", ROWS.schema, "host", longest=8, interval=2, grid=Grid(2, 2)
    )
    index.insert(2, ROWS, [3 + i % 7 for i in range(len(ROWS))])
    assert list((root / "days" / "runs").glob("*.sums"))
    return root


def run(*words):
    done = subprocess.run(
        [sys.executable, "-c", RUN, *map(str, words)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout, set(json.loads(done.stderr.splitlines()[-1]))


@pytest.mark.parametrize("kind", ["days", "grid"])
@pytest.mark.parametrize("words", [["stat"], ["probe", "h33"], ["vacuum"]], ids=lambda w: w[0])
def test_a_look_into_an_archive_loads_no_compiler_and_no_data_frames(words, kind, archives):
    command, *keys = words
    shown, loaded = run("archive", command, archives / kind, *keys)
    assert shown
    assert not [name for name in HEAVY if name in loaded]


@pytest.mark.parametrize("options", [[], ["--strategy", "direct"]], ids=["usual", "chosen"])
def test_explaining_a_script_loads_the_planner_alone(options):
    script = Path(__file__).parents[2] / "examples" / "traffic.cql"
    shown, loaded = run("explain", script, *options)
    assert "Projection" in shown
    planning = {"sqlglot"}
    heavy = {*HEAVY, "numpy", "pyarrow"} - planning
    assert not heavy & loaded
    assert planning <= loaded


def test_a_probe_without_kernels_answers_as_one_with_them(archives):
    for kind in ("days", "grid"):
        shown, _ = run("archive", "probe", archives / kind, "h33", "--json")
        with (
            (Archive if kind == "days" else LifetimeIndex).open(archives / kind).reader() as reader
        ):
            expected = reader.probe("h33", plain=True).to_pylist()
        found = [json.loads(line) for line in shown.splitlines()]
        assert sorted(found, key=str) == sorted(expected, key=str)
        assert expected
