"""Changes of queries into files: tasks write hidden ones, the driver publishes them by name.

Few changes are not worth a file for each task: they travel in the task's report, and the driver
writes one file with those of all tasks. So many small queries take a file each per micro-batch,
however many tasks there are.

Publishing is idempotent in the number of the micro-batch. One is repeated if the driver died before
it noted that the batch was done; the repetition has the same rows, so if this run already committed
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

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from windrow.columns.delta import Delta
from windrow.core.schema import Schema
from windrow.core.thresholds import Threshold
from windrow.core.time import Clock
from windrow.object_store.object_path import path_of
from windrow.plan.nodes.routed import MEMBER
from windrow.result_files.change_table import changes_batch
from windrow.result_files.commits import COUNTED, Commit, sum_counts
from windrow.result_files.member_rows import ByMember, OwnColumns
from windrow.result_files.publication import COMPACT_AT, Place, Publication, publish_together
from windrow.result_files.query_table import with_members, with_query
from windrow.spark.stage.stage_task import TOLD, Report, is_told

FEW = Threshold(1 << 18)
"""Bytes of a query's changes that a task tells the driver instead of writing them down."""
AT_DRIVER = 1 << 26
"""Bytes of changes that the driver is told at most, by all tasks of a micro-batch."""


def room_for_changes(tasks: int, queries: int) -> int:
    """The bytes of changes that each of some tasks may tell of each of some queries."""
    return min(FEW.value, AT_DRIVER // max(tasks * queries, 1))


@dataclass(frozen=True)
class FileDelivery:
    """Where the changes of a query go. ``run`` is that of the query's checkpoint. Changes of up to
    ``room`` bytes are told. In a table of several queries they are named after ``query``."""

    directory: str
    format: str
    run: str
    schema: Schema
    clock: Clock
    compact_at: int = field(default_factory=lambda: COMPACT_AT.value)
    room: int = 0
    query: str | None = None
    final: ClassVar = True

    @property
    def place(self) -> Place:
        return Place(path_of(self.directory), self.format, self.run, self.compact_at)

    def hide(self, answers: Sequence[Delta]) -> dict[str, Any]:
        """All changes of a task become one hidden file, or are told if they are few."""
        changes = self._changes(answers)
        rows = changes.num_rows
        if not rows:
            return {"file": None, "rows": 0}
        if is_told(answers, self.room):
            return {"file": None, "rows": rows, TOLD: changes.combine_chunks().to_batches()[0]}
        return {**self._hide(changes), "rows": rows}

    def _changes(self, answers: Sequence[Delta]) -> pa.Table:
        batches = [changes_batch(d, self.schema, self.clock) for d in answers]
        changes = pa.Table.from_batches(batches)
        return changes if self.query is None else with_query(changes, self.query)

    def _hide(self, changes: pa.Table) -> dict[str, Any]:
        return {"file": self.place.hide(changes, synced=False)}

    def sync(self, hidden: Mapping[str, Any]) -> None:
        """Wait until all hidden files are on the disk."""
        self.place.sync(_names([hidden]))

    def publications(self, batch: int, reports: Sequence[Report]) -> list[list[Publication]]:
        """What the tasks wrote and told, to be published list by list."""
        hidden = [report.hidden for report in reports]
        commit = summary(batch, self.run, reports, sum(h["rows"] for h in hidden))
        return [[Publication(self.place, _names(hidden), commit, self._told(hidden))]]

    def publish(self, batch: int, reports: Sequence[Report]) -> None:
        """Publish what the tasks wrote and told, unless that has been done."""
        for together in self.publications(batch, reports):
            publish_together(together)

    def _told(self, hidden: Sequence[Mapping[str, Any]]) -> pa.Table | None:
        told = [h[TOLD] for h in hidden if TOLD in h]
        return pa.Table.from_batches(told) if told else None


def _names(hidden: Iterable[Mapping[str, Any]]) -> list[str]:
    return [h["file"] for h in hidden if h["file"] is not None]


def summary(batch: int, run: str, reports: Sequence[Report], rows_out: int) -> Commit:
    """The commit of a micro-batch that its tasks add up to; it names no files yet."""
    counts = sum_counts(report.counts for report in reports)
    now = max((report.now for report in reports if report.now is not None), default=None)
    return Commit(batch, run, (), now, rows_out=rows_out, **counts)


@dataclass(frozen=True)
class TablePart:
    """A table that some queries of a group share, perhaps with others: their names by number, the
    columns of its changes, and at which ``places`` each has them, if not all have all."""

    directory: str
    format: str
    run: str
    names: Mapping[int, str]
    schema: pa.Schema
    places: Mapping[int, tuple[int, ...]] | None = None


@dataclass(frozen=True)
class MemberDelivery(FileDelivery):
    """``own`` are the directories and formats of queries that have them, by number, and ``tables``
    those that several share; the changes of those in ``kept`` stay with the group, and others' are
    for nobody. A table is known by a number too, from -1 down. ``columns`` says which columns are
    whose, if not all are everybody's."""

    own: Mapping[int, tuple[str, str]] = field(default_factory=dict)
    kept: frozenset[int] = frozenset()
    columns: Mapping[int, OwnColumns] | None = None
    tables: tuple[TablePart, ...] = ()

    def _hide(self, changes: pa.Table) -> dict[str, Any]:
        """A hidden file for each query with changes and a directory, and one for the kept."""
        mine, others = self._split(changes)
        own = [[n, self._place_of(n).hide(t, synced=False), t.num_rows] for n, t in others.items()]
        return {"file": None if mine is None else self.place.hide(mine, synced=False), "own": own}

    def sync(self, hidden: Mapping[str, Any]) -> None:
        super().sync(hidden)
        for number, name, _ in hidden.get("own", ()):
            self._place_of(number).sync([name])

    def _split(self, changes: pa.Table) -> tuple[pa.Table | None, dict[int, pa.Table]]:
        """The changes of queries that are kept together, and of each directory."""
        (batch,) = changes.combine_chunks().to_batches()
        member = batch.column(batch.schema.get_field_index(MEMBER)).to_numpy()
        rows = batch.drop_columns([MEMBER])
        others: dict[int, pa.Table] = {}
        if self.own:
            parts = ByMember(member, rows, self.columns).parts()
            others |= {n: pa.Table.from_batches([part]) for n, part in parts if n in self.own}
        for number, table in enumerate(self.tables):
            named = with_members(rows, member, table.names, table.schema, table.places)
            if named.num_rows:
                others[-1 - number] = named
        kept = np.isin(member, [*self.kept])
        return changes.filter(pa.array(kept)) if kept.any() else None, others

    def _known(self, changes: pa.Table) -> pa.Table:
        """Without those of queries that have left."""
        known = [*self.own, *self.kept, *(n for table in self.tables for n in table.names)]
        return changes.filter(pa.array(np.isin(changes[MEMBER].to_numpy(), known)))

    def _changes(self, answers: Sequence[Delta]) -> pa.Table:
        return self._known(super()._changes(answers))

    def publications(self, batch: int, reports: Sequence[Report]) -> list[list[Publication]]:
        """Those of every query that has changes, and of tables, then that of the group."""
        hidden = [report.hidden for report in reports]
        whole = summary(batch, self.run, reports, sum(h["rows"] for h in hidden))
        files: dict[int, list[tuple[str, int]]] = {}
        for number, name, rows in (file for h in hidden for file in h.get("own", ())):
            files.setdefault(number, []).append((name, rows))
        all_told = self._told(hidden)
        mine, told = (None, {}) if all_told is None else self._split(all_told)
        own = []
        tables = {-1 - number for number in range(len(self.tables))}
        for number in sorted(files.keys() | told.keys() | tables):
            written, more = files.get(number, ()), told.get(number)
            rows = sum(rows for _, rows in written) + (0 if more is None else more.num_rows)
            names, place = [name for name, _ in written], self._place_of(number)
            commit = replace(whole, run=place.run, rows_out=rows)
            own.append(Publication(place, names, commit, more))
        return [own, [Publication(self.place, _names(hidden), whole, mine)]]

    def _place_of(self, number: int) -> Place:
        if number >= 0:
            directory, format_ = self.own[number]
            return Place(path_of(directory), format_, self.run, self.compact_at)
        table = self.tables[-1 - number]
        return Place(path_of(table.directory), table.format, table.run, self.compact_at)


def merge(publications: Iterable[Publication]) -> list[Publication]:
    """The same, those in one place as one: of a table that queries of several jobs share.

    Its rows in are those of the job that has read most: as a rule they have read the same.
    """
    places: dict[Path, list[Publication]] = {}
    for publication in publications:
        places.setdefault(publication.place.directory, []).append(publication)
    return [same[0] if len(same) == 1 else _merged(same) for same in places.values()]


def _merged(same: Sequence[Publication]) -> Publication:
    commits = [publication.commit for publication in same]
    most = {name: max(getattr(c, name) for c in commits) for name in COUNTED}
    now = max((c.now for c in commits if c.now is not None), default=None)
    whole = replace(commits[0], now=now, rows_out=sum(c.rows_out for c in commits), **most)
    more = [publication.more for publication in same if publication.more is not None]
    hidden = [name for publication in same for name in publication.hidden]
    return Publication(same[0].place, hidden, whole, pa.concat_tables(more) if more else None)
