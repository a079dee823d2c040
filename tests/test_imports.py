"""The check of imports refuses what it says it refuses, and what is there passes.

That of this repository is run by ``make check``, and so before every ``make test``.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from scripts.check_imports import problems

MODULE = """
from typing import TYPE_CHECKING
import os.path, numpy as np
if TYPE_CHECKING:
    from decimal import Decimal
else:
    late = 1
try:
    import fast
except ImportError as failed:
    fast = failed
for turn in range(3):
    with open(turn) as file:
        first, (second, *rest) = file
counted: int = 1
class Kind: inner = 1
def work(argument): local = argument
"""
LAZY = """
if TYPE_CHECKING:
    from windrow.room.module import Kind
def __getattr__(name): ...
__all__ = ["Kind"]
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A repository with one module and a package that loads its names late."""
    room = tmp_path / "src" / "windrow" / "room"
    room.mkdir(parents=True)
    (room / "module.py").write_text(MODULE)
    (room / "__init__.py").write_text(LAZY)
    (tmp_path / "tests" / "deep").mkdir(parents=True)
    (tmp_path / "benchmarks").mkdir()
    return tmp_path


@pytest.mark.parametrize(
    ("statement", "missing"),
    [
        ("import windrow.room.gone", "there is no module windrow.room.gone"),
        ("import os, windrow.gone as x", "there is no module windrow.gone"),
        ("from windrow.gone.module import Kind", "there is no module windrow.gone.module"),
        ("from windrow.room.module import gone", "windrow.room.module has no gone"),
        ("from windrow.room.module import Kind, gone as Kind", "windrow.room.module has no gone"),
        ("from windrow.room import gone", "windrow.room has no gone"),
        ("from tests.deep import helper", "tests.deep has no helper"),
        ("def f():\n    from windrow.room import gone", "windrow.room has no gone"),
        *(
            (f"from windrow.room.module import {name}", f"windrow.room.module has no {name}")
            for name in ("Decimal", "inner", "local", "argument", "numpy")
        ),
    ],
)
def test_what_is_not_there_is_refused(root: Path, statement: str, missing: str) -> None:
    (root / "tests" / "test_it.py").write_text(f"\n{statement}\n")
    (found,) = problems(root)
    where, _, rest = found.partition(": ")
    assert where == f"tests/test_it.py:{2 + statement.count(chr(10))}"
    assert rest.startswith(missing + "; ")


@pytest.mark.parametrize(
    "names", ["TYPE_CHECKING, os, np", "late, fast, turn, file, first, second, rest", "counted",
              "Kind, work"],
)  # fmt: skip
def test_whatever_a_module_binds_passes(root: Path, names: str) -> None:
    (root / "benchmarks" / "it.py").write_text(f"from windrow.room.module import {names}")
    assert list(problems(root)) == []


def test_modules_late_names_folders_and_what_is_not_ours_pass(root: Path) -> None:
    (root / "tests" / "test_it.py").write_text(
        "import tests.deep, windrow.room.module, elsewhere.gone\n"
        "from tests import deep\n"
        "from windrow.room import Kind, module\n"
        "from windrow.room.module import *\n"
        "from elsewhere import gone\n"
    )
    assert list(problems(root)) == []
