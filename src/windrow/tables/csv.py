"""CSV files: a header, columns by name, quoted fields, empty fields as NULL.

What separates and quotes fields, and whether there is a header, the declaration may say.

Arrow reads the declared columns of a chunk as their types. If a value of it does not fit, every
field of that chunk is read as bytes and then as its type, a column at a time, so one bad value
costs its own row only. What Arrow accepts is part of what the second way accepts, with the same
values. A quoted empty field is an empty text where text is declared.

Texts that nobody looks at are not made: all that could be wrong with one is that it is no UTF-8,
and that is found out for a chunk as a whole. Other columns are read whether anybody looks or not,
since a row with a value that does not fit is refused.
"""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as arrow_csv

from windrow.columns.arrays import Int64s
from windrow.columns.types import ARROW
from windrow.core.errors import InputError
from windrow.core.file_formats import is_compressed
from windrow.core.schema import Type
from windrow.core.text_encoding import FIRST_BYTES, refuse_no_text
from windrow.core.thresholds import Threshold
from windrow.plan.catalog import NO_TIMESTAMP, StreamDeclaration
from windrow.plan.nodes.stream_relation import CsvOptions
from windrow.tables.chunks import Chunk, CsvRowEnds, chunks, size
from windrow.tables.enforce import csv_hint, enforce, resolve
from windrow.tables.file_part import WHOLE, Part, Read, open_part
from windrow.tables.fit import is_utf8
from windrow.tables.parsed_rows import Parsed, Rejected
from windrow.tables.read_ahead import parse_ahead

BLOCK = 4 << 20
"""Bytes parsed at a time; no row may be longer."""
HEADER_BLOCK = 1 << 16
"""Bytes read at a time until the header has ended."""
ENDS_LOOKED_AT = 1 << 10
"""Bytes in which a chunk usually has more than ends of rows; to strip it all copies it."""
READ_BY_ARROW = frozenset(
    (Type.BOOLEAN, Type.INT, Type.BIGINT, Type.FLOAT, Type.DOUBLE, Type.STRING, Type.TIMESTAMP,
     Type.DATE)
)  # fmt: skip
"""Types that Arrow's converters for CSV read as a cast from text does."""
WORTH_A_KERNEL = Threshold(1 << 19, least=1)
"""Bytes of a chunk that are worth a kernel's loading."""
KERNEL = "windrow.tables.plain_csv"
BOM = b"\xef\xbb\xbf"


def read_csv(
    path: Path,
    declaration: StreamDeclaration,
    part: Part = WHOLE,
    columns: frozenset[int] | None = None,
) -> Iterator[Parsed]:
    """The rows of the part, numbered from 1 below the header.

    A text is NULL if it is in none of the ``columns`` that somebody looks at; None: at all.
    """
    names, end = header(path, declaration, part)
    if not names:
        return
    options = options_of(declaration)
    chosen = resolve(names, declaration, str(path), csv_hint(names, declaration))
    places = [names.index(n) for n in chosen]
    unseen = _unseen_texts(declaration, columns)
    with open_part(path, part) as read:
        passed_header = part.start < end
        if passed_header:
            _pass_over(read, end - part.start)
            part = replace(part, start=end)
        row = part.row

        def parse(chunk: Chunk) -> tuple[Parsed, int]:
            found, refused = _columns(chunk, len(names), places, declaration, unseen)
            count = len(found[0])
            numbers = _numbers(count, [r.row for r in refused])
            texts = _Texts(chunk, len(names), options)
            parsed = enforce(found, numbers, declaration, texts)
            everything = sorted([*refused, *parsed.rejected], key=lambda r: r.row)
            return replace(parsed, rejected=everything), count + len(refused)

        silent = passed_header
        for chunk, (parsed, count) in parse_ahead(
            chunks(read, part, _row_ends(options), BLOCK), parse
        ):
            silent = False
            row -= chunk.earlier
            after = replace(chunk.after, row=row + count)
            yield replace(_numbered_from(parsed, row), after=after)
            row += count
        if silent:  # the header has been read, and is not the beginning of a row
            yield replace(parse(Chunk(b"", part))[0], after=part)


def options_of(declaration: StreamDeclaration) -> CsvOptions:
    """How the text of a stream's files is to be read."""
    return CsvOptions() if declaration.source is None else declaration.source.csv


def _row_ends(options: CsvOptions) -> CsvRowEnds:
    return CsvRowEnds(options.separator, options.quote)


