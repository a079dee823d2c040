"""The commands of ``windrow archive``."""

from __future__ import annotations

from typing import ClassVar

import typer

from windrow.cli.late import LateGroup


class Commands(LateGroup):
    """The commands in the order of an archive's life."""

    late: ClassVar = {
        "create": (
            "windrow.cli.archive.making",
            "Make an empty archive in a new directory: of days, or with --grid of lifetimes.",
        ),
        "append": (
            "windrow.cli.archive.filling",
            (
                "Take the rows of files in as one day, or cut into days by a column; "
                "all of them or none."
            ),
        ),
        "advance": (
            "windrow.cli.archive.filling",
            "Move the window on: days that were appended ahead come in, the oldest go.",
        ),
        "probe": (
            "windrow.cli.archive.asking",
            "Find the records with a key, one of several, or a range of keys.",
        ),
        "scan": (
            "windrow.cli.archive.asking",
            "Read all records of some days, or of the whole window.",
        ),
        "sql": (
            "windrow.cli.archive.querying",
            "Answer one SQL query over the window as it is now; the table is called archive.",
        ),
        "export": (
            "windrow.cli.archive.asking",
            "Copy the window, or some days of it, to a file, batch by batch.",
        ),
        "stat": (
            "windrow.cli.archive.keeping",
            "Show which days live in which index, and what they take.",
        ),
        "plan": (
            "windrow.cli.archive.keeping",
            "Show what the coming days will do to the indexes, without doing it.",
        ),
        "verify": (
            "windrow.cli.archive.keeping",
            "Read everything and check it: checksums, order, counts, invariants.",
        ),
        "vacuum": (
            "windrow.cli.archive.keeping",
            "Remove files that no version needs: of past versions, and of writers that failed.",
        ),
        "advise": (
            "windrow.cli.archive.advising",
            "Measure a sample of your data on your disk, and recommend a layout.",
        ),
        "migrate": (
            "windrow.cli.archive.migrating",
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
