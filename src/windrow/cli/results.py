"""``windrow results``, what a query has written as it is committed, and ``windrow compact``."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import pyarrow as pa
import pyarrow.csv
import typer

from windrow.cli.answers import SHOWN, answer_table, count_of
from windrow.cli.archive.output import writing
from windrow.cli.console import instant, out
from windrow.cli.error_messages import errors_in_words
from windrow.cli.options import Verbose
from windrow.columns.text_forms import texts_for_csv
from windrow.core.errors import InputError
from windrow.core.time import Clock
from windrow.result_files.compaction import compact as merge
from windrow.result_files.directory import Results
from windrow.result_files.directory_lock import hold_directories
from windrow.tables.writers import json_lines


class Shape(StrEnum):
    """How rows are printed."""

    TABLE = "table"
    CSV = "csv"
    JSON = "json"


def results(
    path: Annotated[str, typer.Argument(metavar="PATH", help="The place that INTO names.")],
    answer: Annotated[
        bool, typer.Option("--answer", help="The answer instead of the changes.")
    ] = False,
    since: Annotated[
        str | None,
        typer.Option(help="Changes at this instant and later.", show_default=False),
    ] = None,
    after: Annotated[
        int | None,
        typer.Option(metavar="BATCH", help="Changes after this micro-batch.", show_default=False),
    ] = None,
    format_: Annotated[Shape, typer.Option("--format", help="How rows are printed.")] = Shape.TABLE,
    into: Annotated[
        Path | None,
        typer.Option(
            help="Write them to this file: .parquet, .csv, .json or .arrow.", show_default=False
        ),
    ] = None,
    verbose: Verbose = False,
) -> None:
    """Show the results that a query has written into PATH: its changes, or its answer.

    Only committed results are shown, also while a run is writing. The last line names the last
    micro-batch: pass it to --after to continue from there.

    \b
    Examples:
      windrow results out/busy
      windrow results out/busy --answer --format json
      windrow results out/busy --since '2026-03-01 12:00' --into changes.parquet
      windrow results out/busy --after 17 --format csv
    """
    with errors_in_words(verbose=verbose):
        found = Results(path).snapshot()  # the last line is true of what is above it
        if answer and (since is not None or after is not None):
            raise InputError(
                where="--answer",
                expected="the answer, or changes with --since or --after",
                found="both",
            )
        last, now = found.batch, instant(found.now, found.clock)
        if answer:
            tables: Iterable[pa.Table] = [found.answer()]
        else:
            batches = found.batches(_start(since, found.clock), after)
            tables = (pa.Table.from_batches([batch]) for batch in batches)
        schema = tables[0].schema if isinstance(tables, list) else found.schema
        rows = _give(tables, schema, format_, into)
        if format_ is Shape.TABLE:
            place = f" in {into}" if into is not None else ""
            what = "row" if answer else "change"
            out().print(
                f"{found.query} at {now}: {count_of(rows, what)}{place}, micro-batch {last}"
            )


def _start(since: str | None, clock: Clock) -> datetime | int | None:
    if since is None:
        return None
    try:
        return int(since) if clock is Clock.INTEGER else datetime.fromisoformat(since)
    except ValueError:
        form = "a whole number" if clock is Clock.INTEGER else "such as '2026-03-01 12:00'"
        raise InputError(
            where="--since", expected=f"an instant as the results have it, {form}", found=since
        ) from None


def _give(tables: Iterable[pa.Table], schema: pa.Schema, format_: Shape, into: Path | None) -> int:
    """The rows where they are wanted; how many there were."""
    rows = 0
    if into is not None:
        with writing(into, schema) as write:
            for table in tables:
                write(table)
                rows += table.num_rows
        return rows
    return print_tables(tables, schema, format_)


def print_tables(tables: Iterable[pa.Table], schema: pa.Schema, format_: Shape) -> int:
    """Print rows, as a table the first of them; how many there were."""
    rows, shown = 0, schema.empty_table()
    if format_ is Shape.CSV:
        _print_csv(schema.empty_table(), header=True)
    for table in tables:
        rows += table.num_rows
        if format_ is Shape.TABLE:
            shown = pa.concat_tables([shown, table.slice(0, SHOWN - shown.num_rows)])
        elif format_ is Shape.JSON:
            out().file.writelines(f"{line}\n" for line in json_lines(table))
        else:
            _print_csv(texts_for_csv(table), header=False)
    if format_ is Shape.TABLE and rows:
        out().print(answer_table(shown, ordered=True))
        if rows > SHOWN:
            out().print(f"... and {rows - SHOWN:,} more; see them all with --format json or csv")
    return rows


def _print_csv(table: pa.Table, *, header: bool) -> None:
    sink = pa.BufferOutputStream()
    pyarrow.csv.write_csv(table, sink, pyarrow.csv.WriteOptions(include_header=header))
    out().file.write(sink.getvalue().to_pybytes().decode())


def compact(
    path: Annotated[str, typer.Argument(metavar="PATH", help="The place that INTO names.")],
    verbose: Verbose = False,
) -> None:
    """Merge the small result files in PATH into a few large ones.

    Readers need not stop, and see the same rows. A run compacts its own results from time to time;
    use this command after a run has ended.

    \b
    Examples:
      windrow compact out/busy
    """
    with errors_in_words(verbose=verbose):
        place = Results(path).path
        with hold_directories([(place, str(place))]):
            done = merge(place)
        if done is not None:
            before = count_of(done.before, "file")
            out().print(f"{path}: {before} before, {done.after:,} now")
