"""What the pages of ``docs/`` show is what happens."""

from __future__ import annotations

import os
import re
from pathlib import Path
from unittest.mock import patch

import pytest

from tests.docs.blocks import OUTPUTS, RUNNING, blocks
from tests.docs.running import Page
from tests.operators.test_contract import discovered
from windrow.plan.functions import AGGREGATES, FUNCTIONS, OPERATORS_ONLY

DOCS = Path(__file__).parents[2] / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
RUN = [p for p in PAGES if any(b.runs for b in blocks(p))]
ON_SPARK = [p for p in RUN if any(b.on_spark for b in blocks(p))]
OFF_SPARK = [pytest.param(p, marks=[pytest.mark.slow] * (p in ON_SPARK)) for p in RUN]
"""With Spark all examples of a page are run, so to run them without it is repetition."""


def differences(page: Path, *, spark: bool) -> list[str]:
    return [
        f"{page.name}, line {shown.block.line}:\n{shown.happened}"
        for shown in Page().run(blocks(page), spark=spark)
        if shown.happened != shown.block.text
    ]


@pytest.mark.parametrize("page", OFF_SPARK, ids=lambda p: p.stem)
def test_every_example_of_a_page_shows_what_happens(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with patch.dict(os.environ):
        assert differences(page, spark=False) == []


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("page", ON_SPARK, ids=lambda p: p.stem)
def test_examples_on_spark_show_what_happens(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert differences(page, spark=True) == []


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.stem)
def test_every_block_is_run_or_says_why_not(page):
    found = blocks(page)
    idle = []
    for block, before in zip(found, [None, *found], strict=False):
        shown = block.kind in OUTPUTS and before is not None and before.runs
        if not (block.kind in RUNNING or block.file or shown or block.reason):
            idle.append(block.line)
    assert idle == []
    fences = [line for line in page.read_text().splitlines() if line.startswith("```")]
    assert len(fences) == 2 * len(found)  # none without a word on what it is


@pytest.mark.parametrize(
    ("page", "link"),
    [(p, link) for p in PAGES for link in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", p.read_text())],
    ids=str,
)
def test_links_lead_somewhere(page, link):
    assert (page.parent / link).exists()


def test_the_list_of_pages_has_every_page():
    listed = re.findall(r"\]\(([\w/-]+\.md)\)", (DOCS / "README.md").read_text())
    assert sorted([*listed, "README.md"]) == [str(p.relative_to(DOCS)) for p in PAGES]


def missing_files(page, pattern):
    """The files that a page names and that are neither below the root nor the package."""
    places = (DOCS.parent, DOCS.parent / "src" / "windrow")
    named = re.findall(pattern, page.read_text())
    return named, [name for name in named if not any(list(p.glob(name)) for p in places)]


def test_architecture_md_names_files_that_exist_by_their_whole_paths():
    named, missing = missing_files(DOCS / "architecture.md", r"`([\w/*]+(?:\.py|\.java|/))`")
    assert missing == []
    assert len(named) > 150


@pytest.mark.parametrize("page", [DOCS.parent / "README.md", *PAGES], ids=lambda p: p.stem)
def test_pages_name_files_that_exist(page):
    assert missing_files(page, r"`([\w*]+/[\w/*]+\.(?:py|java))`")[1] == []


def test_operators_md_names_every_operator():
    text = (DOCS / "operators.md").read_text()
    assert [kind.__name__ for kind in discovered() if f"`{kind.__name__}`" not in text] == []


def test_language_md_describes_every_function():
    text = (DOCS / "language.md").read_text().lower()
    called = [f for f in FUNCTIONS if f not in OPERATORS_ONLY and not f.startswith("extract_")]
    parts = [f.removeprefix("extract_") for f in FUNCTIONS if f.startswith("extract_")]
    missing = [n for n in (*called, *parts, *AGGREGATES) if not re.search(rf"\b{n}\b", text)]
    assert missing == []
