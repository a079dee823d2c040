"""In-place updating: a run is added, days are masked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from windrow.archive.wave.rewrite_plan import Piece, Planned, merged
from windrow.archive.wave.techniques.growth import overgrown


@dataclass(frozen=True)
class InPlace:
    """Shivakumar, Garcia-Molina 1997, 2.1. Runs are immutable, so readers need no protection.

    Writes the new day and nothing else, until the index has outgrown its room.
    """

    growth: float
    packs_at_rest: ClassVar[bool] = False

    def settled(self, name: str, planned: Planned, shared: frozenset[str]) -> tuple[Piece, ...]:
        pieces = planned.pieces
        return merged(pieces) if overgrown(pieces, self.growth) else pieces
