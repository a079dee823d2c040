"""``windrow query``: one-time SQL over what a checkpoint has, while its run goes on or after it."""

from __future__ import annotations

from contextlib import closing, nullcontext
from typing import Annotated

import typer

from windrow.cli.answers import count_of
from windrow.cli.console import out
from windrow.cli.error_messages import errors_in_words
from windrow.cli.options import Checkpoint, Verbose
from windrow.cli.results import Shape, print_tables
from windrow.core.paths import is_object_url
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
    it needs neither Java nor the run, and does not disturb it.

    \b
    Examples:
      windrow query state/ "SELECT * FROM busy ORDER BY bytes DESC"
      windrow query state/ "SELECT src, COUNT(*) FROM flows [RANGE 1 MINUTE] GROUP BY src"
      windrow query state/ "SELECT COUNT(*) AS n FROM flows" --format json
    """
    with errors_in_words(verbose=verbose):
        copy = None
        if is_object_url(checkpoint):
            from windrow.spark.checkpoint.working_copy import (  # noqa: PLC0415 - seldom needed
                WorkingCopy,
            )

            copy = WorkingCopy(checkpoint)
        with nullcontext() if copy is None else closing(copy):
            if copy is not None:
                copy.look()
            found = query_checkpoint(checkpoint if copy is None else copy.directory, sql)
        rows = print_tables([found], found.schema, format_)
        if format_ is Shape.TABLE:
            out().print(count_of(rows, "row"))
