"""Temporary indexes prepared a piece a day, rather than all on one day.

Both REINDEX++ (Shivakumar, Garcia-Molina 1997, 3.4) and RATA (3.6) need, by the day on which
a cluster begins to expire, one temporary index fewer than it has days. That work falls into
chunks, each of which indexes one day, and can be done while the cluster before it expires.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain

from windrow.archive.wave.schemes.operations import Operation

Chunk = tuple[Operation, ...]
"""Operations that index one day between them; each chunk builds on the ones before it."""


def due(chunks: list[Chunk], done: int, days_left: int) -> tuple[Operation, ...]:
    """What today has to do so that the rest fits evenly into the ``days_left``, today among them.

    One chunk a day if the cluster before is at most one day shorter, as clusters are.
    """
    left = len(chunks) - done
    share = -(-left // days_left)
    return flattened(chunks[done : done + share])


def flattened(chunks: Iterable[Chunk]) -> tuple[Operation, ...]:
    return tuple(chain.from_iterable(chunks))
