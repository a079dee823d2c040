"""What becomes of the results of a job in this process: changes that are kept, or archived days.

A day goes into an archive when it is over. That is when all its instants are closed, so that each
is written once and whole; rows of a day that has only begun wait in memory. What a plan gives is a
function of its input alone, and an archive knows how far it has come: a script that is run again
from the beginning of its files passes over the days that are there, and repeats and loses none.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa

from windrow.columns.delta import Delta, batch_of, concat
from windrow.columns.types import arrow_schema
from windrow.core.schema import Schema
from windrow.core.time import Wall
from windrow.engine.change_log import ChangeLog, QueryChanges
from windrow.engine.day_store import last_day_over, store_of
from windrow.object_store.object_path import path_of
from windrow.plan.catalog import ArchiveDeclaration
from windrow.plan.jobs import Job
from windrow.result_files.change_table import changes_batch
from windrow.result_files.identity import changes_schema
from windrow.result_files.member_rows import ByMember, OfOne, OwnColumns

LAST_ROWS = 10
"""Changes of a stream that are shown when a run ends."""


class DeliveredChanges:
    """The changes of a job's members, kept until all who want them have seen them.

    With ``keep`` they are there for whoever asks; without, the last ones of each stream are.
    """

    def __init__(self, job: Job, *, keep: bool = True) -> None:
        self.clock, self._keep = job.clock, keep
        self._own: dict[int, OwnColumns] | None = None
        self._own_changes: dict[int, OwnColumns] = {}
        self._tailed = not keep and any(member.is_stream for member in job.members.values())
        self._tails: dict[int, pa.RecordBatch] = {}
        self.counts = np.zeros(0, np.int64)
        self.log: ChangeLog[ByMember | OfOne] = ChangeLog()
        self.consumers: dict[int, QueryChanges[ByMember | OfOne]] = {}
        self.follow(job)

    def follow(self, job: Job) -> None:
        """Deliver to all members of the job, some of which may have come just now; the columns of
        the others stay what they are."""
        self._schema = job.plan.schema
        new = job.members.keys() - self.consumers.keys()
        if not job.is_shared:
            self._own = None
        else:
            self._schema = Schema(tuple(self._schema)[1:])
            if self._own is None:
                self._own, new = {}, {*job.members}
            for n in new:
                schema, places = job.members[n].query.plan.schema, job.own_columns[n]
                self._own[n] = OwnColumns(places, arrow_schema(schema))
                places = (0, 1, *(i + 2 for i in places))
                self._own_changes[n] = OwnColumns(places, changes_schema(schema, job.clock))
        more = max(0, max(job.members) + 1 - len(self.counts))
        self.counts = np.append(self.counts, np.zeros(more, np.int64))
        for n in job.members.keys() - self.consumers.keys():
            self.consumers[n] = QueryChanges(self.log, _part_of(n), keep=self._keep)

    def drop(self, number: int) -> None:
        """A member has gone: nothing is kept for it."""
        self.consumers.pop(number).close()
        self._tails.pop(number, None)

    def take(self, delta: Delta, _now: int) -> None:
        """Results up to ``now``, as explicit changes."""
        if not len(delta):
            return
        entry = self._of_one(delta) if self._own is None else self._by_member(delta)
        if self._tailed:
            for number, changes in entry.parts():
                self._keep_tail(number, changes)
        self.log.append(entry)

    def _of_one(self, delta: Delta) -> OfOne:
        self.counts[0] += len(delta)
        return OfOne(changes_batch(delta, self._schema, self.clock))

    def _by_member(self, delta: Delta) -> ByMember:
        member, *columns = delta.rows.columns
        own = delta.with_rows(batch_of(columns, arrow_schema(self._schema), len(delta)))
        numbers = member.to_numpy()
        self.counts += np.bincount(numbers, minlength=len(self.counts))
        changes = changes_batch(own, self._schema, self.clock)
        return ByMember(numbers, changes, self._own_changes)

    def by_member(self, rows: pa.RecordBatch) -> ByMember | OfOne:
        """Rows of the job's plan as rows of its members."""
        if self._own is None:
            return OfOne(rows)
        member, *columns = rows.columns
        own = batch_of(columns, arrow_schema(self._schema), rows.num_rows)
        return ByMember(member.to_numpy(), own, self._own)

    def _keep_tail(self, number: int, changes: pa.RecordBatch) -> None:
        end = changes.slice(max(changes.num_rows - LAST_ROWS, 0))
        earlier = self._tails.get(number)
        whole = end if earlier is None else pa.concat_batches([earlier, end])
        self._tails[number] = whole.slice(max(whole.num_rows - LAST_ROWS, 0))

    def tell(self) -> None:
        """Let listeners hear what is new."""
        for consumers in self.consumers.values():
            consumers.tell()

    @property
    def has_news(self) -> bool:
        """Whether listeners have something to hear."""
        return any(consumers.has_news for consumers in self.consumers.values())

    def tail(self, number: int) -> pa.RecordBatch | None:
        """The last changes of a stream, if there were any."""
        return self._tails.get(number)


def _part_of(number: int) -> Callable[[ByMember | OfOne], pa.RecordBatch]:
    return lambda entry: entry.part(number)


class ArchivedDays:
    """Rows on their way into an archive; see the module."""

    def __init__(self, archive: ArchiveDeclaration, wall: Wall) -> None:
        self._archive, self._wall = archive, wall
        self._store = store_of(archive)
        self._schema = arrow_schema(archive.plan.schema)
        self._open: list[Delta] = []
        self.path = path_of(archive.path)
        self.counts = np.zeros(1, np.int64)

    @property
    def waiting(self) -> int:
        """Rows of days that are not over."""
        return sum(map(len, self._open))

    def take(self, delta: Delta, now: int) -> None:
        """Results up to ``now``; those of days that are over by then go in."""
        self._open.append(delta)
        over = last_day_over(now, self._archive, self._wall)
        done = self._store.done
        if done is not None and over <= done:  # an earlier run has put them in
            self._open = [part.filter(self._days(part) > done) for part in self._open]
            return
        whole = concat(self._open, self._schema)
        days = self._days(whole)
        parts = {int(d): [whole.filter(days == d)] for d in np.unique(days) if d <= over}
        self._open = [whole]  # until it is in
        self.counts[0] += self._store.put(over, parts)
        self._open = [whole.filter(days > over)]

    def _days(self, rows: Delta) -> np.ndarray:
        days: np.ndarray = rows.ts // self._archive.day
        return days
