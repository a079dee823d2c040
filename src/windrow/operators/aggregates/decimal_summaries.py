"""SUM, AVG, VAR and STDDEV of decimals by sub-windows: how many values, and words of their sums.

What the window answers is worked out as over tuples (``windrow.operators.aggregates.decimal_sums``,
``windrow.operators.aggregates.decimal_variance``).
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from windrow.columns.arrays import Int64s, validity
from windrow.operators.aggregates.decimal_sums import DecimalSum
from windrow.operators.aggregates.decimal_variance import DecimalVariance
from windrow.operators.aggregates.events import Events
from windrow.operators.aggregates.summaries import add_columns


class DecimalSummary:
    """What ``window`` adds up, by sub-windows."""

    def __init__(self, window: DecimalSum | DecimalVariance) -> None:
        self.window, self.width = window, 1 + window.sums.shape[1]

    def tiers(self, argument: pa.Array) -> Int64s | None:
        return None

    def fold(self, rows: Int64s, argument: pa.Array | None, at: int, table: Int64s) -> None:
        assert argument is not None
        valid = validity(argument)
        parts = np.zeros((len(argument), at + self.width), np.int64)
        parts[:, at] = 1 if valid is None else valid
        parts[:, at + 1 :] = self.window.words(argument)
        add_columns(rows, parts, at, self.width, table)

    def merge(self, rows: Int64s, parts: Int64s, at: int, table: Int64s) -> None:
        add_columns(rows, parts, at, self.width, table)

    def grow(self, size: int) -> None:
        self.window.grow(size)

    def update(self, events: Events, parts: Int64s) -> tuple[pa.Array, pa.Array]:
        sign = events.sign.astype(np.int64)
        counts = self.window.present.shift(events, parts[:, 0] * sign)
        return self.window.change(events, parts[:, 1:] * sign[:, None], counts)

    def regroup(self, codes: Int64s, remap: Int64s) -> None:
        self.window.regroup(codes, remap)
