"""Changes of a query into files: tasks write hidden ones, the driver publishes them by name.

Publishing is idempotent in the number of the micro-batch. Spark repeats one if it died before it
noted that the batch was done; the repetition has the same rows, so if this run already committed
the batch, its files are thrown away. Between the renames and the commit's own a crash can leave
published names that no commit mentions; the repetition replaces them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import pyarrow as pa

from windrow.columns.delta import Delta
from windrow.core.schema import Schema
from windrow.core.time import Clock
from windrow.object_store.object_path import path_of
from windrow.result_files.change_table import changes_batch
from windrow.result_files.commits import Commit, sum_counts
from windrow.result_files.sinks import COMPACT_AT, Place
from windrow.spark.stage.stage_task import Report


@dataclass(frozen=True)
class FileDelivery:
    """Where the changes of a query go. ``run`` is that of the query's checkpoint."""

    directory: str
    format: str
    run: str
    schema: Schema
    clock: Clock
    compact_at: int = field(default_factory=lambda: COMPACT_AT.value)
    final: ClassVar = True

    @property
    def place(self) -> Place:
        return Place(path_of(self.directory), self.format, self.run, self.compact_at)

    def hide(self, answers: Sequence[Delta]) -> dict[str, Any]:
        """All changes of a task become one hidden file."""
        return self._hide(self._changes(answers))

    def _changes(self, answers: Sequence[Delta]) -> pa.Table:
        return pa.Table.from_batches([changes_batch(d, self.schema, self.clock) for d in answers])

    def _hide(self, changes: pa.Table) -> dict[str, Any]:
        rows = changes.num_rows
        return {"file": self.place.hide(changes) if rows else None, "rows": rows}

    def publish(self, batch: int, reports: Sequence[Report]) -> None:
        """Publish what the tasks wrote, unless that has been done."""
        hidden = [report.hidden for report in reports]
        names = [h["file"] for h in hidden if h["file"] is not None]
        rows_out = sum(h["rows"] for h in hidden)
        self.place.publish(names, summary(batch, self.run, reports, rows_out))


def summary(batch: int, run: str, reports: Sequence[Report], rows_out: int) -> Commit:
    """The commit of a micro-batch that its tasks add up to; it names no files yet."""
    counts = sum_counts(report.counts for report in reports)
    now = max((report.now for report in reports if report.now is not None), default=None)
    return Commit(batch, run, (), now, rows_out=rows_out, **counts)
