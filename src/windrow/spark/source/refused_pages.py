"""Rows of files and DataFrames that queries of a connection on Spark put aside.

Tasks do that, in processes of their own, so these rows are in files: those of the quarantine, or,
if the connection was given none, of one that it keeps beside its checkpoint and that holds the
newest of them only.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from windrow.streams.quarantine import KEPT, Quarantine, RefusedRows
from windrow.tables.parsed_rows import Rejected


class RefusedPages:
    """What is put aside in a quarantine from now on, but for rows that are pushed."""

    def __init__(self, quarantine: Quarantine) -> None:
        self.quarantine = quarantine
        self._before = {
            path: known.time
            for stream in quarantine.streams
            for path, known in quarantine.pages(stream)
        }

    def add_to(self, refused: RefusedRows, stream: str) -> None:
        """Add the newest rows of a stream to those that were pushed."""
        pages, count = [], 0
        for path in self._new(stream):
            pages.append(_read(path))
            count += len(pages[-1])
            if count >= KEPT:
                break
        for page in reversed(pages):
            for file, row in page:
                refused.add(stream, file, [row])

    def last_reason(self, stream: str) -> str:
        """Why the last row of the stream was put aside; empty if none was."""
        for path in self._new(stream):
            if page := _read(path):
                return page[-1][1].reason
        return ""

    def _new(self, stream: str) -> Iterator[Path]:
        """The files that have come, the newest first."""
        for path, known in self.quarantine.pages(stream):
            pushed = path.name.startswith("push-")
            if not pushed and self._before.get(path) != known.time:
                yield path


def _read(path: Path) -> list[tuple[str | None, Rejected]]:
    """The rows of a file of the quarantine, and the input file of each if there is one."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:  # forgotten meanwhile
        return []
    found: list[tuple[str | None, Rejected]] = []
    for known in map(json.loads, lines[-KEPT:]):
        file = known["file"] if Path(known["file"]).is_absolute() else None  # a micro-batch
        found.append((file, Rejected(known["row"] or 0, known["reason"], known["text"])))
    return found
