"""CSV files: a header, columns by name, quoted fields, empty fields as NULL.

Every field is read as bytes and then read as its declared type a column at a time, so one bad
value costs its own row only. A quoted empty field is an empty text where text is declared.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as arrow_csv

from windrow.core.errors import InputError
from windrow.plan.catalog import StreamDeclaration
from windrow.streams.coerce import resolve
from windrow.streams.enforce import enforce
from windrow.streams.parsed import Int64s, Parsed, Rejected

BLOCK = 4 << 20
"""Bytes parsed at a time; no row may be longer."""


def read_csv(path: Path, declaration: StreamDeclaration) -> Iterator[Parsed]:
    """The file's rows, numbered from 1 below the header."""
    header = _header(path)
    if not header:
        return
    places = [header.index(n) for n in resolve(header, declaration, str(path))]
    yield from _read(path, declaration, len(header), places)


def _header(path: Path) -> list[str]:
    """The names in the first row; none if the file is empty."""
    with pa.input_stream(str(path), compression="detect") as stream:
        start: bytes = stream.read(1 << 16)
    text = start.decode("utf-8-sig", errors="replace")
    first = next(csv.reader(io.StringIO(text, newline="")), [])
    return [name.strip() for name in first]


def _read(
    path: Path, declaration: StreamDeclaration, width: int, places: list[int]
) -> Iterator[Parsed]:
    invalid: list[tuple[int, Rejected]] = []

    def refuse(row: arrow_csv.InvalidRow) -> str:
        number = row.number - 1  # Arrow counts the header too
        reason = f"expected {width} fields, found {row.actual_columns}"
        if row.text.count('"') % 2:
            reason += "; a quoted field does not end"
        invalid.append((number, Rejected(number, reason, row.text)))
        return "skip"

    names = [str(i) for i in range(width)]
    with pa.input_stream(str(path), compression="detect") as native:
        stream = _Tail(native)
        try:
            reader = arrow_csv.open_csv(
                stream,
                read_options=arrow_csv.ReadOptions(
                    use_threads=False,  # with threads, Arrow does not number the rows
                    skip_rows=1,
                    column_names=names,
                    block_size=BLOCK,
                ),
                parse_options=arrow_csv.ParseOptions(
                    newlines_in_values=True, invalid_row_handler=refuse
                ),
                convert_options=arrow_csv.ConvertOptions(
                    column_types=dict.fromkeys(names, pa.binary()),
                    null_values=[""],
                    strings_can_be_null=True,
                    quoted_strings_can_be_null=False,
                ),
            )
        except pa.ArrowInvalid as error:
            if "Could not skip" in str(error) or "Empty CSV" in str(error):
                return  # a header and nothing else
            raise
        given = 0
        for read in _until_straddling(reader, path):
            batch = read
            if stream.ended and _is_open(read, stream.tail):
                lost = read.slice(read.num_rows - 1)
                batch = read.slice(0, read.num_rows - 1)
                number = int(_numbers(given, batch.num_rows + 1, [n for n, _ in invalid])[-1])
                reason = "a quoted field does not end; it took in all lines to the end of the file"
                text = _line(tuple(c[0].as_py() for c in lost.columns))
                invalid.append((number, Rejected(number, reason, text)))
            numbers = _numbers(given, batch.num_rows, [n for n, _ in invalid])
            last = int(numbers[-1]) if len(numbers) else given
            refused = [r for n, r in invalid if n <= last]
            invalid = [(n, r) for n, r in invalid if n > last]
            given = max(last, given)
            yield _parsed(batch, numbers, refused, declaration, places)
        if invalid:
            nothing = pa.RecordBatch.from_arrays([pa.array([], pa.binary())] * width, names)
            refused = [r for _, r in invalid]
            yield _parsed(nothing, np.empty(0, np.int64), refused, declaration, places)


class _Tail:
    """A stream that remembers how it ended."""

    def __init__(self, stream: pa.NativeFile) -> None:
        self.stream, self.tail, self.ended = stream, b"", False
        self.closed = False

    def read(self, size: int = -1) -> bytes:
        block: bytes = self.stream.read(size)
        self.ended = not block
        self.tail = block or self.tail
        return block

    def close(self) -> None:
        self.closed = True


def _is_open(batch: pa.RecordBatch, tail: bytes) -> bool:
    """Whether the last row's last field is a quoted one that the end of the file cut off.

    Arrow takes what there is for the field, which can be many lines.
    """
    if batch.num_rows == 0:
        return False
    last = batch.column(batch.num_columns - 1)[batch.num_rows - 1].as_py()
    return last is not None and b"\n" in last and not tail.rstrip(b"\r\n").endswith(b'"')


def _until_straddling(reader: arrow_csv.CSVStreamingReader, path: Path) -> Iterator[pa.RecordBatch]:
    rows = 0
    try:
        for batch in reader:
            yield batch
            rows += batch.num_rows
    except pa.ArrowInvalid as error:
        if "straddl" not in str(error):
            raise
        raise InputError(
            where=f"{path}, somewhere after row {rows}",
            expected=f"rows of at most {BLOCK >> 20} MiB",
            found="a longer one, so probably a quoted field that does not end",
            remedy="close the quote",
        ) from error


def _numbers(after: int, count: int, invalid: list[int]) -> Int64s:
    """The numbers of the next ``count`` rows: those that follow ``after`` and are not invalid."""
    candidates = np.arange(after + 1, after + 1 + count + len(invalid), dtype=np.int64)
    return candidates[~np.isin(candidates, invalid)][:count]


def _parsed(
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
    return Parsed(parsed.rows, parsed.numbers, everything, parsed.texts)


def _line(fields: tuple[bytes | None, ...]) -> str:
    """The fields as the line that they came from, but for quotes that were not needed."""
    out = io.StringIO()
    texts = (None if f is None else f.decode("utf-8", errors="replace") for f in fields)
    csv.writer(out, lineterminator="", quoting=csv.QUOTE_MINIMAL).writerow(
        "" if t is None else t for t in texts
    )
    return out.getvalue()
