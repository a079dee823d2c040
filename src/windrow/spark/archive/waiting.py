"""Rows that wait for the end of their day, in files of the query's checkpoint.

An archive has whole days only (``windrow.engine.day_store``), so what has come of a day that is not
over waits beside it. Tasks write files that nobody knows; one small file, replaced whole, says
which of them count, which micro-batch was the last whose rows are among them, and which day was
the last to be put in. So a micro-batch that is repeated adds nothing, and whatever is not named
was left by an attempt that failed.

    waiting.json   what counts
    .<id>          rows in order of time: an Arrow file, mapped when its day is put in
"""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa

from windrow.columns.delta import Delta, concat
from windrow.result_files.atomic_files import publish, read_record
from windrow.spark.stage.blobs import pack_delta, unpack_delta

NAME = "waiting.json"
MANY, ALIKE = 64, 8
"""Pieces that may wait before any are merged, and how many of one size are then."""
LARGE = 2**18
"""Rows of a piece that is never merged again."""


@dataclass(frozen=True)
class Piece:
    """A file of rows, and the instants of its first and last."""

    name: str
    rows: int
    first: int
    last: int


@dataclass(frozen=True)
class Waiting:
    """See the module. ``done`` is the last day that was put in by this query."""

    batch: int = -1
    done: int | None = None
    pieces: tuple[Piece, ...] = ()


def load(directory: Path) -> Waiting:
    """What waits in a directory; in a new one, nothing."""
    path = directory / NAME
    if not path.exists():
        return Waiting()
    return read_record(
        path,
        "the record of what waits for an archive",
        lambda known: Waiting(
            known["batch"], known["done"], tuple(Piece(**p) for p in known["pieces"])
        ),
        remedy="start over with a new --checkpoint; days that are archived stay",
    )


def save(directory: Path, waiting: Waiting) -> None:
    """Make ``waiting`` what counts, and remove what no longer does."""
    publish(directory / NAME, json.dumps(asdict(waiting)))
    tidy(directory, waiting)


def tidy(directory: Path, waiting: Waiting) -> None:
    """Remove files of rows that do not count; no task may be writing one."""
    named = {piece.name for piece in waiting.pieces}
    for path in directory.glob(".*"):
        if path.name not in named:
            path.unlink(missing_ok=True)


def write(directory: Path, delta: Delta) -> Piece:
    """A file of rows in order of time, under a name of its own; it does not count yet."""
    name, batch = f".{uuid.uuid4().hex}", pack_delta(delta)
    with (directory / name).open("wb") as file:
        with pa.ipc.new_file(file, batch.schema) as writer:
            writer.write_batch(batch)
        file.flush()
        os.fsync(file.fileno())
    return Piece(name, len(delta), int(delta.ts[0]), int(delta.ts[-1]))


def read(directory: Path, piece: Piece, schema: pa.Schema) -> Delta:
    """The rows of a piece; they stay in the file until somebody looks at them."""
    with pa.memory_map(str(directory / piece.name)) as source:
        return unpack_delta(pa.ipc.open_file(source).get_batch(0), schema)


def by_day(
    directory: Path,
    pieces: Sequence[Piece],
    schema: pa.Schema,
    day: int,
    days: tuple[int | None, int | None],
) -> Iterator[tuple[int, Delta]]:
    """The rows of pieces by day of ``day`` ticks, from the first to the last of ``days``."""
    first, last = days
    for piece in pieces:
        if first is not None and piece.last // day < first:
            continue
        if last is not None and piece.first // day > last:
            continue
        delta = read(directory, piece, schema)
        found, starts = np.unique(delta.ts // day, return_index=True)
        stops = (*starts[1:].tolist(), len(delta))
        for number, start, stop in zip(found.tolist(), starts.tolist(), stops, strict=True):
            if (first is None or number >= first) and (last is None or number <= last):
                yield number, delta.slice(start, stop)


def few(directory: Path, waiting: Waiting, schema: pa.Schema) -> Waiting:
    """The same rows; if they are in very many pieces, small ones of like size merged.

    A stream that is watched brings a day in thousands of micro-batches. Pieces are alike if their
    lengths are within a factor of eight, so a row is written once more for each such factor.
    """
    if len(waiting.pieces) <= MANY:
        return waiting
    alike: dict[int, list[Piece]] = {}
    for piece in waiting.pieces:
        alike.setdefault(piece.rows.bit_length() // 3, []).append(piece)
    for size in range(LARGE.bit_length() // 3):
        if len(alike.get(size, ())) >= ALIKE:
            parts = [read(directory, piece, schema) for piece in alike.pop(size)]
            merged = write(directory, concat(parts, schema))
            alike.setdefault(merged.rows.bit_length() // 3, []).append(merged)
    pieces = tuple(piece for found in alike.values() for piece in found)
    return replace(waiting, pieces=pieces)
