# ruff: noqa: N803 - the names and arguments of methods are Spark's
"""The sink: tasks write hidden files, and the commit of a micro-batch publishes them by name.

It is idempotent in the batch id. Spark repeats a micro-batch if it died before it noted that the
batch was done; the repetition has the same rows, so if this run already committed the batch, its
files are thrown away. Between the renames and the commit's own a crash can leave published names
that no commit mentions; the repetition replaces them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamArrowWriter, WriterCommitMessage

from windrow.result_files.commits import Commit, sum_counts
from windrow.result_files.sinks import COMPACT_AT, Place
from windrow.spark.frozen_imports import freeze_imports
from windrow.spark.stage.blobs import unpack


@dataclass(frozen=True)
class SinkSpec:
    """Where results go. ``run`` is that of the query's checkpoint."""

    directory: str
    format: str
    run: str
    compact_at: int = field(default_factory=lambda: COMPACT_AT.value)

    def writer(self) -> ResultWriter:
        return ResultWriter(self)


@dataclass
class Written(WriterCommitMessage):
    """What a task has written, and what the blobs that it got say of the micro-batch."""

    file: str | None
    now: int | None
    rows_out: int
    counts: dict[str, int]


def received(
    iterator: Iterator[pa.RecordBatch],
) -> tuple[list[pa.RecordBatch], int | None, dict[str, int]]:
    """What blobs for the sink hold: changes, the instant that they reach, counts."""
    freeze_imports()
    batches: list[pa.RecordBatch] = []
    counts: dict[str, int] = {}
    now: int | None = None
    for packed in iterator:
        for value in packed.column("blob"):
            header, parts = unpack(value.as_buffer())
            now = header["now"] if now is None else max(now, header["now"])
            for name, count in header["counts"].items():
                counts[name] = counts.get(name, 0) + count
            batches.append(parts["changes"])
    return batches, now, counts


def summary(batch: int, run: str, written: Sequence[Written]) -> Commit:
    """The commit of a micro-batch that its tasks add up to; it names no files yet."""
    counts = sum_counts(m.counts for m in written)
    now = max((m.now for m in written if m.now is not None), default=None)
    rows_out = sum(m.rows_out for m in written)
    return Commit(batch, run, (), now, rows_out=rows_out, **counts)


class ResultWriter(DataSourceStreamArrowWriter):
    """See the module."""

    def __init__(self, spec: SinkSpec) -> None:
        self.spec = spec
        self.place = Place(Path(spec.directory), spec.format, spec.run, spec.compact_at)

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Written:
        """Runs in a task: all results that it gets become one hidden file."""
        batches, now, counts = received(iterator)
        rows = sum(b.num_rows for b in batches)
        file = self.place.hide(pa.Table.from_batches(batches)) if rows else None
        return Written(file, now, rows, counts)

    def commit(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:
        """Runs at the driver: publish what the tasks wrote, unless that has been done."""
        freeze_imports()
        written = [m for m in messages if isinstance(m, Written)]
        hidden = [m.file for m in written if m.file]
        self.place.publish(hidden, summary(batchId, self.spec.run, written))

    def abort(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:
        """Runs at the driver when the micro-batch failed."""
        self.place.discard([m.file for m in messages if isinstance(m, Written) and m.file])
