"""A part of a file: from where to where it is read, and what stands before it.

A file that grows is read in several parts. A part of a text file starts where the one before it
ended, so that the rows of all parts are the rows of the file, each once.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Part:
    """Bytes from ``start`` up to ``stop`` (None: to the end), after ``row`` rows of the file.

    ``inside`` says that it starts within a row that has been dealt with (``windrow.streams.chunks``
    knows what the number means). ``final``: what stands after the last newline is a row too; if
    not, it waits for its newline. Compressed and Parquet files are read whole, whatever it says.
    """

    start: int = 0
    row: int = 0
    inside: int = 0
    stop: int | None = None
    final: bool = False


WHOLE = Part(final=True)
"""All of a file that is known to be complete."""
