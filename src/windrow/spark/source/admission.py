"""Admission of a stream's files to its log, at the driver: which parts, in which order, how far.

Every part is gone through once before it is admitted. What cannot be read is found out here, and
where a part ends, so that tasks read exactly the rows of the entry whenever they read it; what is
refused is an entry too, which tasks put into the quarantine. Of Parquet the footers say enough; of
text the rows are kept (``windrow.spark.source.text_spool``), so that nobody parses it again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from windrow.core.errors import InputError, QuarantineError
from windrow.core.schema import Type
from windrow.core.time import BEGINNING
from windrow.object_store.object_path import path_of
from windrow.plan.physical.stages import IN_THE_PLAN
from windrow.spark.source.file_log import Entry, FileLog
from windrow.spark.source.inbox import deliveries
from windrow.spark.source.text_spool import Spool
from windrow.streams.growing_files import Arrival, Arrivals
from windrow.streams.horizon import horizon_of
from windrow.streams.max_timestamp import extent
from windrow.streams.stream_time import StreamTime
from windrow.tables.readers import check_columns, format_of, parquet_rows

if TYPE_CHECKING:
    from windrow.spark.source.file_source import SourceSpec
    from windrow.spark.source.relation_updates import Register


VALUE_BYTES, TEXT_BYTES = 8, 24
"""What a value is taken to need in memory."""


class Admission:
    """The files and the inbox of one stream, beside what its log has of them."""

    def __init__(self, spec: SourceSpec, log: FileLog) -> None:
        self._spec, self._log = spec, log
        self._register: Register | None = None
        self._spool = Spool(log.path, spec.declaration, spec.quarantine)
        self._arrivals = self._of_files()
        self._said = Counter(_place(entry) for entry in log.entries if entry.refused)

    def _of_files(self) -> Arrivals | None:
        spec, source = self._spec, self._spec.declaration.source
        pushed_only = spec.relation is not None and spec.inbox is not None
        if source is None or pushed_only:
            return None
        arrivals = Arrivals(source, spec.declaration, spec.wall, patient=not spec.once)
        for entry in self._log.entries:
            if entry.path is not None and entry.inbox is None and not entry.refused:
                arrivals.recall(entry.arrival, entry.rest, entry.mark)
        return arrivals

    def forget_before(self, start: int) -> None:
        """What was read for the entries up to number ``start`` is needed no more."""
        if self._spec.relation is None:
            self._spool.keep_only({e.spool for e in self._log.from_number(start) if e.spool})
            self._log.forget_before(start)

    def find_new(self) -> list[Arrival | Entry]:
        """What there is and is not in the log yet, in its order."""
        spec, found = self._spec, list[Arrival | Entry]()
        if self._arrivals is not None:
            found += self._arrivals.look()
        if spec.inbox is not None:
            last = max(self._log.last_delivered, spec.inbox_from - 1)
            found += deliveries(Path(spec.inbox), after=last)
        return found

    @property
    def watched_paths(self) -> list[Path]:
        """Paths of which one changes as a rule when there is something new."""
        found = [] if self._arrivals is None else [*self._arrivals.watched_paths]
        return found if self._spec.inbox is None else [*found, Path(self._spec.inbox)]

    def judges(self, waiting: Sequence[Arrival | Entry]) -> bool:
        """Whether the files are the contents of a relation; from now on its files are judged.

        What a query over VALUES only reads is like contents: no more of it will come.
        """
        spec = self._spec
        if spec.name == IN_THE_PLAN:
            return True
        if spec.relation is None or spec.inbox is not None or self._arrivals is None:
            return False
        if self._register is None:
            # Imported late: few sources need kernels.
            from windrow.spark.source.relation_updates import Register  # noqa: PLC0415

            coming = {str(a.path) for a in waiting if isinstance(a, Arrival)}
            files = [Path(p) for p in sorted(self._log.paths | coming)]
            clock = spec.declaration.clock
            place = None if spec.updates is None else path_of(spec.updates)
            register = Register(spec.relation, clock, self._log, files, spec.quarantine, place)
            self._register = register
            self._arrivals.patient = self._arrivals.patient and not self._register.contents
        return self._register.contents

    def admit(self, item: Arrival | Entry, number: int, before: StreamTime) -> Entry | None:
        """The entry ``number`` of the log for what was found; None if there is no whole row in it.

        A delivery is one already; of the stream's own files the greatest timestamp is found out.
        """
        if isinstance(item, Entry):
            return item
        assert self._arrivals is not None
        if item.refused:
            self._arrivals.gave_up(item)
            return self._refused(item)
        try:
            entry = self._surveyed(item, number, before)
        except QuarantineError:
            raise
        except InputError as error:
            refusal = self._arrivals.note_failure(item, str(error))
            return None if refusal is None else self._refused(refusal)
        mark = self._arrivals.took(item, entry.rest)
        no_row = entry.rest is None or entry.rest.row == item.part.row  # but perhaps a header
        if no_row and self._arrivals.grows(item.path):
            self._spool.discard(entry.spool)
            return None
        end = item.size if entry.rest is None else entry.rest.start
        part = replace(item.part, stop=end)
        # What was refused here is read now, and its page in the quarantine is written anew.
        rejected = entry.rejected - self._said.pop((str(item.path), part.start), 0)
        return replace(
            entry, part=part, size=end - part.start, changed=item.changed, mark=mark,
            rejected=rejected,
        )  # fmt: skip

    def cut(self, item: Arrival | Entry, most: int) -> Arrival | Entry:
        """The item, or the beginning of it if it is text of more than about ``most`` bytes."""
        if isinstance(item, Entry) or item.refused or self._register is not None:
            return item
        assert self._arrivals is not None
        end = item.part.start + most
        if item.size < end + most // 2 or not self._arrivals.grows(item.path):
            return item
        return replace(item, part=replace(item.part, stop=end, final=False), size=end, cut=True)

    def memory_of(self, entry: Entry) -> int:
        """The bytes that the rows of an entry take when they have been read, or about so many."""
        if entry.spool:
            return self._spool.size(entry.spool)
        if entry.path is None or entry.refused:
            return 0
        rows = parquet_rows(Path(entry.path))
        return entry.size if rows is None else rows * self._row_bytes

    @cached_property
    def _row_bytes(self) -> int:
        columns = (self._spec.relation or self._spec.declaration).schema
        return sum(TEXT_BYTES if c.type is Type.STRING else VALUE_BYTES for c in columns)

    def _surveyed(self, item: Arrival, number: int, before: StreamTime) -> Entry:
        declaration, wall = self._spec.declaration, self._spec.wall()
        if self._register is not None:
            return self._register.admit(item, number, wall)
        check_columns(item.path, declaration)
        horizon = horizon_of(declaration, wall)
        if format_of(item.path, declaration) != "parquet":
            name, top, rest = self._spool.write(item, number, before, horizon)
            return Entry(str(item.path), top=top, rest=rest, spool=name).judged_by(horizon)
        known = None if before.top == BEGINNING else before.top
        found = extent(item.path, declaration, item.part, horizon, known, before.advanced)
        return Entry(str(item.path), top=found.top, rest=found.rest).judged_by(horizon)

    def refuse_unfinished(self) -> list[Entry]:
        """Last rows that wait for their newlines, each said once."""
        found = [] if self._arrivals is None else self._arrivals.unfinished_rows()
        return [self._refused(arrival) for arrival in found]

    def _refused(self, arrival: Arrival) -> Entry:
        entry = Entry(
            str(arrival.path),
            part=arrival.part,
            changed=arrival.changed,
            refused=arrival.refused,
            row=arrival.row,
            text=arrival.text,
        )
        self._said[_place(entry)] += 1
        return entry


def _place(entry: Entry) -> tuple[str, int]:
    return entry.path or "", entry.part.start


def check_some_readable(entries: Iterable[Entry]) -> None:
    """InputError if files were refused and none was read."""
    files = [e for e in entries if e.path is not None and not e.row]
    if files and all(e.refused for e in files):
        raise InputError(files[0].refused)
