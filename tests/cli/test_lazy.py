"""What a command imports: no more than it needs, so that the terminal answers at once."""

from __future__ import annotations

import inspect
import json
import subprocess
import sys
from importlib import import_module

import pytest
from typer.testing import CliRunner

from windrow.cli.main import ArchiveCommands, CheckpointCommands, Commands, app

HEAVY = {"duckdb", "numba", "numpy", "pandas", "pyarrow", "pyspark", "sqlglot"}

RUN_AND_TELL = """
import json, sys
from windrow.cli.main import main
try:
    main()
finally:
    print(json.dumps(sorted(sys.modules)), file=sys.stderr)
"""

SCRIPT = """
CREATE STREAM flows (ts INT, src STRING) FROM 'flows.csv' FORMAT csv TIMESTAMP BY ts;
CREATE QUERY busy AS SELECT src, COUNT(*) AS n FROM flows [RANGE 5] GROUP BY src;
"""


def heavy_after(*arguments: str) -> set[str]:
    """The heavy libraries that a command has loaded by its end, in an interpreter of its own."""
    found = subprocess.run(
        [sys.executable, "-c", RUN_AND_TELL, *arguments],
        check=True,
        capture_output=True,
        text=True,
    )
    assert found.stdout.strip()
    return HEAVY & set(json.loads(found.stderr.splitlines()[-1]))


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A script, and an archive with a day in it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "busy.cql").write_text(SCRIPT)
    (tmp_path / "day.csv").write_text("src,bytes\na,1\nb,2\n")
    for words in (
        "create month --like day.csv --key src --window 4",
        "append month day.csv --day 2026-03-01",
    ):
        made = CliRunner().invoke(app, ["archive", *words.split()])
        assert made.exit_code == 0, made.output


@pytest.mark.parametrize(
    "arguments", [["--help"], ["--version"], ["archive", "--help"], ["match", "--help"]]
)
def test_saying_what_there_is_loads_nothing_heavy(arguments):
    assert heavy_after(*arguments) == set()


def test_plans_are_explained_without_arrays(here):
    assert heavy_after("explain", "busy.cql") == {"sqlglot"}


def test_an_archive_is_looked_at_without_compilers_databases_parsers_and_pandas(here):
    assert heavy_after("archive", "stat", "month") == {"numpy", "pyarrow"}


def test_an_archive_is_asked_without_any_of_them(here):
    assert heavy_after("archive", "probe", "month", "a") == {"numpy", "pyarrow"}


@pytest.mark.parametrize(
    "group",
    [Commands, ArchiveCommands, CheckpointCommands],
    ids=["windrow", "archive", "checkpoint"],
)
def test_the_list_says_of_each_command_what_its_own_help_begins_with(group):
    for name, (module, line) in group.lazy.items():
        command = getattr(import_module(module), name)
        assert inspect.getdoc(command).split("\n\n")[0] == line
