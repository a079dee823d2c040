"""Simple shadow updating: a copy of the index, updated in place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from windrow.archive.wave.rewrite_plan import Copied, Piece, Planned, merged
from windrow.archive.wave.techniques.growth import overgrown
from windrow.archive.wave.wave import Part


@dataclass(frozen=True)
class SimpleShadow:
    """Shivakumar, Garcia-Molina 1997, 2.1. The runs that queries could see are copied file by
    file; temporary indexes are updated in place, as no query sees them.

    Costs a copy of a constituent for each update of it. Over immutable runs it protects nobody that
    in-place updating does not; what it gives is that no version shares an updated index with the
    one before, so a version's files can be moved or thrown away by themselves.
    """

    growth: float
    packs_at_rest: ClassVar[bool] = False

    def settled(self, name: str, planned: Planned, shared: frozenset[str]) -> tuple[Piece, ...]:
        pieces = planned.pieces
        if overgrown(pieces, self.growth):
            return merged(pieces)
        return tuple(
            Copied(piece, name) if isinstance(piece, Part) and piece.run.name in shared else piece
            for piece in pieces
        )
