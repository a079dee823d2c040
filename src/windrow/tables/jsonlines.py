"""JSON lines: one object per line, columns by key; a key that is missing is NULL.

A chunk of whole lines goes through Arrow's reader. If Arrow refuses the chunk, or its lines
are not plainly one object each, the lines are read one by one, which accepts all that Arrow
accepts, with the same values, and finds the lines that are broken. So are chunks with an object or
a list where a STRING is declared, which is then its JSON text, with the digits of its numbers.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.json as arrow_json

from windrow.columns.arrays import Int64s
from windrow.columns.decimal_casts import long_form
from windrow.columns.decimal_words import is_wide_decimal
from windrow.columns.types import ARROW
from windrow.core.schema import Type
from windrow.core.text_encoding import FIRST_BYTES, refuse_no_text
from windrow.plan.catalog import StreamDeclaration
from windrow.tables.chunks import LineEnds, chunks
from windrow.tables.enforce import enforce
from windrow.tables.file_part import WHOLE, Part, open_part
from windrow.tables.fit import Values
from windrow.tables.parsed_rows import Parsed, Rejected

CHUNK = 4 << 20
"""Bytes read at a time; no line may be longer."""

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


def read_json(path: Path, declaration: StreamDeclaration, part: Part = WHOLE) -> Iterator[Parsed]:
    """The rows of the part, numbered by their lines in the file."""
    row = part.row
    with open_part(path, part) as read:
        for chunk in chunks(read, part, LineEnds(), CHUNK, _is_whole):
            if part.start == row == 0:
                refuse_no_text((chunk.data or chunk.refused)[:FIRST_BYTES], str(path))
            if chunk.reason:
                row += not chunk.earlier
                text = chunk.refused.decode("utf-8", errors="replace")
                parsed = _line_by_line(b"", 0, declaration)
                parsed = replace(parsed, rejected=[Rejected(row, chunk.reason, text)])
            else:
                data = chunk.data
                if part.start == row == 0:
                    data = data.removeprefix(codecs.BOM_UTF8)
                count = data.count(b"\n") + (not data.endswith(b"\n") and bool(data))
                parsed = _parse_lines(data, row, count, declaration)
                row += count
            yield replace(parsed, after=replace(chunk.after, row=row))


def first_object(path: Path) -> dict[str, Any]:
    """What the first line that is not blank holds; nothing if that is no object."""
    with open_part(path, WHOLE) as read:
        for chunk in chunks(read, WHOLE, LineEnds(), CHUNK):
            line = chunk.data.removeprefix(codecs.BOM_UTF8).lstrip().partition(b"\n")[0]
            if line or chunk.reason:
                found = _object(line)
                return found if isinstance(found, dict) else {}
    return {}


def _is_whole(rest: bytes) -> bool:
    """Whether a line is complete without its newline: nothing can follow a whole object."""
    return rest.rstrip().endswith(b"}") and isinstance(_object(rest), dict)


def _parse_lines(data: bytes, before: int, count: int, declaration: StreamDeclaration) -> Parsed:
    columns = _columns(data, count, declaration) if data else None
    if columns is None:
        return _line_by_line(data, before, declaration)
    numbers = np.arange(before + 1, before + 1 + count, dtype=np.int64)
    return enforce(columns, numbers, declaration, _Lines(data))


def _columns(chunk: bytes, count: int, declaration: StreamDeclaration) -> list[pa.Array] | None:
    """The declared columns by Arrow's reader, or None if the chunk is not for it."""
    if not _plain(chunk):
        return None
    schema = pa.schema([pa.field(f.name, _read_as(f.type)) for f in declaration.schema])
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


def _read_as(kind: Type) -> pa.DataType:
    """The type in which Arrow's reader has values of a type."""
    if kind.element is not None:
        return pa.list_(_read_as(kind.element))
    if kind.fields:
        return pa.struct([pa.field(name, _read_as(inner)) for name, inner in kind.fields])
    plain = READ_AS.get(kind) or ARROW[kind]
    # Arrow's reader does not always see that 128 bits are too few.
    return long_form(plain) if is_wide_decimal(plain) else plain


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
    exact = any(re.search("DECIMAL|STRING", f.type.value) for f in declaration.schema)
    values: list[list[Any]] = [[] for _ in declaration.schema]
    lines: list[bytes] = []
    numbers: list[int] = []
    refused: list[Rejected] = []
    for number, line in enumerate(chunk.split(b"\n"), before + 1):
        if not line.strip():
            continue
        found = _object(line, exact)
        if isinstance(found, str):
            refused.append(Rejected(number, found, _text(line)))
            continue
        try:
            row = [_as_declared(found.get(f.name), f.type) for f in declaration.schema]
        except RecursionError:
            refused.append(Rejected(number, "it is nested too deeply", _text(line)))
            continue
        numbers.append(number)
        lines.append(line)
        for value, column in zip(row, values, strict=True):
            column.append(value)
    columns: list[Values] = [*values]
    parsed = enforce(
        columns,
        np.array(numbers, np.int64),
        declaration,
        lambda positions: [_text(lines[int(p)]) for p in positions],
    )
    everything = sorted([*refused, *parsed.rejected], key=lambda r: r.row)
    return replace(parsed, rejected=everything)


def _as_declared(value: Any, kind: Type) -> Any:
    """A number that was read with all its digits as a double, unless a DECIMAL is wanted; an object
    or a list as JSON text, if a STRING is."""
    if kind.element is not None and isinstance(value, list):
        return [_as_declared(one, kind.element) for one in value]
    if kind.fields and isinstance(value, dict):
        return {name: _as_declared(value.get(name), inner) for name, inner in kind.fields}
    if isinstance(value, Decimal) and not kind.is_decimal:
        return float(value)
    return _json_text(value) if kind is Type.STRING and isinstance(value, dict | list) else value


def _json_text(value: Any) -> str:
    if isinstance(value, dict):
        members = (f"{_json_text(key)}:{_json_text(member)}" for key, member in value.items())
        return "{" + ",".join(members) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_json_text, value)) + "]"
    return str(value) if isinstance(value, Decimal) else json.dumps(value, ensure_ascii=False)


def _exact(text: str) -> Decimal | float:
    """A fraction with all its digits; a double if its exponent is one that no decimal has."""
    try:
        return Decimal(text)
    except InvalidOperation:
        return float(text)


def _object(line: bytes, exact: bool = False) -> dict[str, Any] | str:
    """The line's object, or why there is none; if ``exact`` fractions have all their digits.

    Bytes that are not UTF-8 become characters that no text may hold, so that only the column
    in which they stand is refused.
    """
    try:
        text = line.decode("utf-8", errors="surrogateescape")
        found = json.loads(text, strict=False, parse_float=_exact if exact else None)
    except json.JSONDecodeError as error:
        return f"expected a JSON object, found broken JSON at column {error.colno}: {error.msg}"
    except (ValueError, RecursionError) as error:
        return f"expected a JSON object, found what cannot be read: {error}"
    if not isinstance(found, dict):
        return f"expected a JSON object, found {type(found).__name__}"
    return found
