"""Arguments that several commands of ``windrow archive`` take, and how they are read."""

from __future__ import annotations

import csv
import json
import struct
from pathlib import Path
from typing import Annotated, Any

import pyarrow as pa
import typer

from windrow.archive.errors import ArchiveError
from windrow.archive.format.layout import Layout
from windrow.cli.console import out
from windrow.columns.text_forms import read_texts

Where = Annotated[
    str, typer.Argument(metavar="ARCHIVE", help="The archive's directory, or s3://bucket/path.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]
Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="Show tracebacks of errors.")]
Since = Annotated[
    str | None,
    typer.Option(help="The first day to read: its number or a date.", show_default=False),
]
Until = Annotated[
    str | None,
    typer.Option(help="The last day to read: its number or a date.", show_default=False),
]
At = Annotated[
    str | None,
    typer.Option(
        help="Read as of this day (with lifetimes, this instant), not before the last update.",
        show_default=False,
    ),
]
Soft = Annotated[
    bool, typer.Option("--soft", help="Include expired records that an index still holds.")
]
Columns = Annotated[str | None, typer.Option(help="Only these columns: a,b,c.", show_default=False)]
Into = Annotated[
    Path | None,
    typer.Option(help="A .parquet, .csv, .json or .arrow file for the answer.", show_default=False),
]


def names_of(columns: str | None) -> list[str] | None:
    return None if columns is None else [name.strip() for name in columns.split(",")]


def key_of(text: str, layout: Layout) -> Any:
    """A key as typed; the parts of a composite key are separated by commas, and quoted as in CSV
    if they have some themselves.
    """
    if len(layout.key) == 1:
        return _value(text, layout.key[0], layout.key_types[0])
    parts = next(csv.reader([text], skipinitialspace=True), [""])
    if len(parts) > len(layout.key):
        raise ArchiveError(
            where=f"key {text}",
            expected=f"at most {len(layout.key)} values: {', '.join(layout.key)}",
            found=str(len(parts)),
        )
    columns = zip(parts, layout.key, layout.key_types, strict=False)
    return tuple(_value(part, name, kind) for part, name, kind in columns)


def _value(text: str, name: str, kind: pa.DataType) -> Any:
    try:
        value = read_texts(_one_text(text), kind)[0]
        return value if pa.types.is_temporal(kind) else value.as_py()  # Python has not all of them
    except pa.ArrowException as error:
        raise ArchiveError(
            where=f"key column {name}", expected=f"a value of type {kind}", found=text
        ) from error


def _one_text(text: str) -> pa.Array:
    """An array of one text, without ``pa.array``, which loads pandas to see what it is given."""
    raw = text.encode()
    offsets = struct.pack("<2i", 0, len(raw))
    return pa.Array.from_buffers(pa.string(), 1, [None, pa.py_buffer(offsets), pa.py_buffer(raw)])


def print_json(value: Any) -> None:
    out().print(json.dumps(value, indent=2, default=str))
