"""Results on the console: a plain table per batch, on standard output, with every change in it."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pyarrow as pa

AT_ONCE = 5_000
"""Rows that are laid out together; columns are as wide as these need them."""


def print_changes(query: str, changes: pa.Table, limit: int | None = None) -> None:
    """Show the changes of a micro-batch in columns; past ``limit`` they are only counted."""
    shown = changes.num_rows if limit is None else min(limit, changes.num_rows)
    sys.stdout.write(f"{query}\n")
    for line in _lines(changes.slice(0, shown)):
        sys.stdout.write(line + "\n")
    if changes.num_rows > shown:
        sys.stdout.write(f"... and {changes.num_rows - shown:,} more\n")
    sys.stdout.write("\n")
    sys.stdout.flush()


def _lines(changes: pa.Table) -> Iterator[str]:
    names, first = changes.column_names, True
    for start in range(0, changes.num_rows or 1, AT_ONCE):
        part = changes.slice(start, AT_ONCE)
        rows = [[_text(v) for v in row.values()] for row in part.to_pylist()]
        widths = [max(len(row[i]) for row in (names, *rows)) for i in range(len(names))]
        if first:
            yield _align(names, widths)
            yield "  ".join("-" * w for w in widths)
            first = False
        for row in rows:
            yield _align(row, widths)


def _align(row: list[str], widths: list[int]) -> str:
    return "  ".join(v.ljust(w) for v, w in zip(row, widths, strict=True)).rstrip()


def _text(value: object) -> str:
    return "NULL" if value is None else str(value)
