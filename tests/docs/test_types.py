"""``mypy --strict`` accepts the Python of the documentation, as its readers would write it.

A page is one module: its blocks in their order, with the names of earlier ones, as they are run.
"""

from __future__ import annotations

import contextlib
import re
from pathlib import Path

from mypy import api

from tests.docs.blocks import blocks

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
SETTINGS = [
    *("--strict", "--config-file", str(ROOT / "pyproject.toml")),
    *(
        "--cache-dir",
        str(ROOT / ".mypy_cache"),
    ),  # what `make check` has looked at is not read again
    *("--no-error-summary", "--no-pretty", "--hide-error-context"),
]


def as_module(page: Path) -> str:
    """The Python of a page, each line at the number that it has on the page."""
    lines = [""] * len(page.read_text().splitlines())
    for block in blocks(page):
        if block.kind == "python":
            text = block.text.splitlines()
            lines[block.line : block.line + len(text)] = text
    return "\n".join(lines) + "\n"


def type_errors(files: list[Path], root: Path, directory: Path) -> list[str]:
    """What mypy says about pages and scripts, by their own names and lines."""
    copies = {}
    for file in files:
        name = str(file.relative_to(root))
        text = as_module(file) if file.suffix == ".md" else file.read_text()
        if text.strip():
            copy = directory / (re.sub(r"\W", "_", name) + ".py")
            copy.write_text(text)
            copies[copy.name] = name
    with contextlib.chdir(ROOT):  # the settings name directories of it
        out, errors, _ = api.run([*SETTINGS, *(str(directory / name) for name in copies)])
    assert errors == ""
    found = (line.split(":", 1) for line in out.splitlines())
    return [f"{copies.get(Path(path).name, path)}:{rest}" for path, rest in found]


def test_the_python_of_every_page_and_example_has_types(tmp_path: Path) -> None:
    assert type_errors([*PAGES, *(ROOT / "examples").rglob("*.py")], ROOT, tmp_path) == []


def test_an_error_is_told_by_page_and_line(tmp_path: Path) -> None:
    page = tmp_path / "docs" / "page.md"
    page.parent.mkdir()
    page.write_text("# A page\n\n```python\nimport windrow\n\nn: str = windrow.connect()\n```\n")
    (error,) = type_errors([page], tmp_path, tmp_path)
    assert error.startswith("docs/page.md:6: error: Incompatible types in assignment (expression")
