"""Progress of ``windrow archive`` on a terminal, and none anywhere else."""

from __future__ import annotations

import io
from contextlib import contextmanager

import pytest
from rich.console import Console
from typer.testing import CliRunner

from windrow.archive.archive import open_archive
from windrow.archive.progress_callback import Reached, nobody
from windrow.cli import console as terminal_console
from windrow.cli.archive import append, maintain, migrate
from windrow.cli.main import app


@pytest.fixture
def terminal(monkeypatch):
    console = Console(file=io.StringIO(), force_terminal=True, width=80)
    monkeypatch.setattr(terminal_console, "err", lambda: console)
    return console


def test_a_terminal_shows_how_far_it_has_come(terminal):
    with terminal_console.show_progress("reading every run", as_json=False) as progress:
        progress(Reached("runs", 3, 12, 5_000_000))
    assert "reading every run: 3 of 12 runs, 5.0 MB" in terminal.file.getvalue()


def test_programs_and_pipes_are_told_nothing(terminal, monkeypatch):
    with terminal_console.show_progress("reading every run", as_json=True) as progress:
        assert progress is nobody
    monkeypatch.setattr(terminal_console, "err", lambda: Console(file=terminal.file))
    with terminal_console.show_progress("reading every run", as_json=False) as progress:
        assert progress is nobody
    assert terminal.file.getvalue() == ""


@pytest.fixture
def told(tmp_path, monkeypatch):
    """What each command shows, by what it says that it is doing."""
    monkeypatch.chdir(tmp_path)
    shown = {}

    @contextmanager
    def shows(activity, *, as_json):
        assert not as_json
        yield shown.setdefault(activity, []).append

    for module in (append, maintain, migrate):
        monkeypatch.setattr(module, "show_progress", shows)
    return shown


def windrow(*arguments):
    result = CliRunner().invoke(app, ["archive", *map(str, arguments)])
    assert result.exit_code == 0, result.output


def steps(reached):
    return [(r.what, r.done, r.of) for r in reached]


def test_commands_on_days_show_files_days_and_runs(told, tmp_path):
    for day in (1, 2, 3):
        (tmp_path / f"{day}.csv").write_text(f"src,day\na,{day}\nb,{day}\n")
    columns = ("--columns", "src STRING, day BIGINT", "--key", "src", "--calendar", "numbers")
    windrow("create", "days", *columns, "--window", 3, "--scheme", "DEL", "-n", 1)
    windrow("append", "days", "1.csv", "2.csv", "3.csv", "--by", "day")
    assert steps(told["reading"]) == [("files", i, 3) for i in (1, 2, 3)]
    assert told["reading"][-1].bytes == sum(p.stat().st_size for p in tmp_path.glob("*.csv"))
    written = [("days written", i, 3) for i in (1, 2, 3)]
    assert steps(told["writing 6 rows"]) == [*written, ("days added", 1, 1)]
    windrow("advance", "days", "--to", 5)
    assert steps(told["advancing to 5"]) == [("days added", i, 2) for i in (1, 2)]
    windrow("migrate", "days", "--format", "parquet")
    assert steps(told["rewriting"]) == [("runs", 1, 1)]
    _vacuum_and_verify("days", told)


def test_commands_on_grids_show_files_runs_and_sub_indices(told, tmp_path):
    (tmp_path / "1.csv").write_text("src,until\na,5\nb,12\n")
    columns = ("--columns", "src STRING", "--key", "src", "--calendar", "numbers")
    windrow("create", "grid", *columns, "--window", 20, "--grid", "2,2")
    windrow("append", "grid", "1.csv", "--day", 1, "--expires", "until")
    assert steps(told["reading"]) == [("files", 1, 1)]
    assert steps(told["writing 2 rows"]) == [("runs", i, 2) for i in (1, 2)]
    windrow("append", "grid", "1.csv", "--day", 2, "--expires", "until")
    windrow("advance", "grid", "--to", 3)
    assert told["advancing to 3"] == []
    windrow("migrate", "grid", "--grid", "1,2", "--format", "parquet")
    assert ("sub-indices", 2, 2) in steps(told["rewriting"])
    _vacuum_and_verify("grid", told)


def _vacuum_and_verify(path, told):
    folder = open_archive(path).disk.root / "runs"
    before = {file.name: file.stat().st_size for file in folder.iterdir()}
    windrow("vacuum", path)
    left = {file.name: file.stat().st_size for file in folder.iterdir()}
    gone = len(before) - len(left)
    assert steps(told["removing files"]) == [("files", i, gone) for i in range(1, gone + 1)]
    assert told["removing files"][-1].bytes == sum(before.values()) - sum(left.values())
    windrow("verify", path)
    runs = len(left) // 2
    assert steps(told["reading every run"]) == [("runs", i, runs) for i in range(runs + 1)]
    assert told["reading every run"][-1].bytes == sum(left.values())
