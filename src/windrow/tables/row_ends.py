"""Where rows of text end: lines, or CSV rows with newlines inside their quoted fields.

A finder is given a text block after block, and keeps in ``state`` what it has to know of the
blocks before. Quotes are read as Arrow's parser reads them: a quote opens a field only at its
beginning, a doubled quote inside is a quote, and after the closing one others are plain text.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

QUOTE, BREAKS = b'"', b"\n\r"
FIELD_START, IN_FIELD, IN_QUOTES, QUOTE_IN_QUOTES = range(4)


class RowEnds(Protocol):
    """The first and the last end of a row in a block, as positions after them; 0 if none ends.

    ``find`` moves on over the block. A row ends after ``\\n``; in CSV also after a ``\\r`` that
    another character follows, if there is no ``\\n``.
    """

    state: int

    def find(self, block: bytes) -> tuple[int, int]: ...


class LineEnds:
    """Ends of lines."""

    state = FIELD_START

    def find(self, block: bytes) -> tuple[int, int]:
        return block.find(b"\n") + 1, block.rfind(b"\n") + 1


class CsvRowEnds:
    """Ends of CSV rows. Blocks without quotes cost a search, others a pass of a kernel."""

    def __init__(self, state: int = FIELD_START) -> None:
        self.state = state

    def find(self, block: bytes) -> tuple[int, int]:
        if not block:
            return 0, 0
        if self.state < IN_QUOTES and QUOTE not in block:
            self.state = FIELD_START if block[-1] in b",\n\r" else IN_FIELD
            for newline, length in ((b"\n", len(block)), (b"\r", len(block) - 1)):
                last = block.rfind(newline, 0, length) + 1
                if last:
                    return block.find(newline) + 1, last
            return 0, 0
        # Imported late: few files have quotes, and few of the processes that read load kernels.
        from windrow.tables.quotes import quoted_row_ends  # noqa: PLC0415

        found = np.zeros(3, np.int64)
        quoted_row_ends(np.frombuffer(block, np.uint8), self.state, found)
        first, last, self.state = map(int, found)
        return first, last
