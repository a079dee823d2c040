"""Where compiled kernels are kept when numba finds no place of its own.

Numba keeps code beside the module, or below the user's home. An account in a container, or of a
service, may be able to write to neither. Then a directory of the user's own below the system's
temporary one takes its place. What is kept there is executed when it is loaded, so a directory is
used only if nobody else can have put anything into it: it is no link, it belongs to this user,
nobody else may write to it, and nobody else may put another one in its place.
"""

from __future__ import annotations

import os
import stat
import tempfile
import warnings
from functools import cache
from pathlib import Path

import numba


@cache
def use_own_directory() -> bool:
    """Have numba keep code in a directory of ours from now on; False if there can be none."""
    directory = own_directory()
    if directory is not None:
        numba.config.CACHE_DIR = str(directory)  # type: ignore[attr-defined]
    return directory is not None


def own_directory() -> Path | None:
    """This user's directory below the temporary one, made if it is not there; None if there is no
    temporary directory, or somebody else could write to ours.
    """
    try:
        parent = Path(tempfile.gettempdir())
        directory = parent / f"windrow-kernels-{os.geteuid()}"
        above = parent.stat()
        if above.st_mode & _OTHERS and not above.st_mode & stat.S_ISVTX:
            return None  # they could rename what is in it
        directory.mkdir(0o700, exist_ok=True)
        found = directory.lstat()
    except OSError:
        return None
    is_ours = stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid()
    return directory if is_ours and not found.st_mode & _OTHERS else None


_OTHERS = stat.S_IWGRP | stat.S_IWOTH


def home_is_nowhere() -> bool:
    """Whether numba would take ``~`` for the name of a directory: of a user without a home it
    makes one of that name wherever the process happens to be.
    """
    known = "XDG_CACHE_HOME" in os.environ or Path(os.path.expanduser("~")).is_absolute()  # noqa: PTH111
    return not known and not os.access(Path(__file__).parent, os.W_OK)


@cache
def warn_once() -> None:
    warnings.warn(
        "compiled code cannot be kept: neither the package's directory, nor the home, nor the "
        "temporary directory of this user can be written to by this user alone; it is compiled "
        "again in every process (set NUMBA_CACHE_DIR to a directory that can)",
        RuntimeWarning,
        stacklevel=2,
    )
