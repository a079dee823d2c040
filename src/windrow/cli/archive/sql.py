"""SQL over an archive, which DuckDB answers.

To DuckDB the archive is a table. It hands its choice of columns and the conditions on them to a
dataset of Arrow; so a condition on the key goes to the index, one on ``_day`` to the days, and of
the rest only the columns are read that a query names.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated, Any

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import typer

from windrow.archive.archive import open_archive
from windrow.archive.errors import ArchiveError
from windrow.archive.format.layout import DAY, Layout
from windrow.archive.lifetimes.reader import LifetimeReader
from windrow.archive.versions.condition_pruning import satisfiable
from windrow.archive.wave.reader import Reader
from windrow.cli.archive.options import (
    AsJson,
    At,
    Into,
    Since,
    Times,
    Until,
    Verbose,
    Where,
    bounds,
    times_of,
)
from windrow.cli.archive.output import give
from windrow.cli.archive.probe import reader_of
from windrow.cli.error_messages import errors_in_words
from windrow.core.errors import WindrowError
from windrow.engine.one_time_sql import check_statement, run_sql, unquoted_words
from windrow.engine.sql_errors import problem_of


def sql(
    archive: Where,
    query: Annotated[str, typer.Argument(help="A SELECT over the table archive.")],
    since: Since = None,
    until: Until = None,
    at: At = None,
    into: Into = None,
    as_json: AsJson = False,
    verbose: Verbose = False,
) -> None:
    """Answer one SQL query over the window as it is now; the table is called archive.

    Its columns are those of the records, _day, and with lifetimes _exp. DuckDB runs the query in
    this process; conditions on the key (of a composite one, its first column) use the index.

    \b
    Examples:
      windrow archive sql month "SELECT src, SUM(bytes) FROM archive GROUP BY src"
      windrow archive sql month "SELECT * FROM archive WHERE src = '10.0.0.1' ORDER BY ts DESC"
    """
    with errors_in_words(verbose=verbose):
        opened = open_archive(archive)
        times = times_of(opened)
        with reader_of(opened, at) as reader, duckdb.connect(":memory:") as connection:
            entries = Entries(reader, opened.layout, times, bounds(times, since, until))
            _register(connection, entries)
            # The query is about this table alone; files and the network are none of its business.
            connection.execute("SET enable_external_access = false")
            try:
                check_statement(connection, query)
                found = run_sql(connection, query)
            except duckdb.Error as error:
                if entries.failure is not None:
                    raise entries.failure from error
                problem = problem_of(error)
                unquoted = unquoted_words(connection, query, entries.schema.names)
                remedy = unquoted or problem.suggestion
                raise ArchiveError(where="SQL", found=problem.found, remedy=remedy) from error
            give(found, into, as_json=as_json, ordered=True)


def _register(connection: duckdb.DuckDBPyConnection, entries: Entries) -> None:
    try:
        connection.register("archive", entries)
    except duckdb.NotImplementedException as error:
        types = ", ".join(f"{field.name} {field.type}" for field in entries.schema)
        raise ArchiveError(
            where="SQL",
            expected="columns of types that DuckDB supports",
            found=f"{types} ({str(error).strip()})",
            remedy="use probe or scan, which support all types",
        ) from error


class Entries(ds.Dataset):  # type: ignore[misc]
    """The entries of a version, from one period to another."""

    def __init__(
        self,
        reader: Reader | LifetimeReader,
        layout: Layout,
        times: Times,
        bounds: tuple[int | None, int | None],
    ) -> None:
        self._reader, self._times, self._bounds = reader, times, bounds
        self._plain = times.add_stamps(layout.reader_schema({}).empty_table()).schema
        self._names = self._plain.names
        self.failure: WindrowError | None = None
        """What went wrong while it was read, which engines tell in words of their own."""

    @property
    def schema(self) -> pa.Schema:
        return self._plain

    def scanner(
        self,
        columns: Sequence[str] | None = None,
        filter: pc.Expression | None = None,  # noqa: A002 - as Arrow calls it
        **_: Any,
    ) -> ds.Scanner:
        """What satisfies the filter."""
        wanted = list(self._names if columns is None else columns)
        words = str(filter)  # names all columns that it is about, and perhaps others
        names = [n for n in self._names if n in wanted or (filter is not None and n in words)]
        first, last = self._bounds
        if filter is None:
            batches = self._reader.batches(first, last, columns=names)
        else:
            first, last = self._days(filter, first, last)
            batches = self._reader.batches_matching(
                filter, first, last, columns=names, schema=self._plain
            )
        return ds.Scanner.from_batches(
            self._add_stamps(batches),
            schema=self._types(names),
            columns=wanted,
            filter=filter,
        )

    def _add_stamps(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        try:
            for batch in batches:
                yield from self._times.add_stamps(pa.Table.from_batches([batch])).to_batches()
        except WindrowError as error:
            self.failure = error
            raise

    def _days(
        self, condition: pc.Expression, first: int | None, last: int | None
    ) -> tuple[int | None, int | None]:
        """The days that a condition is about."""
        if isinstance(self._reader, LifetimeReader) or DAY not in str(condition):
            return first, last
        days = self._reader.days
        stamps = self._times.add_stamps(pa.table({DAY: pa.array(days, pa.int32())})).column(DAY)
        possible = satisfiable(condition, self._plain, [pc.field(DAY) == stamp for stamp in stamps])
        left = [day for day, may in zip(days, possible, strict=True) if may]
        if not left:
            return 1, 0
        return (
            left[0] if first is None else max(first, left[0]),
            left[-1] if last is None else min(last, left[-1]),
        )

    def _types(self, names: Sequence[str]) -> pa.Schema:
        """As the reader gives them: what repeats is dictionary-encoded."""
        empty = self._reader.probe([], columns=names)
        return self._times.add_stamps(empty).schema
