"""What lives of one input of a join, found by key.

Keys have codes, and tuples with equal keys form a chain from new to old: an H-INDEX with DB rings
(``windrow.windows.chains``; Golab et al. 2004, 5.4). With a chosen number of *buckets* the chains
are those of a hash table, and one bucket is nested loops (Golab 2006, 5.4). Expired tuples at the
end of a chain cost nothing, because chains lead to older positions only and the buffer knows its
first.

Codes are compared instead of keys: a tuple's key is looked at once, when it comes.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from windrow.columns.arrays import Int64s
from windrow.columns.delta import Delta, split_by_sign
from windrow.columns.evaluate import evaluate
from windrow.columns.growable import Growable
from windrow.columns.interner import Interner
from windrow.core.patterns import UpdatePattern
from windrow.core.thresholds import Threshold
from windrow.core.time import FOREVER
from windrow.operators.state.buffer import StateBuffer
from windrow.operators.state.move import Move
from windrow.operators.state.tuple_index import LINK
from windrow.plan.expressions import Expression
from windrow.plan.physical.state_kinds import BucketKind, BufferKind, Kept
from windrow.windows.chains import Chains

WORTH_RECODING = Threshold(4096)
"""Codes of keys, beyond four per tuple, that are not worth giving all tuples new ones."""


NOBODY: Int64s = np.empty(0, np.int64)


class JoinSide:
    """One input's live tuples, their key codes and the rings over them."""

    def __init__(
        self,
        schema: pa.Schema,
        pattern: UpdatePattern,
        keys: Sequence[Expression],
        kind: BufferKind | None = None,
        buckets: int = 0,
        period: int = 0,
    ) -> None:
        self.buffer, self.keys = StateBuffer(schema, pattern, kind), tuple(keys)
        self.rings, self.buckets, self.period = Chains(buckets), buckets, period

    @property
    def state(self) -> Kept:
        """What it keeps, in the words of EXPLAIN."""
        kind = self.buffer.kind
        return (kind, BucketKind(self.buckets)) if self.buckets else (kind,)

    @property
    def codes(self) -> Growable:
        """The key code of each tuple, by position."""
        return self.rings.codes

    @property
    def heads(self) -> Int64s:
        """The newest tuple of each key code, or of each bucket."""
        return self.rings.heads

    def add(self, delta: Delta, interner: Interner) -> tuple[Int64s, Int64s]:
        """Store an interval's tuples without linking them yet.

        Positions of the new ones, and of older ones that were withdrawn.
        """
        if not len(delta):
            return NOBODY, NOBODY
        keys = [evaluate(k, delta.rows) for k in self.keys]
        if any(key.null_count for key in keys):  # NULL equals nothing
            known = np.ones(len(delta), np.bool_)
            for key in keys:
                known &= key.is_valid().to_numpy(zero_copy_only=False)
            delta, self.buffer.whole = delta.filter(known), False
            keys = [evaluate(k, delta.rows) for k in self.keys]
        positive, negative = split_by_sign(delta)
        if len(negative):
            keys = [evaluate(k, positive.rows) for k in self.keys]
        self.codes.append(interner.codes(keys, len(positive)))
        first = self.buffer.insert(positive)
        new = np.arange(first, self.buffer.next, dtype=np.int64)
        if not len(negative):
            return new, NOBODY
        withdrawn = self.buffer.withdraw(negative)
        return new, withdrawn[withdrawn < first]

    def link(self, positions: Int64s, codes: int) -> None:
        """Put positions at the heads of their rings; ``codes`` is how many codes there are."""
        self.rings.reserve(codes)
        self.rings.link(positions, self.buffer.life, LINK)

    def forget(self, now: int) -> Move | None:
        """Free what is dead. If the living moved, they are linked again: where they went.

        Where tuples come and go at multiples of a ``period``, what will have gone at the next one
        meets nobody any more, and is dropped now (Golab 2006, Algorithm 4, line 8).
        """
        if self.period:
            now = min((now // self.period + 1) * self.period, FOREVER)
        self.buffer.lapse(now)
        move = self.buffer.reclaim()
        if move is None:
            self.codes.drop_before(self.buffer.base)
        else:
            self.rings.unlink(self.buffer.base, self.codes.take(move.living))
            self.link(self.buffer.living(), len(self.heads))
        return move

    def restart(self, interner: Interner) -> None:
        """Code and link everything that lives, after a load or under a new coding."""
        buffer = self.buffer
        everything = np.arange(buffer.base, buffer.next, dtype=np.int64)
        rows = buffer.rows.take(everything)
        codes = interner.codes([evaluate(k, rows) for k in self.keys], len(everything))
        self.relink(codes, len(interner))

    def relink(self, codes: Int64s, size: int) -> None:
        """Form the rings of what lives anew; ``codes`` are those of all stored tuples."""
        self.rings.restart(self.buffer.base, codes)
        self.link(self.buffer.living(), size)


def renew_coding(interner: Interner, sides: Sequence[JoinSide]) -> Interner:
    """The coding of the sides' keys; a new one, if most of it is dead."""
    held = sum(len(side.codes) for side in sides)
    if len(interner) <= 4 * held + WORTH_RECODING.value:
        return interner
    interner = Interner(interner.kinds)
    for side in sides:
        side.restart(interner)
    return interner
