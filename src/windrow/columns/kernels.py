"""How kernels are compiled: explicit signatures, cached on disk, nothing compiled per batch.

A signature is given with the kernel, so compilation happens when its module is first imported
on a machine and never while data flows; later imports load the compiled code. Arguments that a
kernel only reads are declared read-only, which admits Arrow's own buffers without a copy.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
from numba import types

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


Compiled = Callable[..., Any]


def kernel(result: Any, *arguments: Any) -> Callable[[Compiled], Compiled]:
    """Compile for exactly these types."""
    compiler: Callable[[Compiled], Compiled] = numba.njit(result(*arguments), cache=True)
    return compiler


def inlined(function: Compiled) -> Compiled:
    """A helper that kernels call; compiled into them."""
    helper: Compiled = numba.njit(inline="always")(function)
    return helper
