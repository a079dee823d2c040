"""Answers on the screen, as lines of JSON, or in a file.

A line of JSON has a row. What JSON has no way to write is a text: dates and times as people write
them, decimals with all their digits, bytes as ``windrow.columns.written`` has them, and NaN,
Infinity and -Infinity by name.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa

from windrow.cli.answers import SHOWN, answer_table, count_of
from windrow.cli.console import out
from windrow.columns.written import plain, textual
from windrow.core.errors import InputError
from windrow.core.thresholds import Threshold

AT_ONCE = Threshold(10_000, least=1)
"""Rows that are made into lines at a time."""

Write = Callable[[pa.Table], object]


def give(table: pa.Table, into: Path | None, *, as_json: bool, ordered: bool = False) -> None:
    """An answer where it is wanted; on the screen in an order of our own unless it has one."""
    if into is not None:
        with writing(into, table.schema) as write:
            write(table)
    if as_json:
        for line in lines(table):
            out().file.write(f"{line}\n")
        return
    if into is None and table.num_rows:
        out().print(answer_table(table, ordered=ordered))
        if table.num_rows > SHOWN:
            out().print(f"... and {table.num_rows - SHOWN:,} more; keep them all with --into")
    out().print(count_of(table.num_rows, "row") + (f" in {into}" if into is not None else ""))


@contextmanager
def writing(path: Path, schema: pa.Schema) -> Iterator[Write]:
    """A file in the format that its name ends in; it is there when it is whole, or not at all."""
    opened = _FORMATS.get(path.suffix.lower())
    if opened is None:
        raise InputError(
            where=str(path), expected=f"a name that ends in {', '.join(_FORMATS)}",
            found=path.suffix or "no ending",
        )  # fmt: skip
    if not path.parent.is_dir():
        raise InputError(where=str(path), expected="a directory that is there", found="none")
    part = path.with_name(f".{path.name}.tmp")
    try:
        with opened(part, schema) as write:
            yield write
        part.replace(path)
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid) as error:
        raise InputError(
            where=str(path),
            expected=f"types that a {path.suffix} file can have",
            found=str(error).splitlines()[0],
            remedy="choose another format, or fewer columns",
        ) from error
    finally:
        part.unlink(missing_ok=True)


@contextmanager
def _parquet(path: Path, schema: pa.Schema) -> Iterator[Write]:

    with pa.parquet.ParquetWriter(path, schema, compression="zstd") as writer:
        yield writer.write_table


@contextmanager
def _csv(path: Path, schema: pa.Schema) -> Iterator[Write]:

    with path.open("wb") as file:
        pa.csv.write_csv(schema.empty_table(), file)
        rows = pa.csv.WriteOptions(include_header=False)
        yield lambda table: pa.csv.write_csv(textual(table), file, rows)


@contextmanager
def _arrow(path: Path, schema: pa.Schema) -> Iterator[Write]:
    with pa.ipc.new_file(str(path), schema) as writer:
        yield writer.write_table


@contextmanager
def _json(path: Path, _: pa.Schema) -> Iterator[Write]:
    with path.open("w", encoding="utf-8") as file:
        yield lambda table: file.writelines(f"{line}\n" for line in lines(table))


_FORMATS = {".parquet": _parquet, ".csv": _csv, ".json": _json, ".arrow": _arrow}


def lines(table: pa.Table) -> Iterator[str]:
    """Each row as a line of JSON; columns of one name are told apart."""
    names: list[str] = []
    for name in table.column_names:
        same = sum(n == name for n in table.column_names[: len(names)])
        names.append(f"{name}_{same + 1}" if same else name)
    for batch in table.to_batches(AT_ONCE.value):
        for values in zip(*map(plain, batch.columns), strict=True):
            yield _line(dict(zip(names, values, strict=True)))


def _line(row: dict[str, Any]) -> str:
    try:
        return json.dumps(row, default=str, allow_nan=False)
    except ValueError:
        return json.dumps(_finite(row), default=str)


def _finite(value: Any) -> Any:
    """A value with names for the numbers that JSON has not."""
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else f"{'-' if value < 0 else ''}Infinity"
    if isinstance(value, dict):
        return {name: _finite(one) for name, one in value.items()}
    return [_finite(one) for one in value] if isinstance(value, list) else value
