"""Compiled kernels where they pay: to load them takes longer than to look at a few pages without.

A command that looks one key up compares some dozens of pages and keys, which plain Python does in
milliseconds; numba takes most of a second to load. So what a probe needs can be done in both ways,
with the same answers and the same errors: in plain Python for the first ``PLAIN`` steps of a
process, and compiled from then on, or at once if somebody else has loaded numba already. What needs
its kernels in any case has them loaded when they are first called.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

from windrow.core.thresholds import Threshold

PLAIN = Threshold(1_024, least=0)
"""Pages compared and keys looked for that take a third of the time that kernels take to load."""


class Kernels:
    """The kernels of a module, which is imported when one of them is first asked for."""

    def __init__(self, module: str) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        found = getattr(import_module(self._module), name)
        setattr(self, name, found)
        return found


class Use:
    """How many steps this process has done in plain Python, and whether it is ``compiled`` now:
    what is called millions of times looks there before it asks whether kernels pay.
    """

    steps = 0
    compiled = False


def kernels_pay(steps: int) -> bool:
    """Whether the next ``steps`` steps are better done by kernels."""
    if not Use.compiled:
        Use.steps += steps
        Use.compiled = Use.steps > PLAIN.value or "numba" in sys.modules
    return Use.compiled
