"""Directories of results, made without an engine."""

from __future__ import annotations

import random
from pathlib import Path

import pyarrow as pa

from windrow.result_files.commits import Commit
from windrow.result_files.identity import Identity
from windrow.result_files.ownership import prepare
from windrow.result_files.publication import Place

SCHEMA = pa.schema([("instant", pa.int64()), ("change", pa.string()), ("k", pa.string())])
NEVER = 10**9


def identity(format_: str = "parquet", run: str = "r", **more) -> Identity:
    return Identity(run, "q", format_, SCHEMA, **{"stream": False, **more})


def place(directory: Path, format_: str = "parquet", *, compact_at: int = NEVER, **more) -> Place:
    """A directory that is ready for micro-batches."""
    directory.mkdir(parents=True, exist_ok=True)
    known = identity(format_, **more)
    prepare(directory, known)
    return Place(directory, format_, known.run, compact_at)


def micro_batch(number: int, seed: int = 0) -> list[list[tuple[int, str, str]]]:
    """The changes of a micro-batch in one or two files; every fifth has none.

    Values come and go such that the answer after each is a small set.
    """
    rnd = random.Random(seed * 1000 + number)
    if number % 5 == 4:
        return []
    rows = [(10 * number + 3, "+", f"v{number}"), (10 * number + 1, "+", "é,\n")]
    rows += [(10 * number + 2, "-", "é,\n")]
    if number and (number - 1) % 5 != 4:
        rows.append((10 * number + 5, "-", f"v{number - 1}"))
    cut = rnd.randrange(len(rows) + 1)
    return [sorted(part) for part in (rows[:cut], rows[cut:]) if part]


def publish(where: Place, number: int, parts: list[list[tuple[int, str, str]]]) -> None:
    tables = [pa.Table.from_arrays(list(map(list, zip(*p, strict=True))), schema=SCHEMA)
              for p in parts]  # fmt: skip
    rows = sum(map(len, parts))
    commit = Commit(number, where.run, (), 10 * number + 9, 7, rows, 1, 2)
    where.publish([where.hide(table) for table in tables], commit)


def filled(where: Place, batches: int, first: int = 0) -> Place:
    for number in range(first, batches):
        publish(where, number, micro_batch(number))
    return where
