"""The terminal: consoles, warnings, progress; instants and sizes as people write them.

Answers go to standard output; progress, remarks and errors to standard error, and progress only if
that is a terminal. Nothing that comes from a script or from data is read as markup:
``[RANGE 1 MINUTE]`` would be taken for a style, and ``:key:`` for a picture of one.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NoReturn, TextIO

from rich.console import Console
from rich.text import Text

from windrow.archive.progress_callback import Progress, Reached, nobody
from windrow.core.time import BEGINNING, Clock
from windrow.core.warnings import ScriptWarning, WindrowWarning

WIDE = 160
"""Columns that a table may take when no terminal limits it."""
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def out() -> Console:
    """Standard output as it is now (tests and notebooks replace it)."""
    return _console(sys.stdout)


def err() -> Console:
    return _console(sys.stderr)


def _console(file: TextIO) -> Console:
    width = None if file.isatty() else WIDE
    return _Console(
        file=file, width=width, highlight=False, markup=False, emoji=False, soft_wrap=True
    )


class _Console(Console):
    """One that leaves it to ``errors_in_words`` what a closed pipe means."""

    def on_broken_pipe(self) -> NoReturn:
        raise BrokenPipeError


def print_warning(warning: WindrowWarning, script: Path | None = None) -> None:
    """What is odd, where, and what to do, on standard error."""
    place = f"{script}: " if script and isinstance(warning, ScriptWarning) else ""
    err().print(Text.assemble(("warning", "bold yellow"), f": {place}{warning}"))
    if isinstance(warning, ScriptWarning):
        err().print(warning.excerpt())


def instant(now: int | None, clock: Clock) -> str:
    """An instant as its clock shows it; - if there was none yet, or the beginning of time.

    >>> instant(754_354_800_500_000, Clock.TIMESTAMP), instant(42, Clock.INTEGER)
    ('1993-11-26 23:00:00.500', '42')
    >>> instant(BEGINNING + 1, Clock.INTEGER)  # what was there before any instant
    '-'
    """
    if now is None or now <= BEGINNING + 1:
        return "-"
    if clock is Clock.INTEGER:
        return str(now)
    try:
        moment = EPOCH + timedelta(microseconds=now)
    except OverflowError:
        return str(now)
    digits = "milliseconds" if moment.microsecond else "seconds"
    return moment.replace(tzinfo=None).isoformat(" ", digits)


def size(number: float | None) -> str:
    """Bytes as people say them.

    >>> size(999), size(1_500_000), size(None)
    ('999 B', '1.5 MB', '-')
    """
    if number is None:
        return "-"
    for unit in ("B", "kB", "MB", "GB"):
        if number < 1000:
            return f"{number:.0f} {unit}" if unit == "B" else f"{number:.1f} {unit}"
        number /= 1000
    return f"{number:.1f} TB"


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
