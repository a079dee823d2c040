"""What operators hold of the windows below them, for whoever else wants those tuples.

A window of tuples is not kept by itself: a join, a group-by or the changes of an answer keep it,
each as far as it needs it. Such an operator says what it holds of which input, under the name that
it is saved by; what that is in terms of a stream, the plan says (``windrow.plan.window_contents``).
So live windows can be asked (``windrow.engine.live_windows``), in memory and from saved state, and
a query that comes late gets what came before it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from windrow.operators.state.buffer import StateBuffer
from windrow.plan.expressions import Expression


@dataclass(frozen=True)
class HeldInput:
    """The live tuples of one input, by its number; ``expressions`` over them, if not as they are.

    They count only as long as the buffer is ``whole``. If tuples go at multiples of a ``period``
    only, those that go at the next are dropped already (Golab 2006, Algorithm 4).

    The operator may be a window itself (``is_window``), which has what is in it. If its tuples are
    ``numbered``, it is a window of rows, and has all rows of its input from some number on: the
    positions of the buffer. Those that it has not seen yet are there too.
    """

    number: int
    buffer: StateBuffer
    expressions: tuple[Expression, ...] | None = None
    period: int = 0
    is_window: bool = False
    numbered: bool = False

    def whole_at(self, now: int) -> int:
        """The first instant from ``now`` on of which everything is held."""
        return (now // self.period + 1) * self.period if self.period else now


@runtime_checkable
class HoldsTuples(Protocol):
    """An operator whose state has all live tuples of an input."""

    def held_inputs(self) -> Mapping[str, HeldInput]:
        """What it holds, by the names under which it is saved."""
        ...
