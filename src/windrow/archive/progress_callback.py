"""How far a long operation has come, told to whoever wants to know."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Reached:
    """``done`` of ``of`` things; ``what`` says which, ``bytes`` how large those done are."""

    what: str
    done: int
    of: int
    bytes: int = 0


Progress = Callable[[Reached], None]


def nobody(_: Reached) -> None:
    """Listens for those who do not."""
