"""The terminal: consoles, warnings, instants as people write them.

Answers go to standard output; progress, remarks and errors to standard error. Nothing that
comes from a script or from data is read as markup: ``[RANGE 1 MINUTE]`` would be taken for a
style, and ``:key:`` for a picture of one.
"""

from __future__ import annotations

import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NoReturn, TextIO

from rich.console import Console
from rich.text import Text

from windrow.core.time import Clock
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
    """An instant as its clock shows it.

    >>> instant(754_354_800_500_000, Clock.TIMESTAMP), instant(42, Clock.INTEGER)
    ('1993-11-26 23:00:00.500', '42')
    """
    if now is None:
        return "-"
    if clock is Clock.INTEGER:
        return str(now)
    try:
        moment = EPOCH + timedelta(microseconds=now)
    except OverflowError:
        return str(now)
    digits = "milliseconds" if moment.microsecond else "seconds"
    return moment.replace(tzinfo=None).isoformat(" ", digits)