def header(path: Path, declaration: StreamDeclaration, part: Part = WHOLE) -> tuple[list[str], int]:
    """The names in the first row that is not blank, and where it ends.

    There are none in a file without one, and in a part that stops before its end. If files have no
    header, they are the declared ones.
    """
    options = options_of(declaration)
    if not options.header:
        with open_part(path, Part()) as read:
            return [f.name for f in declaration.schema], _blank(
                _utf8(read(FIRST_BYTES), path)[: len(BOM)]
            )
    final = part.final or is_compressed(path)
    with open_part(path, Part(stop=None if part.start else part.stop)) as read:
        text, first = b"", 0
        while len(text) <= BLOCK and (block := read(HEADER_BLOCK)):
            text += _utf8(block, path) if not text else block
            blank = _blank(text)
            first, _ = _row_ends(options).find(text[blank:])
            if first:
                return _names(text[blank : blank + first], path, options), blank + first
    if len(text) > BLOCK:
        raise InputError(
            where=str(path),
            expected=f"a header of at most {size(BLOCK)}",
            found="a longer one, or a quote in it that does not end",
        )
    return (_names(text[_blank(text) :], path, options), len(text)) if final else ([], 0)


def _utf8(text: bytes, path: Path) -> bytes:
    """The beginning of a file; InputError if it is no text in UTF-8."""
    refuse_no_text(text, str(path))
    return text


def first_row(path: Path, declaration: StreamDeclaration) -> dict[str, str | float | None]:
    """The texts of the first row by column, those that are numbers as such."""
    names, end = header(path, declaration)
    options = options_of(declaration)
    with open_part(path, WHOLE) as read:
        _pass_over(read, end)
        for chunk in chunks(read, WHOLE, _row_ends(options), BLOCK):
            everything = dict.fromkeys(range(len(names)), pa.binary())
            batch = _fields(chunk.data, len(names), [], options, everything)
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


def _names(line: bytes, path: Path, options: CsvOptions) -> list[str]:
    text = line.decode("utf-8", errors="replace")
    try:
        first = next(csv.reader(io.StringIO(text, newline=""), **_dialect(options)), [])
    except csv.Error as error:
        raise InputError(where=str(path), expected="a header", found=str(error)) from error
    return [name.strip() for name in first]


def _dialect(options: CsvOptions) -> dict[str, Any]:
    """The options as Python's csv has them."""
    if not options.quote:
        return {"delimiter": options.separator, "quoting": csv.QUOTE_NONE, "escapechar": "\\"}
    return {"delimiter": options.separator, "quotechar": options.quote}


def _pass_over(read: Read, count: int) -> None:
    while count > 0 and (block := read(min(count, BLOCK))):
        count -= len(block)


def _unseen_texts(declaration: StreamDeclaration, columns: frozenset[int] | None) -> frozenset[int]:
    """The declared columns of text that nobody looks at."""
    texts = {n for n, field in enumerate(declaration.schema) if field.type is Type.STRING}
    if columns is None or declaration.timestamp in (NO_TIMESTAMP, *texts):
        return frozenset()
    return frozenset(texts - columns)


def _columns(
    chunk: Chunk,
    width: int,
    places: list[int],
    declaration: StreamDeclaration,
    unseen: frozenset[int],
) -> tuple[list[pa.Array], list[Rejected]]:
    """The declared columns of a chunk, and the rows that do not have the width."""
    if chunk.reason:
        text = chunk.refused.decode("utf-8", errors="replace")
        return [pa.array([], pa.binary())] * len(places), [Rejected(1, chunk.reason, text)]
    options = options_of(declaration)
    types = {
        place: ARROW[field.type] if field.type in READ_BY_ARROW else pa.binary()
        for place, field in zip(places, declaration.schema, strict=True)
    }
    wanted = {place: types[place] for n, place in enumerate(places) if n not in unseen}
    refused: list[Rejected] = []
    batch = _plain_fields(chunk.data, width, options, wanted)
    if batch is None and unseen and not is_utf8(chunk.data):
        wanted, unseen = types, frozenset()
    try:
        if batch is None:
            batch = _fields(chunk.data, width, refused, options, wanted)
    except pa.ArrowInvalid:  # some value, and the other way finds which
        refused.clear()
        batch = _fields(chunk.data, width, refused, options, dict.fromkeys(wanted, pa.binary()))
    nothing = pa.nulls(batch.num_rows, pa.string()) if unseen else None
    found = [nothing if n in unseen else batch.column(str(p)) for n, p in enumerate(places)]
    return found, refused


def _plain_fields(
    data: bytes, width: int, options: CsvOptions, types: Mapping[int, pa.DataType]
) -> pa.RecordBatch | None:
    """The columns of a chunk that is plain, of types that are; None of others, and of small ones
    for as long as no large one has come.
    """
    if len(data) < WORTH_A_KERNEL.value and KERNEL not in sys.modules:
        return None
    # Imported late: few of the processes that read load kernels.
    from windrow.tables.plain_csv import read_plain  # noqa: PLC0415

    return read_plain(data, width, options.separator, options.quote, types)


