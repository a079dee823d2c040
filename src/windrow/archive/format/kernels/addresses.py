"""Memory by its address, for kernels that read from a number of files known only as they run.

A kernel takes arrays, and each costs a call some of a microsecond; what is looked up in many
mapped files is passed as a table of addresses instead. Whoever makes the table holds the buffers.
"""

from __future__ import annotations

from typing import Any

import numba
from numba.core import cgutils, types
from numba.extending import intrinsic


def _as_pointer(context: Any, address: Any) -> Any:  # noqa: ARG001 (numba's own way of calling)
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:  # noqa: ARG001
        return builder.inttoptr(arguments[0], cgutils.voidptr_t)

    return types.voidptr(address), generate


pointer: Any = intrinsic(_as_pointer)
"""In a kernel: an address as a pointer."""

array_at: Any = numba.carray  # type: ignore[attr-defined]
"""In a kernel: the array of a shape and type at a pointer."""
