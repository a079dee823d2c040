"""How kernels are compiled: explicit signatures, cached on disk, nothing compiled per batch.

A signature is given with the kernel, so compilation happens when its module is first imported
on a machine and never while data flows; later imports load the compiled code. Where an account can
keep no code, it is compiled in each process. Arguments that a kernel only reads
are declared read-only, which admits Arrow's own buffers without a copy.

A kernel runs without the interpreter's lock, so that the kernels of several threads run side by
side. That is safe because no two threads give a kernel the same array to write to: what operators
hold is changed under the lock of its connection, sub-windows that an executor's threads read are
replaced and not changed, arrays that are lent to SQL are left alone, and whatever only looks
something up writes to arrays of its own. (Blocks of an archive are noted as compared by every
reader that compares them; notes that are made twice say the same.)

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
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import numba
from numba import types

from windrow.core.thresholds import Threshold


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
        "compiled code cannot be cached: neither the package's directory, nor the home, nor the "
        "temporary directory of this user can be written to by this user alone; it is compiled "
        "again in every process (set NUMBA_CACHE_DIR to a directory that can)",
        RuntimeWarning,
        stacklevel=2,
    )


int64, int32, uint8, int8, boolean, float64, void = (
    types.int64,
    types.int32,
    types.uint8,
    types.int8,
    types.boolean,
    types.float64,
    types.void,
)
ints = types.Array(int64, 1, "C", readonly=True)
ints_out = types.Array(int64, 1, "C")
small_ints = types.Array(int32, 1, "C", readonly=True)
small_ints_out = types.Array(int32, 1, "C")
small_grid_out = types.Array(int32, 2, "C")
grid = types.Array(int64, 2, "C", readonly=True)
grid_out = types.Array(int64, 2, "C")
bytes_in = types.Array(uint8, 1, "C", readonly=True)
bytes_out = types.Array(uint8, 1, "C")
signs = types.Array(int8, 1, "C", readonly=True)
signs_out = types.Array(int8, 1, "C")
flags = types.Array(boolean, 1, "C", readonly=True)
flags_out = types.Array(boolean, 1, "C")
flag_grid = types.Array(boolean, 2, "C", readonly=True)
flag_grid_out = types.Array(boolean, 2, "C")
floats = types.Array(float64, 1, "C", readonly=True)
floats_out = types.Array(float64, 1, "C")

GUESSING = Threshold(1, least=0)
"""How many times the room that is likely to be enough; none at all makes every kernel run twice."""


Compiled = Callable[..., Any]


def kernel(result: Any, *arguments: Any) -> Callable[[Compiled], Compiled]:
    """Compile for exactly these types, to run without the interpreter's lock."""
    return compile_cached(result(*arguments), nogil=True)


def helper(function: Compiled) -> Compiled:
    """A function that kernels call, compiled for the types with which they do."""
    return compile_cached()(function)


def compile_cached(*signature: Any, **options: Any) -> Callable[[Compiled], Compiled]:
    """Compile, and keep the code where numba or we can; where nobody can, go without."""

    def compile_function(function: Compiled) -> Compiled:
        if not home_is_nowhere() or use_own_directory():
            with suppress(*_REFUSALS):
                return _compile(function, *signature, cache=True, **options)
            with suppress(*_REFUSALS):
                if use_own_directory():
                    return _compile(function, *signature, cache=True, **options)
        warn_once()
        return _compile(function, *signature, **options)

    return compile_function


_REFUSALS = (RuntimeError, OSError)
"""Numba's, if it finds no place for the code; a disk's, if the place takes nothing."""


def _compile(function: Compiled, *signature: Any, **options: Any) -> Compiled:
    made: Compiled = numba.njit(*signature, **options)(function)
    return made


def inline(function: Compiled) -> Compiled:
    """A helper that kernels call; compiled into them."""
    return _compile(function, inline="always")


def likely_room(count: int) -> int:
    """The room for the answers of a kernel that counts also those that do not fit.

    If there are more than ``count`` of them, the caller calls it again with the room that it needs.
    """
    return count * GUESSING.value