def _fields(
    data: bytes,
    width: int,
    refused: list[Rejected],
    options: CsvOptions,
    types: Mapping[int, pa.DataType],
) -> pa.RecordBatch:
    """The columns at some places of a row, named by them; the others are not read.

    Arrow shows a row that it refuses as text, which one is not that is no UTF-8. So in a chunk with
    such bytes each byte is a character for as long as it is parsed, and all columns are bytes.
    """
    names = [str(i) for i in range(width)]
    kinds = {str(place): kind for place, kind in types.items()}
    is_text = is_utf8(data)
    if not is_text:
        data, kinds = data.decode("latin-1").encode(), dict.fromkeys(kinds, pa.binary())
    if not data[:ENDS_LOOKED_AT].strip(b"\r\n") and not data.strip(b"\r\n"):
        return _no_rows(kinds)
    if data.startswith(BOM):  # inside of a file; Arrow drops one wherever a chunk begins
        data = BOM + data

    def refuse(row: arrow_csv.InvalidRow) -> str:
        reason = f"expected {width} fields, found {row.actual_columns}"
        text = row.text if is_text else _one_each(row.text).decode("utf-8", errors="replace")
        refused.append(Rejected(row.number, reason, text))
        return "skip"

    table = arrow_csv.read_csv(
        pa.BufferReader(data),
        read_options=arrow_csv.ReadOptions(
            use_threads=False,  # with threads, Arrow does not number the rows
            column_names=names,
            block_size=len(data) + 1,
        ),
        parse_options=arrow_csv.ParseOptions(
            delimiter=options.separator,
            quote_char=options.quote or False,
            newlines_in_values=True,
            invalid_row_handler=refuse,
        ),
        convert_options=arrow_csv.ConvertOptions(
            column_types=kinds,
            include_columns=list(kinds),
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
        ),
    )
    if not table.num_rows:
        return _no_rows(kinds)
    batch = table.combine_chunks().to_batches()[0]
    return batch if is_text else _with_bytes(batch)


def _one_each(text: str) -> bytes:
    """The bytes that were taken for characters."""
    return text.encode("latin-1")


def _with_bytes(batch: pa.RecordBatch) -> pa.RecordBatch:
    columns = (
        [None if value is None else _one_each(value.decode()) for value in column.to_pylist()]
        for column in batch.columns
    )
    arrays = [pa.array(column, pa.binary()) for column in columns]
    return pa.RecordBatch.from_arrays(arrays, batch.schema.names)


def _no_rows(kinds: Mapping[str, pa.DataType]) -> pa.RecordBatch:
    arrays = [pa.array([], kind) for kind in kinds.values()]
    return pa.RecordBatch.from_arrays(arrays, list(kinds))


def _numbers(count: int, invalid: list[int]) -> Int64s:
    """The numbers of ``count`` rows of a chunk: those from 1 on that are not invalid."""
    candidates = np.arange(1, 1 + count + len(invalid), dtype=np.int64)
    if not invalid:
        return candidates
    return candidates[~np.isin(candidates, invalid)][:count]


def _numbered_from(parsed: Parsed, before: int) -> Parsed:
    """The rows of a chunk with their numbers in the file, in which so many came before."""
    rejected = [replace(r, row=before + r.row) for r in parsed.rejected]
    return replace(parsed, numbers=parsed.numbers + before, rejected=rejected)


class _Texts:
    """The rows of a chunk as they were written; they are parsed once more when somebody asks."""

    def __init__(self, chunk: Chunk, width: int, options: CsvOptions) -> None:
        self.chunk, self.width, self.options = chunk, width, options

    def __call__(self, positions: Int64s) -> list[str]:
        everything = dict.fromkeys(range(self.width), pa.binary())
        batch = _fields(self.chunk.data, self.width, [], self.options, everything)
        columns = [column.to_pylist() for column in batch.take(pa.array(positions)).columns]
        return [_line(fields, self.options) for fields in zip(*columns, strict=True)]


def _line(fields: tuple[bytes | None, ...], options: CsvOptions) -> str:
    """The fields as the line that they came from, but for quotes that were not needed."""
    out = io.StringIO()
    texts = (None if f is None else f.decode("utf-8", errors="replace") for f in fields)
    csv.writer(out, lineterminator="", **_dialect(options)).writerow(
        "" if t is None else t for t in texts
    )
    return out.getvalue()
