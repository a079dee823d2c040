"""How the tuples on an edge of a plan are to be kept, as the optimiser chose it (3.5.2).

An edge is what leaves a node. Without a choice, because nothing is known of the streams, state
is kept in the way that is never bad.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

PARTITIONS = 500
"""Partitions of a calendar queue if nothing is known of what it will hold."""


class StrictState(Enum):
    """What finds STRICT tuples that expire, and those that a negative tuple withdraws.

    ``SEARCHED``: a calendar queue; a negative tuple looks through the partition of its expiry.
    ``HASHED``: besides the calendar there is a hash on the tuple, which every tuple pays for.
    """

    SEARCHED = "searched"
    HASHED = "hashed"


@dataclass(frozen=True)
class EdgeState:
    """``partitions`` of a calendar queue, the way for STRICT tuples, and why: the ``premature``
    share of expiries that was expected."""

    partitions: int = PARTITIONS
    strict: StrictState = StrictState.HASHED
    premature: float | None = None
