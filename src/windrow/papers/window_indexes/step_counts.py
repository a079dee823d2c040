"""Operation counts: what Table 1 and section 5 of Golab et al. 2004 count, and nothing timed.

A step is a comparison with a node, or a pointer that is followed. Kernels return how many they
took; adding that up costs one addition per batch, so the counts are always kept.
"""

from __future__ import annotations

from dataclasses import dataclass, fields


@dataclass
class Steps:
    """Steps since the start, by what they were taken for.

    The first four are the four parts of the per-tuple cost in 4.5; ``link``, ``unlink`` and
    ``ends`` are the ring's share in section 5 (insertion, deletion, end-of-ring pointers).

    >>> import numpy as np
    >>> from windrow.windows import CountBased, IndexedWindow, ListStorage, l_index
    >>> window = IndexedWindow(CountBased(2, 3), ListStorage(), l_index())
    >>> window.append(np.arange(6))
    2
    >>> window.steps.store
    6
    """

    store: int = 0
    """Keeping the basic window itself (2.3)."""
    locate: int = 0
    """Finding or making index nodes for new tuples or values."""
    attach: int = 0
    """Incrementing counts when the newest basic window is full."""
    expire: int = 0
    """Decrementing counts when the oldest one leaves."""
    purge: int = 0
    link: int = 0
    unlink: int = 0
    ends: int = 0

    def total(self) -> int:
        """All steps of maintenance together."""
        return sum(getattr(self, f.name) for f in fields(self))

    def since(self, earlier: Steps) -> Steps:
        """The steps that were taken after the copy ``earlier`` was made."""
        return Steps(*(getattr(self, f.name) - getattr(earlier, f.name) for f in fields(self)))

    def copy(self) -> Steps:
        return Steps(*(getattr(self, f.name) for f in fields(self)))
