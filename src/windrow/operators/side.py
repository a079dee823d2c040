"""One input of an operator that matches tuples: what lives of it, chained by key.

Tuples with equal keys are chained from new to old (after the ring index of Golab et al. 2004),
the head of each chain being an array indexed by the key's code. Expired tuples at the end of a
chain cost nothing, because chains lead to older positions only and the buffer knows its first.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.columns.delta import Delta
from windrow.columns.evaluate import evaluate
from windrow.columns.growable import Growable
from windrow.columns.interner import Interner
from windrow.columns.kernels import grid_out, int64, ints, ints_out, kernel, void
from windrow.core.patterns import UpdatePattern
from windrow.operators.state.buffer import StateBuffer
from windrow.operators.state.index import LINK, grown
from windrow.plan.expressions import Expression

Int64s = npt.NDArray[np.int64]


@kernel(void, ints, ints, int64, ints_out, grid_out)
def _link(codes, at, base, heads, life):  # type: ignore[no-untyped-def]
    for i in range(len(at)):
        code = codes[at[i] - base]
        life[at[i] - base, LINK] = heads[code]
        heads[code] = at[i]


class Side:
    """One input's live tuples, their key codes and the chains over them."""

    def __init__(
        self,
        schema: pa.Schema,
        pattern: UpdatePattern,
        keys: Sequence[Expression],
        scan: bool = False,
    ) -> None:
        self.buffer, self.keys = StateBuffer(schema, pattern, scan), tuple(keys)
        self.codes = Growable(np.int64)
        self.heads = np.full(64, -1, np.int64)

    def add(self, delta: Delta, interner: Interner) -> tuple[Int64s, Int64s]:
        """Store an interval's tuples without linking them yet.

        Positions of the new ones, and of older ones that were withdrawn.
        """
        keys = [evaluate(k, delta.rows) for k in self.keys]
        nulls = np.zeros(len(delta), np.bool_)
        for key in keys:
            if key.null_count:
                nulls |= key.is_null().to_numpy(zero_copy_only=False)
        if nulls.any():  # NULL equals nothing
            delta = delta.filter(~nulls)
            keys = [evaluate(k, delta.rows) for k in self.keys]
        if bool((delta.sign > 0).all()):
            codes = interner.codes(keys, len(delta))
            first = self.buffer.insert(delta)
            withdrawn = np.empty(0, np.int64)
        else:
            plus = delta.sign > 0
            positive = delta.filter(plus)
            codes = interner.codes([evaluate(k, positive.rows) for k in self.keys], len(positive))
            first = self.buffer.insert(positive)
            withdrawn = self.buffer.withdraw(delta.filter(~plus))
        self.codes.append(codes)
        return np.arange(first, self.buffer.next, dtype=np.int64), withdrawn[withdrawn < first]

    def link(self, positions: Int64s, codes: int) -> None:
        """Put positions at the head of their chains; ``codes`` is how many codes there are."""
        self.heads = grown(self.heads, codes, -1)
        life = self.buffer.life
        _link(self.codes.view, positions, life.base, self.heads, life.view)

    def forget(self, now: int) -> bool:
        """Free what is dead; True if the living moved and have to be linked anew."""
        self.buffer.expire(now)
        moved = self.buffer.reclaim() is not None
        self.codes.drop_before(self.buffer.base)
        return moved

    def restart(self, interner: Interner) -> None:
        """Code and link everything that lives, after a move or a load."""
        buffer = self.buffer
        everything = np.arange(buffer.base, buffer.next, dtype=np.int64)
        rows = buffer.rows.take(everything)
        self.codes.clear(buffer.base)
        self.codes.append(interner.codes([evaluate(k, rows) for k in self.keys], len(everything)))
        self.heads = np.full(64, -1, np.int64)
        self.link(buffer.living(), len(interner))
