"""QUANTILE by KLL sketches; see ``sketches``."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import datasketches as ds
import numpy as np

from windrow.synopses.estimates import Estimate
from windrow.synopses.interval_content import Array
from windrow.synopses.interval_values import check_numbers
from windrow.synopses.sketch_content import SketchContent
from windrow.synopses.value_counters import check_p


class QuantileSketches(SketchContent):
    """QUANTILE by KLL; a larger ``k`` has a smaller error, about 2.3 / k**0.9.

    >>> import numpy as np
    >>> from windrow.synopses import QuantileSketches
    >>> sketches = QuantileSketches()
    >>> found = sketches.summarise(np.zeros(100_000, np.int64), np.arange(100_000))
    >>> median = sketches.estimate(found, 0, 0.5)
    >>> 45_000 < median.lower <= median.estimate <= median.upper < 55_000
    True
    """

    name, function = "quantile sketches", "QUANTILE"

    def __init__(self, k: int = 200) -> None:
        self.k = k

    def _check(self, values: Array) -> Array:
        return check_numbers(self.function, values).astype(np.float64)

    def make(self, values: Array) -> Any:
        sketch = ds.kll_doubles_sketch(self.k)
        sketch.update(np.ascontiguousarray(values))
        return sketch

    def unite(self, sketches: Iterable[Any]) -> Any:
        union = ds.kll_doubles_sketch(self.k)
        for sketch in sketches:
            union.merge(sketch)
        return union

    def read(self, sketch: Any, parameter: float | None = None) -> Estimate:
        """The value at rank p, and those between which it lies."""
        p = check_p(parameter)
        error = sketch.normalized_rank_error(False) if sketch.is_estimation_mode() else 0.0
        ranks = [p, max(0.0, p - error), min(1.0, p + error)]
        return Estimate(*sketch.get_quantiles(ranks, True))

    def to_bytes(self, sketch: Any) -> bytes:
        return bytes(sketch.serialize())

    def from_bytes(self, content: bytes) -> Any:
        return ds.kll_doubles_sketch.deserialize(content)
