"""Reading in a task: the rows of some files that are in time, the others into the quarantine."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from windrow.columns.delta import Delta, concat
from windrow.columns.types import arrow_schema
from windrow.core.time import BEGINNING
from windrow.plan.catalog import FileSource, RelationDeclaration, StreamDeclaration
from windrow.spark.filelog import Entry
from windrow.spark.packing import Counts
from windrow.spark.relations import read_updates
from windrow.spark.times import StreamTime
from windrow.streams.monitor import InputMonitor
from windrow.streams.parsed import Rejected
from windrow.streams.quarantine import Quarantine
from windrow.streams.readers import read_file


class Intake:
    """The input monitor of a stretch of a stream's log; ``counts`` is right when all is read.

    Which rows of a file are late or ahead follows from the stream's time before the file and from
    the horizon of the file, which the log knows: so files can be read in any order and at the same
    time, and read again.
    """

    def __init__(
        self,
        declaration: StreamDeclaration,
        quarantine: str | None,
        rows_per_delta: int,
        relation: RelationDeclaration | None = None,
        since: int = BEGINNING,
    ) -> None:
        self._declaration, self._relation, self._since = declaration, relation, since
        self._quarantine = Quarantine(Path(quarantine)) if quarantine else None
        self._rows = rows_per_delta
        self._schema = arrow_schema((relation or declaration).schema)
        self.counts: Counts = {"rows_in": 0, "late": 0, "rejected": 0, "cut": 0}

    def files(self, entries: Iterable[tuple[Entry, StreamTime]]) -> Iterator[Delta]:
        """The tuples of the files among the entries, given the stream's time before each."""
        gathered: list[Delta] = []
        for entry, before in entries:
            if entry.path is None:
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
        yield replace(delta, ts=np.maximum(delta.ts, self._since))

    def _file(self, entry: Entry, before: StreamTime) -> Iterator[Delta]:
        declaration, path = self._declaration, Path(entry.path or "")
        if entry.inbox is not None:
            declaration = replace(declaration, source=FileSource(str(path), "parquet"))
        monitor = InputMonitor(declaration, None if before.top == BEGINNING else before.top)
        monitor.advance(before.advanced)
        refused: list[Rejected] = []
        for parsed in read_file(path, declaration):
            accepted = monitor.accept(parsed, entry.horizon)
            refused += parsed.rejected
            refused += accepted.rejections(parsed, declaration)
            monitor.release(accepted.delta.ts[-1] if len(accepted.delta) else BEGINNING)
            yield accepted.delta
        self.counts["rows_in"] += monitor.accepted
        self.counts["late"] += monitor.late
        self.counts["rejected"] += monitor.rejected
        self.counts["cut"] += monitor.cut
        if self._quarantine is not None and entry.inbox is None:
            self._quarantine.write(declaration.name, path, refused)
