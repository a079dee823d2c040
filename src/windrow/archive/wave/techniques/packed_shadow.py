"""Packed shadow updating: the index is rewritten packed, without what has expired."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from windrow.archive.wave.rewrite_plan import Piece, Planned, merged


@dataclass(frozen=True)
class PackedShadow:
    """Shivakumar, Garcia-Molina 1997, 2.1. One run, read and written once for each update."""

    packs_at_rest: ClassVar[bool] = False

    def settled(self, name: str, planned: Planned, shared: frozenset[str]) -> tuple[Piece, ...]:
        return merged(planned.pieces)
