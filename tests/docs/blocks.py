"""A page as a list of its fenced blocks.

The first word after the fence says what a block is, the others what is done with it:

    ```csv calls.csv     a file (any block with a name that has a dot)
    ```sql               declarations, kept for the rest of the page, or a query
    ```python            run, with the names of earlier ones
    ```console           commands after ``$ ``, each with what it prints
    ```text              what the block before it prints; for a query its changes
    ```timeline          for a query: which rows are in its answer at each instant

``spark`` among the words leaves a block to the tests that start Spark. A block after a comment
``<!-- not run: reason -->`` is for reading only.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

FENCE = re.compile(
    r"(?:<!-- not run: (?P<reason>[^\n]+?) -->\n+)?"
    r"^```(?P<info>[^\n`]+)\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
OUTPUTS = ("text", "timeline")
RUNNING = ("sql", "python", "console")


@dataclass(frozen=True)
class Block:
    """``start`` and ``end`` delimit the text in the page; ``line`` is that of the fence."""

    kind: str
    words: tuple[str, ...]
    text: str
    line: int
    start: int
    end: int
    reason: str | None

    @property
    def file(self) -> str | None:
        """The name of the file that the block is, if it is one."""
        return next((w for w in self.words if "." in w), None)

    @property
    def on_spark(self) -> bool:
        return "spark" in self.words

    @property
    def runs(self) -> bool:
        return self.kind in RUNNING and self.file is None and self.reason is None


def blocks(page: Path) -> list[Block]:
    """All fenced blocks in their order."""
    source = page.read_text()
    found = []
    for match in FENCE.finditer(source):
        kind, *words = match["info"].split()
        line = source.count("\n", 0, match.start("info")) + 1
        start, end = match.span("text")
        found.append(Block(kind, tuple(words), match["text"], line, start, end, match["reason"]))
    return found
