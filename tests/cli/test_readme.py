"""What README.md shows is what happens."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from windrow.cli.main import app

README = (Path(__file__).parents[2] / "README.md").read_text()
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)


def blocks(kind):
    return [text for found, text in BLOCKS if found == kind]


def said(command):
    """What a command of the tour prints, errors included, progress left out."""
    words = shlex.split(command)
    if words[0] == "cat":
        return Path(words[1]).read_text()
    found = CliRunner().invoke(app, words[1:])
    return found.stdout or found.stderr


def test_the_commands_of_the_tour_print_what_it_says(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (script,), (data,) = blocks("sql"), blocks("csv")
    Path("calls.csv").write_text(data)
    Path("calls.cql").write_text(script)
    Path("typo.cql").write_text(script.replace("GROUP BY caller", "GROUP BY callr"))
    tour = blocks("console")
    assert len(tour) == 5
    for block in tour:
        prompt, _, shown = block.partition("\n")
        assert said(prompt.removeprefix("$ ")).strip("\n") == shown.strip("\n"), prompt


def test_the_python_of_the_tour_prints_what_it_says(capsys):
    (code,) = blocks("python")
    exec(compile(code, "README.md", "exec"), {})
    assert capsys.readouterr().out == blocks("text")[0]


@pytest.mark.parametrize("link", re.findall(r"\]\(([^)#]+)\)", README))
def test_links_lead_somewhere(link):
    assert (Path(__file__).parents[2] / link).exists()
