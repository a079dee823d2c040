"""How far a command has come, on standard error while it works; on a terminal only."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from windrow.archive.progress_callback import Progress, Reached, nobody
from windrow.cli.archive.options import size
from windrow.cli.console import err


@contextmanager
def show_progress(activity: str, *, as_json: bool) -> Iterator[Progress]:
    """Whoever is told of progress within shows it; nothing is left of it afterwards."""
    console = err()
    if as_json or not console.is_terminal:
        yield nobody
        return
    with console.status(activity) as status:
        yield lambda reached: status.update(f"{activity}: {describe_progress(reached)}")


def describe_progress(reached: Reached) -> str:
    """
    >>> describe_progress(Reached("runs", 3, 1200, 5_000)), describe_progress(Reached("days", 1, 2))
    ('3 of 1,200 runs, 5.0 kB', '1 of 2 days')
    """
    so_far = f", {size(reached.bytes)}" if reached.bytes else ""
    return f"{reached.done:,} of {reached.of:,} {reached.what}{so_far}"
