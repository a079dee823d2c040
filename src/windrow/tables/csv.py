"""CSV files: a header, columns by name, quoted fields, empty fields as NULL.

Every field is read as bytes and then read as its declared type a column at a time, so one bad
value costs its own row only. A quoted empty field is an empty text where text is declared.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as arrow_csv

from windrow.columns.arrays import Int64s
from windrow.core.errors import InputError
from windrow.core.file_formats import is_compressed
from windrow.plan.catalog import StreamDeclaration
from windrow.tables.chunks import Chunk, CsvRowEnds, chunks, size
from windrow.tables.enforce import enforce, resolve
from windrow.tables.file_part import WHOLE, Part, Read, open_part
from windrow.tables.parsed_rows import Parsed, Rejected

BLOCK = 4 << 20
"""Bytes parsed at a time; no row may be longer."""
BOM = b"\xef\xbb\xbf"


def read_csv(path: Path, declaration: StreamDeclaration, part: Part = WHOLE) -> Iterator[Parsed]:
    """The rows of the part, numbered from 1 below the header."""
    names, end = header(path, part)
    if not names:
        return
    places = [names.index(n) for n in resolve(names, declaration, str(path))]
    with open_part(path, part) as read:
        if part.start < end:
            _pass_over(read, end)
            part = replace(part, start=end)
        row = part.row
        for chunk in chunks(read, part, CsvRowEnds(), BLOCK):
            batch, refused = _rows(chunk, row, len(names))
            numbers = _numbers(row, batch.num_rows, [r.row for r in refused])
            row += batch.num_rows + len(refused) - chunk.earlier
            parsed = _enforce_types(batch, numbers, refused, declaration, places)
            yield replace(parsed, after=replace(chunk.after, row=row))


def header(path: Path, part: Part = WHOLE) -> tuple[list[str], int]:
    """The names in the first row that is not blank, and where it ends.

    There are none in a file without one, and in a part that stops before its end.
    """
    final = part.final or is_compressed(path)
    with open_part(path, Part(stop=None if part.start else part.stop)) as read:
        text, first = b"", 0
        while len(text) <= BLOCK and (block := read(BLOCK)):
            text += block
            blank = _blank(text)
            first, _ = CsvRowEnds().find(text[blank:])
            if first:
                return _names(text[blank : blank + first], path), blank + first
    if len(text) > BLOCK:
        raise InputError(
            where=str(path),
            expected=f"a header of at most {size(BLOCK)}",
            found="a longer one, or a quote in it that does not end",
        )
    return (_names(text[_blank(text) :], path), len(text)) if final else ([], 0)


def first_row(path: Path) -> dict[str, str | float | None]:
    """The texts of the first row by column, those that are numbers as such."""
    names, end = header(path)
    with open_part(path, WHOLE) as read:
        _pass_over(read, end)
        for chunk in chunks(read, WHOLE, CsvRowEnds(), BLOCK):
            batch = _fields(chunk.data, len(names), [])
            if batch.num_rows:
                values = (column[0].as_py() for column in batch.columns)
                return {name: _plain(v) for name, v in zip(names, values, strict=True)}
    return {}


def _plain(value: bytes | None) -> str | float | None:
    if value is None:
        return None
    try:
        return float(value)
    except ValueError:
        return value.decode("utf-8", errors="replace")


def _blank(text: bytes) -> int:
    """How long the beginning of a file is that says nothing."""
    return len(text) - len(text.removeprefix(BOM).lstrip(b"\r\n"))


def _names(line: bytes, path: Path) -> list[str]:
    text = line.decode("utf-8", errors="replace")
    try:
        first = next(csv.reader(io.StringIO(text, newline="")), [])
    except csv.Error as error:
        raise InputError(where=str(path), expected="a header", found=str(error)) from error
    return [name.strip() for name in first]


def _pass_over(read: Read, count: int) -> None:
    while count > 0 and (block := read(min(count, BLOCK))):
        count -= len(block)


def _rows(chunk: Chunk, before: int, width: int) -> tuple[pa.RecordBatch, list[Rejected]]:
    """The rows of a chunk with every field as bytes, and those that do not have the width."""
    if chunk.reason:
        number = before + 1 - chunk.earlier
        text = chunk.refused.decode("utf-8", errors="replace")
        return _fields(b"", width, []), [Rejected(number, chunk.reason, text)]
    refused: list[Rejected] = []
    batch = _fields(chunk.data, width, refused)
    return batch, [replace(r, row=before + r.row) for r in refused]


def _fields(data: bytes, width: int, refused: list[Rejected]) -> pa.RecordBatch:
    names = [str(i) for i in range(width)]
    if not data.strip(b"\r\n"):
        return pa.RecordBatch.from_arrays([pa.array([], pa.binary())] * width, names)

    def refuse(row: arrow_csv.InvalidRow) -> str:
        reason = f"expected {width} fields, found {row.actual_columns}"
        refused.append(Rejected(row.number, reason, row.text))
        return "skip"

    table = arrow_csv.read_csv(
        pa.BufferReader(data),
        read_options=arrow_csv.ReadOptions(
            use_threads=False,  # with threads, Arrow does not number the rows
            column_names=names,
            block_size=len(data) + 1,
        ),
        parse_options=arrow_csv.ParseOptions(newlines_in_values=True, invalid_row_handler=refuse),
        convert_options=arrow_csv.ConvertOptions(
            column_types=dict.fromkeys(names, pa.binary()),
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
        ),
    )
    return table.combine_chunks().to_batches()[0] if table.num_rows else _fields(b"", width, [])


def _numbers(after: int, count: int, invalid: list[int]) -> Int64s:
    """The numbers of the next ``count`` rows: those that follow ``after`` and are not invalid."""
    candidates = np.arange(after + 1, after + 1 + count + len(invalid), dtype=np.int64)
    return candidates[~np.isin(candidates, invalid)][:count]


def _enforce_types(
    batch: pa.RecordBatch,
    numbers: Int64s,
    refused: list[Rejected],
    declaration: StreamDeclaration,
    places: list[int],
) -> Parsed:
    def texts(positions: Int64s) -> list[str]:
        rows = batch.take(pa.array(positions))
        columns = [column.to_pylist() for column in rows.columns]
        return [_line(fields) for fields in zip(*columns, strict=True)]

    parsed = enforce([batch.column(p) for p in places], numbers, declaration, texts)
    everything = sorted([*refused, *parsed.rejected], key=lambda r: r.row)
    return replace(parsed, rejected=everything)


def _line(fields: tuple[bytes | None, ...]) -> str:
    """The fields as the line that they came from, but for quotes that were not needed."""
    out = io.StringIO()
    texts = (None if f is None else f.decode("utf-8", errors="replace") for f in fields)
    csv.writer(out, lineterminator="", quoting=csv.QUOTE_MINIMAL).writerow(
        "" if t is None else t for t in texts
    )
    return out.getvalue()
