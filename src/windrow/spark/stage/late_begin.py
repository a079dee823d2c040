"""How a query answers that came late and was filled with what others held.

Its first micro-batch brings the tuples that were held beside the new ones
(``windrow.spark.source.fill_task``), each with the instant at which it came. How the answer came
about by then is not told: what changed up to where it *begins* is one set of insertions at that
instant, and of a stream nothing (``windrow.engine.late_start`` says why that is right). Until all
of its streams have come that far its tuples wait, so it is one micro-batch that tells.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from windrow.columns.delta import Delta, concat
from windrow.columns.netting import net
from windrow.core.time import BEGINNING


@dataclass(frozen=True)
class LateBegin:
    """``closed`` is the instant up to which it was filled: rows of its streams that come later with
    such a time are late. Its answer begins at ``begins``."""

    closed: int = BEGINNING
    begins: int = BEGINNING

    def instant_from(self, instant: int) -> int:
        """How far time has come, if that is far enough to begin."""
        instant = max(instant, self.closed)
        return instant if instant >= self.begins else BEGINNING

    def tell(self, changes: Delta, *, stream: bool) -> Delta:
        """What is told of the changes of the micro-batch in which it begins."""
        before, after = changes.split(self.begins)
        if stream:
            return after
        there = net(replace(before, ts=np.full(len(before), self.begins, np.int64)))
        return concat([there, after], changes.rows.schema)


FROM_THE_START = LateBegin()
