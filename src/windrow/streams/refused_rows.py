"""Rows that a connection put aside, kept in memory: the newest of each stream."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import pyarrow as pa

from windrow.tables.parsed_rows import Rejected

KEPT = 1000
"""Rows of each stream that are kept."""
LONGEST = 10_000
"""Characters of each that are kept."""
SCHEMA = pa.schema(
    [("file", pa.string()), ("row", pa.int64()), ("reason", pa.string()), ("text", pa.string())]
)


@dataclass
class _Stream:
    rows: deque[tuple[str | None, Rejected]] = field(default_factory=deque)
    first: str = ""


class RefusedRows:
    """By name of stream or relation; see the module."""

    def __init__(self) -> None:
        self._streams: dict[str, _Stream] = {}

    def add(self, stream: str, file: str | None, rows: Sequence[Rejected]) -> None:
        """Keep rows of a file, or of pushed data if there is none."""
        if not rows:
            return
        known = self._streams.setdefault(stream.lower(), _Stream())
        known.first = known.first or rows[0].reason
        known.rows.extend((file, row) for row in rows[-KEPT:])
        while len(known.rows) > KEPT:
            known.rows.popleft()

    def copy(self) -> RefusedRows:
        """The rows as they are now."""
        other = RefusedRows()
        other._streams = {n: replace(s, rows=s.rows.copy()) for n, s in self._streams.items()}
        return other

    def restore(self, other: RefusedRows) -> None:
        """Hold what another holds, and nothing else."""
        self._streams = other._streams

    @property
    def streams(self) -> list[str]:
        """The streams of which rows were put aside, in lower case."""
        return list(self._streams)

    def first_reason(self, stream: str) -> str:
        """Why the first row of the stream was put aside; empty if none was."""
        known = self._streams.get(stream.lower())
        return known.first if known is not None else ""

    def table(self, stream: str) -> pa.Table:
        """The newest rows: ``file`` (NULL: pushed), ``row`` (NULL: all), ``reason``, ``text``."""
        known = self._streams.get(stream.lower(), _Stream())
        records = [
            {
                "file": file,
                "row": row.row or None,
                "reason": row.reason,
                "text": _storable(row.text),
            }
            for file, row in known.rows
        ]
        return pa.Table.from_pylist(records, SCHEMA)


def _storable(text: str) -> str:
    """The text without what Arrow cannot hold, and not endlessly long."""
    if len(text) > LONGEST:
        text = f"{text[:LONGEST]}... ({len(text):,} characters)"
    return text.encode(errors="backslashreplace").decode()
