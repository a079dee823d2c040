"""``python -m tests.docs [--spark] PAGE...``: put what happens into the output blocks of pages."""

from __future__ import annotations

import contextlib
import sys
import tempfile
from pathlib import Path

from tests.docs.blocks import blocks
from tests.docs.running import Page


def rewrite(page: Path, *, spark: bool) -> None:
    """Run the page and replace what its output blocks show."""
    source, found = page.read_text(), blocks(page)
    with tempfile.TemporaryDirectory() as directory, contextlib.chdir(directory):
        shown = list(Page().run(found, spark=spark))
    for item in reversed(shown):
        source = source[: item.block.start] + item.happened + source[item.block.end :]
    page.write_text(source)


if __name__ == "__main__":
    for name in sys.argv[1:]:
        if name != "--spark":
            rewrite(Path(name).absolute(), spark="--spark" in sys.argv)
