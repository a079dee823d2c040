"""CREATE ARCHIVE on Spark: a job whose results go to disk, a day when it is over.

    stages ──► tasks: rows into files ──► the driver: which files count ──► days that are over
               that wait                   one small file, replaced           into the archive

The driver's own process does the last two, when tasks have reported, by the same ``Store``
as an embedded run: so the archive is the same, and a script may be run here and there in turns.

An archive has whole days only (``windrow.engine.day_store``), so what has come of a day that is not
over waits in files of the query's checkpoint. Tasks write files that nobody knows; one small file,
replaced whole, says which of them count, which micro-batch was the last whose rows are among them,
and which day was the last to be put in. Whatever is not named was left by an attempt that failed.

    waiting.json   what counts
    .<id>          rows in order of time: an Arrow file, mapped when its day is put in

Exactly once
    Rows count once they are named, and then the micro-batch is named too: repeated, it adds
    nothing. A day is put in when all its rows count, and the archive knows its last day: put again,
    it is passed over. Files are removed after the archive has their rows. The next
    micro-batch begins when all of that is done, and this one is repeated otherwise.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from windrow.archive.errors import ConflictError, HalfwayError
from windrow.columns.delta import Delta, concat
from windrow.columns.types import arrow_schema
from windrow.core.errors import StateError
from windrow.core.time import Wall, wall_clock
from windrow.engine.day_store import last_day_over, store_of
from windrow.object_store.object_path import path_of, readable_path
from windrow.plan.catalog import ArchiveDeclaration
from windrow.result_files.atomic_files import publish, read_record, version_read, write
from windrow.result_files.publication import COMPACT_AT, compact_if_due
from windrow.spark.archive.sink import ATTEMPTS
from windrow.spark.sink.file_delivery import summary
from windrow.spark.stage.blobs import pack_delta, unpack_delta
from windrow.spark.stage.stage_task import Report

WAITING = "waiting.json"
MANY, ALIKE = 64, 8
"""Pieces that may wait before any are merged, and how many of one size are then."""
LARGE = 2**18
"""Rows of a piece that is never merged again."""


class Filling:
    """What is done at the driver with each micro-batch."""

    def __init__(
        self, declared: ArchiveDeclaration, directory: Path, run: str, wall: Wall = wall_clock
    ) -> None:
        self._wall = wall
        self._declared, self._directory, self._run = declared, directory, run
        self._schema = arrow_schema(declared.plan.schema)
        self._store = store_of(declared)

    def prepare(self) -> None:
        """Remove what earlier attempts left; refuse an archive that lacks days it was given."""
        waiting, done = load_waiting(self._directory), self._store.done
        remove_unnamed(self._directory, waiting)
        if waiting.done is not None and (done is None or done < waiting.done):
            raise StateError(
                f"the archive {self._declared.name} lacks days that this checkpoint has appended",
                where=self._declared.path,
                expected=f"days up to number {waiting.done}",
                found="none" if done is None else f"days up to number {done}",
                remedy="restore the archive, or fill it again with a new --checkpoint",
            )

    def rows_waiting(self) -> int:
        """Rows of days that the archive does not have yet."""
        return sum(len(part) for _, part in self._days(load_waiting(self._directory)))

    @property
    def delivery(self) -> WaitingDelivery:
        """What tasks do with the rows of a micro-batch."""
        return WaitingDelivery(str(self._directory), self._schema)

    def publish(self, number: int, reports: Sequence[Report]) -> None:
        """Let the rows of a micro-batch count, and put days in that are over."""
        waiting = load_waiting(self._directory)
        if number > waiting.batch:
            pieces = (report.hidden.get("piece") for report in reports)
            new = tuple(Piece(**piece) for piece in pieces if piece is not None)
            waiting = replace(waiting, batch=number, pieces=(*waiting.pieces, *new))
            waiting = merge_pieces(self._directory, waiting, self._schema)
        save_waiting(self._directory, waiting)
        now = max((report.now for report in reports if report.now is not None), default=None)
        over = None if now is None else last_day_over(now, self._declared, self._wall)
        days: dict[int, list[Delta]] = {}
        if over is not None:
            for day, part in self._days(waiting, over):
                days.setdefault(day, []).append(part)
        kept = sum(len(part) for parts in days.values() for part in parts)
        self._note(number, reports, kept)
        if over is not None and (self._store.done is None or over > self._store.done):
            self._put(over, days)
        self._forget(waiting)

    def _note(self, number: int, reports: Sequence[Report], kept: int) -> None:
        """Let the runner know, before the days go in: a repetition would find none to count."""
        commit = summary(number, self._run, reports, kept)
        path = commit.path(self._directory)
        if not path.exists():
            publish(path, commit.to_json())
            compact_if_due(self._directory, number, COMPACT_AT.value)

    def _put(self, over: int, days: dict[int, list[Delta]]) -> None:
        for attempt in range(ATTEMPTS):
            try:
                self._store.put(over, days)
            except (ConflictError, HalfwayError):  # others wrote; what is in is passed over
                if attempt == ATTEMPTS - 1:
                    raise
            else:
                return

    def _forget(self, waiting: Waiting) -> None:
        """Let go of the rows that the archive has."""
        done = self._store.done
        if done is None:
            return
        left = tuple(p for p in waiting.pieces if p.last // self._declared.day > done)
        if (left, done) != (waiting.pieces, waiting.done):
            save_waiting(self._directory, replace(waiting, done=done, pieces=left))

    def _days(self, waiting: Waiting, last: int | None = None) -> Iterator[tuple[int, Delta]]:
        """The rows of days that the archive does not have, none after ``last``."""
        days = (self._first, last)
        return by_day(self._directory, waiting.pieces, self._schema, self._declared.day, days)

    @property
    def _first(self) -> int | None:
        """The first day that the archive does not have."""
        return None if self._store.done is None else self._store.done + 1


@dataclass(frozen=True)
class WaitingDelivery:
    """In a task: all rows that its buckets answer become one file, which does not count yet."""

    directory: str
    schema: pa.Schema
    final: ClassVar = False
    room: ClassVar = 0

    def hide(self, answers: Sequence[Delta]) -> dict[str, Any]:
        delta = concat(answers, self.schema).sorted()
        return {
            "piece": asdict(write_piece(path_of(self.directory), delta)) if len(delta) else None
        }

    def sync(self, _hidden: Mapping[str, Any]) -> None:
        """A piece is on the disk when it is written."""


@dataclass(frozen=True)
class Piece:
    """A file of rows, and the instants of its first and last."""

    name: str
    rows: int
    first: int
    last: int


@dataclass(frozen=True)
class Waiting:
    """What counts of the rows that wait; ``done`` is the last day that this query has put in."""

    batch: int = -1
    done: int | None = None
    pieces: tuple[Piece, ...] = ()


def load_waiting(directory: Path) -> Waiting:
    """What waits in a directory; in a new one, nothing."""
    path = directory / WAITING
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


def save_waiting(directory: Path, waiting: Waiting) -> None:
    """Make ``waiting`` what counts, and remove what no longer does."""
    path = directory / WAITING
    publish(path, json.dumps(asdict(waiting)), version_read(path))
    remove_unnamed(directory, waiting)


def remove_unnamed(directory: Path, waiting: Waiting) -> None:
    """Remove files of rows that do not count; no task may be writing one."""
    named = {piece.name for piece in waiting.pieces}
    for path in directory.glob(".*"):
        if path.name not in named:
            path.unlink(missing_ok=True)


def write_piece(directory: Path, delta: Delta) -> Piece:
    """A file of rows in order of time, under a name of its own; it does not count yet."""
    name, batch = f".{uuid.uuid4().hex}", pack_delta(delta)

    def fill(path: Path) -> None:
        with path.open("wb") as file, pa.ipc.new_file(file, batch.schema) as writer:
            writer.write_batch(batch)

    write(directory / name, fill)
    return Piece(name, len(delta), int(delta.ts[0]), int(delta.ts[-1]))


def read_piece(directory: Path, piece: Piece, schema: pa.Schema) -> Delta:
    """The rows of a piece; they stay in the file until somebody looks at them."""
    with pa.memory_map(str(readable_path(directory / piece.name))) as source:
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
        delta = read_piece(directory, piece, schema)
        found, starts = np.unique(delta.ts // day, return_index=True)
        stops = (*starts[1:].tolist(), len(delta))
        for number, start, stop in zip(found.tolist(), starts.tolist(), stops, strict=True):
            if (first is None or number >= first) and (last is None or number <= last):
                yield number, delta.slice(start, stop)


def merge_pieces(directory: Path, waiting: Waiting, schema: pa.Schema) -> Waiting:
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
            parts = [read_piece(directory, piece, schema) for piece in alike.pop(size)]
            merged = write_piece(directory, concat(parts, schema))
            alike.setdefault(merged.rows.bit_length() // 3, []).append(merged)
    pieces = tuple(piece for found in alike.values() for piece in found)
    return replace(waiting, pieces=pieces)
