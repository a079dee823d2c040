# ruff: noqa: N803 - the names and arguments of methods are Spark's
"""The sink: tasks write hidden files, and the commit of a micro-batch publishes them by name.

It is idempotent in the batch id. Spark repeats a micro-batch if it died before it noted that the
batch was done; the repetition has the same rows, so if this run already committed the batch, its
files are thrown away. Between the renames and the commit's own a crash can leave published names
that no commit mentions; the repetition replaces them.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamArrowWriter, WriterCommitMessage

from windrow.engine.commits import Commit, commits
from windrow.engine.files import publish
from windrow.engine.sinks import SUFFIX, write_table
from windrow.spark.blobs import unpack


@dataclass(frozen=True)
class SinkSpec:
    """Where results go. ``run`` is that of the query's checkpoint."""

    directory: str
    format: str
    run: str


@dataclass
class Written(WriterCommitMessage):
    """What a task has written, and what the blobs that it got say of the micro-batch."""

    file: str | None
    now: int | None
    rows_out: int
    counts: dict[str, int]


class ResultWriter(DataSourceStreamArrowWriter):
    """See the module."""

    def __init__(self, spec: SinkSpec) -> None:
        self.spec = spec

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Written:
        """Runs in a task: all results that it gets become one hidden file."""
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
        rows = sum(b.num_rows for b in batches)
        if not rows:
            return Written(None, now, 0, counts)
        table = pa.Table.from_batches(batches).sort_by("instant")
        path = Path(self.spec.directory) / f".{uuid.uuid4().hex}"
        write_table(table, path, self.spec.format)
        return Written(path.name, now, rows, counts)

    def commit(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:
        """Runs at the driver: publish what the tasks wrote, unless that has been done."""
        directory = Path(self.spec.directory)
        written = [m for m in messages if isinstance(m, Written)]
        hidden = sorted(m.file for m in written if m.file)
        known = [c for c in commits(directory, batchId - 1) if c.batch == batchId]
        if known and known[0].run == self.spec.run:
            self._discard(hidden)
            return
        stem, suffix = f"batch-{batchId:08d}-", SUFFIX[self.spec.format]
        names = tuple(f"{stem}{i:05d}.{suffix}" for i in range(len(hidden)))
        for name in {p.name for p in directory.glob(f"{stem}*")} - set(names):
            (directory / name).unlink()
        for old, new in zip(hidden, names, strict=True):
            (directory / old).replace(directory / new)
        counts = {
            name: sum(m.counts.get(name, 0) for m in written)
            for name in ("rows_in", "late", "rejected")
        }
        now = max((m.now for m in written if m.now is not None), default=None)
        rows_out = sum(m.rows_out for m in written)
        record = Commit(batchId, self.spec.run, names, now, rows_out=rows_out, **counts)
        publish(record.path(directory), record.to_json())

    def abort(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:
        """Runs at the driver when the micro-batch failed."""
        self._discard([m.file for m in messages if isinstance(m, Written) and m.file])

    def _discard(self, hidden: Sequence[str]) -> None:
        for name in hidden:
            (Path(self.spec.directory) / name).unlink(missing_ok=True)
