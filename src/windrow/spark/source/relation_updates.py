"""Relations read from files: their updates are judged at the driver, before any task sees them.

Whether an update may be carried out depends on all that came before it, so one reader judges them
all, in their order. What it accepts is written down beside the file log, one file of Deltas per
entry of the log; tasks read those, and a run that goes on replays them. A relation is small: both
cost as much as the updates that there have been.

Whatever comes and goes inside one instant is still in these files; a stage takes such pairs out
when the instant is closed (``windrow.spark.stage.bucket_host``).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from windrow.columns.delta import Delta, concat
from windrow.core.time import Clock
from windrow.object_store.object_path import path_of, readable_path
from windrow.plan.catalog import RelationDeclaration
from windrow.result_files.atomic_files import write
from windrow.spark.source.file_log import Entry, FileLog
from windrow.streams.growing_files import Arrival
from windrow.streams.horizon import horizon_of
from windrow.streams.quarantine import Quarantine
from windrow.streams.relations import RelationMonitor, contents_in
from windrow.tables.parsed_rows import Parsed, Rejected
from windrow.tables.readers import read_file


def read_updates(path: str | Path, schema: pa.Schema) -> Delta:
    """The updates of one file; ``schema`` is that of the relation."""
    batches = pq.read_table(readable_path(path_of(path))).combine_chunks().to_batches()
    return Delta.from_batch(batches[0], schema) if batches else Delta.empty(schema)


class Register:
    """The judge of a relation's files. ``contents`` says that they have no updates in them; what is
    accepted goes into ``directory``, beside the log if there is none."""

    def __init__(
        self,
        relation: RelationDeclaration,
        clock: Clock,
        log: FileLog,
        files: Sequence[Path],
        quarantine: Quarantine | None,
        directory: Path | None = None,
    ) -> None:
        self._monitor = RelationMonitor(relation, clock)
        self._directory = directory or log.path.with_suffix("")
        self._quarantine = quarantine
        self._contents = contents_in(files, relation, clock)
        for entry in log.entries:
            if entry.path is not None and not entry.refused:
                self._monitor.recall(read_updates(entry.path, self._monitor.contents), entry.top)

    @property
    def contents(self) -> bool:
        return self._contents is not None

    def admit(self, file: Arrival, number: int, wall: int) -> Entry:
        """Judge the updates of a file; the entry number ``number`` of the log speaks of the rest.

        If a crash leaves that file without the entry, the next run writes the same one again. All
        of it is read before any of it is judged: nothing is known of a file that breaks off.
        """
        monitor, origin = self._monitor, file.path
        late, rejected, cut = monitor.late, monitor.rejected, monitor.cut
        updates, refused = [], list[Rejected]()
        horizon = horizon_of(monitor.declaration, wall)
        rest = None
        for parsed in list(self._parsed(file)):
            rest = parsed.after
            judged = monitor.accept(parsed, horizon)
            refused += [*parsed.rejected, *judged.rejections(parsed, monitor.declaration)]
            refused += monitor.refused
            monitor.refused = []
            updates.append(monitor.drain())
        if self._quarantine is not None:
            self._quarantine.write(monitor.declaration.name, origin, refused, file.part.start)
        self._directory.mkdir(exist_ok=True)
        path = self._directory / f"{number:08d}.parquet"
        accepted = pa.Table.from_batches([concat(updates, monitor.contents).to_batch()])
        write(path, lambda new: pq.write_table(accepted, new))
        return Entry(
            path=str(path),
            rest=rest,
            origin=str(origin),
            top=monitor.top,
            late=monitor.late - late,
            rejected=monitor.rejected - rejected,
            cut=monitor.cut - cut,
        )

    def _parsed(self, file: Arrival) -> Iterator[Parsed]:
        if self._contents is None:
            yield from read_file(file.path, self._monitor.declaration, part=file.part)
            return
        for parsed in read_file(file.path, self._contents, part=file.part):
            yield self._monitor.initial(parsed)
