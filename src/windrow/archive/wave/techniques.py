"""The update techniques: how an index that was changed is written over immutable runs.

In place, by simple shadow and by packed shadow (Shivakumar, Garcia-Molina 1997, 2.1), and packed at
rest, which is in-place updating while days come and one packed run once none do.

An index that is not packed merges its runs by the growth factor of CONTIGUOUS, which gives a bucket
that has no room left g times the space and copies it there (Faloutsos, Jagadish, as used in 2.1 and
5). Over immutable runs the first run is the bucket and the runs after it fill its room: when they
hold more than (g - 1) times its entries, all are merged into one, which has room again. Likewise
when fewer than 1/g of the entries that are stored count. So at most g times the space is used that
a packed index needs, and an entry is rewritten about 1/(g - 1) times for each doubling.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from windrow.archive.wave.rewrite_plan import (
    Copied,
    Merged,
    Piece,
    Planned,
    Technique,
    merge_pieces,
)
from windrow.archive.wave.schemes.scheme import is_constituent
from windrow.archive.wave.wave import Part, Settings


def overgrown(pieces: tuple[Piece, ...], growth: float) -> bool:
    """Whether the pieces of an index, in the order in which they came, are to be merged."""
    if not pieces:
        return False
    stored = [_stored_rows(piece) for piece in pieces]
    live = sum(piece.rows for piece in pieces)
    return sum(stored[1:]) > (growth - 1) * stored[0] or sum(stored) > growth * live


def _stored_rows(piece: Piece) -> int:
    """The entries that the run of a piece has, or will have when it is written."""
    if isinstance(piece, Merged):
        return piece.rows
    part = piece.part if isinstance(piece, Copied) else piece
    return part.run.rows


@dataclass(frozen=True)
class InPlace:
    """Shivakumar, Garcia-Molina 1997, 2.1. Runs are immutable, so readers need no protection.

    Writes the new day and nothing else, until the index has outgrown its room.
    """

    growth: float
    packs_at_rest: ClassVar[bool] = False

    def rewrite(self, name: str, planned: Planned, shared: frozenset[str]) -> tuple[Piece, ...]:
        pieces = planned.pieces
        return merge_pieces(pieces) if overgrown(pieces, self.growth) else pieces


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

    def rewrite(self, name: str, planned: Planned, shared: frozenset[str]) -> tuple[Piece, ...]:
        pieces = planned.pieces
        if overgrown(pieces, self.growth):
            return merge_pieces(pieces)
        return tuple(
            Copied(piece, name) if isinstance(piece, Part) and piece.run.name in shared else piece
            for piece in pieces
        )


@dataclass(frozen=True)
class PackedShadow:
    """Shivakumar, Garcia-Molina 1997, 2.1. One run, read and written once for each update."""

    packs_at_rest: ClassVar[bool] = False

    def rewrite(self, name: str, planned: Planned, shared: frozenset[str]) -> tuple[Piece, ...]:
        return merge_pieces(planned.pieces)


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

    def rewrite(self, name: str, planned: Planned, shared: frozenset[str]) -> tuple[Piece, ...]:
        pieces = planned.pieces
        waits = is_constituent(name)
        return merge_pieces(pieces) if not waits and overgrown(pieces, self.growth) else pieces


def technique_of(settings: Settings) -> Technique:
    if settings.technique == "in-place":
        return InPlace(settings.growth)
    if settings.technique == "simple shadow":
        return SimpleShadow(settings.growth)
    if settings.technique == "packed at rest":
        return PackedAtRest(settings.growth)
    return PackedShadow()
