"""``windrow status``: how the run of a checkpoint is doing."""

from __future__ import annotations

import json
import time
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.live import Live

from windrow.cli.console import out
from windrow.cli.error_messages import errors_in_words
from windrow.cli.options import Verbose
from windrow.cli.status_view import status_view
from windrow.core.time import wall_clock
from windrow.spark.checkpoint.checkpoint_status import CheckpointStatus, checkpoint_status

SECONDS_BETWEEN_LOOKS = 2.0

Where = Annotated[
    Path, typer.Argument(metavar="CHECKPOINT", help="The directory passed to --checkpoint.")
]


def status(
    checkpoint: Where,
    watch: Annotated[bool, typer.Option("--watch", help="Look again every two seconds.")] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print JSON, with --watch a line each time.")
    ] = False,
    verbose: Verbose = False,
) -> None:
    """Show how the run of CHECKPOINT is doing, or how it ended.

    Streams with rates and lag, queries with their watermarks and the size of their state, which
    queries are late and why, the quarantine, and the last error. It reads files only: it needs
    neither Java nor the run, and does not disturb it.

    \b
    Examples:
      windrow status state/
      windrow status state/ --watch
      windrow status state/ --json
    """
    with errors_in_words(verbose=verbose):
        if not watch:
            print_status(checkpoint_status(checkpoint, wall_clock), as_json=as_json)
            return
        try:
            _watch(checkpoint, as_json=as_json)
        except KeyboardInterrupt:
            raise typer.Exit(0) from None


def print_status(found: CheckpointStatus, *, as_json: bool) -> None:
    if as_json:
        out().file.write(f"{to_json(found)}\n")
        out().file.flush()
    else:
        out().print(status_view(found))


def to_json(found: CheckpointStatus) -> str:
    """All of it in one line; instants and wall clock times are integers."""
    late = [query.name for query in found.late_queries]
    error = found.last_error
    more = {"late_queries": late, "last_error": None if error is None else asdict(error)}
    return json.dumps({**asdict(found), **more}, ensure_ascii=False)


def _watch(checkpoint: Path, *, as_json: bool) -> None:
    console = out()
    if as_json or not console.is_terminal:
        while True:
            print_status(checkpoint_status(checkpoint, wall_clock), as_json=as_json)
            time.sleep(SECONDS_BETWEEN_LOOKS)
    console.soft_wrap = False  # lines that are too long would be cut off
    with Live(console=console, auto_refresh=False, vertical_overflow="visible") as live:
        while True:
            live.update(status_view(checkpoint_status(checkpoint, wall_clock)), refresh=True)
            time.sleep(SECONDS_BETWEEN_LOOKS)
