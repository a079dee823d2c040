"""The spool: what admission has read of text files, as Arrow, until no micro-batch reads it again.

To admit a part of a text file one has to go through all of it: for the last whole row, and for the
greatest timestamp. So the driver parses and judges it then, once. The rows in time are written
beside the file log, where every worker sees them, and tasks map them; the others are in the
quarantine by then. Memory is that of a chunk, whatever the size of the file.

A file of the spool is synced before an entry of the log names it, and removed when it is noted
that its micro-batch is over. Until then a repetition reads the same rows, whatever became of the
text. An older micro-batch is repeated only after ``windrow checkpoint repair``; then tasks find no
file, read the text again, and judge it as the log says: they come to the same rows.

Format: an Arrow stream of the accepted rows, in order of time within each batch. The last batch is
empty and carries the counts, so a file that was cut short is noticed, and counts as none.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from windrow.columns.delta import Delta, empty_batch
from windrow.columns.types import arrow_schema
from windrow.core.errors import StateError
from windrow.plan.catalog import StreamDeclaration
from windrow.result_files.atomic_files import rename, write
from windrow.spark.source.judged_file import Counts, JudgedFile
from windrow.streams.growing_files import Arrival
from windrow.streams.horizon import Horizon
from windrow.streams.monitor import timestamps
from windrow.streams.quarantine import NO_PAGE, Page, Quarantine
from windrow.streams.stream_time import StreamTime
from windrow.tables.file_part import Part

SUFFIX, DRAFT = ".arrow", ".tmp"
COUNTS = b"windrow.counts"


class Spooled(NamedTuple):
    """What was found out about a part: its file, the stream's time after it, where the rest is."""

    name: str
    top: int | None
    rest: Part | None


class Spool:
    """The spool of a stream at the driver, beside its log."""

    def __init__(
        self, log: Path, declaration: StreamDeclaration, quarantine: Quarantine | None
    ) -> None:
        self._directory = spool_directory(log)
        self._declaration, self._quarantine = declaration, quarantine

    def write(self, item: Arrival, number: int, before: StreamTime, horizon: Horizon) -> Spooled:
        """Parse and judge a part, for the entry ``number`` of the log.

        InputError if it cannot be read to its end: then nothing of it is left here.
        """
        judged = JudgedFile(self._declaration, before, horizon)
        path = self._directory / f"{number:08d}-{uuid.uuid4().hex[:8]}{SUFFIX}"
        with _writable(path), self._page(item) as page:
            path.parent.mkdir(parents=True, exist_ok=True)
            deltas = judged.deltas(item.path, item.part, page)
            write(draft := path.with_suffix(DRAFT), partial(self._fill, deltas, judged))
            rename(draft, path)
        return Spooled(path.name, judged.top, judged.rest)

    def _page(self, item: Arrival) -> AbstractContextManager[Page]:
        if self._quarantine is None:
            return nullcontext(NO_PAGE)
        return self._quarantine.page(self._declaration.name, item.path, item.part.start)

    def _fill(self, deltas: Iterator[Delta], judged: JudgedFile, path: Path) -> None:
        schema = arrow_schema(self._declaration.schema)
        with path.open("wb") as out, pa.ipc.new_stream(out, schema) as writer:
            for delta in deltas:
                writer.write_batch(delta.rows)
            counts = {COUNTS: json.dumps(judged.counts)}
            writer.write_batch(empty_batch(schema), custom_metadata=counts)

    def size(self, name: str) -> int:
        """The bytes of a file of the spool, which are those of its rows."""
        return (self._directory / name).stat().st_size

    def discard(self, name: str) -> None:
        """Forget a part that is not admitted after all."""
        (self._directory / name).unlink(missing_ok=True)

    def keep_only(self, names: set[str]) -> None:
        """Remove all others: of micro-batches that are over, and of runs that died."""
        for path in self._directory.glob("*"):
            if path.suffix in (SUFFIX, DRAFT) and path.name not in names:
                path.unlink(missing_ok=True)


@contextmanager
def _writable(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StateError(
            "rows cannot be written to the checkpoint",
            where=str(path.parent),
            expected="a writable directory with space in it",
            found=error.strerror or str(error),
            remedy="make space and run the same command once more",
        ) from error


@dataclass(frozen=True)
class SpooledRows:
    """A file of the spool as tasks read it."""

    batches: list[pa.RecordBatch]
    counts: Counts

    def deltas(self, declaration: StreamDeclaration) -> Iterator[Delta]:
        """The rows in time, as they were admitted."""
        for batch in self.batches:
            yield Delta.insertions(timestamps(batch, declaration), batch)


def spool_directory(log: Path) -> Path:
    """Where the spool of a stream with this log is."""
    return log.with_suffix("")


def read_spooled(log: Path, name: str) -> SpooledRows | None:
    """A file of the spool, mapped; None if it is gone or was cut short."""
    try:
        source = pa.memory_map(str(spool_directory(log) / name))
    except OSError:
        return None
    batches: list[pa.RecordBatch] = []
    with source, suppress(StopIteration, pa.ArrowInvalid, OSError):
        reader = pa.ipc.open_stream(source)
        while True:
            batch, metadata = reader.read_next_batch_with_custom_metadata()
            if metadata is not None and COUNTS in metadata:
                return SpooledRows(batches, json.loads(metadata[COUNTS]))
            batches.append(batch)
    return None
