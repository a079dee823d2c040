"""``windrow query``: one-time SQL over what a checkpoint has, while its run goes on or after it."""

from __future__ import annotations

from contextlib import closing, suppress
from pathlib import Path
from typing import Annotated

import pyarrow as pa
import typer

from windrow.cli.answers import count_of
from windrow.cli.console import out
from windrow.cli.error_messages import errors_in_words
from windrow.cli.options import Checkpoint, Verbose
from windrow.cli.results import Shape, print_tables
from windrow.core.paths import is_object_url
from windrow.engine.one_time_sql import answer_sql
from windrow.result_files.directory import Results
from windrow.result_files.identity import Identity
from windrow.spark.checkpoint.checkpoint_query import query_checkpoint


def query(
    checkpoint: Checkpoint,
    sql: Annotated[str, typer.Argument(metavar="SQL", help="One SELECT, in DuckDB's SQL.")],
    format_: Annotated[Shape, typer.Option("--format", help="How rows are printed.")] = Shape.TABLE,
    verbose: Verbose = False,
) -> None:
    """Answer one SQL query over the answers, relations and live windows of CHECKPOINT.

    A query is a table under its name. A stream with a window clause is that window, if a query
    holds its tuples. All tables are as of the last micro-batch that is over. It reads files only:
    it needs neither Java nor the run, and does not disturb it. A directory that INTO names, also
    one of an embedded run, has one table: the answer of its query.

    \b
    Examples:
      windrow query state/ "SELECT * FROM busy ORDER BY bytes DESC"
      windrow query state/ "SELECT src, COUNT(*) FROM flows [RANGE 1 MINUTE] GROUP BY src"
      windrow query state/ "SELECT COUNT(*) AS n FROM flows" --format json
    """
    with errors_in_words(verbose=verbose):
        found = with_plain_integers(_answer(checkpoint, sql))
        rows = print_tables([found], found.schema, format_)
        if format_ is Shape.TABLE:
            out().print(count_of(rows, "row"))


def _answer(place: Path, sql: str) -> pa.Table:
    """The answer over a checkpoint, or over the results of one query."""
    if Identity.read(place) is not None:
        results = Results(place)
        tables, instants = {results.query: results.answer()}, {results.query: results.now}
        return answer_sql(sql, tables, instants, f"the table is {results.query}")
    if not is_object_url(place):
        return query_checkpoint(place, sql)
    from windrow.spark.checkpoint.working_copy import WorkingCopy  # noqa: PLC0415 - seldom needed

    with closing(WorkingCopy(place)) as copy:
        copy.look()
        return query_checkpoint(copy.directory, sql)


def with_plain_integers(table: pa.Table) -> pa.Table:
    """DuckDB's sums of integers as BIGINT, where all of a column fit; else they stay decimals."""
    for i, field in enumerate(table.schema):
        if pa.types.is_decimal(field.type) and field.type.scale == 0:
            with suppress(pa.ArrowInvalid):
                table = table.set_column(i, field.name, table.column(i).cast(pa.int64()))
    return table
