"""Reading in a task: the rows of some files that are in time, the others into the quarantine."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np

from windrow.columns.delta import Delta, concat
from windrow.columns.types import arrow_schema
from windrow.core.errors import InputError
from windrow.core.time import BEGINNING
from windrow.plan.catalog import RelationDeclaration, StreamDeclaration
from windrow.plan.nodes import FileSource
from windrow.spark.source.file_log import Entry
from windrow.spark.source.relation_updates import read_updates
from windrow.spark.stage.packing import Counts
from windrow.streams.growing_files import mark_of
from windrow.streams.monitor import InputMonitor
from windrow.streams.quarantine import NO_PAGE, Page, Quarantine
from windrow.streams.stream_time import StreamTime
from windrow.tables.parsed_rows import Rejected
from windrow.tables.readers import read_file


class Intake:
    """The input monitor of a stretch of a stream's log; ``counts`` is right when all is read.

    Which rows of a file are late or ahead follows from the stream's time before the file and from
    the horizon of the file, which the log knows: so files can be read in any order and at the same
    time, and read again.
    """

    def __init__(
        self,
        declaration: StreamDeclaration,
        quarantine: Quarantine | None,
        rows_per_delta: int,
        relation: RelationDeclaration | None = None,
        since: int = BEGINNING,
    ) -> None:
        self._declaration, self._relation, self._since = declaration, relation, since
        self._quarantine = quarantine
        self._rows = rows_per_delta
        self._schema = arrow_schema((relation or declaration).schema)
        self.counts: Counts = {"rows_in": 0, "late": 0, "rejected": 0, "cut": 0}

    def files(self, entries: Iterable[tuple[Entry, StreamTime]]) -> Iterator[Delta]:
        """The tuples of the files among the entries, given the stream's time before each."""
        gathered: list[Delta] = []
        for entry, before in entries:
            if entry.path is None:
                continue
            if entry.refused:
                self._refused(entry)
                continue
            parts = self._file(entry, before) if self._relation is None else self._updates(entry)
            for delta in parts:
                gathered.append(delta)
                if sum(map(len, gathered)) >= self._rows:
                    yield concat(gathered, self._schema)
                    gathered = []
        if gathered:
            yield concat(gathered, self._schema)

    def _updates(self, entry: Entry) -> Iterator[Delta]:
        """A relation's updates, which have been judged; those before ``since`` come together."""
        delta = read_updates(Path(entry.path or ""), self._schema)
        self.counts["rows_in"] += len(delta)
        self.counts["late"] += entry.late
        self.counts["rejected"] += entry.rejected
        self.counts["cut"] += entry.cut
        yield replace(delta, ts=np.maximum(delta.ts, self._since))

    def _file(self, entry: Entry, before: StreamTime) -> Iterator[Delta]:
        declaration, path = self._declaration, Path(entry.path or "")
        if entry.inbox is not None:
            declaration = replace(declaration, source=FileSource(str(path), "parquet"))
        monitor = InputMonitor(declaration, None if before.top == BEGINNING else before.top)
        monitor.advance(before.advanced)
        with self._page(entry) as page:
            try:
                _check_unchanged(entry)
                for parsed in read_file(path, declaration, part=entry.part):
                    accepted = monitor.accept(parsed, entry.horizon)
                    page.add(parsed.rejected)
                    page.add(accepted.rejections(parsed, declaration))
                    monitor.release(accepted.delta.ts[-1] if len(accepted.delta) else BEGINNING)
                    yield accepted.delta
            except InputError as error:
                page.add([Rejected(0, str(error), "")])
                self.counts["rejected"] += 1
        self.counts["rows_in"] += monitor.accepted
        self.counts["late"] += monitor.late
        self.counts["rejected"] += monitor.rejected + entry.rejected
        self.counts["cut"] += monitor.cut

    def _refused(self, entry: Entry) -> None:
        """What the driver found that it could not be read."""
        self.counts["rejected"] += 1
        with self._page(entry) as page:
            page.add([Rejected(entry.row, entry.refused, entry.text)])

    @contextmanager
    def _page(self, entry: Entry) -> Iterator[Page]:
        """Where what cannot be used of an entry goes."""
        path, name = Path(entry.path or ""), self._declaration.name
        if self._quarantine is None or entry.inbox is not None:
            yield NO_PAGE
            return
        with self._quarantine.page(name, path, entry.part.start) as page:
            yield page


def _check_unchanged(entry: Entry) -> None:
    """A repeated micro-batch reads the bytes that were admitted, or none."""
    if entry.mark and mark_of(Path(entry.path or ""), entry.end_of_part) != entry.mark:
        raise InputError(
            where=entry.path or "",
            expected="the file unchanged since it was added to the log",
            found="a changed file, or none",
            remedy="none of these rows are read: write them to a new file, and do not change files "
            "before they are read",
        )
