"""``windrow match``: the rows of files against the subscriptions of another."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from windrow.cli.error_messages import errors_in_words
from windrow.cli.options import Overwrite, Verbose


class ResultFormat(StrEnum):
    """How files of results are written."""

    PARQUET = "parquet"
    CSV = "csv"
    JSON = "json"


def match(
    subscriptions: Annotated[
        Path, typer.Argument(help="A file of subscriptions: csv, json lines or parquet.")
    ],
    data: Annotated[
        list[str], typer.Argument(metavar="DATA...", help="Files, directories or patterns.")
    ],
    on: Annotated[
        str | None,
        typer.Option(help="Columns that the subscriptions have conditions on.", show_default=False),
    ] = None,
    types: Annotated[
        list[str] | None,
        typer.Option(
            "--type",
            metavar="COLUMN=TYPE",
            help="The type of a column of a csv file, as in price=decimal(20,4).",
            show_default=False,
        ),
    ] = None,
    into: Annotated[
        Path | None, typer.Option(help="Write the matches to this directory.", show_default=False)
    ] = None,
    format_: Annotated[
        ResultFormat, typer.Option("--format", help="Format of the files of --into.")
    ] = ResultFormat.PARQUET,
    overwrite: Overwrite = False,
    verbose: Verbose = False,
) -> None:
    """Show which subscriptions each row of DATA satisfies.

    A file of subscriptions has a column id, and for each attribute x a condition in a column x,
    such as \\[100, 200) or > 5 or in ('a', 'b'), or the columns x_min and x_max.

    \b
    Examples:
      windrow match alerts.csv data/flows/
      windrow match alerts.csv 'data/*.parquet' --on bytes,src --into out/alerts
    """
    with errors_in_words(verbose=verbose):
        from windrow.cli.match_files import match_files  # noqa: PLC0415 - compiled kernels load here

        names = [name.strip() for name in on.split(",")] if on else []
        match_files(subscriptions, data, names, types or [], into, format_, overwrite=overwrite)
