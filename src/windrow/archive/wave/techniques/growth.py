"""When an index that is not packed merges its runs: the growth factor of CONTIGUOUS.

CONTIGUOUS gives a bucket that has no room left g times the space and copies it there (Faloutsos,
Jagadish, as used by Shivakumar, Garcia-Molina 1997, 2.1 and 5). Over immutable runs the first run
is the bucket and the runs after it fill its room: when they hold more than (g - 1) times its
entries, all are merged into one, which has room again. Likewise when fewer than 1/g of the
entries that are stored count. So at most g times the space is used that a packed index needs, and
an entry is rewritten about 1/(g - 1) times for each time that the index doubles.
"""

from __future__ import annotations

from windrow.archive.wave.rewrite_plan import Copied, Merged, Piece


def overgrown(pieces: tuple[Piece, ...], growth: float) -> bool:
    """Whether the pieces of an index, in the order in which they came, are to be merged."""
    if not pieces:
        return False
    stored = [_stored(piece) for piece in pieces]
    live = sum(piece.rows for piece in pieces)
    return sum(stored[1:]) > (growth - 1) * stored[0] or sum(stored) > growth * live


def _stored(piece: Piece) -> int:
    """The entries that the run of a piece has, or will have when it is written."""
    if isinstance(piece, Merged):
        return piece.rows
    part = piece.part if isinstance(piece, Copied) else piece
    return part.run.rows
