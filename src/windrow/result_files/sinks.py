"""Changes of queries into directories that one process holds: gathered until they fill a file.

Several queries may share a sink: their changes are rows of one table, published together.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

import pyarrow as pa

from windrow.core.errors import InputError
from windrow.core.file_formats import RESULT_ENDINGS
from windrow.core.thresholds import Threshold
from windrow.object_store.errors import StoreError
from windrow.object_store.object_path import path_of
from windrow.plan.catalog import QueryDeclaration
from windrow.result_files.commits import Commit
from windrow.result_files.directory_lock import Lock, lock_directory
from windrow.result_files.identity import Identity, identity_of
from windrow.result_files.ownership import prepare, refuse_results_of_others
from windrow.result_files.publication import COMPACT_AT, Place
from windrow.result_files.query_table import rows_of_query, with_query

ROWS_PER_FILE = Threshold(250_000, least=1)


class FileSink:
    """Changes of one query as files of a directory that the sink holds until it is closed.

    ``prepare`` comes first; results of another run are there until then.
    """

    def __init__(self, lock: Lock, identity: Identity, *, overwrite: bool = False) -> None:
        self.directory, self._lock, self._identity = lock.directory, lock, identity
        self._overwrite = overwrite
        self._batch = self._rows = self.rows_in = 0
        self.is_prepared = False
        self._pending: list[pa.RecordBatch] = []
        self._undecided: StoreError | None = None

    def prepare(self) -> None:
        """Make the directory ready."""
        prepare(self.directory, self._identity, overwrite=self._overwrite)
        self.is_prepared = True

    def describe(self, query: QueryDeclaration) -> None:
        """Say what the changes are, before the first: a relation's clock may become known late."""
        if not self._batch:
            self._identity = identity_of(query, self._identity.run, self._identity.format)

    @property
    def pending(self) -> Sequence[pa.RecordBatch]:
        """Changes that are in no file yet."""
        return self._pending

    @property
    def last(self) -> int:
        """The last micro-batch that is published; -1 if there is none."""
        return self._batch - 1

    def parts(self, after: int) -> Iterator[tuple[int, pa.Table]]:
        """What is published after a micro-batch, each part with the last one that it is of."""
        from windrow.result_files.reader import Reading  # noqa: PLC0415 - kernels load here

        known = self._identity
        yield from Reading(self.directory, known.format, known.schema).parts(after)

    def write(self, changes: pa.RecordBatch, rows_in: int, now: int | None) -> None:
        """Take changes in; they are published when there are enough for a file."""
        self._pending.append(changes)
        self._rows += changes.num_rows
        if self._rows >= ROWS_PER_FILE.value:
            self.flush(rows_in, now)

    def flush(self, rows_in: int, now: int | None) -> None:
        """Publish what is pending; if that fails, the next time. ``rows_in`` is a total."""
        if not self._pending:
            return
        if self._undecided is not None:  # nobody knows whether the last commit is there
            raise self._undecided
        place = Place(self.directory, self._identity.format, self._identity.run, COMPACT_AT.value)
        new = rows_in - self.rows_in
        commit = Commit(self._batch, self._identity.run, (), now, new, self._rows, 0, 0)
        try:
            self._make_again()
            hidden = place.hide(pa.Table.from_batches(self._pending))
            try:
                place.publish([hidden], commit)
            except StoreError as error:
                if not error.uncertain:
                    place.discard([hidden])
                self._undecided = error if error.uncertain else None
                raise
            except BaseException as error:
                if place.is_committed(commit.batch):  # what failed came after that
                    self._go_on(rows_in)
                elif isinstance(error, OSError):
                    place.discard([hidden])
                raise
        except OSError as error:
            raise InputError(
                where=f"INTO '{self.directory}'",
                expected="a directory that results can be written to",
                found=str(error),
                remedy="free some space, or create the directory again",
            ) from error
        self._go_on(rows_in)

    def _go_on(self, rows_in: int) -> None:
        """What was pending is published."""
        self._batch, self._rows, self._pending = self._batch + 1, 0, []
        self.rows_in = rows_in

    def _make_again(self) -> None:
        """Before the first commit a directory that was removed is as good as a new one."""
        if self._batch or not self.directory.is_dir():
            return
        known = Identity.read(self.directory)
        if known is None:
            self._lock.release()
            self._lock = lock_directory(self.directory, into(self.directory))
        if known != self._identity:
            prepare(self.directory, self._identity)

    def close(self) -> None:
        """Let others write there."""
        self._lock.release()


class QuerySink:
    """The part of a query in a table. Rows in are those of the query that has read most, since
    most of them read the same."""

    def __init__(self, table: FileSink, name: str) -> None:
        self._table, self._name = table, name

    def prepare(self) -> None:
        """Make the directory ready; once is enough for all."""
        if not self._table.is_prepared:
            self._table.prepare()

    def describe(self, query: QueryDeclaration) -> None:
        """Nothing: queries of a table are on a clock that is known."""

    @property
    def pending(self) -> Sequence[pa.RecordBatch]:
        """Changes that are in no file yet."""
        if not self._table.pending:
            return []
        waiting = pa.Table.from_batches(self._table.pending)
        mine: list[pa.RecordBatch] = rows_of_query(waiting, self._name).to_batches()
        return mine

    @property
    def last(self) -> int:
        return self._table.last

    def parts(self, after: int) -> Iterator[tuple[int, pa.Table]]:
        """What is published of the query after a micro-batch."""
        for number, changes in self._table.parts(after):
            yield number, rows_of_query(changes, self._name)

    def write(self, changes: pa.RecordBatch, rows_in: int, now: int | None) -> None:
        """Take changes in; they are published when there are enough for a file."""
        self._table.write(with_query(changes, self._name), self._most(rows_in), now)

    def flush(self, rows_in: int, now: int | None) -> None:
        """Publish what is pending of all queries."""
        self._table.flush(self._most(rows_in), now)

    def _most(self, rows_in: int) -> int:
        return max(rows_in, self._table.rows_in)

    def close(self) -> None:
        """Let others write there."""
        self._table.close()


def open_sinks(
    places: Sequence[tuple[Path, Identity]], *, overwrite: bool = False
) -> list[FileSink]:
    """A sink for each directory, locked, and none if one of them is not ours to write in."""
    with ExitStack() as undo:
        locks = []
        for directory, _ in places:
            locks.append(lock := lock_directory(directory, into(directory)))
            undo.callback(lock.release)
        for directory, identity in places:
            refuse_results_of_others(directory, (identity.run,), overwrite=overwrite)
        sinks = [
            FileSink(lock, identity, overwrite=overwrite)
            for lock, (_, identity) in zip(locks, places, strict=True)
        ]
        undo.pop_all()
        return sinks


def into(directory: Path) -> str:
    """What messages call a directory of results."""
    return f"INTO '{directory}'"


def result_directories(queries: Iterable[QueryDeclaration]) -> list[Path]:
    """Where queries write files."""
    places = [query.into for query in queries if query.into is not None]
    return [path_of(place.path) for place in places if place.format in RESULT_ENDINGS]
