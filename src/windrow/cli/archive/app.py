"""The commands of ``windrow archive``."""

from __future__ import annotations

from typing import ClassVar

import typer

from windrow.cli.lazy import LazyGroup


class Commands(LazyGroup):
    """The commands in the order of an archive's life."""

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


app = typer.Typer(
    name="archive",
    cls=Commands,
    help="Archives: indexed windows of days on disk.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


@app.callback()
def archive() -> None:
    """Archives: indexed windows of days on disk."""
