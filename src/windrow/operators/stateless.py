"""The operators without state: selection, projection, unnesting, union, time windows, append-only
output.

They keep each tuple's life as it is (a time window gives it one), so they are one idea with six
faces: map a Delta to a Delta.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from windrow.columns.delta import Delta, batch_of, concat
from windrow.columns.evaluate import SharedParts, evaluate, selection_mask
from windrow.columns.lazy_rows import LazyRows
from windrow.columns.nested_arrays import list_lengths
from windrow.core.time import FOREVER
from windrow.operators.base import Saved
from windrow.plan.expressions import Column, Expression
from windrow.plan.physical.state_kinds import Kept


class Stateless:
    """The half of the contract that an operator without state need not spell out."""

    @property
    def state(self) -> tuple[Kept, ...]:
        return ()

    def size(self) -> int:
        return 0

    def save(self) -> Saved:
        return Saved()

    def load(self, segments: Mapping[str, pa.RecordBatch], meta: Mapping[str, Any]) -> None:
        pass


class SelectRows(Stateless):
    """Tuples, positive and negative alike, for which the predicate is true."""

    def __init__(self, predicate: Expression) -> None:
        self.predicate = predicate

    def process(self, inputs: Sequence[Delta], now: int) -> Delta:
        (delta,) = inputs
        return delta.filter(selection_mask(self.predicate, delta.content)) if len(delta) else delta


class Project(Stateless):
    """One column per expression."""

    def __init__(self, expressions: Sequence[Expression], schema: pa.Schema) -> None:
        self.expressions, self.schema = tuple(expressions), schema
        columns = [e.index for e in self.expressions if isinstance(e, Column)]
        columns_only = len(columns) == len(self.expressions)
        self._columns = columns if columns_only else None
        self._nothing = Delta.empty(schema) if columns_only else None
        self._parts = SharedParts(self.expressions)

    def process(self, inputs: Sequence[Delta], now: int) -> Delta:
        (delta,) = inputs
        if self._nothing is not None and not len(delta):
            return self._nothing
        content = delta.content
        if isinstance(content, LazyRows) and self._columns is not None:
            kinds = content.schema.types
            if [kinds[i] for i in self._columns] == self.schema.types:
                return delta.with_rows(content.select(self._columns, self.schema))
        arrays = self._parts.evaluate(content)
        return delta.with_rows(batch_of(arrays, self.schema, len(delta)))


class UnnestRows(Stateless):
    """Tuples, positive and negative alike, once for each value of an ARRAY.

    The value and, if ``schema`` has one column more, its place stand behind the tuple's columns.
    """

    def __init__(self, array: Expression, schema: pa.Schema, outer: bool) -> None:
        self.array, self.schema, self.outer = array, schema, outer

    def process(self, inputs: Sequence[Delta], now: int) -> Delta:
        (delta,) = inputs
        lists = evaluate(self.array, delta.rows)
        counts = list_lengths(lists)
        copies = np.maximum(counts, 1) if self.outer else counts
        owners = np.repeat(np.arange(len(delta)), copies)
        place = np.arange(len(owners)) - np.repeat(np.cumsum(copies) - copies, copies)
        there = place < counts[owners]
        at = (np.cumsum(counts) - counts)[owners] + place
        found = delta.take(owners)
        columns = [*found.rows.columns, lists.flatten().take(pa.array(at, mask=~there))]
        if len(columns) < len(self.schema):
            columns.append(pa.array(place + 1, pa.int64(), mask=~there))
        return found.with_rows(batch_of(columns, self.schema, len(found)))


class Merge(Stateless):
    """Union as a bag, in time order."""

    def __init__(self, schema: pa.Schema) -> None:
        self.schema = schema

    def process(self, inputs: Sequence[Delta], now: int) -> Delta:
        renamed = [
            d.with_rows(batch_of(d.rows.columns, self.schema, len(d))) for d in inputs if len(d)
        ]
        return concat(renamed, self.schema)


class TimeWindow(Stateless):
    """``[RANGE length]`` without SLIDE, and ``[NOW]``, which is a range of one tick."""

    def __init__(self, length: int) -> None:
        self.length = length

    def process(self, inputs: Sequence[Delta], now: int) -> Delta:
        (delta,) = inputs
        if not len(delta):
            return delta
        exp = np.where(delta.ts > FOREVER - self.length, FOREVER, delta.ts + self.length)
        return Delta(delta.ts, exp, delta.sign, delta.rows)


class Append(Stateless):
    """Insertions only, and they stay: ``[UNBOUNDED]``, and results of INTERNAL windows."""

    def process(self, inputs: Sequence[Delta], now: int) -> Delta:
        (delta,) = inputs
        kept = delta.filter(delta.sign > 0)
        return Delta.insertions(kept.ts, kept.rows)
