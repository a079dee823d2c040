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
            "Roll the checkpoint PATH back to its last complete micro-batch.",
        ),
        "rewind": (
            "windrow.cli.checkpoint.rewind",
            "Let the next run start queries over whose watermark went too far ahead.",
        ),
    }


app = typer.Typer(
    name="checkpoint",
    cls=Commands,
    help="Check, repair or rewind what `windrow run --checkpoint` keeps.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


@app.callback()
def checkpoint() -> None:
    """Check, repair or rewind what `windrow run --checkpoint` keeps."""
