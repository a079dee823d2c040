"""Texts that users read: complete errors, in the words of the glossary."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
MODULES = sorted((ROOT / "src" / "windrow").rglob("*.py"))
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]
PRIVATE = {
    r"(put|puts|set) (it |them )?aside": "quarantined",
    r"time has come to|time reached": "watermark",
    r"astray": "too far ahead",
    r"clock on the wall": "wall clock",
    r"(begin|begins|begun|began) anew|(begin|begins) it anew": "start over",
    r"go(es|ne)? on from": "resume from",
    r"\bmend(s|ed)?\b": "fix",
    r"what (is|was) given\b": "say what it is",
    r"for being late": "late",
    r"in vain": "without success",
    r"for want of": "because there is no",
    r"cannot stand|can never speak": "is not allowed, never emits",
    r"is a defect": "is a bug",
}
"""Phrases that need a reader of the code, and what everyone knows."""


def docstrings(tree: ast.AST) -> set[int]:
    """The strings that stand alone: they are for readers of the code."""
    bodies = (node.body for node in ast.walk(tree) if isinstance(getattr(node, "body", None), list))
    alone = (item.value for body in bodies for item in body if isinstance(item, ast.Expr))
    return {id(value) for value in alone if isinstance(value, ast.Constant)}


def texts(module: Path) -> Iterator[tuple[int, str]]:
    """The strings of a module that may be shown; of commands also what ``--help`` shows."""
    tree = ast.parse(module.read_text())
    hidden = set() if "cli" in module.parts else docstrings(tree)
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and id(node) not in hidden
        ):
            yield node.lineno, node.value


def private_words(place: str, text: str) -> list[str]:
    return [
        f"{place}: {found[0]!r}; write {better!r}"
        for phrase, better in PRIVATE.items()
        if (found := re.search(phrase, text))
    ]


@pytest.mark.parametrize("text", ["3 rows put aside in bad", "time has come to 09:00", "in vain"])
def test_private_words_are_found(text: str) -> None:
    assert private_words("here", text)


def test_texts_of_the_code_use_words_that_everyone_knows() -> None:
    found = [
        problem
        for module in MODULES
        for line, text in texts(module)
        for problem in private_words(f"{module.relative_to(ROOT)}:{line}", text)
    ]
    assert found == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_pages_use_words_that_everyone_knows(page: Path) -> None:
    lines = enumerate(page.read_text().splitlines(), start=1)
    assert [p for number, line in lines for p in private_words(f"line {number}", line)] == []


def test_an_error_that_says_what_it_expects_says_what_it_found() -> None:
    incomplete = []
    for module in MODULES:
        for node in ast.walk(ast.parse(module.read_text())):
            if not isinstance(node, ast.Call) or not ast.unparse(node.func).endswith("Error"):
                continue
            given = {keyword.arg for keyword in node.keywords}
            if "expected" in given and "found" not in given and not node.args:
                incomplete.append(f"{module.relative_to(ROOT)}:{node.lineno}")
    assert incomplete == []
