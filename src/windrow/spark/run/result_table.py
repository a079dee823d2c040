"""A directory of results that several queries of a pipeline share, as one table.

The run that it belongs to is that of one of its queries, whichever was the first: later runs of the
checkpoint go on with what the directory says. Its commits count the micro-batches of the pipeline,
so all queries of a table run in one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import NoReturn

import pyarrow as pa
import pyarrow.compute as pc

from windrow.core.errors import StateError
from windrow.object_store.object_path import path_of
from windrow.plan.catalog import QueryDeclaration
from windrow.result_files.commits import last_committed
from windrow.result_files.compaction import compact_before_answering
from windrow.result_files.identity import QUERY, Identity, identity_of_table
from windrow.result_files.last_answer import last_answer
from windrow.result_files.ownership import prepare
from windrow.result_files.query_table import rows_of_query
from windrow.result_files.reader import Reading, published_results
from windrow.spark.checkpoint.lost_results import Noted, refuse_lost_results
from windrow.spark.checkpoint.query_directory import Home


class ResultTable:
    """See the module. ``runs`` are those of the checkpoint, ``run`` that of its first query."""

    def __init__(
        self, queries: Sequence[QueryDeclaration], run: str, runs: Collection[str] = ()
    ) -> None:
        into = queries[0].into
        assert into is not None
        self.directory: Path = path_of(into.path).absolute()
        self.format = into.format
        known = Identity.read(self.directory)
        owner = known.run if known is not None and known.run in runs else run
        self.identity = identity_of_table(queries, owner, self.format)
        self._ready = False
        self._answer: tuple[int, pa.Table] | None = None
        self._counts: Counter[str] = Counter()
        self._counted: int | None = None

    @property
    def run(self) -> str:
        return self.identity.run

    def check(self, home: Home, noted: Noted) -> None:
        """Refuse results that a query has published there and that are gone."""
        refuse_lost_results(Home(home.directory, self.run, home.layout), noted, self.directory)

    def prepare(self, *, overwrite: bool) -> None:
        """Remove what dead runs left; once is enough for all queries."""
        if not self._ready:
            self.directory.mkdir(parents=True, exist_ok=True)
            prepare(self.directory, self.identity, overwrite=overwrite)
            self._ready = True

    def begin(self) -> None:
        """Take note of what there is before the run."""
        if self._counted is None:
            self._counted = published_results(self.directory).last

    @property
    def _reading(self) -> Reading:
        return Reading(self.directory, self.format, self.identity.schema)

    def parts(self, name: str, after: int) -> Iterator[tuple[int, pa.Table]]:
        """The changes of a query after a micro-batch, each part with the last that it is of."""
        for number, table in self._reading.parts(after):
            yield number, rows_of_query(table, name)

    def answer_of(self, name: str) -> pa.Table:
        """What the changes of a query add up to; all are added up once for all queries."""
        last = last_committed(self.directory, -1)
        if self._answer is None or self._answer[0] != last:
            compact_before_answering(self.directory)
            self._answer = (last, last_answer(self.directory, self.identity).rows)
        return rows_of_query(self._answer[1], name)

    def rows_out(self, name: str) -> int:
        """The changes of a query since the run began, counted once for all queries."""
        if self._counted is None:
            return 0
        last = last_committed(self.directory, -1)
        if last > self._counted:
            for table in self._reading.tables(self._counted, last):
                counts = pc.value_counts(table[QUERY]).to_pylist()
                self._counts.update({c["values"]: c["counts"] for c in counts})
            self._counted = last
        return self._counts[name]

    def total(self, name: str) -> int:
        """The changes of a query in all runs."""
        return sum(table.num_rows for _, table in self.parts(name, -1))


def refuse_apart(directory: Path, together: str, apart: str) -> NoReturn:
    """Refuse queries that share a table and would run in different pipelines."""
    raise StateError(
        f"{apart} cannot write into the table of {together}",
        where=f"INTO '{directory}'",
        expected="queries that start together, so that their micro-batches are the same",
        found=f"{apart}, which starts by itself",
        remedy="give it a directory of its own, or start all of them over with a new --checkpoint "
        "and directory",
    )
