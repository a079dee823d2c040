"""What users import: rooms list what they export, and the documentation needs nothing deeper."""

from __future__ import annotations

import ast
import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
LIBRARIES = ("windrow.subscriptions", "windrow.synopses", "windrow.windows")
"""Rooms that are used by themselves, whose every export shows an example."""


@pytest.mark.parametrize("room", ["windrow", *LIBRARIES])
def test_a_room_has_what_it_says_it_exports(room: str) -> None:
    module = importlib.import_module(room)
    assert len(module.__all__) > 4
    assert [name for name in module.__all__ if not hasattr(module, name)] == []
    assert module.__all__ == sorted(module.__all__)
    with pytest.raises(AttributeError, match="nothing_of_the_kind"):
        module.nothing_of_the_kind  # noqa: B018


@pytest.mark.parametrize("room", LIBRARIES)
def test_every_export_of_a_library_shows_an_example(room: str) -> None:
    module = importlib.import_module(room)
    undocumented = [n for n in module.__all__ if ">>> " not in (getattr(module, n).__doc__ or "")]
    assert undocumented == []


def imported(page: Path) -> set[str]:
    """The modules that the Python on a page imports from."""
    found: set[str] = set()
    for block in re.findall(r"^```python\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE):
        for node in ast.walk(ast.parse(block)):
            if isinstance(node, ast.ImportFrom) and node.module:
                found.add(node.module)
            elif isinstance(node, ast.Import):
                found.update(alias.name for alias in node.names)
    return {name for name in found if name.split(".")[0] == "windrow"}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_documentation_imports_nothing_deeper_than_a_room(page: Path) -> None:
    assert [name for name in imported(page) if name.count(".") > 1] == []


def test_the_door_of_the_engines_indexes_loads_no_library() -> None:
    import subprocess  # noqa: PLC0415 - a process that has not imported anything yet
    import sys  # noqa: PLC0415

    script = (
        "import sys, windrow.windows, windrow.subscriptions\n"
        "sys.exit(any(m.startswith(('numba', 'windrow.papers')) for m in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0
