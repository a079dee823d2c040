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
            "Make an empty archive in a new directory: of days, or with --grid of lifetimes.",
        ),
        "append": (
            "windrow.cli.archive.append",
            (
                "Take the rows of files in as one day, or cut into days by a column; "
                "all of them or none."
            ),
        ),
        "advance": (
            "windrow.cli.archive.append",
            "Move the window on: days that were appended ahead come in, the oldest go.",
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
            "Show which days live in which index, and what they take.",
        ),
        "plan": (
            "windrow.cli.archive.maintain",
            "Show what the coming days will do to the indexes, without doing it.",
        ),
        "verify": (
            "windrow.cli.archive.maintain",
            "Read everything and check it: checksums, order, counts, invariants.",
        ),
        "vacuum": (
            "windrow.cli.archive.maintain",
            "Remove files that no version needs: of past versions, and of writers that failed.",
        ),
        "advise": (
            "windrow.cli.archive.advise",
            "Measure a sample of your data on your disk, and recommend a layout.",
        ),
        "migrate": (
            "windrow.cli.archive.migrate",
            "Give the archive another layout while it is read and appended to.",
        ),
    }


app = typer.Typer(
    name="archive",
    cls=Commands,
    help="An indexed window of days on disk that forgets on time.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


@app.callback()
def archive() -> None:
    """An indexed window of days on disk that forgets on time."""
