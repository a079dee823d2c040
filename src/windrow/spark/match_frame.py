"""Subscriptions matched against a DataFrame: ``windrow.spark.match``.

The entries are broadcast, each Python worker builds its index once, and rows go through
``mapInArrow``: a batch in, its matches out. If it is too large, the index is cut instead by ranges
of one attribute (Wu, Chen, Yu 2004, 3.4): rows are sent to the range that they fall into, and a
task builds the parts of its ranges only, so no worker holds the whole. An entry whose condition
reaches over several ranges is in the part of each; one without a condition on the attribute is in
all.
"""

from __future__ import annotations

import uuid
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import IntegerType, LongType, StringType, StructField, StructType

from windrow.columns.arrays import Int64s
from windrow.core.errors import InputError
from windrow.core.thresholds import Threshold
from windrow.core.time import Clock
from windrow.plan.nodes.routed import SUBSCRIPTION
from windrow.spark.frozen_imports import freeze_imports
from windrow.spark.run.session import index_memory
from windrow.spark.stage.routes import spread_buckets
from windrow.spark.stage.subscription_index import Cut, cut_by, part_of, parts_for
from windrow.subscriptions.predicates import Kind
from windrow.subscriptions.subscriptions import Subscriptions
from windrow.subscriptions.values import exactly

RANGE = "__range"
BUILT: OrderedDict[tuple[str, int], Subscriptions] = OrderedDict()
"""The indexes of this worker by token and part; the longest unused is forgotten."""
MOST_BUILT = Threshold(8, least=1)


def match(
    frame: DataFrame,
    subscriptions: Subscriptions,
    *,
    ts: str | None = None,
    partitions: int | None = None,
    by: str | None = None,
) -> DataFrame:
    """The rows of ``frame``, each once per subscription that it satisfies, after its id.

    ``ts`` names the column that holds the instants, needed if any subscription begins or ends.
    ``partitions`` cuts the index into so many parts by ranges of the attribute ``by`` (the first
    one with an order, if it is not given). If it is left out, an index that is past one worker's
    memory (``spark.windrow.index.memory``) is cut into as many as it needs.
    """
    _need_columns(frame, [*subscriptions.attributes, *([ts] if ts else [])])
    _need_types(frame, subscriptions.attributes)
    kind = StringType() if pa.types.is_string(subscriptions.ids) else LongType()
    schema = StructType([StructField(SUBSCRIPTION, kind), *frame.schema.fields])
    context, token = frame.sparkSession.sparkContext, uuid.uuid4().hex
    shape = _Shape(token, subscriptions.attributes, subscriptions.ids, subscriptions.clock, ts)
    entries = subscriptions.entries()
    if partitions is None:
        memory = index_memory(frame.sparkSession)
        partitions = parts_for([entries], subscriptions.attributes, memory)
        if partitions == 1:
            return frame.mapInArrow(_Match(shape, {0: context.broadcast(entries)}), schema)
    cut = cut_by([entries], subscriptions.attributes, by, partitions)
    # Numbers such that Spark's hash sends each range to a task of its own.
    numbers = sorted(spread_buckets(partitions, per_partition=1))
    parts = {n: context.broadcast(part_of(entries, cut, i)) for i, n in enumerate(numbers)}
    ranged = StructType([StructField(RANGE, IntegerType()), *frame.schema.fields])
    routed = frame.mapInArrow(_Route(cut, tuple(numbers)), ranged).repartition(partitions, RANGE)
    return routed.mapInArrow(_Match(shape, parts, ranged=True), schema)


def _need_columns(frame: DataFrame, names: list[str]) -> None:
    known = [name.lower() for name in frame.columns]
    for name in names:
        if name.lower() not in known:
            raise InputError(
                where="match",
                expected=f"a column {name}",
                found=", ".join(frame.columns),
                remedy="rename columns with DataFrame.withColumnRenamed",
            )


def _need_types(frame: DataFrame, attributes: Mapping[str, Kind]) -> None:
    """Say now what a task would say of any row: that a column is of another type."""
    fields = [frame.schema.fields[_place(frame.columns, name)] for name in attributes]
    found = to_arrow_schema(StructType(fields), timezone="UTC")
    for column, (name, kind) in zip(found, attributes.items(), strict=True):
        exactly(pa.array([], column.type), kind, name)


@dataclass(frozen=True)
class _Shape:
    """What a worker needs to build an index, besides its entries."""

    token: str
    attributes: dict[str, Kind]
    ids: pa.DataType
    clock: Clock
    ts: str | None


@dataclass(frozen=True)
class _Route:
    """Rows after the number of the range that they fall into."""

    cut: Cut
    numbers: tuple[int, ...]

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        freeze_imports()
        numbers = np.array(self.numbers, np.int32)
        for batch in batches:
            found = numbers[self.cut.ranges_of(_column(batch, self.cut.name))]
            names = [RANGE, *batch.schema.names]
            yield pa.RecordBatch.from_arrays([pa.array(found), *batch.columns], names)


@dataclass(frozen=True)
class _Match:
    """The function that ``mapInArrow`` calls in every task; ``parts`` are broadcast entries.

    Of a broadcast only its name travels with the task; what is in it is fetched when a worker
    asks for it.
    """

    shape: _Shape
    parts: dict[int, Any]
    ranged: bool = False

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        freeze_imports()
        for batch in batches:
            if not self.ranged:
                yield self._matched(batch, 0)
                continue
            number = batch.column(0).to_numpy()
            rows = pa.RecordBatch.from_arrays(batch.columns[1:], batch.schema.names[1:])
            for part in np.unique(number):
                mine = pa.array(np.flatnonzero(number == part))
                yield self._matched(rows.take(mine), int(part))

    def _matched(self, rows: pa.RecordBatch, part: int) -> pa.RecordBatch:
        wanted = self._index(part)
        columns = [_column(rows, name) for name in wanted.attributes]
        at, owners = wanted.hits(columns, self._ticks(rows))
        arrays = [wanted.names(owners), *rows.take(pa.array(at)).columns]
        return pa.RecordBatch.from_arrays(arrays, [SUBSCRIPTION, *rows.schema.names])

    def _ticks(self, rows: pa.RecordBatch) -> Int64s | None:
        if self.shape.ts is None:
            return None
        column = _column(rows, self.shape.ts)
        if pa.types.is_timestamp(column.type):
            column = column.cast(pa.timestamp("us", column.type.tz))
        ticks: Int64s = column.cast(pa.int64()).to_numpy()
        return ticks

    def _index(self, part: int) -> Subscriptions:
        shape, key = self.shape, (self.shape.token, part)
        found = BUILT.pop(key, None)
        if found is None:
            found = Subscriptions(shape.attributes, ids=shape.ids, clock=shape.clock)
            found.add(self.parts[part].value)
        BUILT[key] = found
        while len(BUILT) > MOST_BUILT.value:
            BUILT.popitem(last=False)
        return found


def _column(rows: pa.RecordBatch, name: str) -> pa.Array:
    return rows.column(_place(rows.schema.names, name))


def _place(names: Sequence[str], name: str) -> int:
    return [n.lower() for n in names].index(name.lower())
