"""What goes to the terminal: consoles, errors in words, instants as people write them.

Answers go to standard output; progress, remarks and errors to standard error. Nothing that
comes from a script or from data is read as markup: ``[RANGE 1 MINUTE]`` would be taken for a
style, and ``:key:`` for a picture of one.
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NoReturn, TextIO

import typer
from rich.console import Console
from rich.text import Text

from windrow.core.errors import InputError, ScriptError, WindrowError
from windrow.core.time import Clock
from windrow.core.warnings import ScriptWarning, WindrowWarning

FAILED = 2
"""Exit code of what went wrong for a reason that we can name."""
BROKEN = 70
"""Exit code of a defect in Windrow or in what it stands on."""
INTERRUPTED = 130
"""Exit code of what Ctrl-C ended."""
UNHEARD = 141
"""Exit code when nobody reads our answer any more, as shells have it: 128 + SIGPIPE."""

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


WIDE = 160
"""Columns that a table may take when no terminal limits it."""


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


@contextmanager
def errors_in_words(script: Path | None = None, *, verbose: bool = False) -> Iterator[None]:
    """Say what went wrong and exit; ``verbose`` shows the traceback too.

    The exit code is the same either way. Of a closed pipe nothing is said: whoever read our answer
    has seen enough of it.
    """
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        raise typer.Exit(UNHEARD) from None
    except (typer.Exit, KeyboardInterrupt):
        raise
    except Exception as error:
        try:
            code = _told(error, script, verbose=verbose)
        except BrokenPipeError:
            code = UNHEARD
        raise typer.Exit(code) from None


def _told(error: Exception, script: Path | None, *, verbose: bool) -> int:
    """Say what went wrong, and return the exit code for it."""
    if verbose:
        err().print("".join(traceback.format_exception(error)).rstrip())
    if isinstance(error, ScriptError) and script:
        _complain(f"{script}: {error}")
        if excerpt := error.with_source(read_script(script)).excerpt():
            err().print(excerpt)
    elif isinstance(error, WindrowError):
        _complain(str(error))
    elif isinstance(error, OSError):
        _complain(f"{error.filename}: {error.strerror}" if error.filename else str(error))
    else:
        first_line = _text(error).strip().split("\n", 1)[0]
        _complain(f"{type(error).__name__}: {first_line}", kind="internal error")
        hint = "" if verbose else " Run the command again with -v to see where it happened."
        err().print(f"This is a defect.{hint}")
        return BROKEN
    return FAILED


def _text(error: Exception) -> str:
    """What an error says; some ask another process for it, which may be dead."""
    try:
        return str(error)
    except Exception:
        return "no reason given"


def _complain(message: str, kind: str = "error") -> None:
    err().print(Text.assemble((kind, "bold red"), ": ", message))


def print_warning(warning: WindrowWarning, script: Path | None = None) -> None:
    """What is odd, where, and what to do, on standard error."""
    place = f"{script}: " if script and isinstance(warning, ScriptWarning) else ""
    err().print(Text.assemble(("warning", "bold yellow"), f": {place}{warning}"))
    if isinstance(warning, ScriptWarning):
        err().print(warning.excerpt())


def read_script(path: Path) -> str:
    """The text of a script, or an error that says why there is none."""
    wanted = "the path of a CQL script"
    if path.is_dir():
        raise InputError(where=str(path), expected=wanted, found="a directory")
    if not path.exists():
        raise InputError(where=str(path), expected=wanted, found="no such file")
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(
            where=f"{path}, byte {error.start}", expected="UTF-8 text", found="other bytes"
        ) from None


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
