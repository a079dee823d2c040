"""An approximate number with what it lies between."""

from __future__ import annotations

from typing import NamedTuple


class Estimate(NamedTuple):
    """The bounds are those of the method: a guarantee, or true in most cases.

    >>> import numpy as np
    >>> from windrow.synopses import QuantileSketches
    >>> sketches = QuantileSketches()
    >>> sketches.estimate(sketches.summarise(np.zeros(3, np.int64), np.array([5, 6, 9])), 0, 0.5)
    Estimate(estimate=6.0, lower=6.0, upper=6.0)
    """

    estimate: float
    lower: float
    upper: float
