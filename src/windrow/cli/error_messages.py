"""What went wrong, in words, and the exit code for it."""

from __future__ import annotations

import sys
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import typer
from rich.text import Text

from windrow.cli.console import err, print_warning
from windrow.core.errors import InputError, ScriptError, WindrowError
from windrow.core.text_encoding import FIRST_BYTES, refuse_no_text
from windrow.core.warnings import WindrowWarning

FAILED = 2
"""Exit code of what went wrong for a reason that we can name."""
BROKEN = 70
"""Exit code of a defect in Windrow or in what it stands on."""
INTERRUPTED = 130
"""Exit code of what Ctrl-C ended."""
STDIN = Path("-")
"""The path of a script that is piped in."""
UNHEARD = 141
"""Exit code when nobody reads our answer any more, as shells have it: 128 + SIGPIPE."""


@contextmanager
def errors_in_words(script: Path | None = None, *, verbose: bool = False) -> Iterator[None]:
    """Say what went wrong and exit; ``verbose`` shows the traceback too.

    The exit code is the same either way. Of a closed pipe nothing is said: whoever read our answer
    has seen enough of it. Warnings are said in the same form meanwhile.
    """
    try:
        with _warnings_in_words(script):
            yield
        sys.stdout.flush()
    except BrokenPipeError:
        raise typer.Exit(UNHEARD) from None
    except (typer.Exit, KeyboardInterrupt):
        raise
    except Exception as error:
        try:
            code = _explain(error, script, verbose=verbose)
        except BrokenPipeError:
            code = UNHEARD
        raise typer.Exit(code) from None


@contextmanager
def _warnings_in_words(script: Path | None) -> Iterator[None]:
    """Print Windrow's own warnings as the command line prints errors, not as Python does."""
    shown = warnings.showwarning

    def show(message: Warning | str, *where: Any, **more: Any) -> None:
        if isinstance(message, WindrowWarning):
            print_warning(message, script)
        else:
            shown(message, *where, **more)

    warnings.showwarning = show
    try:
        yield
    finally:
        warnings.showwarning = shown


def _explain(error: Exception, script: Path | None, *, verbose: bool) -> int:
    """Say what went wrong, and return the exit code for it."""
    if verbose:
        err().print("".join(traceback.format_exception(error)).rstrip())
    if isinstance(error, ScriptError) and script:
        _complain(f"{'standard input' if script == STDIN else script}: {error}")
        if excerpt := error.with_source(read_script(script)).excerpt():
            err().print(excerpt)
    elif isinstance(error, WindrowError):
        _complain(str(error))
        for note in () if isinstance(error, ScriptError) else getattr(error, "__notes__", ()):
            _complain(note)  # another error at the same time; of a script it is the excerpt
    elif isinstance(error, OSError):
        _complain(f"{error.filename}: {error.strerror}" if error.filename else str(error))
    else:
        first_line = _text(error).strip().split("\n", 1)[0]
        _complain(f"{type(error).__name__}: {first_line}", kind="internal error")
        hint = "" if verbose else " Run the command again with -v to see where it happened."
        err().print(f"This is a bug in Windrow.{hint}")
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


@cache
def _standard_input() -> str:
    """All of it; read once, since an error shows a line of it."""
    return sys.stdin.read().removeprefix("\ufeff")


def read_script(path: Path) -> str:
    """The text of a script, or an error that says why there is none."""
    if path == STDIN:
        return _standard_input()
    wanted = "the path of a CQL script"
    if path.is_dir():
        raise InputError(where=str(path), expected=wanted, found="a directory")
    if not path.exists():
        raise InputError(where=str(path), expected=wanted, found="no such file")
    text = path.read_bytes()
    refuse_no_text(text[:FIRST_BYTES], str(path))
    try:
        return text.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError as error:
        raise InputError(
            where=f"{path}, byte {error.start}", expected="UTF-8 text", found="other bytes"
        ) from None
