# ruff: noqa: N803 - the names and arguments of methods are Spark's
"""The sink of queries that share their selection: one micro-batch, many directories of results.

A query that has a directory of its own gets the commits of those micro-batches that changed its
answer. The others have their changes in files of the group, with the number of the query in front;
there every micro-batch has a commit, which says how far time has come for all. It is the last to be
published. So a repetition of a micro-batch that was cut short publishes for those queries that were
not reached, and throws away what it has for the others (see ``windrow.spark.sink.result_writer``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyspark.sql.datasource import WriterCommitMessage

from windrow.plan.nodes.routed import MEMBER
from windrow.result_files.member_rows import ByMember
from windrow.result_files.sinks import Place
from windrow.spark.frozen_imports import freeze_imports
from windrow.spark.sink.result_writer import ResultWriter, SinkSpec, Written, received, summary

HANDS = 8
"""Commits are synced side by side: each waits for the disk, not for the processor."""


@dataclass(frozen=True)
class SharedSinkSpec(SinkSpec):
    """``own`` are the directories and formats of queries that have them, by number; the changes
    of those in ``kept`` stay with the group, and others' are for nobody."""

    own: Mapping[int, tuple[str, str]] = field(default_factory=dict)
    kept: frozenset[int] = frozenset()

    def writer(self) -> ResultWriter:
        return SharedWriter(self)


@dataclass
class WrittenForMany(Written):
    """``files``: for each query with a directory of its own, the hidden file and its rows."""

    files: dict[int, tuple[str, int]] = field(default_factory=dict)


class SharedWriter(ResultWriter):
    """See the module."""

    spec: SharedSinkSpec

    def __init__(self, spec: SharedSinkSpec) -> None:
        super().__init__(spec)

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Written:
        """Runs in a task: a hidden file per query that it has changes of, and one for the kept."""
        batches, now, counts = received(iterator)
        changes = pa.concat_batches(batches) if batches else None
        if changes is None or not changes.num_rows:
            return WrittenForMany(None, now, 0, counts)
        at = changes.schema.get_field_index(MEMBER)
        member = changes.column(at).to_numpy()
        files = {}
        for number, rows in ByMember(member, changes.drop_columns([MEMBER])).parts():
            if number in self.spec.own:
                hidden = self._place(number).hide(pa.Table.from_batches([rows]))
                files[number] = (hidden, rows.num_rows)
        known = np.isin(member, [*self.spec.own, *self.spec.kept])
        mine = pa.Table.from_batches([changes.filter(pa.array(np.isin(member, [*self.spec.kept])))])
        file = self.place.hide(mine) if mine.num_rows else None
        return WrittenForMany(file, now, int(known.sum()), counts, files)

    def commit(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:
        """Runs at the driver: publish for every query, then for the group."""
        freeze_imports()
        written = [m for m in messages if isinstance(m, WrittenForMany)]
        whole = summary(batchId, self.spec.run, written)
        files: dict[int, list[tuple[str, int]]] = {}
        for message in written:
            for number, file in message.files.items():
                files.setdefault(number, []).append(file)

        def publish(number: int) -> None:
            rows = sum(rows for _, rows in files[number])
            names = [name for name, _ in files[number]]
            self._place(number).publish(names, replace(whole, rows_out=rows))

        with ThreadPoolExecutor(HANDS) as hands:
            list(hands.map(publish, files))
        self.place.publish([m.file for m in written if m.file], whole)

    def abort(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:
        """Runs at the driver when the micro-batch failed."""
        super().abort(messages, batchId)
        for message in messages:
            if isinstance(message, WrittenForMany):
                for number, (name, _) in message.files.items():
                    self._place(number).discard([name])

    def _place(self, number: int) -> Place:
        directory, format_ = self.spec.own[number]
        return Place(Path(directory), format_, self.spec.run, self.spec.compact_at)
