"""CREATE ARCHIVE on Spark: a streaming query whose results go to disk, a day when it is over.

    stages ──► tasks: rows into files ──► the driver: which files count ──► days that are over
               that wait (``waiting``)     one small file, replaced           into the archive

The driver's own process does the last two, in a ``foreachBatch`` function, by the same ``Store``
as an embedded run: so the archive is the same, and a script may be run here and there in turns.

Exactly once
    Rows count once they are named, and then the micro-batch is named too: repeated, it adds
    nothing. A day is put in when all its rows count, and the archive knows its last day: put again,
    it is passed over. Files are removed after the archive has their rows. Spark goes on to the next
    micro-batch when all of that is done, and repeats this one otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa

from windrow.archive.errors import ConflictError, HalfwayError
from windrow.columns.delta import Delta, concat
from windrow.columns.types import arrow_schema
from windrow.core.errors import StateError
from windrow.core.time import Wall, wall_clock
from windrow.engine.day_store import last_day_over, store_of
from windrow.plan.catalog import ArchiveDeclaration
from windrow.result_files.atomic_files import publish
from windrow.result_files.sinks import COMPACT_AT, compact_if_due
from windrow.spark.archive.sink import ATTEMPTS
from windrow.spark.archive.waiting import Piece, Waiting, by_day, few, load, save, tidy, write
from windrow.spark.sink.file_delivery import summary
from windrow.spark.stage.stage_task import Report


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
        waiting, done = load(self._directory), self._store.done
        tidy(self._directory, waiting)
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
        return sum(len(part) for _, part in self._days(load(self._directory)))

    @property
    def delivery(self) -> WaitingDelivery:
        """What tasks do with the rows of a micro-batch."""
        return WaitingDelivery(str(self._directory), self._schema)

    def publish(self, number: int, reports: Sequence[Report]) -> None:
        """Let the rows of a micro-batch count, and put days in that are over."""
        waiting = load(self._directory)
        if number > waiting.batch:
            pieces = (report.hidden.get("piece") for report in reports)
            new = tuple(Piece(**piece) for piece in pieces if piece is not None)
            waiting = replace(waiting, batch=number, pieces=(*waiting.pieces, *new))
            waiting = few(self._directory, waiting, self._schema)
        save(self._directory, waiting)
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
            save(self._directory, replace(waiting, done=done, pieces=left))

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

    def hide(self, answers: Sequence[Delta]) -> dict[str, Any]:
        delta = concat(answers, self.schema).sorted()
        return {"piece": asdict(write(Path(self.directory), delta)) if len(delta) else None}
