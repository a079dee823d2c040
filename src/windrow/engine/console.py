"""Results on the console: a plain table per batch, on standard output."""

from __future__ import annotations

import sys

import pyarrow as pa

LINES = 20
"""More changes than these in one micro-batch are counted, not shown."""


def print_changes(query: str, changes: pa.Table) -> None:
    """Show the first changes of a micro-batch, in columns."""
    shown = [[_text(v) for v in row.values()] for row in changes.slice(0, LINES).to_pylist()]
    rows = [changes.column_names, *shown]
    widths = [max(len(row[i]) for row in rows) for i in range(len(changes.column_names))]
    lines = [
        "  ".join(v.ljust(w) for v, w in zip(row, widths, strict=True)).rstrip() for row in rows
    ]
    lines.insert(1, "  ".join("-" * w for w in widths))
    if changes.num_rows > LINES:
        lines.append(f"... and {changes.num_rows - LINES:,} more")
    sys.stdout.write(f"{query}\n" + "\n".join(lines) + "\n\n")
    sys.stdout.flush()


def _text(value: object) -> str:
    return "NULL" if value is None else str(value)
