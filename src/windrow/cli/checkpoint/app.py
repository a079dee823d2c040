"""The commands of ``windrow checkpoint``."""

from __future__ import annotations

from typing import ClassVar

import typer

from windrow.cli.lazy import LazyGroup


class Commands(LazyGroup):
    """The commands in the order in which one needs them."""

    lazy: ClassVar = {
        "check": (
            "windrow.cli.checkpoint.check",
            "Read all files of the checkpoint PATH, and name those that are damaged.",
        ),
        "repair": (
            "windrow.cli.checkpoint.check",
            "Set the checkpoint PATH back to the last micro-batch that is whole.",
        ),
        "rewind": (
            "windrow.cli.checkpoint.rewind",
            "Let the next run read the files of queries again whose time was led astray.",
        ),
    }


app = typer.Typer(
    name="checkpoint",
    cls=Commands,
    help="What `windrow run --checkpoint` keeps: checked, and repaired.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


@app.callback()
def checkpoint() -> None:
    """What `windrow run --checkpoint` keeps: checked, and repaired."""
