"""The insertions and the negative tuples of a Delta, apart."""

from __future__ import annotations

import numpy as np

from windrow.columns.delta import Delta


def split_by_sign(delta: Delta) -> tuple[Delta, Delta]:
    """Insertions, and negative tuples; where there are none of these, nothing is copied."""
    plus = delta.sign > 0
    if plus.all():
        return delta, delta.slice(0, 0)
    return delta.take(np.flatnonzero(plus)), delta.take(np.flatnonzero(~plus))
