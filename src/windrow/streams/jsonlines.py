"""JSON lines: one object per line, columns by key; a key that is missing is NULL.

A chunk of whole lines goes through Arrow's reader. If Arrow refuses the chunk, or its lines
are not plainly one object each, the lines are read one by one, which accepts all that Arrow
accepts, with the same values, and finds the lines that are broken.
"""

from __future__ import annotations

import codecs
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.json as arrow_json

from windrow.core.schema import Type
from windrow.plan.catalog import StreamDeclaration
from windrow.streams.enforce import enforce
from windrow.streams.fit import Values
from windrow.streams.parsed import Int64s, Parsed, Rejected

CHUNK = 4 << 20
"""Bytes read at a time."""

READ_AS: dict[Type, pa.DataType] = {
    Type.BOOLEAN: pa.bool_(),
    Type.INT: pa.int64(),
    Type.BIGINT: pa.int64(),
    Type.FLOAT: pa.float64(),
    Type.DOUBLE: pa.float64(),
    Type.STRING: pa.string(),
    Type.TIMESTAMP: pa.string(),
    Type.DATE: pa.string(),
}


def read_json(path: Path, declaration: StreamDeclaration) -> Iterator[Parsed]:
    """The file's rows, numbered by their lines."""
    before = 0
    for chunk in _chunks(path):
        count = chunk.count(b"\n") + (not chunk.endswith(b"\n"))
        columns = _columns(chunk, count, declaration)
        if columns is None:
            yield _line_by_line(chunk, before, declaration)
        else:
            numbers = np.arange(before + 1, before + 1 + count, dtype=np.int64)
            yield enforce(columns, numbers, declaration, _Lines(chunk))
        before += count


def _chunks(path: Path) -> Iterator[bytes]:
    """The file in pieces that end where a line ends."""
    rest = b""
    first = True
    with pa.input_stream(str(path), compression="detect") as stream:
        while block := stream.read(CHUNK):
            if first and block.startswith(codecs.BOM_UTF8):
                block = block[len(codecs.BOM_UTF8) :]
            first = False
            head, newline, tail = block.rpartition(b"\n")
            if newline:
                yield rest + head + newline
                rest = tail
            else:
                rest += block
    if rest:
        yield rest


def _columns(chunk: bytes, count: int, declaration: StreamDeclaration) -> list[pa.Array] | None:
    """The declared columns by Arrow's reader, or None if the chunk is not for it."""
    if not _plain(chunk):
        return None
    schema = pa.schema([pa.field(f.name, READ_AS[f.type]) for f in declaration.schema])
    options = arrow_json.ParseOptions(
        explicit_schema=schema, unexpected_field_behavior="ignore", newlines_in_values=False
    )
    try:
        chunk.decode()  # Arrow does not look whether text is UTF-8
        table = arrow_json.read_json(
            pa.BufferReader(chunk),
            read_options=arrow_json.ReadOptions(block_size=len(chunk) + 1, use_threads=False),
            parse_options=options,
        )
    except (pa.ArrowInvalid, UnicodeDecodeError):
        return None
    if table.num_rows != count:
        return None
    return [pa.concat_arrays(table.column(f.name).chunks) for f in declaration.schema]


def _plain(chunk: bytes) -> bool:
    """Whether each line plainly starts with an object and ends with it.

    Arrow would take ``{}{}`` for two rows and crashes on a bare ``null``, so such chunks are not
    for it. Text inside strings can look like that too; then the chunk is only read more slowly.
    """
    text = np.frombuffer(b"\n" + chunk.replace(b"\r\n", b"\n").rstrip(b"\n") + b"\n", np.uint8)
    breaks = np.flatnonzero(text == ord("\n"))
    after_object = text[np.flatnonzero(text == ord("}")) + 1]
    return bool(
        (text[breaks[:-1] + 1] == ord("{")).all()
        and (text[breaks[1:] - 1] == ord("}")).all()
        and np.isin(after_object, np.frombuffer(b",}]\n", np.uint8)).all()
    )


class _Lines:
    """The text of lines by position; the chunk is split when the first is asked for."""

    def __init__(self, chunk: bytes) -> None:
        self.chunk = chunk

    def __call__(self, positions: Int64s) -> list[str]:
        lines = self.chunk.split(b"\n")
        return [_text(lines[int(p)]) for p in positions]


def _text(line: bytes) -> str:
    return line.rstrip(b"\r").decode("utf-8", errors="replace")


def _line_by_line(chunk: bytes, before: int, declaration: StreamDeclaration) -> Parsed:
    names = [f.name for f in declaration.schema]
    values: list[list[Any]] = [[] for _ in names]
    lines: list[bytes] = []
    numbers: list[int] = []
    refused: list[Rejected] = []
    for number, line in enumerate(chunk.split(b"\n"), before + 1):
        if not line.strip():
            continue
        found = _object(line)
        if isinstance(found, str):
            refused.append(Rejected(number, found, _text(line)))
            continue
        numbers.append(number)
        lines.append(line)
        for name, column in zip(names, values, strict=True):
            column.append(found.get(name))
    columns: list[Values] = [*values]
    parsed = enforce(
        columns,
        np.array(numbers, np.int64),
        declaration,
        lambda positions: [_text(lines[int(p)]) for p in positions],
    )
    everything = sorted([*refused, *parsed.rejected], key=lambda r: r.row)
    return Parsed(parsed.rows, parsed.numbers, everything, parsed.texts)


def _object(line: bytes) -> dict[str, Any] | str:
    """The line's object, or why there is none.

    Bytes that are not UTF-8 become characters that no text may hold, so that only the column
    in which they stand is refused.
    """
    try:
        found = json.loads(line.decode("utf-8", errors="surrogateescape"), strict=False)
    except json.JSONDecodeError as error:
        return f"expected a JSON object, found broken JSON at column {error.colno}: {error.msg}"
    except (ValueError, RecursionError) as error:
        return f"expected a JSON object, found what cannot be read: {error}"
    if not isinstance(found, dict):
        return f"expected a JSON object, found {type(found).__name__}"
    return found
