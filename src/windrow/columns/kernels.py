"""How kernels are compiled: explicit signatures, cached on disk, nothing compiled per batch.

A signature is given with the kernel, so compilation happens when its module is first imported
on a machine and never while data flows; later imports load the compiled code. Where an account can
keep no code, it is compiled in each process (``kernel_cache``). Arguments that a kernel only reads
are declared read-only, which admits Arrow's own buffers without a copy.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numba
from numba import types

from windrow.columns.kernel_cache import home_is_nowhere, use_own_directory, warn_once
from windrow.core.thresholds import Threshold

int64, uint8, int8, boolean, float64, void = (
    types.int64,
    types.uint8,
    types.int8,
    types.boolean,
    types.float64,
    types.void,
)
ints = types.Array(int64, 1, "C", readonly=True)
ints_out = types.Array(int64, 1, "C")
grid = types.Array(int64, 2, "C", readonly=True)
grid_out = types.Array(int64, 2, "C")
bytes_in = types.Array(uint8, 1, "C", readonly=True)
bytes_out = types.Array(uint8, 1, "C")
signs = types.Array(int8, 1, "C", readonly=True)
flags = types.Array(boolean, 1, "C", readonly=True)
flags_out = types.Array(boolean, 1, "C")
floats = types.Array(float64, 1, "C", readonly=True)
floats_out = types.Array(float64, 1, "C")

GUESSING = Threshold(1, least=0)
"""How many times the room that is likely to be enough; none at all makes every kernel run twice."""


Compiled = Callable[..., Any]


def kernel(result: Any, *arguments: Any) -> Callable[[Compiled], Compiled]:
    """Compile for exactly these types."""
    return _compile_cached(result(*arguments))


def helper(function: Compiled) -> Compiled:
    """A function that kernels call, compiled for the types with which they do."""
    return _compile_cached()(function)


def _compile_cached(*signature: Any) -> Callable[[Compiled], Compiled]:
    """Compile, and keep the code where numba or we can; where nobody can, go without."""

    def compile_function(function: Compiled) -> Compiled:
        if not home_is_nowhere() or use_own_directory():
            with suppress(*_REFUSALS):
                return _compile(function, *signature, cache=True)
            with suppress(*_REFUSALS):
                if use_own_directory():
                    return _compile(function, *signature, cache=True)
        warn_once()
        return _compile(function, *signature)

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
