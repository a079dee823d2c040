"""The ``windrow`` command."""

from __future__ import annotations

import os
import sys
from typing import Annotated, ClassVar

import typer

import windrow as windrow_package
from windrow.cli.archive.app import app as archive_app
from windrow.cli.checkpoint.app import app as checkpoint_app
from windrow.cli.console import err, out
from windrow.cli.error_messages import INTERRUPTED, UNHEARD
from windrow.cli.lazy import LazyGroup


class Commands(LazyGroup):
    """The commands of ``windrow``; those of archives and checkpoints are groups of their own."""

    lazy: ClassVar = {
        "run": (
            "windrow.cli.run",
            "Run the queries of SCRIPT until Ctrl-C, or once over the files that exist.",
        ),
        "explain": (
            "windrow.cli.explain",
            "Show the plan of each query of SCRIPT, with the update pattern of every edge.",
        ),
        "results": (
            "windrow.cli.results",
            "Show the results that a query has written into PATH: its changes, or its answer.",
        ),
        "compact": (
            "windrow.cli.compact",
            "Merge the small result files in PATH into a few large ones.",
        ),
        "match": ("windrow.cli.match", "Show which subscriptions each row of DATA satisfies."),
        "demo": (
            "windrow.cli.demo",
            "Generate a trace of IP traffic on two links, and run three queries over it.",
        ),
    }


app = typer.Typer(
    name="windrow",
    cls=Commands,
    help="Continuous queries over sliding windows, written in CQL.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

app.add_typer(archive_app)
app.add_typer(checkpoint_app)


def _print_version(wanted: bool) -> None:
    if wanted:
        out().print(f"windrow {windrow_package.__version__}")
        raise typer.Exit


@app.callback()
def windrow(
    _version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
) -> None:
    """Continuous queries over sliding windows, written in CQL."""


def main() -> None:
    """Entry point of the ``windrow`` command."""
    try:
        app()
    except KeyboardInterrupt:
        err().print("stopped at once")
        sys.exit(INTERRUPTED)
    except SystemExit as end:
        if end.code == UNHEARD:  # what is still to be flushed goes nowhere, without a complaint
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise
