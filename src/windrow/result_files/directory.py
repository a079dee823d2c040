"""``windrow.results``: the results of a query as Arrow, for whoever wants to work with them.

A reader goes by what is committed, so it never sees part of a micro-batch, and it may read while a
run writes and compacts. It takes no lock and leaves no trace.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.dataset

from windrow.columns.text_forms import Instant, instant
from windrow.core.errors import InputError
from windrow.core.paths import is_object_url, local_path
from windrow.core.time import Clock
from windrow.object_store.object_path import ObjectPath, path_of
from windrow.result_files.change_table import in_ranks
from windrow.result_files.commits import Published
from windrow.result_files.identity import CHANGE, INSTANT, RESULTS, Identity
from windrow.result_files.last_answer import last_answer
from windrow.result_files.reader import Reading, published_results


class Results:
    """The results in a directory, as they are whenever they are asked for.

    It is an Arrow stream of all changes, so what reads those takes it as it is: ``pa.table``,
    ``polars.DataFrame``, or DuckDB by the name of the variable.
    """

    def __init__(self, path: str | Path, state: Published | None = None) -> None:
        """With a ``state`` they stay as they were then."""
        self.path = path_of(path) if is_object_url(path) else local_path(path, "results")
        self._fixed = state
        self._identity()

    def _identity(self) -> Identity:
        known = Identity.read(self.path)
        if known is not None:
            return known
        there = "a directory without" if self.path.is_dir() else "no directory, and no"
        raise InputError(
            where=str(self.path),
            expected=f"a directory with the results of a query, which has {RESULTS}",
            found=f"{there} {RESULTS}",
            remedy="name the directory that INTO names in the script",
        )

    @property
    def query(self) -> str:
        """The name of the query."""
        return self._identity().query

    @property
    def clock(self) -> Clock:
        return self._identity().clock

    @property
    def schema(self) -> pa.Schema:
        """Of the changes: ``instant``, ``change``, then the columns of the query."""
        return self._identity().schema

    @property
    def batch(self) -> int:
        """The last micro-batch that is committed, -1 if there is none: where ``after`` goes on."""
        return self._state().last

    @property
    def now(self) -> int | None:
        """The instant that the results have come to, in ticks of the clock."""
        return self._state().totals.now

    def _state(self) -> Published:
        return published_results(self.path) if self._fixed is None else self._fixed

    def snapshot(self) -> Results:
        """The results as they are now: what is committed later is not in them."""
        return Results(self.path, self._state())

    def batches(
        self, since: Instant | None = None, after: int | None = None
    ) -> Iterator[pa.RecordBatch]:
        """The changes in their order, never many of them in memory.

        ``since`` leaves out what happened before that instant, ``after`` what was committed up to
        that micro-batch. What is committed when the first is asked for is all that comes.
        """
        known = self._identity()
        if known.clock is Clock.INTEGER and not isinstance(since, int | np.integer | None):
            raise InputError(
                where="since",
                expected="an integer, as the time of these results is one",
                found=repr(since),
            )
        ticks = None if since is None else instant(since, where="since")
        reading, state = Reading(self.path, known.format, known.schema), self._state()
        for table in reading.tables(after, state.last, ticks, state):
            yield from table.to_batches()

    def changes(self, since: Instant | None = None, after: int | None = None) -> pa.Table:
        """The changes as a table; ``since`` and ``after`` as for ``batches``."""
        return pa.Table.from_batches(self.batches(since, after), self.schema)

    def answer(self) -> pa.Table:
        """The relation at the last instant; of a stream, everything that came out."""
        known = self._identity()
        if known.stream:
            changes = self.changes()
            return changes.drop_columns([n for n in (INSTANT, CHANGE) if n in changes.schema.names])
        upto = None if self._fixed is None else self._fixed.last
        return in_ranks(last_answer(self.path, known, self._fixed, upto).rows, known.order)

    def reader(self) -> pa.RecordBatchReader:
        """All changes, batch by batch as they are asked for."""
        return pa.RecordBatchReader.from_batches(self.schema, self.batches())

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self.reader().__arrow_c_stream__(requested_schema)

    def files(self) -> list[Path]:
        """The files that hold the changes by now, in the order of their micro-batches.

        A compaction removes them sooner or later; until then they hold what they hold.
        """
        return [self.path / name for s in self._state().segments for name in s.files]

    def dataset(self) -> pyarrow.dataset.Dataset:
        """The changes as a dataset, of which an engine reads the columns and rows that it needs.

        That of Parquet files of this machine reads them when it is used, any other is in memory.
        """
        known = self._identity()
        if known.format != "parquet" or isinstance(self.path, ObjectPath):
            return pyarrow.dataset.dataset(self.changes())
        names = [str(path) for path in self.files()]
        return pyarrow.dataset.dataset(names, schema=known.schema, format="parquet")

    def __repr__(self) -> str:
        return f"<results of {self.query} in {self.path}, up to micro-batch {self.batch}>"
