"""Text in chunks of whole rows, in bounded memory whatever the text is.

A chunk holds the rows that end in one block of what is read, and what was left of the block
before. Every byte is looked at once. A row longer than ``limit`` is no row: it is passed over
without being held, and its beginning is given as ``refused``. Which rows are too long depends on
their length and on nothing else, so any split into parts gives the same rows.

Where a row ends a finder says (``LineEnds``, ``CsvRowEnds``). It is given a text block after block,
and keeps in ``state`` what it has to know of the blocks before. Quotes are read as Arrow's parser
reads them: a quote opens a field only at its beginning, a doubled quote inside is a quote, and
after the closing one others are plain text.

What follows the last end of a row is left for the next part, unless the part is ``final`` or it is
plainly whole. ``Part.inside`` is 0 at the beginning of a row. In the middle of one it is a state of
``RowEnds`` and one more: of a row that was refused, or, with ``ENDLESS`` added, of one that was
taken for whole at the end of a file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from windrow.core.thresholds import Threshold
from windrow.tables.file_part import Part, Read

BREAKS = b"\n\r"
FIELD_START, IN_FIELD, IN_QUOTES, QUOTE_IN_QUOTES = range(4)
ENDLESS = 8
BLOCKS_IN_SILENCE = 16
"""So often at least something is given while a row is passed over, so that readers can stop."""
FIRST_BLOCK = Threshold(1 << 17, least=1)
ROWS = Threshold(1 << 16, least=1)
"""Rows that a block should have; more would take much memory if all of them were refused."""
SHOWN = 1000
"""Bytes of a row that is too long that are kept."""
Whole = Callable[[bytes], bool]


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

    def __init__(self, separator: str = ",", quote: str = '"') -> None:
        self.state = FIELD_START
        self._separator, self._quote = separator.encode(), quote.encode()

    def find(self, block: bytes) -> tuple[int, int]:
        if not block:
            return 0, 0
        if self.state < IN_QUOTES and not (self._quote and self._quote in block):
            self.state = FIELD_START if block[-1] in self._separator + BREAKS else IN_FIELD
            for newline, length in ((b"\n", len(block)), (b"\r", len(block) - 1)):
                last = block.rfind(newline, 0, length) + 1
                if last:
                    return block.find(newline) + 1, last
            return 0, 0
        # Imported late: few files have quotes, and few of the processes that read load kernels.
        from windrow.tables.quotes import plain_row_ends, quoted_row_ends  # noqa: PLC0415

        found = np.zeros(3, np.int64)
        text = np.frombuffer(block, np.uint8)
        how = (text, self.state, self._quote[0], self._separator[0], found)
        if not plain_row_ends(*how):
            quoted_row_ends(*how)
        first, last, self.state = map(int, found)
        return first, last


@dataclass(frozen=True)
class Chunk:
    """Whole rows, or the beginning of a row that is ``refused`` for a ``reason``.

    ``earlier``: the row was counted by an earlier part. ``after`` is what of the file comes then,
    but for the number of rows before it: only a parser can count them.
    """

    data: bytes
    after: Part
    refused: bytes = b""
    reason: str = ""
    earlier: bool = False


def never(_rest: bytes) -> bool:
    """No row is whole without its newline."""
    return False


def chunks(
    read: Read, part: Part, ends: RowEnds, limit: int, whole: Whole = never
) -> Iterator[Chunk]:
    """Cut what ``read`` gives, which begins at ``part.start`` and ends at ``part.stop``."""
    ends.state = (part.inside - 1) % ENDLESS if part.inside else 0
    return _Cutter(part, ends, limit, whole).cut(read)


class _Cutter:
    def __init__(self, part: Part, ends: RowEnds, limit: int, whole: Whole) -> None:
        self.part, self.ends, self.limit, self.whole = part, ends, limit, whole
        self.at = part.start
        """The offset after all that has been read."""
        self.rest = b""
        self.skipping = bool(part.inside)
        self.unended = part.inside > ENDLESS
        """Whether what is skipped belongs to a row that was taken for whole."""

    def cut(self, read: Read) -> Iterator[Chunk]:
        silent, wanted = 0, min(self.limit, FIRST_BLOCK.value)
        while block := read(wanted):
            self.at += len(block)
            sample = block[: FIRST_BLOCK.value]
            wanted = len(sample) // max(sample.count(b"\n"), 1) * ROWS.value
            wanted = min(self.limit, max(wanted, FIRST_BLOCK.value))
            given = list(self._from_block(block))
            yield from given
            silent = 0 if given else silent + 1
            if silent >= BLOCKS_IN_SILENCE:
                silent = 0
                yield Chunk(b"", self._after(len(self.rest)))
        yield from self._end()

    def _from_block(self, block: bytes) -> Iterator[Chunk]:
        """What is to be refused, if anything is, and then the rows that end in the block."""
        first, last = self.ends.find(block)
        start = first or len(block)
        earlier = self.skipping
        if self.skipping:
            refused, reason = self._went_on(block[:start])
        elif len(self.rest) + start > self.limit:
            refused, reason = (self.rest + block[:SHOWN])[:SHOWN], self._too_long(block[:start])
            self.rest = b""
        else:
            start, refused, reason = 0, b"", ""
        self.skipping = start > 0 and not first
        self.unended = self.unended and self.skipping
        if refused:
            yield Chunk(b"", self._after(len(block) - start), refused, reason, earlier)
        if last > start:
            whole = last == len(block) and not start and not self.rest
            data = block if whole else b"".join((self.rest, memoryview(block)[start:last]))
            self.rest = block[last:]
            yield Chunk(data, self._after(len(self.rest)))
        else:
            self.rest += block[start:]

    def _went_on(self, piece: bytes) -> tuple[bytes, str]:
        """What to say of a piece that is passed over, if nothing has been said of its row."""
        if not self.unended or not piece.strip(b"\r\n"):
            return b"", ""
        self.unended = False
        return piece[:SHOWN], (
            "this row had no newline when it was read, and the file went on in the middle of it: "
            "what was read may be half a row; let every row end with a newline"
        )

    def _end(self) -> Iterator[Chunk]:
        """The text after the last end of a row, if it is one."""
        if self.skipping:
            yield Chunk(b"", self._after(0))
        if not self.rest or not (self.part.final or self.whole(self.rest)):
            return
        open_quote = self.ends.state == IN_QUOTES
        self.skipping, self.unended = True, not open_quote
        if open_quote:
            reason = "a quoted field is not closed; it reaches to the end of the file"
            yield Chunk(b"", self._after(0), self.rest, reason)
        else:
            yield Chunk(self.rest, self._after(0))

    def _too_long(self, piece: bytes) -> str:
        reason = f"expected a row of at most {size(self.limit)}, found a longer one"
        quoted = self.ends.state == IN_QUOTES or b'"' in piece
        return f"{reason}; probably a quoted field that is not closed" if quoted else reason

    def _after(self, behind: int) -> Part:
        """The part that starts ``behind`` bytes before where we are."""
        inside = self.ends.state + 1 + ENDLESS * self.unended if self.skipping else 0
        return replace(self.part, start=self.at - behind, inside=inside)


def size(limit: int) -> str:
    """So many bytes in words."""
    return f"{limit >> 20} MiB" if limit >= 1 << 20 else f"{limit} bytes"
