"""COUNT DISTINCT by CPC sketches; see ``sketches``."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import datasketches as ds
import numpy as np

from windrow.synopses.estimates import Estimate
from windrow.synopses.interval_content import Array
from windrow.synopses.sketch_content import SketchContent

DEVIATIONS = 2
"""Standard deviations between an estimate of COUNT DISTINCT and its bounds."""


class DistinctSketches(SketchContent):
    """COUNT DISTINCT by CPC; the same values give the same estimate, in whatever order and cut.

    >>> import numpy as np
    >>> from windrow.synopses import DistinctSketches
    >>> sketches = DistinctSketches()
    >>> halves = [sketches.summarise(np.zeros(9_000, np.int64), np.arange(9_000) + start)
    ...           for start in (0, 6_000)]
    >>> found = sketches.estimate(sketches.merge(halves), 0)
    >>> found.lower < 15_000 < found.upper, found.upper - found.lower < 1_500
    (True, True)
    """

    name, function = "distinct count sketches", "COUNT DISTINCT"

    def __init__(self, lg_k: int = 11) -> None:
        self.lg_k = lg_k

    def make_empty(self) -> Any:
        """A sketch to be updated one value at a time, and to be read through ``unite`` only."""
        return ds.cpc_sketch(self.lg_k)

    def make(self, values: Array) -> Any:
        sketch = self.make_empty()
        for value in np.unique(values).tolist():
            sketch.update(value)
        # As a union of one: what is read depends on the values alone, not on their order.
        return self.unite([sketch])

    def unite(self, sketches: Iterable[Any]) -> Any:
        union = ds.cpc_union(self.lg_k)
        for sketch in sketches:
            union.update(sketch)
        return union.get_result()

    def read(self, sketch: Any, parameter: float | None = None) -> Estimate:
        """How many different values, and the bounds of two standard deviations."""
        return Estimate(
            sketch.get_estimate(),
            sketch.get_lower_bound(DEVIATIONS),
            sketch.get_upper_bound(DEVIATIONS),
        )

    def to_bytes(self, sketch: Any) -> bytes:
        return bytes(sketch.serialize())

    def from_bytes(self, content: bytes) -> Any:
        return ds.cpc_sketch.deserialize(content)
