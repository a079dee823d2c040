"""SQL over an archive, which DuckDB answers."""

from __future__ import annotations

import threading
from concurrent.futures import Future
from typing import Annotated

import duckdb
import pyarrow as pa
import typer

from windrow.archive.archive import open_archive
from windrow.archive.errors import ArchiveError
from windrow.cli.archive.options import AsJson, At, Into, Since, Until, Verbose, Where
from windrow.cli.archive.output import give
from windrow.cli.archive.probe import reader_of
from windrow.cli.archive.table import Entries
from windrow.cli.archive.times import bounds, times_of
from windrow.cli.error_messages import errors_in_words

SECONDS = 0.05
"""Between two attempts to stop a query."""
_ANSWERING = ([duckdb.StatementType.SELECT], [duckdb.StatementType.EXPLAIN])


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
                statements = connection.extract_statements(query)
                if [statement.type for statement in statements] not in _ANSWERING:
                    raise ArchiveError(where="SQL", expected="one SELECT", found=query)
                found = run_sql(connection, query)
            except duckdb.Error as error:
                if entries.failure is not None:
                    raise entries.failure from error
                raise ArchiveError(where="SQL", found=str(error).strip()) from error
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


def run_sql(connection: duckdb.DuckDBPyConnection, query: str) -> pa.Table:
    """DuckDB hears no Ctrl-C, so it works beside this thread, which does."""
    work: Future[pa.Table] = Future()

    def answer() -> None:
        try:
            work.set_result(connection.sql(query).to_arrow_table())
        except Exception as error:
            work.set_exception(error)

    beside = threading.Thread(target=answer, daemon=True)
    try:
        beside.start()
        return work.result()
    except KeyboardInterrupt:
        while beside.is_alive():  # what comes before the query has begun is lost on DuckDB
            connection.interrupt()
            beside.join(SECONDS)
        raise
