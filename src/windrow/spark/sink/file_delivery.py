"""Changes of queries into files: tasks write hidden ones, the driver publishes them by name.

Publishing is idempotent in the number of the micro-batch. Spark repeats one if it died before it
noted that the batch was done; the repetition has the same rows, so if this run already committed
the batch, its files are thrown away. Between the renames and the commit's own a crash can leave
published names that no commit mentions; the repetition replaces them.

Queries that share their selection are one micro-batch and many directories of results. A query that
has a directory of its own gets the commits of those micro-batches that changed its answer. The
others have their changes in files of the group, with the number of the query in front; there every
micro-batch has a commit, which says how far time has come for all. It is the last to be published.
So a repetition of a micro-batch that was cut short publishes for those queries that were not
reached, and throws away what it has for the others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from windrow.columns.delta import Delta
from windrow.core.schema import Schema
from windrow.core.time import Clock
from windrow.object_store.object_path import path_of
from windrow.plan.nodes.routed import MEMBER
from windrow.result_files.change_table import changes_batch
from windrow.result_files.commits import Commit, sum_counts
from windrow.result_files.member_rows import ByMember, OwnColumns
from windrow.result_files.sinks import COMPACT_AT, Place
from windrow.spark.stage.level_task import HANDS
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


@dataclass(frozen=True)
class MemberDelivery(FileDelivery):
    """``own`` are the directories and formats of queries that have them, by number; the changes
    of those in ``kept`` stay with the group, and others' are for nobody. ``columns`` says which
    columns are whose, if not all are everybody's."""

    own: Mapping[int, tuple[str, str]] = field(default_factory=dict)
    kept: frozenset[int] = frozenset()
    columns: Mapping[int, OwnColumns] | None = None

    def hide(self, answers: Sequence[Delta]) -> dict[str, Any]:
        """A hidden file for each query with changes and a directory, and one for the kept."""
        changes = self._changes(answers).combine_chunks()
        if not changes.num_rows:
            return {"file": None, "rows": 0, "own": []}
        (batch,) = changes.to_batches()
        at = batch.schema.get_field_index(MEMBER)
        member = batch.column(at).to_numpy()
        own = []
        common = batch.drop_columns([MEMBER])
        for number, rows in ByMember(member, common, self.columns).parts():
            if number in self.own:
                name = self._own_place(number).hide(pa.Table.from_batches([rows]))
                own.append([number, name, rows.num_rows])
        known = np.isin(member, [*self.own, *self.kept])
        mine = changes.filter(pa.array(np.isin(member, [*self.kept])))
        return {**self._hide(mine), "rows": int(known.sum()), "own": own}

    def publish(self, batch: int, reports: Sequence[Report]) -> None:
        """Publish for every query, then for the group."""
        hidden = [report.hidden for report in reports]
        whole = summary(batch, self.run, reports, sum(h["rows"] for h in hidden))
        files: dict[int, list[tuple[str, int]]] = {}
        for number, name, rows in (file for h in hidden for file in h["own"]):
            files.setdefault(number, []).append((name, rows))

        def publish(number: int) -> None:
            rows = sum(rows for _, rows in files[number])
            names = [name for name, _ in files[number]]
            self._own_place(number).publish(names, replace(whole, rows_out=rows))

        with ThreadPoolExecutor(HANDS) as hands:
            list(hands.map(publish, files))
        self.place.publish([h["file"] for h in hidden if h["file"] is not None], whole)

    def _own_place(self, number: int) -> Place:
        directory, format_ = self.own[number]
        return Place(path_of(directory), format_, self.run, self.compact_at)
