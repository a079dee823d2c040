"""Options that several commands have."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from windrow.object_store.object_path import path_of
from windrow.plan.strategy import Strategy


def place_of(text: str | Path) -> Path:
    """A directory, or a place in an object store."""
    return path_of(text)


Checkpoint = Annotated[
    Path,
    typer.Argument(
        metavar="CHECKPOINT",
        parser=place_of,
        help="The directory passed to --checkpoint, or s3://bucket/path.",
    ),
]
Script = Annotated[
    Path,
    typer.Argument(metavar="SCRIPT", help="A file of CQL statements, or - for standard input."),
]
StrategyOption = Annotated[
    Strategy,
    typer.Option(
        help="How expiries are handled; upa is the fastest, the others are for comparison."
    ),
]
Verbose = Annotated[
    bool,
    typer.Option(
        "--verbose", "-v", help="Show batch numbers, Spark's log, and tracebacks of errors."
    ),
]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace the results of another run.")]
Master = Annotated[
    str | None,
    typer.Option(help="Spark's master; local\\[*] if not given.", show_default=False),
]
Conf = Annotated[
    list[str],
    typer.Option(
        "--conf",
        metavar="KEY=VALUE",
        help="A setting of Spark's; may be repeated.",
        show_default=False,
    ),
]
PyFiles = Annotated[
    list[str],
    typer.Option(
        "--py-files",
        metavar="FILE",
        help="A .py or .zip file for the Python path of workers; may be repeated.",
        show_default=False,
    ),
]
