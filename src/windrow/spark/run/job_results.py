"""The results of a job: where they go, what is published, and what they add up to.

They are changes in files. Those of an archive are rows that say themselves when they end, and wait
in files until their day is over.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa

from windrow.core.file_formats import FORMATS
from windrow.object_store.object_path import path_of
from windrow.plan.catalog import ArchiveDeclaration, QueryDeclaration
from windrow.result_files.compaction import compact_before_answering, forget_drained
from windrow.result_files.identity import Identity, identity_of
from windrow.result_files.last_answer import Answer, last_answer
from windrow.result_files.ownership import prepare
from windrow.result_files.reader import Reading, published_results
from windrow.result_files.sinks import COMPACT_AT
from windrow.spark.archive.filling import Filling
from windrow.spark.checkpoint.lost_results import Noted, refuse_lost_results
from windrow.spark.checkpoint.query_directory import Home
from windrow.spark.sink.file_delivery import FileDelivery
from windrow.spark.stage.stage_task import Report, ResultDelivery


class JobResults:
    """Of a query alone."""

    def __init__(self, declaration: QueryDeclaration, home: Home) -> None:
        self.declaration, self.home = declaration, home
        into = declaration.into
        to_files = into is not None and into.format in FORMATS
        self.destination = path_of(into.path).absolute() if into and to_files else None
        self.format = into.format if into and to_files else "parquet"
        self.identity: Identity = identity_of(declaration, home.run, self.format)
        self.schema = self.identity.schema

    @property
    def directory(self) -> Path:
        """The directory that holds the results, whoever they are for."""
        return self.destination or self.home.results

    @property
    def waiting(self) -> int | None:
        """Rows of an archive's days that are not over."""
        return None

    @property
    def _files(self) -> FileDelivery:
        place, known = str(self.directory), self.declaration
        return FileDelivery(
            place, self.format, self.home.run, known.plan.schema, known.clock, COMPACT_AT.value
        )

    @property
    def delivery(self) -> ResultDelivery:
        """What tasks do with answers."""
        return self._files

    def publish(self, batch: int, reports: Sequence[Report]) -> None:
        """Publish what tasks have hidden in a micro-batch, unless that has been done."""
        self._files.publish(batch, reports)

    @property
    def reading(self) -> Reading:
        return Reading(self.directory, self.format, self.schema)

    def prepare(self, noted: Noted, *, overwrite: bool = False) -> None:
        """Refuse results that are gone; remove what dead runs left."""
        refuse_lost_results(self.home, noted, self.directory)
        self.directory.mkdir(parents=True, exist_ok=True)
        prepare(self.directory, self.identity, overwrite=overwrite)

    def begin(self, first: int) -> None:
        """Take note of what there is before the run, which begins after micro-batch ``first``."""

    def for_console(self, after: int, upto: int) -> Iterator[tuple[QueryDeclaration, pa.Table]]:
        """The changes of the micro-batches after ``after`` that are for the console."""
        if on_console(self.declaration):
            for changes in self.reading.tables(after, upto):
                yield self.declaration, changes

    def parts(self, _number: int, after: int) -> Iterator[tuple[int, pa.Table]]:
        """The changes of a member after a micro-batch, in parts, with the last that each is of."""
        return self.reading.parts(after)

    def forget(self, _number: int, drained: int) -> None:
        """Changes that are nowhere else are for those who ask for them, once."""
        if self.destination is None:
            forget_drained(self.directory, drained)

    def answer_of(self, _number: int) -> pa.Table:
        """What the changes of a member, in all runs, add up to; of a stream, the last of them."""
        return self.answer().rows

    def rows_out(self, _number: int, new: int) -> int:
        """The changes of a member in this run, of ``new`` in all."""
        return new

    def total(self, _number: int) -> int:
        """The changes of a member in all runs."""
        return published_results(self.directory).totals.rows_out

    def place(self, _number: int) -> Path | None:
        """Where the results of a member are, if they are where its script says."""
        return self.destination

    def answer(self) -> Answer:
        """What the changes of all runs add up to; of a stream, the last of them."""
        compact_before_answering(self.directory)
        return last_answer(self.directory, self.identity)


class ArchiveResults(JobResults):
    """Of a query that fills an archive."""

    def __init__(self, declared: ArchiveDeclaration, home: Home) -> None:
        super().__init__(declared.query, home)
        self.destination = path_of(declared.path).absolute()
        self._filling = Filling(declared, home.results, home.run)

    @property
    def directory(self) -> Path:
        """The directory of what waits, and of the commits; the results are in the archive."""
        return self.home.results

    @property
    def waiting(self) -> int:
        return self._filling.rows_waiting()

    def prepare(self, noted: Noted, *, overwrite: bool = False) -> None:
        super().prepare(noted, overwrite=overwrite)
        self._filling.prepare()

    @property
    def delivery(self) -> ResultDelivery:
        return self._filling.delivery

    def publish(self, batch: int, reports: Sequence[Report]) -> None:
        self._filling.publish(batch, reports)


def on_console(query: QueryDeclaration) -> bool:
    return query.into is not None and query.into.format == "console"
