"""Steps of synopses, counted and not timed: what Figure 2.5 of Golab 2006 draws.

Adding up costs one addition per probe or update, so the counts are always kept.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class Work:
    """Steps since the start.

    A value is what is kept of one interval: for all groups together.

    >>> import numpy as np
    >>> from windrow.synopses import RowBuffer, RunningSynopsis, content_for
    >>> synopsis = RunningSynopsis(content_for("SUM"), s=2, b=4)
    >>> synopsis.follow(RowBuffer(content_for("SUM"), s=2).feed(np.arange(8)))
    >>> _ = synopsis.probe(3)
    >>> synopsis.work
    Work(combined=2, touched=4, rebased=0)
    """

    combined: int = 0
    """Values that probes read."""
    touched: int = 0
    """Values that updates wrote."""
    rebased: int = 0
    """Values of a running synopsis that were written again to begin at a later instant."""
