"""Packing at rest: in-place updating while days come, one packed run once none do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from windrow.archive.wave.rewrite_plan import Piece, Planned, merged
from windrow.archive.wave.schemes.scheme import is_constituent
from windrow.archive.wave.techniques.growth import overgrown


@dataclass(frozen=True)
class PackedAtRest:
    """In-place updating, then one pass of packed shadow updating (Shivakumar, Garcia-Molina
    1997, 2.1) when the next day leaves the constituent alone, or it has outgrown its room.

    Under WATA a constituent takes its days one after the other and is then read for a window's
    length: all but the one that is being filled are packed. Packing comes after the switch, so
    that a transition writes the new day and nothing else; temporary indexes, which nobody awaits,
    are merged as they are in place. Where every day changes the one constituent there is (DEL with
    n = 1) nothing ever rests.
    """

    growth: float
    packs_at_rest: ClassVar[bool] = True

    def settled(self, name: str, planned: Planned, shared: frozenset[str]) -> tuple[Piece, ...]:
        pieces = planned.pieces
        waits = is_constituent(name)
        return merged(pieces) if not waits and overgrown(pieces, self.growth) else pieces
