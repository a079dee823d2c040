"""CREATE SUBSCRIPTIONS of a script: its files, and the operator that matches a stream with them.

Files are CSV with a header, JSON lines, or Parquet.

The columns are those of ``entry_columns``. A row that cannot be read is an error that names the
file and the line, and nothing is taken: a subscription that is silently missing is worse than a run
that does not start.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as arrow_csv
import pyarrow.parquet as pq

from windrow.columns.delta import Delta, batch_of
from windrow.core.errors import InputError
from windrow.core.time import Clock
from windrow.operators.stateless import Stateless
from windrow.plan.nodes import FileSource
from windrow.subscriptions.entry_columns import EntryColumns, entries_of
from windrow.subscriptions.predicates import Kind
from windrow.subscriptions.subscriptions import Subscriptions
from windrow.tables.find_files import find_files


def attributes_in(path: Path, format_: str) -> list[str]:
    """The attributes that the columns of a file of subscriptions speak of."""
    table, _ = _open_table(path, format_)
    names = table if isinstance(table, dict) else table.schema.names
    found = dict.fromkeys(_attribute(name.strip()) for name in names)
    if "id" not in map(str.lower, found):
        raise InputError(
            where=str(path), expected="a column id", found=", ".join(names) or "no columns",
            remedy="name each subscription in a column id",
        )  # fmt: skip
    return [name for name in found if name.lower() not in ("id", "since", "until")]


def _attribute(name: str) -> str:
    for ending in ("_min", "_max", "_bounds"):
        if name.lower().endswith(ending):
            return name[: -len(ending)]
    return name


def load(
    source: FileSource, attributes: Mapping[str, Kind], clock: Clock = Clock.INTEGER
) -> Subscriptions:
    """A matcher with the subscriptions of all files of a source; identifiers are texts."""
    found = Subscriptions(attributes, clock=clock)
    for path in find_files(source):
        found.add(read(path, source.format, attributes, clock))
    return found


def read(
    path: Path, format_: str, attributes: Mapping[str, Kind], clock: Clock = Clock.INTEGER
) -> EntryColumns:
    """The entries in one file."""
    table, lines = _open_table(path, format_)

    def place(row: int) -> str:
        word = "row" if format_ == "parquet" else "line"
        return f"{path}, {word} {lines[row] if lines is not None else row + 1}"

    return entries_of(table, attributes, ids=pa.string(), clock=clock, where=str(path), place=place)


def _open_table(path: Path, format_: str) -> tuple[Any, list[int] | range | None]:
    try:
        return _table(path, format_)
    except (OSError, pa.ArrowException, UnicodeDecodeError) as error:
        raise InputError(
            where=str(path),
            expected=f"a readable {format_} file of subscriptions",
            found=str(error).splitlines()[0] if str(error) else type(error).__name__,
            remedy="check that the file is whole and that FORMAT names what it is",
        ) from error


def _table(path: Path, format_: str) -> tuple[Any, list[int] | range | None]:
    """What a file holds, and on which line each row stands."""
    if format_ == "csv":
        return _csv(path)
    if format_ == "json":
        return _json(path)
    return pq.read_table(path), None


def _csv(path: Path) -> tuple[pa.Table, range | list[int]]:
    """Every field as text; what a blank one means is for the reader of conditions to say."""

    invalid: list[arrow_csv.InvalidRow] = []

    def refuse(row: arrow_csv.InvalidRow) -> str:
        invalid.append(row)  # an error raised here would not come out as it is
        return "skip"

    parsed = arrow_csv.ParseOptions(newlines_in_values=True, invalid_row_handler=refuse)
    with arrow_csv.open_csv(path, parse_options=parsed) as reader:
        names = reader.schema.names
    invalid.clear()
    table = arrow_csv.read_csv(
        path,
        read_options=arrow_csv.ReadOptions(use_threads=False),
        parse_options=parsed,
        convert_options=arrow_csv.ConvertOptions(
            column_types=dict.fromkeys(names, pa.string()),
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
        ),
    )
    if invalid:
        first = invalid[0]
        raise InputError(
            where=f"{path}, line {first.number}",
            expected=f"{first.expected_columns} fields",
            found=f"{first.actual_columns}: {first.text[:80]}",
            remedy="put a condition that has a comma in it into double quotes",
        )
    broken = sum(
        pc.sum(pc.count_substring(c.cast(pa.string()), "\n")).as_py() or 0 for c in table.columns
    )
    lines = range(2, table.num_rows + 2)
    return table, lines if not broken else _with_breaks(table)


def _with_breaks(table: pa.Table) -> list[int]:
    """Lines of rows some of which are longer than one."""
    lines, at = [], 2
    for row in table.to_pylist():
        lines.append(at)
        at += 1 + sum(v.count("\n") for v in row.values() if v is not None)
    return lines


def _json(path: Path) -> tuple[dict[str, list[Any]], list[int]]:
    """An object per line; a key that is missing is no condition."""
    rows: list[dict[str, Any]] = []
    lines: list[int] = []
    with pa.input_stream(str(path), compression="detect") as stream:
        text = stream.read().decode("utf-8-sig")
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line, parse_float=Decimal)  # with all its digits
        except ValueError as error:
            raise InputError(
                where=f"{path}, line {number}", expected="a JSON object", found=str(error)
            ) from error
        if not isinstance(row, dict):
            raise InputError(
                where=f"{path}, line {number}", expected="a JSON object", found=line[:80]
            )
        rows.append(row)
        lines.append(number)
    names = list(dict.fromkeys(name for row in rows for name in row))
    return {name: [row.get(name) for row in rows] for name in names}, lines


class MatchSubscriptions(Stateless):
    """Each insertion once per subscription that it satisfies, under the subscription's id.

    The subscriptions are no state of the stream: they are read where they are declared, and what
    is added or dropped later takes effect at its own instant.
    """

    def __init__(
        self, subscriptions: Subscriptions, columns: Sequence[int], schema: pa.Schema
    ) -> None:
        self.subscriptions, self.columns, self.schema = subscriptions, tuple(columns), schema

    def process(self, inputs: Sequence[Delta], now: int) -> Delta:
        (delta,) = inputs
        found = self.match(delta)
        self.subscriptions.settle(now)
        return found

    def match(self, delta: Delta) -> Delta:
        """The matches of some tuples, whatever instants are closed."""
        if not len(delta):
            return Delta.empty(self.schema)
        columns = [delta.rows.column(i) for i in self.columns]
        rows, owners = self.subscriptions.hits(columns, delta.ts)
        matching = delta.take(rows)
        arrays = [self.subscriptions.names(owners), *matching.rows.columns]
        return Delta.insertions(matching.ts, batch_of(arrays, self.schema, len(rows)))
