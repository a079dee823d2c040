"""Answers on the screen, as lines of JSON, or in files as ``windrow.tables.writers`` has them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa

from windrow.cli.answers import SHOWN, answer_table, count_of
from windrow.cli.console import out
from windrow.core.errors import InputError
from windrow.tables.writers import WRITERS, Write, json_lines


def give(table: pa.Table, into: Path | None, *, as_json: bool, ordered: bool = False) -> None:
    """An answer where it is wanted; on the screen in an order of our own unless it has one."""
    if into is not None:
        with writing(into, table.schema) as write:
            write(table)
    if as_json:
        for line in json_lines(table):
            out().file.write(f"{line}\n")
        return
    if into is None and table.num_rows:
        out().print(answer_table(table, ordered=ordered))
        if table.num_rows > SHOWN:
            out().print(f"... and {table.num_rows - SHOWN:,} more; write them all with --into")
    out().print(count_of(table.num_rows, "row") + (f" in {into}" if into is not None else ""))


@contextmanager
def writing(path: Path, schema: pa.Schema) -> Iterator[Write]:
    """A file in the format that its name ends in; it is there when it is whole, or not at all."""
    opened = WRITERS.get(path.suffix.lower())
    if opened is None:
        raise InputError(
            where=str(path), expected=f"a name that ends in {', '.join(WRITERS)}",
            found=path.suffix or "no ending",
        )  # fmt: skip
    if not path.parent.is_dir():
        raise InputError(
            where=str(path),
            expected="an existing directory",
            found="none",
            remedy="create it first",
        )
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
