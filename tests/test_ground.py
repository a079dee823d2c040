"""The package as a whole: which room imports what, what is installed, what the rules are."""

from __future__ import annotations

import importlib.metadata
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

import windrow

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "windrow"

IMPORT_ALL_WITHOUT_SPARK = """
import importlib, pkgutil, sys

class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("pyspark", "py4j"):
            raise ImportError(f"{name} is blocked")

sys.meta_path.insert(0, Refuse())
import windrow

walk = pkgutil.walk_packages(windrow.__path__, "windrow.", onerror=lambda _: None)
names = [module.name for module in walk]
others = [n for n in names if not n.startswith("windrow.spark")]
for name in others:
    importlib.import_module(name)
print(len(others))
"""


def test_everything_but_the_spark_room_imports_without_pyspark():
    found = subprocess.run(
        [sys.executable, "-c", IMPORT_ALL_WITHOUT_SPARK],
        check=False,
        capture_output=True,
        text=True,
    )
    assert found.returncode == 0, found.stderr
    assert int(found.stdout) > 20


@pytest.mark.parametrize("room", ["core", "cql", "plan"])
def test_planning_loads_no_arrays(room):
    code = (
        f"import sys, importlib, pkgutil, windrow.{room} as room\n"
        "for m in pkgutil.walk_packages(room.__path__, room.__name__ + '.'):\n"
        "    importlib.import_module(m.name)\n"
        "print([m for m in ('numpy', 'pyarrow', 'numba', 'pandas') if m in sys.modules])"
    )
    # The package's own door may load the engine; rooms are judged as if they stood alone.
    stub = (
        "import sys, types\n"
        "door = types.ModuleType('windrow')\n"
        f"door.__path__ = [{str(PACKAGE)!r}]\n"
        "sys.modules['windrow'] = door\n"
    )
    found = subprocess.run(
        [sys.executable, "-c", stub + code], capture_output=True, text=True, check=True
    )
    assert found.stdout.strip() == "[]"


def test_every_dependency_is_pinned():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    pins = {
        Requirement(line).name.lower().replace("_", "-")
        for line in (ROOT / "constraints.txt").read_text().splitlines()
        if line and not line.startswith("#")
    }
    extras = [r for extra in project["optional-dependencies"].values() for r in extra]
    wanted = {Requirement(r).name.lower() for r in project["dependencies"] + extras}
    assert wanted <= pins


def test_constraints_name_exact_versions_and_no_places():
    for line in (ROOT / "constraints.txt").read_text().splitlines():
        if not line.startswith("#"):
            assert [s.operator for s in Requirement(line).specifier] == ["=="], line
            assert "://" not in line


def test_version_is_the_installed_one():
    assert windrow.__version__ == importlib.metadata.version("windrow")


def test_set_up_says_what_to_do_when_python_is_too_old(tmp_path):
    for name in ("python3", "python3.11", "python3.12", "python3.13"):
        fake = tmp_path / name
        fake.write_text('#!/bin/sh\n[ "$1" = --version ] && echo Python 3.8.1\nexit 1\n')
        fake.chmod(0o755)
    environment = {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    found = subprocess.run(
        [ROOT / "scripts" / "setup.sh", tmp_path / "venv"],
        check=False,
        capture_output=True,
        text=True,
        env=environment,
    )
    assert found.returncode == 1
    assert "Python 3.11 or newer is needed; found Python 3.8.1" in found.stderr
    assert "make setup PYTHON=" in found.stderr


def test_make_help_lists_every_target():
    makefile = (ROOT / "Makefile").read_text()
    targets = makefile.split(".PHONY: ")[1].split("\n")[0].split()
    shown = subprocess.run(["make", "-C", ROOT], capture_output=True, text=True, check=True).stdout
    assert [line.split()[1] for line in shown.splitlines() if "  make " in line] == targets
