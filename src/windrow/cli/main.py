"""The ``windrow`` command: what commands there are, and where each of them is."""

from __future__ import annotations

import os
import sys
from typing import Annotated, ClassVar

import typer

import windrow as windrow_package
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
        "status": (
            "windrow.cli.status",
            "Show how the run of CHECKPOINT is doing, or how it ended.",
        ),
        "shell": (
            "windrow.cli.shell",
            "Type statements and see their answers; or pipe them in.",
        ),
        "query": (
            "windrow.cli.query",
            "Answer one SQL query over the answers, relations and live windows of CHECKPOINT.",
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
            "windrow.cli.results",
            "Merge the small result files in PATH into a few large ones.",
        ),
        "match": ("windrow.cli.match", "Show which subscriptions each row of DATA satisfies."),
        "demo": (
            "windrow.cli.demo",
            "Generate a trace of IP traffic on two links, and run three queries over it.",
        ),
        "pack": (
            "windrow.cli.pack",
            "Pack this environment into FILE, for the workers of a Spark cluster.",
        ),
    }


class ArchiveCommands(LazyGroup):
    """The commands of ``windrow archive``, in the order of an archive's life."""

    lazy: ClassVar = {
        "create": (
            "windrow.cli.archive.create",
            "Create an empty archive in a new directory: of days, or with --grid of lifetimes.",
        ),
        "append": (
            "windrow.cli.archive.append",
            "Append the rows of files as one day, or split into days by a column; all or nothing.",
        ),
        "advance": (
            "windrow.cli.archive.append",
            "Move the window forward: days that were appended ahead enter it, the oldest leave.",
        ),
        "probe": (
            "windrow.cli.archive.probe",
            "Find the records with a key, one of several, or a range of keys.",
        ),
        "scan": (
            "windrow.cli.archive.probe",
            "Read all records of some days, or of the whole window.",
        ),
        "sql": (
            "windrow.cli.archive.sql",
            "Answer one SQL query over the window as it is now; the table is called archive.",
        ),
        "export": (
            "windrow.cli.archive.probe",
            "Copy the window, or some days of it, to a file, batch by batch.",
        ),
        "stat": (
            "windrow.cli.archive.maintain",
            "Show which index holds which days, and how much space they take.",
        ),
        "plan": (
            "windrow.cli.archive.maintain",
            "Show which operations the coming days need, without running them.",
        ),
        "verify": (
            "windrow.cli.archive.maintain",
            "Read everything and check it: checksums, order, counts, invariants.",
        ),
        "vacuum": (
            "windrow.cli.archive.maintain",
            "Remove files that no version needs: those of past versions and of failed writers.",
        ),
        "advise": (
            "windrow.cli.archive.advise",
            "Measure a sample of your data on your disk, and recommend a layout.",
        ),
        "migrate": (
            "windrow.cli.archive.migrate",
            "Change the layout of the archive while it is read and appended to.",
        ),
    }


archive_app = typer.Typer(
    name="archive",
    cls=ArchiveCommands,
    help="Archives: indexed windows of days on disk.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


@archive_app.callback()
def archive() -> None:
    """Archives: indexed windows of days on disk."""


class CheckpointCommands(LazyGroup):
    """The commands of ``windrow checkpoint``, in the order in which one needs them."""

    lazy: ClassVar = {
        "check": (
            "windrow.cli.checkpoint.check",
            "Read all files of the checkpoint PATH, and name those that are damaged.",
        ),
        "repair": (
            "windrow.cli.checkpoint.check",
            "Roll the checkpoint PATH back to its last complete micro-batch.",
        ),
        "rewind": (
            "windrow.cli.checkpoint.rewind",
            "Let the next run start queries over whose watermark went too far ahead.",
        ),
    }


checkpoint_app = typer.Typer(
    name="checkpoint",
    cls=CheckpointCommands,
    help="Check, repair or rewind what `windrow run --checkpoint` keeps.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


@checkpoint_app.callback()
def checkpoint() -> None:
    """Check, repair or rewind what `windrow run --checkpoint` keeps."""


app = typer.Typer(
    name="windrow",
    cls=Commands,
    help="Continuous queries over sliding windows, written in CQL.",
    no_args_is_help=True,
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
